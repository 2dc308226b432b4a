// Programs as PTX text: a prologue that fills the register pool, the statements, an epilogue that stores the
// pool.
#include "diff/program.h"

#include <fmt/format.h>

namespace raddle::diff {
namespace {

using isa::Type;

/// Labels of the loops around the statement being written, innermost last.
struct Loop {
  std::string next, end;
};

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}
  std::string write();

 private:
  void line(const std::string& text) { (text_ += text) += '\n'; }
  void prologue();
  void epilogue();
  void nodes(const std::vector<Node>& list) {
    for (const Node& n : list) node(n);
  }
  void node(const Node& n);
  void branch(const Node& n);
  void loop(const Node& n);
  void selection(const Node& n);
  void leave(const Node& n);

  const Program& program_;
  std::string text_;
  std::vector<Loop> loops_;
  unsigned labels_ = 0;
};

std::string negated(const std::string& guard) {
  return guard.starts_with('!') ? guard.substr(1) : "!" + guard;
}

void Writer::branch(const Node& n) {
  unsigned id = labels_++;
  bool has_else = !n.parts[1].empty();
  line(fmt::format("@{} bra {}{};", negated(n.guard), has_else ? "ELSE" : "FI", id));
  nodes(n.parts[0]);
  if (has_else) {
    line(fmt::format("bra FI{};\nELSE{}:", id, id));
    nodes(n.parts[1]);
  }
  line(fmt::format("FI{}:", id));
}

void Writer::loop(const Node& n) {
  unsigned id = labels_++;
  loops_.push_back({fmt::format("NEXT{}", id), fmt::format("DONE{}", id)});
  line(fmt::format(
      "{{\n.reg .pred %done;\n.reg .u32 %trip{}, %trips;\nmov.u32 %trip{}, 0;\nmov.b32 %trips, {};", id, id,
      n.count));
  line(fmt::format("LOOP{}:", id));
  std::string test = fmt::format("setp.ge.u32 %done, %trip{}, %trips;\n", id);
  if (!n.flag) line(test + fmt::format("@%done bra DONE{};", id));
  nodes(n.parts[0]);
  line(fmt::format("NEXT{}:\nadd.u32 %trip{}, %trip{}, 1;", id, id, id));
  line(n.flag ? test + fmt::format("@!%done bra LOOP{};", id) : fmt::format("bra LOOP{};", id));
  line(fmt::format("DONE{}:\n}}", id));
  loops_.pop_back();
}

void Writer::selection(const Node& n) {
  unsigned id = labels_++;
  std::string targets;
  for (std::size_t i = 0; i < n.parts.size(); ++i)
    targets += fmt::format("{}CASE{}_{}", i ? ", " : "", id, i);
  line(fmt::format("{{\n.reg .u32 %case;\nrem.u32 %case, {}, {};", n.count, n.parts.size()));
  line(fmt::format("TABLE{}: .branchtargets {};\nbrx.idx %case, TABLE{};", id, targets, id));
  for (std::size_t i = 0; i < n.parts.size(); ++i) {
    line(fmt::format("CASE{}_{}:", id, i));
    nodes(n.parts[i]);
    if (!n.flag) line(fmt::format("bra FI{};", id));
  }
  line(fmt::format("FI{}:\n}}", id));
}

/// A jump whose loop was cut away is nothing.
void Writer::leave(const Node& n) {
  if (loops_.empty() || n.levels > loops_.size()) return;
  const Loop& loop = loops_[loops_.size() - (n.levels ? n.levels : 1)];
  line(fmt::format("@{} bra {};", n.guard, n.levels ? loop.end : loop.next));
}

void Writer::node(const Node& n) {
  for (const std::string& text : n.text) line(text);
  switch (n.kind) {
    case Node::Kind::lines:
      return;
    case Node::Kind::branch:
      return branch(n);
    case Node::Kind::loop:
      return loop(n);
    case Node::Kind::selection:
      return selection(n);
    case Node::Kind::leave:
      return leave(n);
    case Node::Kind::finish:
      return line(fmt::format("@{} {};", n.guard, n.flag ? "exit" : "bra STORE"));
  }
}

void Writer::prologue() {
  exec::BlockShape b = program_.block;
  unsigned threads = thread_count(b);
  std::string slots;
  for (const Register& r : register_pool()) slots += fmt::format(" {}", type_name(r.type));
  line(fmt::format("// diff: profile={} seed={} block={}x{}x{}\n// slots:{}", program_.profile, program_.seed,
                   b.x, b.y, b.z, slots));
  line(".version 8.7\n.target sm_90a\n.address_size 64");
  text_ += ".const .align 64 .b8 table[256] = {";
  for (unsigned i = 0; i < 256; ++i)
    text_ += fmt::format("{}{}", i ? "," : "", (i * 167 + (i >> 3) * 29 + 5) & 255);
  line("};");
  line(
      ".visible .entry test(.param .u64 out, .param .u64 in, .param .u64 memory, .param .u32 uniform, "
      ".param .align 64 .b8 block[64])\n{");
  for (const Register& r : register_pool()) line(fmt::format(".reg .{} {};", type_name(r.type), r.name));
  line(
      ".reg .b64 %out, %in, %global, %const, %local, %generic_shared, %generic_local, %at64;\n"
      ".reg .b32 %thread, %members, %uniform, %shared, %exchange, %at32, %t0, %t1, %byte;\n"
      ".reg .b16 %n0, %n1;\n.reg .pred %q0, %q1;");
  line(
      fmt::format(".shared .align 64 .b8 shared_slots[{}];\n.shared .align 16 .b8 exchange[{}];\n.local "
                  ".align 64 .b8 local_slots[64];",
                  threads * kSlotBytes, threads * 8));
  line("mov.u32 %thread, %tid.x;");
  if (b.y > 1) line("mov.u32 %t0, %tid.y; mov.u32 %t1, %ntid.x; mad.lo.u32 %thread, %t0, %t1, %thread;");
  if (b.z > 1)
    line(
        "mov.u32 %t0, %ntid.x; mov.u32 %t1, %ntid.y; mul.lo.u32 %t0, %t0, %t1; mov.u32 %t1, %tid.z; "
        "mad.lo.u32 %thread, %t0, %t1, %thread;");
  line(
      "ld.param.b32 %uniform, [uniform];\nld.param.b64 %out, [out];\nld.param.b64 %in, [in];\nld.param.b64 "
      "%global, [memory];\n"
      "mad.wide.u32 %out, %thread, 8, %out;\nmad.wide.u32 %in, %thread, 8, %in;\nmad.wide.u32 %global, "
      "%thread, 64, %global;\n"
      "mov.u64 %const, table;\nmov.u64 %local, local_slots;\ncvta.local.u64 %generic_local, %local;\n"
      "mov.u32 %shared, shared_slots;\nmad.lo.u32 %shared, %thread, 64, %shared;\n"
      "cvt.u64.u32 %generic_shared, %shared;\ncvta.shared.u64 %generic_shared, %generic_shared;\n"
      "mov.u32 %exchange, exchange;");
  line(fmt::format(
      "shr.u32 %t0, %thread, 5; shl.b32 %t0, %t0, 5; sub.u32 %t0, {}, %t0; min.u32 %t0, %t0, 32;\n"
      "shl.b32 %members, 1, %t0; sub.u32 %members, %members, 1;",
      threads));
  unsigned slot = 0;
  for (const Register& r : register_pool()) {
    unsigned offset = slot++ * 8 * threads;
    if (r.type == Type::pred)
      line(fmt::format("ld.global.u8 %byte, [%in+{}]; and.b32 %byte, %byte, 1; setp.ne.u32 {}, %byte, 0;",
                       offset, r.name));
    else
      line(fmt::format("ld.global.b{} {}, [%in+{}];", isa::bit_size(r.type), r.name, offset));
  }
}

void Writer::epilogue() {
  line("STORE:");
  unsigned slot = 0, threads = thread_count(program_.block);
  for (const Register& r : register_pool()) {
    unsigned offset = slot++ * 8 * threads;
    if (r.type == Type::pred)
      line(fmt::format("selp.b32 %byte, 1, 0, {}; st.global.b32 [%out+{}], %byte;", r.name, offset));
    else
      line(fmt::format("st.global.b{} [%out+{}], {};", isa::bit_size(r.type), offset, r.name));
  }
  line("ret;\n}");
}

std::string Writer::write() {
  prologue();
  nodes(program_.body);
  epilogue();
  return std::move(text_);
}

std::vector<Register> make_pool() {
  std::vector<Register> pool;
  auto add = [&](Type type, const char* letter, unsigned count) {
    for (unsigned i = 0; i < count; ++i) pool.push_back({fmt::format("%{}{}", letter, i), type});
  };
  add(Type::b16, "h", 4);
  add(Type::u16, "w", 2);
  add(Type::b32, "r", 6);
  add(Type::u32, "u", 3);
  add(Type::s32, "s", 2);
  add(Type::f32, "f", 4);
  add(Type::b64, "l", 4);
  add(Type::s64, "k", 2);
  add(Type::f64, "d", 3);
  add(Type::pred, "p", 5);
  return pool;
}

}  // namespace

const std::vector<Register>& register_pool() {
  static const std::vector<Register> pool = make_pool();
  return pool;
}

unsigned thread_count(exec::BlockShape block) { return block.x * block.y * block.z; }

unsigned statement_count(const std::vector<Node>& nodes) {
  unsigned count = 0;
  for (const Node& n : nodes) {
    ++count;
    for (const auto& part : n.parts) count += statement_count(part);
  }
  return count;
}

std::string render(const Program& program) { return Writer(program).write(); }

}  // namespace raddle::diff
