// Random functions with branches, loops, switches and calls, in which values of every class live from block
// to block: the generator's code against LLVM's. RADDLE_TEST_FLOWS: how many (else few).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "baseline_fixture.h"

namespace raddle::jit {
namespace {

enum class FlowType : unsigned { long_word, word, lanes, floats, mask, truth };
constexpr std::array<const char*, 6> kFlowTypes = {"i64",          "i32",       "<16 x i32>",
                                                   "<16 x float>", "<16 x i1>", "i1"};
const char* text_of(FlowType type) { return kFlowTypes[static_cast<unsigned>(type)]; }

class FlowWriter {
 public:
  explicit FlowWriter(unsigned seed) : random_(seed) {}

  std::string write() {
    text_ =
        "entry:\n  %array = alloca [16 x i64], align 64\n"
        "  call void @llvm.memcpy.p0.p0.i64(ptr %array, ptr %in, i64 128, i1 false)\n";
    block_ = "entry";
    const std::array<unsigned, 6> counts = {3 + below(8), 2 + below(4), 3 + below(7),
                                            1 + below(3), 2 + below(7), 1 + below(2)};
    for (unsigned type = 0; type < 6; ++type)
      for (unsigned n = 0; n < counts[type]; ++n)
        values_.push_back({static_cast<FlowType>(type), first(static_cast<FlowType>(type))});
    statements(5, 3);
    store_all();
    return std::string(kHead) + "define void @f(ptr %in, ptr %out) {\n" + text_ + "  ret void\n}\n";
  }

 private:
  struct Value {
    FlowType type;
    std::string name;
  };
  using Values = std::vector<Value>;

  static constexpr const char* kHead = R"(
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare <16 x i32> @llvm.sadd.sat.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.masked.load.v16i32.p0(ptr, i32, <16 x i1>, <16 x i32>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
define internal i64 @mix(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f, i64 %g) noinline {
  %1 = mul i64 %a, 3
  %2 = add i64 %1, %b
  %3 = mul i64 %2, 5
  %4 = sub i64 %3, %c
  %5 = mul i64 %4, 7
  %6 = xor i64 %5, %d
  %7 = mul i64 %6, 9
  %8 = sub i64 %7, %e
  %9 = mul i64 %8, 11
  %10 = add i64 %9, %f
  %11 = xor i64 %10, %g
  ret i64 %11
}
)";

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  bool happens(unsigned percent) { return below(100) < percent; }
  std::string fresh() { return "%v" + std::to_string(++names_); }
  std::string label() { return "b" + std::to_string(++names_); }
  void line(const std::string& text) { text_ += "  " + text + "\n"; }
  std::string made(const std::string& text) {
    const std::string name = fresh();
    line(name + " = " + text);
    return name;
  }
  void begin(const std::string& block) {
    text_ += block + ":\n";
    block_ = block;
  }

  std::string first(FlowType type) {
    const std::string at = made("getelementptr i8, ptr %in, i64 " + std::to_string(below(60) * 8));
    if (type == FlowType::truth)
      return made("icmp slt i64 " + made("load i64, ptr " + at) + ", 0");  // a byte of i1 must be 0 or 1
    if (type != FlowType::floats)
      return made(std::string("load ") + text_of(type) + ", ptr " + at + ", align 1");
    const std::string words = made("load <16 x i32>, ptr " + at + ", align 1");
    const std::string small = made("ashr <16 x i32> " + words + ", splat (i32 20)");
    return made("sitofp <16 x i32> " + small + " to <16 x float>");
  }

  std::string any(FlowType type) {
    std::vector<const Value*> all;
    for (const Value& value : values_)
      if (value.type == type) all.push_back(&value);
    return all[below(static_cast<unsigned>(all.size()))]->name;
  }

  std::string number(FlowType type) {
    if (happens(70)) return any(type);
    return std::to_string(static_cast<int>(below(2000)) - 1000);
  }

  std::string element() {
    const std::string at = made("and i64 " + any(FlowType::long_word) + ", 15");
    return made("getelementptr i64, ptr %array, i64 " + at);
  }

  std::string lane_numbers(bool in_order) {
    std::string text = "<16 x i32> <";
    const unsigned of_first = below(17), from = below(17 - of_first), from_other = below(of_first + 1);
    unsigned one = from, other = 16 + from_other;
    unsigned ones = 0;
    for (unsigned n = 0; n < 16; ++n) {
      unsigned lane = below(32);
      if (in_order) {
        const bool takes_first = ones < of_first && (happens(50) || other >= 32 || 16 - n <= of_first - ones);
        lane = takes_first ? one++ : other++;
        ones += takes_first;
        if (lane >= 32) lane = 31;
      }
      text += (n ? ", i32 " : "i32 ") + std::to_string(lane);
    }
    return text + ">";
  }

  std::string compute(FlowType type) {
    static constexpr std::array kOfTwo = {"add", "sub", "xor", "and", "or", "mul"};
    const std::string t = text_of(type), of_two = std::string(kOfTwo[below(6)]) + " " + t + " ";
    switch (type) {
      case FlowType::long_word:
        switch (below(9)) {
          case 0:
            return made("zext i32 " + any(FlowType::word) + " to i64");
          case 1:
            return made("select i1 " + any(FlowType::truth) + ", i64 " + number(type) + ", i64 " +
                        number(type));
          case 2:
            return made("load i64, ptr " + element());
          case 3:
            return made((happens(50) ? "lshr i64 " : "shl i64 ") + any(type) + ", " +
                        std::to_string(below(63)));
          case 4: {
            const std::string compared = made("icmp slt i64 " + any(type) + ", " + number(type));
            return made("select i1 " + compared + ", i64 " + any(type) + ", i64 " + any(type));
          }
          case 5:
            return made("getelementptr i8, ptr null, i64 0"), made("add i64 " + any(type) + ", " + any(type));
          default:
            return made(of_two + any(type) + ", " + number(type));
        }
      case FlowType::word:
        switch (below(7)) {
          case 0:
            return made("trunc i64 " + any(FlowType::long_word) + " to i32");
          case 1:
            return made("extractelement <16 x i32> " + any(FlowType::lanes) + ", i32 " +
                        std::to_string(below(16)));
          case 2:
            return made("zext i16 " + made("bitcast <16 x i1> " + any(FlowType::mask) + " to i16") +
                        " to i32");
          case 3:
            return made("extractelement <16 x i32> " + any(FlowType::lanes) + ", i32 " +
                        made("and i32 " + any(type) + ", 15"));
          default:
            return made(of_two + any(type) + ", " + number(type));
        }
      case FlowType::lanes:
        switch (below(12)) {
          case 0:
            return made("select <16 x i1> " + any(FlowType::mask) + ", " + t + " " + any(type) + ", " + t +
                        " " + any(type));
          case 1:
            return made("shufflevector " + t + " " + any(type) + ", " + t + " " + any(type) + ", " +
                        lane_numbers(happens(50)));
          case 2: {
            const std::string one =
                made("insertelement <16 x i32> poison, i32 " + any(FlowType::word) + ", i64 0");
            return made("shufflevector " + t + " " + one + ", " + t + " poison, <16 x i32> zeroinitializer");
          }
          case 3:
            return made("zext <16 x i1> " + any(FlowType::mask) + " to <16 x i32>");
          case 4:
            return made("call " + t + " @llvm.masked.load.v16i32.p0(ptr %in, i32 4, <16 x i1> " +
                        any(FlowType::mask) + ", " + t + " " + any(type) + ")");
          case 5:
            return made("call " + t + " @llvm.sadd.sat.v16i32(" + t + " " + any(type) + ", " + t + " " +
                        any(type) + ")");
          case 6:
            return made("insertelement " + t + " " + any(type) + ", i32 " + any(FlowType::word) + ", i32 " +
                        std::to_string(below(16)));
          case 7:
            return made("load <16 x i32>, ptr " +
                        made("getelementptr i8, ptr %in, i64 " + std::to_string(below(100) * 4)) +
                        ", align 4");
          default:
            return made(of_two + any(type) + ", " + any(type));
        }
      case FlowType::floats:
        switch (below(5)) {
          case 0:
            return made("fadd " + t + " " + any(type) + ", " + any(type));
          case 1:
            return made("fsub " + t + " " + any(type) + ", " + any(type));
          case 2:
            return made("select <16 x i1> " + any(FlowType::mask) + ", " + t + " " + any(type) + ", " + t +
                        " " + any(type));
          default:
            return made("call " + t + " @llvm.fma.v16f32(" + t + " " + any(type) + ", " + t + " " +
                        any(type) + ", " + t + " " + any(type) + ")");
        }
      case FlowType::mask:
        switch (below(8)) {
          case 0:
            return made("icmp slt <16 x i32> " + any(FlowType::lanes) + ", " + any(FlowType::lanes));
          case 1:
            return made("icmp ne <16 x i32> " + any(FlowType::lanes) + ", splat (i32 7)");
          case 2:
            return made("xor <16 x i1> " + any(type) + ", splat (i1 true)");
          case 3:
            return made("shufflevector " + t + " " + any(type) + ", " + t + " " + any(type) + ", " +
                        lane_numbers(happens(80)));
          case 4:
            return made("bitcast i16 " + made("trunc i32 " + any(FlowType::word) + " to i16") +
                        " to <16 x i1>");
          case 5:
            return made("select <16 x i1> " + any(type) + ", <16 x i1> " + any(type) + ", <16 x i1> " +
                        any(type));
          default:
            return made(std::string(kOfTwo[2 + below(3)]) + " <16 x i1> " + any(type) + ", " + any(type));
        }
      default:
        switch (below(3)) {
          case 0:
            return made("icmp ult i64 " + any(FlowType::long_word) + ", " + number(FlowType::long_word));
          case 1:
            return made("extractelement <16 x i1> " + any(FlowType::mask) + ", i32 " +
                        std::to_string(below(16)));
          default:
            return made("icmp eq i16 " + made("bitcast <16 x i1> " + any(FlowType::mask) + " to i16") +
                        ", 0");
        }
    }
  }

  void update_memory() {
    static constexpr std::array kUpdates = {"add", "sub", "and", "or", "xor"};
    const std::string at = element(), other = happens(30) ? element() : "";
    const std::string old = made("load i64, ptr " + at);
    const std::string changed =
        made(std::string(kUpdates[below(5)]) + " i64 " + old + ", " + number(FlowType::long_word));
    if (!other.empty()) line("store i64 " + any(FlowType::long_word) + ", ptr " + other);
    line("store i64 " + changed + ", ptr " + at);
  }

  void exchange() {
    Value& one = values_[below(static_cast<unsigned>(values_.size()))];
    for (Value& other : values_)
      if (other.type == one.type && happens(60)) std::swap(one.name, other.name);
  }

  std::string arguments() {
    std::string all = "(i64 ";
    for (unsigned n = 0; n < 7; ++n) all += (n ? ", i64 " : "") + number(FlowType::long_word);
    return all + ")";
  }

  void statements(unsigned count, unsigned depth) {
    for (unsigned n = 0; n < count; ++n) {
      const unsigned kind = below(depth == 0 ? 5 : 10);
      if (kind < 3) {
        for (unsigned k = 1 + below(5); k-- > 0;) {
          Value& value = values_[below(static_cast<unsigned>(values_.size()))];
          const std::string name = compute(value.type);
          value.name = name;
        }
      } else if (kind == 3) {
        exchange();
      } else if (kind == 4) {
        update_memory();
      } else if (kind < 7) {
        loop(depth - 1);
      } else if (kind == 7) {
        choice(depth - 1, false);
      } else if (kind == 8) {
        choice(depth - 1, true);
      } else {
        ways(depth - 1);
      }
    }
  }

  /// Where several blocks meet: each with what it has the values to be.
  void meet(const Values& before, const std::vector<std::pair<std::string, Values>>& from) {
    values_ = before;
    for (std::size_t n = 0; n < before.size(); ++n) {
      if (happens(15)) continue;
      std::string phi = std::string("phi ") + text_of(before[n].type);
      for (std::size_t k = 0; k < from.size(); ++k)
        phi += std::string(k ? ", [ " : " [ ") + from[k].second[n].name + ", %" + from[k].first + " ]";
      values_[n].name = made(phi);
    }
  }

  /// @param is_cold  the one way is hardly ever gone, and calls
  void choice(unsigned depth, bool is_cold) {
    const std::string yes = label(), no = is_cold && happens(50) ? "" : label(), both = label();
    const Values before = values_;
    line("br i1 " + any(FlowType::truth) + ", label %" + yes + ", label %" + (no.empty() ? both : no) +
         (is_cold ? ", !prof !0" : ""));
    std::vector<std::pair<std::string, Values>> from;
    if (no.empty()) from.emplace_back(block_, values_);
    begin(yes);
    if (is_cold) {
      for (Value& value : values_)
        if (value.type == FlowType::long_word && happens(40)) {
          value.name = made("call i64 @mix" + arguments());
          break;
        }
      if (happens(50)) made("call i64 @mix" + arguments());
    }
    statements(1 + below(3), depth);
    from.emplace_back(block_, values_);
    line("br label %" + both);
    if (!no.empty()) {
      begin(no);
      values_ = before;
      statements(1 + below(3), depth);
      from.emplace_back(block_, values_);
      line("br label %" + both);
    }
    begin(both);
    meet(before, from);
  }

  void loop(unsigned depth) {
    const std::string head = label(), done = label(), into = block_, counter = fresh(), next = fresh();
    line("br label %" + head);
    const std::string outside = std::move(text_);
    text_.clear();
    const Values before = values_;
    for (Value& value : values_)
      if (happens(80)) value.name = fresh();
    const Values inside = values_;
    block_ = head;
    statements(1 + below(4), depth);
    line(next + " = add i64 " + counter + ", 1");
    const std::string more = made("icmp ult i64 " + next + ", " + std::to_string(2 + below(4)));
    line("br i1 " + more + ", label %" + head + ", label %" + done);
    const std::string body = std::move(text_);
    text_ = outside + head + ":\n";
    line(counter + " = phi i64 [ 0, %" + into + " ], [ " + next + ", %" + block_ + " ]");
    for (std::size_t n = 0; n < before.size(); ++n)
      if (inside[n].name != before[n].name)
        line(inside[n].name + " = phi " + text_of(inside[n].type) + " [ " + before[n].name + ", %" + into +
             " ], [ " + values_[n].name + ", %" + block_ + " ]");
    text_ += body;
    begin(done);
  }

  void ways(unsigned depth) {
    static constexpr std::array kFirst = {0u, 1u, 100u, 0x7ffffff0u};
    const unsigned least = kFirst[below(4)];
    const std::string both = label(), others = happens(50) ? both : label(), from = block_;
    const Values before = values_;
    std::string number = made("and i64 " + any(FlowType::long_word) + ", 15");
    number = made("add i64 " + number + ", " + std::to_string(least));
    const bool is_short = happens(40);
    if (is_short) number = made("trunc i64 " + number + " to i32");
    const std::string type = is_short ? "i32 " : "i64 ";
    std::string text = "switch " + type + number + ", label %" + others + " [ ";
    std::vector<std::string> blocks;
    std::vector<std::pair<std::string, Values>> ends;
    if (others == both) ends.emplace_back(block_, values_);
    for (unsigned n = 0; n < 12; ++n) {
      if (happens(30)) continue;
      std::string to = label();
      if (happens(10))
        ends.emplace_back(block_, values_), to = both;
      else if (!blocks.empty() && happens(20))
        to = blocks[below(static_cast<unsigned>(blocks.size()))];
      else
        blocks.push_back(to);
      text += type + std::to_string(least + n) + ", label %" + to + " ";
    }
    line(text + "]");
    if (others != both) blocks.push_back(others);
    for (const std::string& block : blocks) {
      begin(block);
      values_ = before;
      statements(1 + below(2), depth > 0 ? depth - 1 : 0);
      ends.emplace_back(block_, values_);
      line("br label %" + both);
    }
    begin(both);
    meet(before, ends);
  }

  void store_all() {
    unsigned at = 0;
    for (const Value& value : values_) {
      constexpr std::array<unsigned, 6> kBytes = {8, 4, 64, 64, 2, 1};
      const std::string to = made("getelementptr i8, ptr %out, i64 " + std::to_string(at));
      line(std::string("store ") + text_of(value.type) + " " + value.name + ", ptr " + to + ", align 1");
      at += kBytes[static_cast<unsigned>(value.type)];
    }
    std::string sum = "0";
    for (unsigned n = 0; n < 16; ++n) {
      const std::string at_n = made("getelementptr i64, ptr %array, i64 " + std::to_string(n));
      const std::string times = made("mul i64 " + sum + ", 3");
      sum = made("xor i64 " + times + ", " + made("load i64, ptr " + at_n));
    }
    line("store i64 " + sum + ", ptr " + made("getelementptr i8, ptr %out, i64 1016"));
  }

  std::minstd_rand random_;
  std::string text_, block_;
  Values values_;
  unsigned names_ = 0;
};

class BaselineFlows : public Baseline {};

TEST_F(BaselineFlows, RandomFunctions) {
  const char* wanted = std::getenv("RADDLE_TEST_FLOWS");
  const char* from = std::getenv("RADDLE_TEST_FLOWS_FROM");
  const unsigned begin = from ? static_cast<unsigned>(std::atoi(from)) : 1;
  const unsigned count = wanted ? static_cast<unsigned>(std::atoi(wanted)) : 20;
  for (unsigned seed = begin; seed < begin + count; ++seed) {
    SCOPED_TRACE(seed);
    expect_same(FlowWriter(seed).write() + "!0 = !{!\"branch_weights\", i32 1, i32 2000}\n");
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace raddle::jit
