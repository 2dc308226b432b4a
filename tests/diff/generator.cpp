// Structure of random programs. Every read has one defined value: warp operations stand where all lanes of
// the warp (or of one side of a branch) are together, memory is private to a thread, read-only, or exchanged
// between barriers, and every loop counts its trips. Functions call those made before them, and themselves as
// deep as a parameter says.
#include "diff/generator.h"

#include <fmt/format.h>

#include "diff/instructions.h"

namespace raddle::diff {
namespace {

using isa::Type;

constexpr exec::BlockShape kShapes[] = {{32, 1, 1}, {48, 1, 1}, {64, 1, 1}, {16, 4, 1},
                                        {7, 5, 3},  {96, 1, 1}, {33, 1, 1}, {32, 4, 1}};
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
        block_(kShapes[random_.below(8)]),
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
  Node together(bool all_warps);
  Node meet_apart(Context context);
  Node subset();
  Node locked();
  Node call();
  Node call_of(std::size_t index, const std::string& depth, const std::string& result);
  Node recursion(Function& f);
  Function function();
  Node warps_leave();
  Node compare_first(Node::Kind kind);
  bool may_finish(const Context& context) const { return second_half_ && !context.repeats; }

  Profile profile_;
  Random random_;
  exec::BlockShape block_;
  InstructionSource source_;
  bool lanes_left_ =
      false;  ///< some lanes may have gone ahead or exited: warp operations and (aligned) barriers are over
  bool warps_left_ = false;  ///< whole warps may have: barriers that count threads are over
  bool second_half_ = false;
  bool in_function_ = false;
  std::vector<Function> functions_;  ///< that may be called by now
  Function current_;                 ///< the recursive one being made
  unsigned prototypes_ = 0;
};

/// One of the types that parameters and results are drawn from.
Type parameter_type(Random& random, bool result) {
  constexpr Type kTypes[] = {Type::b32, Type::b64, Type::f32, Type::f64, Type::b16, Type::b128, Type::b8};
  return kTypes[random.below(result ? 6 : 7)];  // a byte is returned as a wider integer
}

bool same_signature(const Function& a, const Function& b) {
  return a.parameters == b.parameters && a.result == b.result && a.recursive == b.recursive;
}

/// Passes registers to a function and takes its result; through a pointer now and then, to one of two
/// functions where another has the same parameters.
Node Generator::call_of(std::size_t index, const std::string& depth, const std::string& result) {
  Node n;
  const bool itself = index == functions_.size();  // it may not be called yet
  const Function& f = itself ? current_ : functions_[index];
  const std::vector<Type> types = passed_types(f);
  std::string declared = "{\n.param " + parameter_text(f.result, "got") + ";", stored, passed, formal;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Type type = types[i];
    const std::string name = fmt::format("a{}", i);
    declared += " .param " + parameter_text(type, name) + ";";
    if (f.recursive && i == 0)
      stored += depth + fmt::format(" st.param.b32 [{}], %t0;\n", name);
    else if (type == Type::b128)
      stored += fmt::format(
          "mov.b128 {{%wide0, %wide1}}, {0}; st.param.b64 [{1}], %wide0; st.param.b64 [{1}+8], "
          "%wide1;\n",
          source_.source_register(type), name);
    else
      stored += fmt::format("st.param.{} [{}], {};\n", type_name(type), name,
                            source_.source_register(type == Type::b8 ? Type::b16 : type));
    passed += (i ? ", " : "") + name;
    formal += (i ? ", .param " : ".param ") + parameter_text(type, "_");
  }
  std::string callee = function_name(index), prototype;
  if (random_.chance(30)) {
    std::size_t other = random_.below(static_cast<unsigned>(functions_.size() + itself));
    if (!same_signature(f, other == functions_.size() ? f : functions_[other])) other = index;
    prototype = fmt::format("PROTOTYPE{}", prototypes_++);
    declared += fmt::format("\n{}: .callprototype (.param {}) _ ({});", prototype,
                            parameter_text(f.result, "_"), formal);
    stored += fmt::format("mov.u64 %wide0, {}; mov.u64 %wide1, {}; selp.b64 %pointer, %wide0, %wide1, {};\n",
                          callee, function_name(other), source_.source_register(Type::pred));
    callee = "%pointer";
  }
  n.text = {declared,
            stored + fmt::format("call (got), {}{}{};", callee, passed.empty() ? "" : ", (" + passed + ")",
                                 prototype.empty() ? "" : ", " + prototype)};
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

Node Generator::call() {
  const std::size_t index = random_.below(static_cast<unsigned>(functions_.size()));
  return call_of(index, fmt::format("and.b32 %t0, {}, 3;", source_.source_register(Type::b32)),
                 source_.source_register(functions_[index].result));
}

/// The end of a recursive function: while it may, it calls itself and mixes the result into its own, a
/// register that must have survived the call.
Node Generator::recursion(Function& f) {
  std::string result = source_.source_register(f.result);
  while (result == f.returned) result = source_.source_register(f.result);
  Node deeper = call_of(functions_.size(), "sub.u32 %t0, %depth, 1;", result);
  deeper.text.push_back(fmt::format("xor.b{0} {1}, {1}, {2};", isa::bit_size(f.result), f.returned, result));
  Node n;
  n.kind = Node::Kind::branch;
  n.guard = "%q1";
  n.text = {"setp.ne.u32 %q1, %depth, 0;"};
  n.parts = {{deeper}, {}};
  return n;
}

/// A whole warp exits: the warps that stay still meet at warp operations and at barriers.
Node Generator::warps_leave() {
  Node n;
  n.kind = Node::Kind::finish;
  n.guard = source_.source_register(Type::pred);
  n.text = {"shr.u32 %t0, %thread, 5;", fmt::format("setp.eq.u32 {}, %t0, {};", n.guard,
                                                    random_.below((thread_count(block_) + 31) / 32))};
  n.flag = random_.chance(50);
  warps_left_ = true;
  return n;
}

/// A statement of all threads of the CTA together.
/// @param all_warps  none has left
Node Generator::together(bool all_warps) {
  Node n;
  const unsigned dice = random_.below(100), threads = thread_count(block_);
  if (dice < 20 && all_warps && threads % 32 == 0 && threads > 32)
    n.text = source_.hand_over();
  else if (dice < 45)
    n.text = source_.exchange();
  else if (dice < 75)
    n.text = source_.sum();
  else
    n.text = source_.statement(Place::cta);
  return n;
}

/// An exchange whose barrier the threads come to from both sides of a branch, each when it gets there: not
/// aligned.
Node Generator::meet_apart(Context context) {
  const unsigned kind = random_.below(4);
  auto barrier = [&] {
    Node n;
    if (kind < 2)
      n.text = {kind == 0 ? "barrier.sync 1;" : "barrier.cta.sync 1;"};
    else if (kind == 2)
      n.text = {fmt::format("barrier.red.popc.u32 {}, 1, {};", source_.source_register(Type::u32),
                            source_.predicate())};
    else
      n.text = {fmt::format("barrier.red.or.pred {}, 1, {};", source_.source_register(Type::pred),
                            source_.predicate())};
    return n;
  };
  Node sides = compare_first(Node::Kind::branch);
  context.together = false;
  ++context.depth;
  for (unsigned side = 0; side < 2; ++side) {
    sides.parts.push_back(list(1 + random_.below(3), context));
    sides.parts.back().push_back(barrier());
  }
  Node write, read, n;
  write.text = source_.write_exchanged();
  read.text = source_.read_exchanged();
  read.text.push_back("barrier.sync 1;");
  n.kind = Node::Kind::group;
  n.parts = {{write, sides, read}};
  return n;
}

/// A branch on whose sides the lanes of a warp work together with those of their side only.
Node Generator::subset() {
  Node n;
  n.kind = Node::Kind::branch;
  n.guard = source_.source_register(Type::pred);
  n.text = {
      fmt::format("vote.sync.ballot.b32 %subset, {}, %members; not.b32 %others, %subset; and.b32 %others, "
                  "%others, %members;",
                  n.guard)};
  const Context context = {.depth = kMaxDepth, .together = false, .repeats = true};
  for (const char* mask : {"%subset", "%others"}) {
    source_.set_members(mask);
    std::vector<Node> part;
    for (unsigned count = 1 + random_.below(4); count > 0; --count) {
      part.push_back(simple(context));
      part.emplace_back().text = source_.statement(Place::subset);
    }
    if (random_.chance(30)) {
      Node repeated;
      repeated.kind = Node::Kind::loop;
      repeated.count = fmt::format("{}", 2 + random_.below(2));
      repeated.parts.push_back(std::move(part));
      part.assign(1, repeated);
    }
    n.parts.push_back(std::move(part));
  }
  source_.set_members("%members");
  return n;
}

/// Some threads add to a cell under a lock; all read it afterwards.
Node Generator::locked() {
  Node add, critical, branch = compare_first(Node::Kind::branch), read, n;
  add.text = {
      "ld.shared.b32 %t0, [guarded];",
      fmt::format("add.u32 %t0, %t0, {}; st.shared.b32 [guarded], %t0;", source_.source_register(Type::u32))};
  critical.kind = Node::Kind::critical;
  critical.parts = {{add}};
  branch.parts = {{critical}, {}};
  read.text = {fmt::format("bar.sync 0;\nld.shared.b32 {}, [guarded];\nbar.sync 0;",
                           source_.source_register(Type::b32))};
  n.kind = Node::Kind::group;
  n.parts = {{branch, read}};
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
    return together(!warps_left_);
  } else if (memory && dice < 60) {
    n.text = random_.chance(7) ? source_.stack_memory() : source_.statement(Place::memory);
  } else if (dice < 62) {
    n.text = source_.place_in_grid();
  } else {
    n.text = source_.statement(Place::lane);
  }
  return n;
}

/// A node whose guard was just computed from data, or is any predicate of the pool.
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
  if (dice < 44 && context.together && !lanes_left_ && !in_function_) return subset();
  if (dice < 49 && context.together && !in_function_ && profile_ == Profile::memory) {
    if (lanes_left_ || random_.chance(60)) return meet_apart(context);
    return locked();
  }
  if (dice < 42 && in_function_) return compare_first(Node::Kind::finish);  // an early return
  return simple(context);
}

std::vector<Node> Generator::list(unsigned count, const Context& context) {
  std::vector<Node> nodes;
  for (unsigned i = 0; i < count; ++i) nodes.push_back(node(context));
  return nodes;
}

/// Its registers are its own, it touches no memory, and lanes call it whether together or not. One half have
/// the parameters of the one before: a pointer may name either.
Function Generator::function() {
  Function f;
  if (!functions_.empty() && random_.chance(50)) {
    const Function& last = functions_.back();
    f.parameters = last.parameters, f.result = last.result, f.recursive = last.recursive;
  } else {
    for (unsigned parameters = random_.below(5); parameters > 0; --parameters)
      f.parameters.push_back(parameter_type(random_, false));
    f.result = parameter_type(random_, true);
    f.recursive = (f.result == Type::b32 || f.result == Type::b64) && random_.chance(60);
  }
  f.body = list(2 + random_.below(8), {.depth = 1, .together = false, .repeats = true});
  f.returned = source_.source_register(f.result);
  if (!f.recursive) return f;
  current_ = f;
  f.body.push_back(recursion(f));
  return f;
}

std::vector<Function> Generator::functions() {
  in_function_ = true;
  for (unsigned count = random_.below(4); count > 0; --count) functions_.push_back(function());
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
