// Structure of random programs. Every read has one defined value: warp operations stand where all lanes of
// the warp are together, memory is private to a thread or exchanged between barriers, and every loop counts
// its trips. Functions call only those made before them, so that no recursion arises.
#include "diff/generator.h"

#include <fmt/format.h>

#include "diff/instructions.h"

namespace raddle::diff {
namespace {

using isa::Type;

constexpr exec::BlockShape kShapes[] = {{32, 1, 1}, {48, 1, 1}, {64, 1, 1}, {16, 4, 1}, {7, 5, 3}};
constexpr unsigned kMaxDepth = 3;

/// What surrounds the statement being made.
struct Context {
  unsigned depth = 0;
  unsigned loops =
      0;  ///< loops that a jump may leave: those inside the innermost part all threads run together
  bool together = true;  ///< all threads that still run get here together
  bool repeats = false;  ///< inside a loop that all threads run together: no lane may be lost in it
};

class Generator {
 public:
  Generator(Profile profile, std::uint64_t seed)
      : profile_(profile),
        random_(seed * 4 + static_cast<unsigned>(profile)),
        block_(kShapes[random_.below(5)]),
        source_(random_, block_) {}

  std::vector<Function> functions();
  std::vector<Node> body();
  exec::BlockShape block() const { return block_; }

 private:
  std::vector<Node> list(unsigned count, const Context& context);
  Node node(const Context& context);
  Node simple(const Context& context);
  Node branch(Context context);
  Node loop(Context context);
  Node selection(Context context);
  Node jump(const Context& context);
  Node exchange();
  Node call();
  Node warps_leave();
  Node compare_first(Node::Kind kind);
  bool may_finish(const Context& context) const { return second_half_ && !context.repeats; }

  Profile profile_;
  Random random_;
  exec::BlockShape block_;
  InstructionSource source_;
  bool lanes_left_ =
      false;  ///< some lanes may have gone ahead or exited: warp operations and (aligned) barriers are over
  bool second_half_ = false;
  bool in_function_ = false;
  std::vector<Function> functions_;  ///< that may be called by now
};

/// One of the types that parameters and results are drawn from.
Type parameter_type(Random& random, bool result) {
  constexpr Type kTypes[] = {Type::b32, Type::b64, Type::f32, Type::f64, Type::b16, Type::b128, Type::b8};
  return kTypes[random.below(result ? 6 : 7)];  // a byte is returned as a wider integer
}

/// Passes registers to a function and takes its result.
Node Generator::call() {
  Node n;
  const std::size_t index = random_.below(static_cast<unsigned>(functions_.size()));
  const Function& f = functions_[index];
  std::string declared = "{\n.param " + parameter_text(f.result, "got") + ";", stored, passed;
  for (std::size_t i = 0; i < f.parameters.size(); ++i) {
    const Type type = f.parameters[i];
    const std::string name = fmt::format("a{}", i);
    declared += " .param " + parameter_text(type, name) + ";";
    if (type == Type::b128)
      stored += fmt::format(
          "mov.b128 {{%wide0, %wide1}}, {0}; st.param.b64 [{1}], %wide0; st.param.b64 [{1}+8], "
          "%wide1;\n",
          source_.source_register(type), name);
    else
      stored += fmt::format("st.param.{} [{}], {};\n", type_name(type), name,
                            source_.source_register(type == Type::b8 ? Type::b16 : type));
    passed += (i ? ", " : "") + name;
  }
  const std::string result = source_.source_register(f.result);
  n.text = {declared, stored + fmt::format("call (got), {}{};", function_name(index),
                                           passed.empty() ? "" : ", (" + passed + ")")};
  if (f.result == Type::b128)
    n.text.push_back(
        fmt::format("ld.param.b64 %wide0, [got]; ld.param.b64 %wide1, [got+8]; mov.b128 {}, {{%wide0, "
                    "%wide1}};",
                    result));
  else
    n.text.push_back(fmt::format("ld.param.{} {}, [got];", type_name(f.result), result));
  n.text.push_back("}");
  return n;
}

/// A whole warp goes: those that stay still meet at warp operations and at barriers.
Node Generator::warps_leave() {
  Node n;
  n.kind = Node::Kind::finish;
  n.guard = source_.source_register(Type::pred);
  n.text = {"shr.u32 %t0, %thread, 5;", fmt::format("setp.eq.u32 {}, %t0, {};", n.guard,
                                                    random_.below((thread_count(block_) + 31) / 32))};
  n.flag = random_.chance(50);
  return n;
}

/// Threads pass 8 bytes to each other: everyone writes its own cell, and reads another's between two
/// barriers.
Node Generator::exchange() {
  Node n;
  unsigned threads = thread_count(block_);
  bool wide = random_.chance(40);
  Type type = wide ? Type::b64 : Type::b32;
  std::string name(type_name(type));
  n.text = {fmt::format("shl.b32 %t0, %thread, 3; add.u32 %t0, %t0, %exchange; st.shared.{} [%t0], {};", name,
                        source_.source_register(type)),
            "bar.sync 0;",
            fmt::format("add.u32 %t1, %thread, {}; rem.u32 %t1, %t1, {}; mad.lo.u32 %t1, %t1, 8, %exchange;",
                        random_.below(threads), threads),
            fmt::format("ld.shared.{} {}, [%t1];", name, source_.source_register(type)), "bar.sync 0;"};
  return n;
}

Node Generator::simple(const Context& context) {
  Node n;
  bool memory = profile_ == Profile::memory;
  unsigned dice = random_.below(100);
  if (!functions_.empty() && random_.chance(6)) return call();
  if (in_function_) {
    n.text = source_.statement(Place::lane);
  } else if (context.together && !lanes_left_ && dice < 12) {
    n.text = source_.statement(Place::warp);
  } else if (memory && context.together && !lanes_left_ && dice < 22) {
    if (random_.chance(50)) return exchange();
    n.text = random_.chance(40) ? source_.accumulate() : source_.statement(Place::cta);
  } else if (memory && dice < 60) {
    n.text = source_.statement(Place::memory);
  } else {
    n.text = source_.statement(Place::lane);
  }
  return n;
}

/// A node whose guard was just computed from data, or is whatever a predicate of the pool holds.
Node Generator::compare_first(Node::Kind kind) {
  Node n;
  n.kind = kind;
  n.guard = source_.predicate();
  if (random_.chance(60)) {
    const char* test[] = {"lt", "gt", "eq", "ne"};
    std::string predicate = n.guard.substr(n.guard[0] == '!');
    n.text = {fmt::format("and.b32 %t0, {}, {};", source_.source_register(Type::b32), 1 + random_.below(31)),
              fmt::format("setp.{}.s32 {}, %t0, {};", test[random_.below(4)], predicate, random_.below(8))};
  }
  return n;
}

Node Generator::branch(Context context) {
  Node n = compare_first(Node::Kind::branch);
  bool uniform = random_.chance(20);
  if (uniform) {
    std::string predicate = n.guard.substr(n.guard[0] == '!');
    n.text = {fmt::format("and.b32 %t0, %uniform, {};", 1u << random_.below(8)),
              fmt::format("setp.ne.u32 {}, %t0, 0;", predicate)};
  }
  context.together = context.together && uniform;
  ++context.depth;
  n.parts.push_back(list(1 + random_.below(5), context));
  n.parts.push_back(random_.chance(60) ? list(1 + random_.below(5), context) : std::vector<Node>{});
  return n;
}

Node Generator::loop(Context context) {
  Node n;
  n.kind = Node::Kind::loop;
  bool uniform = random_.chance(35);
  if (uniform) {
    n.count = fmt::format("{}", 1 + random_.below(4));
    if (random_.chance(50)) {
      n.text = {fmt::format("and.b32 %t0, %uniform, {};", 1 + random_.below(3))};
      n.count = "%t0";
    }
  } else {
    n.text = {fmt::format("and.b32 %t0, {}, {};", source_.source_register(Type::b32), context.depth ? 3 : 7)};
    n.count = "%t0";
  }
  n.flag = random_.chance(30);
  context.together = context.together && uniform;
  context.repeats |= context.together;
  context.loops = context.together ? 0 : context.loops + 1;
  ++context.depth;
  n.parts.push_back(list(2 + random_.below(5), context));
  return n;
}

Node Generator::selection(Context context) {
  Node n;
  n.kind = Node::Kind::selection;
  n.count = source_.source_register(Type::u32);
  n.flag = random_.chance(30);
  context.together = false;
  ++context.depth;
  for (unsigned cases = 2 + random_.below(3); cases > 0; --cases)
    n.parts.push_back(list(1 + random_.below(3), context));
  return n;
}

/// break, continue, or the end of the program for some lanes.
Node Generator::jump(const Context& context) {
  if (context.loops == 0 || (may_finish(context) && random_.chance(30))) {
    Node n = compare_first(Node::Kind::finish);
    n.flag = random_.chance(30);
    lanes_left_ = true;
    return n;
  }
  Node n = compare_first(Node::Kind::leave);
  n.levels = random_.below(context.loops + 1);
  return n;
}

Node Generator::node(const Context& context) {
  if (profile_ == Profile::straight || context.depth >= kMaxDepth) return simple(context);
  unsigned dice = random_.below(100);
  if (dice < 14) return branch(context);
  if (dice < 24) return loop(context);
  if (dice < 28) return selection(context);
  if (dice < 36 && (context.loops > 0 || may_finish(context))) return jump(context);
  if (dice < 39 && context.together && may_finish(context)) return warps_leave();
  if (dice < 42 && in_function_) return compare_first(Node::Kind::finish);  // an early return
  return simple(context);
}

std::vector<Node> Generator::list(unsigned count, const Context& context) {
  std::vector<Node> nodes;
  for (unsigned i = 0; i < count; ++i) nodes.push_back(node(context));
  return nodes;
}

/// Their registers are their own, they touch no memory, and lanes call them whether together or not.
std::vector<Function> Generator::functions() {
  in_function_ = true;
  for (unsigned count = random_.below(4); count > 0; --count) {
    Function f;
    for (unsigned parameters = random_.below(5); parameters > 0; --parameters)
      f.parameters.push_back(parameter_type(random_, false));
    f.result = parameter_type(random_, true);
    f.body = list(2 + random_.below(8), {.depth = 1, .together = false, .repeats = true});
    f.returned = source_.source_register(f.result);
    functions_.push_back(std::move(f));
  }
  in_function_ = false;
  return functions_;
}

std::vector<Node> Generator::body() {
  unsigned count = profile_ == Profile::straight ? 30 + random_.below(31) : 8 + random_.below(7);
  std::vector<Node> nodes;
  for (unsigned i = 0; i < count; ++i) {
    second_half_ = 2 * i > count;
    nodes.push_back(node({}));
  }
  return nodes;
}

}  // namespace

Program generate(Profile profile, std::uint64_t seed) {
  Generator generator(profile, seed);
  Program program;
  program.seed = seed;
  program.profile = profile == Profile::straight    ? "straight"
                    : profile == Profile::divergent ? "divergent"
                                                    : "memory";
  program.functions = generator.functions();
  program.body = generator.body();
  program.block = generator.block();
  return program;
}

}  // namespace raddle::diff
