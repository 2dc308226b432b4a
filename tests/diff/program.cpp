// Programs as PTX text: a prologue that fills the register pool, the statements, an epilogue that stores the
// pool.
#include "diff/program.h"

#include <fmt/format.h>

#include <utility>

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
  void head();
  void function(const Function& f, std::size_t index);
  void fill_from_mix(const Register& r, std::size_t number);
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
  void critical(const Node& n);

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

/// A lane that waits must not keep the one that holds the lock from giving it back.
void Writer::critical(const Node& n) {
  unsigned id = labels_++;
  line(
      fmt::format("{{\n.reg .pred %taken;\n.reg .b32 %lock;\nWAIT{}:\natom.acquire.cta.shared.cas.b32 %lock, "
                  "[lock], 0, 1; "
                  "setp.ne.u32 %taken, %lock, 0;\n@%taken bra WAIT{};",
                  id, id));
  nodes(n.parts[0]);
  line("atom.release.cta.shared.exch.b32 %lock, [lock], 0;\n}");
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
    case Node::Kind::group:
      return nodes(n.parts[0]);
    case Node::Kind::critical:
      return critical(n);
    case Node::Kind::finish:
      return line(fmt::format("@{} {};", n.guard, n.flag ? "exit" : "bra STORE"));
  }
}

/// What statements may use beside the pool.
constexpr const char* kHelpers =
    ".reg .b32 %uniform, %t0, %t1, %byte, %old32;\n.reg .b64 %wide0, %wide1, %old64;\n.reg .b16 %n0, %n1;\n"
    ".reg .f32 %sum32;\n.reg .f64 %sum64;\n.reg .b64 %pointer;\n.reg .b32 %depth;\n.reg .pred %q0, %q1;";

/// Fills a register from %wide0, which the parameters made, and its number: whatever the shrinker cuts, the
/// others keep their values.
void Writer::fill_from_mix(const Register& r, std::size_t number) {
  line(fmt::format("mad.lo.u64 %wide1, %wide0, 6364136223846793005, {}; shr.u64 %wide1, %wide1, 13;",
                   0x5851f42d4c957f2dull * (2 * number + 1) >> 1));
  switch (r.type == Type::pred ? 1 : isa::bit_size(r.type)) {
    case 1:
      return line(fmt::format("and.b64 %wide1, %wide1, 1; setp.ne.u64 {}, %wide1, 0;", r.name));
    case 16:
      return line(fmt::format("cvt.u16.u64 %n0, %wide1; mov.b16 {}, %n0;", r.name));
    case 32:
      return line(fmt::format("cvt.u32.u64 %t0, %wide1; mov.b32 {}, %t0;", r.name));
    case 64:
      return line(fmt::format("mov.b64 {}, %wide1;", r.name));
    default:
      return line(fmt::format("mov.b128 {}, {{%wide0, %wide1}};", r.name));
  }
}

/// Loads parameter `name` into %wide1 (16 bytes: folded).
std::string load_parameter(Type type, const std::string& name) {
  switch (type) {
    case Type::b8:
      return fmt::format("ld.param.u8 %byte, [{}]; cvt.u64.u32 %wide1, %byte;", name);
    case Type::b16:
      return fmt::format("ld.param.b16 %n0, [{}]; cvt.u64.u16 %wide1, %n0;", name);
    case Type::b32:
      return fmt::format("ld.param.b32 %t0, [{}]; cvt.u64.u32 %wide1, %t0;", name);
    case Type::f32:
      return fmt::format("ld.param.f32 %sum32, [{}]; mov.b32 %t0, %sum32; cvt.u64.u32 %wide1, %t0;", name);
    case Type::f64:
      return fmt::format("ld.param.f64 %sum64, [{}]; mov.b64 %wide1, %sum64;", name);
    case Type::b128:
      return fmt::format(
          "ld.param.b64 %wide1, [{0}]; ld.param.b64 %old64, [{0}+8]; shr.u64 %old64, %old64, 1; "
          "xor.b64 %wide1, %wide1, %old64;",
          name);
    default:
      return fmt::format("ld.param.b64 %wide1, [{}];", name);
  }
}

void Writer::function(const Function& f, std::size_t index) {
  std::string parameters = f.recursive ? ".param .b32 depth" : "";
  for (std::size_t i = 0; i < f.parameters.size(); ++i)
    parameters += fmt::format("{}.param {}", parameters.empty() ? "" : ", ",
                              parameter_text(f.parameters[i], fmt::format("p{}", i)));
  line(fmt::format(".func (.param {}) {}({})\n{{", parameter_text(f.result, "result"), function_name(index),
                   parameters));
  for (const Register& r : register_pool()) line(fmt::format(".reg .{} {};", type_name(r.type), r.name));
  line(kHelpers);
  line(fmt::format("mov.b64 %wide0, {};\nmov.b32 %uniform, {};", 77 + index, 0x5a + index));
  if (f.recursive)
    line("ld.param.b32 %depth, [depth]; cvt.u64.u32 %wide1, %depth; add.u64 %wide0, %wide0, %wide1;");
  for (std::size_t i = 0; i < f.parameters.size(); ++i)
    line(load_parameter(f.parameters[i], fmt::format("p{}", i)) +
         " mad.lo.u64 %wide0, %wide0, 3202034522624059733, %wide1;");
  std::string head = std::exchange(text_, {});
  nodes(f.body);
  std::string body = std::exchange(text_, std::move(head));
  const auto& pool = register_pool();
  for (std::size_t i = 0; i < pool.size(); ++i)  // only slots that it names: code takes time to compile
    if (pool[i].name == f.returned || body.find(pool[i].name) != std::string::npos) fill_from_mix(pool[i], i);
  text_ += body;
  line("STORE:");
  if (f.result == Type::b128)
    line(fmt::format(
        "mov.b128 {{%wide0, %wide1}}, {}; st.param.b64 [result], %wide0; st.param.b64 [result+8], %wide1;",
        f.returned));
  else
    line(fmt::format("st.param.{} [result], {};", type_name(f.result), f.returned));
  line("ret;\n}");
}

void Writer::head() {
  exec::BlockShape b = program_.block;
  std::string slots;
  for (const Register& r : register_pool())  // 16 bytes are two slots
    slots += fmt::format(" {}", r.type == Type::b128 ? "b64 b64" : std::string(type_name(r.type)));
  line(fmt::format("// diff: profile={} seed={} block={}x{}x{}\n// slots:{}", program_.profile, program_.seed,
                   b.x, b.y, b.z, slots));
  line(".version 8.7\n.target sm_90a\n.address_size 64");
}

void Writer::prologue() {
  exec::BlockShape b = program_.block;
  unsigned threads = thread_count(b);
  text_ += ".const .align 64 .b8 table[256] = {";
  for (unsigned i = 0; i < 256; ++i)
    text_ += fmt::format("{}{}", i ? "," : "", (i * 167 + (i >> 3) * 29 + 5) & 255);
  line("};");
  text_ += ".global .align 16 .b8 totals[16];\n.global .align 64 .b8 constants[256] = {";
  for (unsigned i = 0; i < 256; ++i)
    text_ += fmt::format("{}{}", i ? "," : "", (i * 89 + (i >> 4) * 51 + 3) & 255);
  line("};");
  line(
      ".visible .entry test(.param .u64 out, .param .u64 in, .param .u64 memory, .param .u32 uniform, "
      ".param .align 64 .b8 block[64])\n{");
  for (const Register& r : register_pool()) line(fmt::format(".reg .{} {};", type_name(r.type), r.name));
  line(
      ".reg .b64 %out, %in, %global, %const, %local, %generic_shared, %generic_local, %at64, %readonly;\n"
      ".reg .b32 %thread, %members, %subset, %others, %shared, %exchange, %at32;");
  line(kHelpers);
  line(
      fmt::format(".shared .align 64 .b8 shared_slots[{}];\n.shared .align 16 .b8 exchange[{}];\n.shared "
                  ".align 16 .b8 sums[16];\n.shared .b32 lock;\n.shared .b32 guarded;\n.local "
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
      "mov.u64 %const, table;\nmov.u64 %readonly, constants;\nmov.u64 %local, local_slots;\ncvta.local.u64 "
      "%generic_local, %local;\n"
      "mov.u32 %shared, shared_slots;\nmad.lo.u32 %shared, %thread, 64, %shared;\n"
      "cvt.u64.u32 %generic_shared, %shared;\ncvta.shared.u64 %generic_shared, %generic_shared;\n"
      "mov.u32 %exchange, exchange;");
  line(fmt::format(
      "shr.u32 %t0, %thread, 5; shl.b32 %t0, %t0, 5; sub.u32 %t0, {}, %t0; min.u32 %t0, %t0, 32;\n"
      "shl.b32 %members, 1, %t0; sub.u32 %members, %members, 1;",
      threads));
  // Cells of threads that exit before the first exchange are read as well.
  line(
      "shl.b32 %t0, %thread, 3; add.u32 %t0, %t0, %exchange; cvt.u64.u32 %wide0, %thread;\n"
      "st.shared.b64 [%t0], %wide0;\nsetp.eq.u32 %q0, %thread, 0; @%q0 st.shared.b32 [lock], 0; @%q0 "
      "st.shared.b32 "
      "[guarded], 7;\nbar.sync 0;");
  unsigned slot = 0;
  for (const Register& r : register_pool()) {
    unsigned offset = slot++ * 8 * threads;
    if (r.type == Type::b128)
      line(fmt::format(
          "ld.global.b64 %wide0, [%in+{}]; ld.global.b64 %wide1, [%in+{}]; mov.b128 {}, {{%wide0, %wide1}};",
          offset, slot++ * 8 * threads, r.name));
    else if (r.type == Type::pred)
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
    if (r.type == Type::b128)
      line(
          fmt::format("mov.b128 {{%wide0, %wide1}}, {}; st.global.b64 [%out+{}], %wide0; st.global.b64 "
                      "[%out+{}], %wide1;",
                      r.name, offset, slot++ * 8 * threads));
    else if (r.type == Type::pred)
      line(fmt::format("selp.b32 %byte, 1, 0, {}; st.global.b32 [%out+{}], %byte;", r.name, offset));
    else
      line(fmt::format("st.global.b{} [%out+{}], {};", isa::bit_size(r.type), offset, r.name));
  }
  line("ret;\n}");
}

std::string Writer::write() {
  nodes(program_.body);
  std::string body = std::exchange(text_, {});
  // The shrinker may have cut the calls of a function: then it is cut as well. A function calls only earlier
  // ones.
  std::vector<std::string> functions(program_.functions.size());
  std::string callers = body;
  for (std::size_t i = functions.size(); i-- > 0;) {
    if (callers.find(function_name(i)) == std::string::npos) continue;
    function(program_.functions[i], i);
    functions[i] = std::exchange(text_, {});
    callers += functions[i];
  }
  head();
  for (const std::string& f : functions) text_ += f;
  prologue();
  text_ += body;
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
  add(Type::b128, "z", 2);
  return pool;
}

}  // namespace

const std::vector<Register>& register_pool() {
  static const std::vector<Register> pool = make_pool();
  return pool;
}

std::vector<Type> passed_types(const Function& f) {
  std::vector<Type> types = f.parameters;
  if (f.recursive) types.insert(types.begin(), Type::b32);
  return types;
}

std::string function_name(std::size_t index) { return fmt::format("fn{}", index); }

std::string parameter_text(isa::Type type, const std::string& name) {
  if (type == isa::Type::b128) return fmt::format(".align 16 .b8 {}[16]", name);
  return fmt::format(".{} {}", type_name(type), name);
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
