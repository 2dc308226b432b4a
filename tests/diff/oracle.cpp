// The launch of a random program: inputs from its seed, one CTA, comparison with the interpreter.
#include "diff/oracle.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "diff/program.h"
#include "isa/harness/operands.h"
#include "isa/harness/test_file.h"
#include "ptx/parser.h"

namespace raddle::diff {
namespace {

using testing::CompiledKernel;
using testing::NamedEngine;

constexpr std::uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5ull;
constexpr unsigned kRunSeconds = 20;  ///< a run longer than that does not end

/// What the head comment says.
struct Head {
  std::uint64_t seed = 0;
  exec::BlockShape block;
  std::vector<isa::Type> slots;
  unsigned threads() const { return thread_count(block); }
};

Result<Head> read_head(const std::string& text) {
  Head head;
  unsigned long long seed = 0;
  auto at = text.find("seed=");
  auto slots = text.find("// slots:");
  if (at == text.npos || slots == text.npos ||
      std::sscanf(text.c_str() + at, "seed=%llu block=%ux%ux%u", &seed, &head.block.x, &head.block.y,
                  &head.block.z) != 4)
    return Error::invalid("no head comment '// diff: ... seed=N block=XxYxZ' and '// slots: ...'");
  head.seed = seed;
  std::string names = text.substr(slots + 9, text.find('\n', slots) - slots - 9);
  for (const std::string& name : testing::split_list(names, ' '))
    if (isa::Type type = isa::type_from_name(name); type != isa::Type::none) head.slots.push_back(type);
  return head;
}

/// A slot's values; untyped and integer slots also hold floats and packed halves, so that float code meets
/// edges.
std::uint64_t input(testing::Random& random, isa::Type type) {
  using isa::Type;
  unsigned bits = isa::bit_size(type);
  constexpr Type k16[] = {Type::u16, Type::s16, Type::f16, Type::bf16};
  constexpr Type k32[] = {Type::u32, Type::s32, Type::f32, Type::f16x2, Type::bf16x2};
  constexpr Type k64[] = {Type::u64, Type::s64, Type::f64};
  if (!isa::is_float(type) && bits == 16) type = k16[random.below(4)];
  if (!isa::is_float(type) && bits == 32) type = k32[random.below(5)];
  if (!isa::is_float(type) && bits == 64) type = k64[random.below(3)];
  return testing::random_operand(random, type, bits).lo;
}

struct Memory {
  std::vector<std::uint64_t> out, global;
};

class Trial {
 public:
  explicit Trial(const Head& head) : head_(head) {
    testing::Random random(head.seed);
    for (isa::Type type : head.slots)
      for (unsigned t = 0; t < head.threads(); ++t) in_.push_back(input(random, type));
    for (unsigned i = 0; i < head.threads() * kSlotBytes / 8; ++i) memory_.push_back(random.next());
    uniform_ = static_cast<std::uint32_t>(random.next());
  }

  std::string run(const CompiledKernel& kernel, std::size_t engine, Memory& memory) const;
  std::string compare(const Memory& expected, const Memory& actual) const;

 private:
  Head head_;
  std::vector<std::uint64_t> in_, memory_;
  std::uint32_t uniform_ = 0;
};

std::string Trial::run(const CompiledKernel& kernel, std::size_t engine, Memory& memory) const {
  if (!kernel.compile_error(engine).empty()) return kernel.compile_error(engine);
  memory.out.assign(in_.size(), kUntouched);
  memory.global.assign(memory_.size() + 8, kUntouched);
  auto base = (reinterpret_cast<std::uintptr_t>(memory.global.data()) + 63) & ~std::uintptr_t{63};
  std::memcpy(reinterpret_cast<void*>(base), memory_.data(), memory_.size() * 8);
  std::vector<std::byte> block(64);
  for (unsigned i = 0; i < 64; ++i) block[i] = static_cast<std::byte>(i * 37 + 11);
  std::vector<std::uint64_t> in = in_;
  // The harness turns SIGABRT into a message, so an endless run ends as one.
  signal(SIGALRM, [](int) { raise(SIGABRT); });
  alarm(kRunSeconds);
  auto outcome = kernel.run(engine, {testing::argument(reinterpret_cast<std::uintptr_t>(memory.out.data())),
                                     testing::argument(reinterpret_cast<std::uintptr_t>(in.data())),
                                     testing::argument(base), testing::argument(uniform_), block});
  alarm(0);
  memory.global.assign(reinterpret_cast<std::uint64_t*>(base),
                       reinterpret_cast<std::uint64_t*>(base) + memory_.size());
  if (in != in_) return "the inputs were overwritten";
  if (outcome.ok()) return {};
  return fmt::format("{} (line {}, address {:#x})", outcome.problem, outcome.line, outcome.address);
}

std::string Trial::compare(const Memory& expected, const Memory& actual) const {
  unsigned threads = head_.threads();
  const auto& pool = register_pool();
  for (std::size_t i = 0; i < expected.out.size(); ++i)
    if (expected.out[i] != actual.out[i]) {
      std::size_t slot = i / threads;
      return fmt::format("slot {} ({}), thread {}: {:#x}, the interpreter has {:#x}", slot,
                         slot < pool.size() ? pool[slot].name : "?", i % threads, actual.out[i],
                         expected.out[i]);
    }
  for (std::size_t i = 0; i < expected.global.size(); ++i)
    if (expected.global[i] != actual.global[i])
      return fmt::format("global memory, thread {}, byte {}: {:#x}, the interpreter has {:#x}",
                         i * 8 / kSlotBytes, i * 8 % kSlotBytes, actual.global[i], expected.global[i]);
  return {};
}

/// The printed text, or in `problem` why printing is not a fixpoint.
std::string print_again(const std::string& text, std::string& problem) {
  auto module = ptx::parse(text, "random");
  if (!module.ok()) return problem = "parser: " + module.error().to_string(), "";
  std::string printed = ptx::print(*module);
  auto second = ptx::parse(printed, "printed");
  if (!second.ok()) return problem = "printed text does not parse: " + second.error().to_string(), "";
  if (ptx::print(*second) != printed) return problem = "print(parse(x)) is no fixpoint", "";
  return printed;
}

}  // namespace

std::string judge(const std::string& text, const std::vector<NamedEngine>& engines) {
  auto head = read_head(text);
  if (!head.ok()) return head.error().message;
  std::string problem, printed;
  std::string crash = testing::guarded([&] { printed = print_again(text, problem); });
  if (!crash.empty() || !problem.empty()) return crash.empty() ? problem : "parser or printer: " + crash;
  Trial trial(*head);
  auto kernel = CompiledKernel::create(text, "test", engines, head->block);
  if (!kernel.ok()) return kernel.error().to_string();
  Memory expected;
  if (std::string failure = trial.run(*kernel, 0, expected); !failure.empty())
    return engines[0].name + ": " + failure;
  for (std::size_t e = 1; e < engines.size(); ++e) {
    Memory actual;
    std::string failure = trial.run(*kernel, e, actual);
    if (failure.empty()) failure = trial.compare(expected, actual);
    if (!failure.empty()) return engines[e].name + ": " + failure;
  }
  auto interpreter = testing::make_engines("interp");
  if (!interpreter.ok()) return interpreter.error().message;
  auto reprinted = CompiledKernel::create(printed, "test", *interpreter, head->block);
  if (!reprinted.ok()) return "printed text: " + reprinted.error().to_string();
  Memory actual;
  std::string failure = trial.run(*reprinted, 0, actual);
  if (failure.empty()) failure = trial.compare(expected, actual);
  return failure.empty() ? "" : "printed text: " + failure;
}

}  // namespace raddle::diff
