// Approximate functions of one f32 (quotients: with the other operand fixed) against the errors that their
// rows state (PTX ISA, each function's table), on every engine: each 8191st bit pattern by default, all 2^32
// with --step 1. The truth is the host's libm in double. Rows are found by their columns; a new one without a
// function below fails.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>

#include "isa/enumerate.h"
#include "isa/harness/engines.h"

namespace raddle::testing {
namespace {

constexpr unsigned kThreads = 256, kChunk = 1u << 18;
constexpr double kSmallestNormal = 0x1p-126, kSmallest = 0x1p-149, kOverflow = 0x1p128;

using Function = double (*)(double);

constexpr double kFixed = 1.5;  ///< the operand of a quotient that is not swept

/// A function of one f32 under its operands' text: %x is swept, %fixed is kFixed.
Function truth_of(std::string_view mnemonic, std::string_view operands) {
  if (mnemonic == "div" && operands == "%fixed, %x") return [](double x) { return kFixed / x; };
  if (mnemonic == "div" && operands == "%x, %fixed") return [](double x) { return x / kFixed; };
  static const std::map<std::string_view, Function> kFunctions = {
      {"ex2", [](double x) { return std::exp2(x); }},  {"lg2", [](double x) { return std::log2(x); }},
      {"sin", [](double x) { return std::sin(x); }},   {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }}, {"rcp", [](double x) { return 1 / x; }},
      {"sqrt", [](double x) { return std::sqrt(x); }}, {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
  };
  auto found = kFunctions.find(mnemonic);
  return found == kFunctions.end() || operands != "%x" ? nullptr : found->second;
}

std::string kernel_text(std::string_view opcode, std::string_view operands) {
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry test(.param .u64 out, .param .u32 first, .param .u32 step, .param .u32 count)
{{
  .reg .b64 %out, %at;
  .reg .b32 %i, %first, %step, %count, %bits;
  .reg .f32 %x, %y, %fixed;
  .reg .pred %more;
  ld.param.u64 %out, [out];
  ld.param.u32 %first, [first];
  ld.param.u32 %step, [step];
  ld.param.u32 %count, [count];
  mov.u32 %i, %tid.x;
  mov.f32 %fixed, 0f{:08X};
MORE:
  mad.lo.u32 %bits, %i, %step, %first;
  mov.b32 %x, %bits;
  {} %y, {};
  mad.wide.u32 %at, %i, 4, %out;
  st.global.f32 [%at], %y;
  add.u32 %i, %i, {};
  setp.lt.u32 %more, %i, %count;
  @%more bra MORE;
  ret;
}}
)",
                     std::bit_cast<std::uint32_t>(static_cast<float>(kFixed)), opcode, operands, kThreads);
}

/// What one engine's results amount to.
struct Measured {
  double relative = 0, absolute = 0;  ///< largest errors where the row states each kind
  std::uint64_t wrong = 0;
  std::uint32_t first_wrong = 0;
};

/// Which error a row states for an input, from its note.
enum class Kind { relative, absolute, open };
Kind kind_at(const isa::Row& row, double x) {
  std::string_view note = row.text->note;
  if (!note.starts_with("absolute")) return Kind::relative;
  if (note.find("[-2 pi, 2 pi]") != note.npos) return std::fabs(x) <= 2 * M_PI ? Kind::absolute : Kind::open;
  return x > 0.5 && x < 2 ? Kind::absolute : Kind::relative;
}

bool is_right(const isa::Row& row, double x, double y, double t, bool flushes, Measured& m) {
  if (std::isnan(t)) return std::isnan(y);
  if (std::isnan(y)) return false;
  Kind kind = kind_at(row, x);
  if (kind == Kind::open) return std::fabs(y) <= 1.0 + row.text->error;
  double error = std::fabs(y - t), bound = row.text->error;
  if (std::fabs(t) >= kOverflow) return std::isinf(y) && std::signbit(y) == std::signbit(t);
  if (std::isinf(y)) return std::fabs(t) * (1 + bound) >= kOverflow * (1 - 0x1p-25);
  if (t == 0) return y == 0;
  if (kind == Kind::absolute) {
    m.absolute = std::max(m.absolute, error);
    return error <= bound;
  }
  if (std::fabs(t) < kSmallestNormal)
    return error <= std::max(2 * kSmallest, bound * std::fabs(t)) || (flushes && y == 0);
  m.relative = std::max(m.relative, error / std::fabs(t));
  return error <= bound * std::fabs(t);
}

struct Options {
  std::uint32_t step = 8191;
  std::string engines = "all", row, opcode;
};

class Sweep {
 public:
  Sweep(const isa::Opcode& opcode, std::string_view operands, const std::vector<NamedEngine>& engines)
      : row_(*opcode.row),
        opcode_(opcode),
        operands_(operands),
        truth_(truth_of(row_.mnemonic, operands)),
        zero_above_(opcode.has(isa::Mod::approx) && operands == "%fixed, %x" ? 0x1p126 : HUGE_VAL),
        engines_(engines),
        measured_(engines.size()) {}

  /// @returns whether every result was within the row's error
  bool run(std::uint32_t step) {
    if (!truth_) return fail("the test knows no such function");
    auto kernel =
        CompiledKernel::create(kernel_text(opcode_.text, operands_), "test", engines_, {kThreads, 1, 1});
    if (!kernel.ok()) return fail(kernel.error().message);
    std::uint64_t total = ((std::uint64_t{1} << 32) + step - 1) / step;
    for (std::uint64_t done = 0; done < total; done += kChunk) {
      auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(kChunk, total - done));
      if (!chunk(*kernel, static_cast<std::uint32_t>(done * step), step, count)) return false;
    }
    return report();
  }

 private:
  bool fail(const std::string& why) {
    fmt::print("not ok - {} {}: {}\n", opcode_.text, operands_, why);
    return false;
  }

  bool chunk(const CompiledKernel& kernel, std::uint32_t first, std::uint32_t step, std::uint32_t count) {
    bool flushes = opcode_.has(isa::Mod::ftz);
    inputs_.resize(count), truths_.resize(count), results_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      double x = std::bit_cast<float>(first + i * step);
      if (flushes && std::fabs(x) < kSmallestNormal) x = std::copysign(0.0, x);
      // Where only the size of the result is stated, there is no need for the exact one.
      const bool is_open = kind_at(row_, x) == Kind::open && std::isfinite(x);
      inputs_[i] = x, truths_[i] = is_open || std::fabs(x) > zero_above_ ? 0 : truth_(x);
    }
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      if (!kernel.compile_error(e).empty()) return fail(kernel.compile_error(e));
      Outcome outcome = kernel.run(e, {argument(reinterpret_cast<std::uintptr_t>(results_.data())),
                                       argument(first), argument(step), argument(count)});
      if (!outcome.ok()) return fail(engines_[e].name + ": " + outcome.problem);
      for (std::uint32_t i = 0; i < count; ++i) {
        Measured& m = measured_[e];
        if (is_right(row_, inputs_[i], results_[i], truths_[i], flushes, m)) continue;
        if (m.wrong++ == 0)
          m.first_wrong = first + i * step, wrong_result_ = results_[i], wrong_truth_ = truths_[i];
      }
    }
    return true;
  }

  bool report() {
    bool good = true;
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const Measured& m = measured_[e];
      fmt::print("# {} {} {}: relative 2^{:.2f}, absolute 2^{:.2f}, stated 2^{:.2f}\n", opcode_.text,
                 operands_, engines_[e].name, std::log2(m.relative), std::log2(m.absolute),
                 std::log2(row_.text->error));
      if (m.wrong != 0)
        good = fail(fmt::format("{}: {} results beyond the row's error, first of {:#x}: {:.9g}, not {:.9g}",
                                engines_[e].name, m.wrong, m.first_wrong, wrong_result_, wrong_truth_));
    }
    if (good) fmt::print("ok - {} {}\n", opcode_.text, operands_);
    std::fflush(stdout);
    return good;
  }

  const isa::Row& row_;
  const isa::Opcode& opcode_;
  std::string_view operands_;
  Function truth_;
  double zero_above_;  ///< div.approx: the result is zero for divisors beyond
  const std::vector<NamedEngine>& engines_;
  std::vector<Measured> measured_;
  std::vector<double> inputs_, truths_;
  std::vector<float> results_;
  double wrong_result_ = 0, wrong_truth_ = 0;
};

/// How to sweep an approximate function of f32: its operands' text; nothing for other instructions.
std::vector<std::string_view> sweeps_of(const isa::Opcode& opcode, const Options& options) {
  const isa::Row& row = *opcode.row;
  if (row.text->status != isa::Status::done || row.text->numerics != isa::Numerics::approx) return {};
  if (!options.row.empty() && row.id != options.row) return {};
  if (!options.opcode.empty() && opcode.text != options.opcode) return {};
  for (const isa::OperandSpec& operand : row.operands)
    if (opcode.operand_type(operand) != isa::Type::f32) return {};
  if (row.operands.size() == 2) return {"%x"};
  return {"%fixed, %x", "%x, %fixed"};
}

int run(const Options& options) {
  auto engines = make_engines(options.engines);
  if (!engines.ok()) return fmt::print("{}\n", engines.error().message), 1;
  bool good = true;
  for (const isa::Row& row : isa::rows())
    for (const std::string& text : isa::all_spellings(row, 1000)) {
      auto opcode = isa::resolve(text);
      if (!opcode.ok() || (*opcode)->row != &row) continue;
      for (std::string_view operands : sweeps_of(**opcode, options))
        good = Sweep(**opcode, operands, *engines).run(options.step) && good;
    }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace raddle::testing

int main(int argc, char** argv) {
  raddle::testing::Options options;
  for (int k = 1; k + 1 < argc; k += 2) {
    std::string_view name = argv[k];
    if (name == "--step") options.step = static_cast<std::uint32_t>(std::atoi(argv[k + 1]));
    if (name == "--engines") options.engines = argv[k + 1];
    if (name == "--row") options.row = argv[k + 1];
    if (name == "--opcode") options.opcode = argv[k + 1];
  }
  if (argc % 2 == 0 || options.step == 0) {
    fmt::print("test_approximate [--step N] [--engines LIST] [--row ID] [--opcode TEXT]\n");
    return 2;
  }
  return raddle::testing::run(options);
}
