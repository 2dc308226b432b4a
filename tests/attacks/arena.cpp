#include "arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>

#include "base/round_up.h"
#include "exec/tensor_map.h"
#include "interp/interpreter.h"
#include "ptx/parser.h"
#ifdef RADDLE_TEST_JIT
#include "jit/engine.h"
#endif

namespace raddle::attacks {

using machine::AddressSpace;
using machine::Task;

namespace {

constexpr std::uint64_t kSecretWords = 8, kOwnBytes = 4096;

exec::Engine& engine_named(const std::string& name) {
#ifdef RADDLE_TEST_JIT
  static const auto jit = jit::make_engine({.tier = jit::Tier::quick, .cache = false});
  if (name == "jit") return *jit;
#endif
  static const auto interpreter = interp::make_engine();
  EXPECT_EQ(name, "interp");
  return *interpreter;
}

template <class T>
T value_of(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return std::move(*result);
}

constexpr const char* kNothing =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry nothing() { ret; }";

/// Where the machine code of a kernel begins; 0: it has none.
std::uint64_t address_of_code(const exec::Executable& code) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t start = 0, end = 0;
    char read = 0, write = 0, execute = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %c%c%c", &start, &end, &read, &write, &execute) != 5) continue;
    if (read != 'r' || execute != 'x' || line.find('/') != std::string::npos) continue;
    for (std::uint64_t at = start; at < end; at += 16)
      if (code.line_of(at)) return at;
  }
  return 0;
}

/// A map of 512 words of 8 bytes, in boxes of eight.
void encode_map(std::uint64_t address, std::byte* to) {
  exec::TensorMap map;
  map.element = exec::TensorMap::Element::u64;
  map.address = address;
  map.size[0] = 64;
  map.stride[0] = 8;
  map.box[0] = 8;
  map.step[0] = 1;
  exec::encode(map, to);
}

}  // namespace

std::vector<std::string> engines() {
#ifdef RADDLE_TEST_JIT
  return {"interp", "jit"};
#else
  return {"interp"};
#endif
}

std::unique_ptr<Kernel> Kernel::make(const std::string& ptx, const std::string& engine, Translation how,
                                     unsigned threads) {
  auto parsed = ptx::parse(ptx, "attack");
  if (!parsed) {
    ADD_FAILURE() << parsed.error().to_string();
    return nullptr;
  }
  auto kernel = std::make_unique<Kernel>();
  kernel->module = std::move(*parsed);
  const auto& functions = kernel->module.functions;
  const auto entry =
      std::ranges::find_if(functions, [](const ptx::Function& function) { return function.is_entry; });
  const auto id = static_cast<ptx::FunctionId>(entry - functions.begin());
  kernel->shared = ptx::shared_layout(kernel->module, id);
  auto code = engine_named(engine).compile(kernel->module, id,
                                           {.block = {threads, 1, 1},
                                            .windowed = how == Translation::windowed,
                                            .modelled = how == Translation::modelled});
  if (!code) {
    ADD_FAILURE() << code.error().to_string();
    return nullptr;
  }
  kernel->code = std::move(*code);
  kernel->local_stride = round_up(kernel->code->local_bytes, std::uint64_t{128});
  return kernel;
}

namespace {

struct GridShape {
  unsigned blocks = 1, threads = 32;
  std::uint64_t time_limit_ns = 2'000'000'000;
};

exec::Fault run_grid(AddressSpace& space, const Kernel& kernel, const std::vector<std::uint64_t>& arguments,
                     const GridShape& shape) {
  static const std::string name = "attack";
  Task* task = space.tasks().acquire();
  auto& grid = task->work.emplace<machine::GridWork>();
  EXPECT_TRUE(task->set_parameters(std::as_bytes(std::span(arguments))));
  grid.executable = kernel.code.get();
  grid.name = &name;
  grid.threads_per_block = shape.threads;
  grid.blocks = shape.blocks;
  grid.shared_bytes = grid.shared_model_bytes = exec::kReservedShared + kernel.shared.static_bytes;
  grid.local_stride = kernel.local_stride;
  grid.time_limit_ns = shape.time_limit_ns;
  exec::LaunchContext& launch = grid.context;
  launch.ntid[0] = shape.threads;
  launch.nctaid[0] = shape.blocks;
  launch.ntid[1] = launch.ntid[2] = launch.nctaid[1] = launch.nctaid[2] = 1;
  launch.static_shared = kernel.shared.static_bytes;
  launch.dynamic_shared_offset = static_cast<std::uint32_t>(grid.shared_bytes);
  launch.largest_shared = 228 << 10;
  EXPECT_TRUE(space.check(grid).ok());
  space.tasks().submit(*task, {});
  task->wait();
  exec::Fault fault;
  if (task->stop.load() != 0) fault = task->fault;
  space.tasks().release(task);
  return fault;
}

}  // namespace

exec::Fault run(AddressSpace& space, const Kernel& kernel, const std::vector<std::uint64_t>& arguments,
                unsigned blocks, unsigned threads) {
  return run_grid(space, kernel, arguments, {blocks, threads, 50'000'000'000});
}
exec::Fault run(AddressSpace& space, const Kernel& kernel, const std::vector<std::uint64_t>& arguments) {
  return run_grid(space, kernel, arguments, {});
}

Arena::Arena() : of_host_(64, kSecret) {
  machine::MachineOptions options;
  options.shape = *machine::preset_shape("h200", 2);
  options.pin = false;
  options.workers = 1;
  machine_ = value_of(machine::Machine::create(options));
  // The victim's window lies above those of attackers, so that strides, which are positive, lead there.
  auto below = open(Translation::windowed, &printed_);
  victim_ = open(Translation::windowed, &printed_);
  const auto nothing = Kernel::make(kNothing, "interp", Translation::windowed);
  run(*victim_, *nothing, {});  // the worker takes its own memory before there is room below

  machine::DeviceMemory& memory = victim_->memory();
  const auto hide_at = [&](const char* name, DevicePtr address) {
    hide(name, address.value, memory.host(address));
  };
  const DevicePtr large = value_of(memory.allocate(1 << 20));
  hide_at("a small allocation", value_of(memory.allocate(256)));
  hide_at("the begin of a large allocation", large);
  hide_at("its end", {large.value + (1 << 20) - kSecretWords * 8});
  hide_at("a constant", value_of(memory.allocate_constants(256)));
  const std::uint64_t chunk = victim_->heap().allocate(256);
  hide("the kernels' heap", chunk, reinterpret_cast<std::byte*>(chunk));
  hide("the program's memory", reinterpret_cast<std::uint64_t>(of_host_.data()),
       reinterpret_cast<std::byte*>(of_host_.data()));
  code_ = Kernel::make(kNothing, engines().back(), Translation::windowed);
  run(*victim_, *code_, {});
  if (const std::uint64_t compiled = address_of_code(*code_->code); compiled != 0)
    hide_code("a kernel's code", compiled);
  hide_code("the program's code", reinterpret_cast<std::uint64_t>(&run_grid));
  below.reset();
}

Arena::~Arena() = default;

void Arena::hide_code(const char* name, std::uint64_t address) {
  address &= ~std::uint64_t{15};
  auto* const words = reinterpret_cast<std::uint64_t*>(address);
  targets_.push_back({name, address, words, true, {words, words + kSecretWords}});
}

void Arena::hide(const char* name, std::uint64_t address, std::byte* host) {
  targets_.push_back({name, address, reinterpret_cast<std::uint64_t*>(host)});
  std::fill_n(targets_.back().secret, kSecretWords, kSecret);
}

bool Arena::restore() {
  bool was_whole = true;
  for (const Target& target : targets_)
    if (target.is_code)
      was_whole = was_whole && std::ranges::equal(target.words, std::span(target.secret, kSecretWords));
    else
      for (std::uint64_t* word = target.secret; word != target.secret + kSecretWords; ++word) {
        was_whole = was_whole && *word == kSecret;
        *word = kSecret;
      }
  return was_whole;
}

std::unique_ptr<AddressSpace> Arena::open(Translation translation, std::string* printed) {
  return value_of(
      AddressSpace::open(machine_, {.heap_bytes = 1 << 20,
                                    .output = [printed](std::string_view text) { *printed += text; },
                                    .translation = translation,
                                    .window_bytes = kWindowBytes}));
}

Arena::Outcome Arena::attack(const Kernel& kernel, std::uint64_t target, Translation translation) {
  Outcome outcome;
  {
    const auto space = open(translation, &outcome.printed);
    machine::DeviceMemory& memory = space->memory();
    const DevicePtr own = value_of(memory.allocate(kOwnBytes)), out = value_of(memory.allocate(32 * 8));
    std::memset(memory.host(own), 0, kOwnBytes);
    std::memset(memory.host(out), 0, 32 * 8);
    encode_map(own.value, memory.host(own) + 1024);
    outcome.fault = run(*space, kernel, {target, out.value, own.value});
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory.host(out));
    outcome.read.assign(words, words + 32);
  }
  return outcome;
}

}  // namespace raddle::attacks
