// The test machine itself (in a _test file so that the build's glob takes it), and a first kernel on it.
#include "test_machine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "exec/barrier.h"
#include "interp/interpreter.h"
#include "ptx/layout.h"
#include "ptx/parser.h"

namespace raddle::interp {

struct TestMachine::Coroutine {
  exec::WarpContext warp{};
  exec::Executable* executable = nullptr;
  TestMachine* machine = nullptr;
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(256 * 1024);
  bool done = false;

  static void enter(unsigned low, unsigned high) {
    auto* self = reinterpret_cast<Coroutine*>(std::uint64_t{high} << 32 | low);
    self->executable->run_warp(self->warp);
    self->done = true;
    swapcontext(&self->context, &self->machine->main_);
  }
};

struct TestServices {
  static TestMachine& machine(exec::WarpContext* warp) {
    return *static_cast<TestMachine*>(warp->cta->machine);
  }

  static void wait(exec::WarpContext* warp, std::uint32_t id, std::uint32_t generation) {
    ++machine(warp).barriers_blocked;
    while (warp->cta->barriers[id].generation == generation) machine(warp).yield(warp);
  }
  static void sync(exec::WarpContext* warp, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
    std::uint32_t generation = warp->cta->barriers[id].generation;
    exec::arrive(warp->cta->barriers[id], {threads, lanes, 0}, warp->live_lanes, warp->cta->live_threads);
    wait(warp, id, generation);
  }
  static void arrive(exec::WarpContext* warp, std::uint32_t id, std::uint32_t threads, std::uint32_t lanes) {
    exec::arrive(warp->cta->barriers[id], {threads, lanes, 0}, warp->live_lanes, warp->cta->live_threads);
  }
  static std::uint32_t reduce(exec::WarpContext* warp, std::uint32_t id, std::uint32_t threads,
                              std::uint32_t lanes, std::uint32_t predicate, std::uint32_t* all) {
    std::uint32_t generation = warp->cta->barriers[id].generation;
    exec::arrive(warp->cta->barriers[id], {threads, lanes, predicate}, warp->live_lanes,
                 warp->cta->live_threads);
    wait(warp, id, generation);
    *all = warp->cta->barriers[id].result_arrived;
    return warp->cta->barriers[id].result_count;
  }
  static std::uint32_t join(exec::WarpContext* warp, std::uint32_t id, std::uint32_t threads,
                            std::uint32_t lanes, std::uint32_t predicates) {
    std::uint32_t phase = warp->cta->barriers[id].generation;
    exec::arrive(warp->cta->barriers[id], {threads, lanes, predicates}, warp->live_lanes,
                 warp->cta->live_threads);
    return phase;
  }
  static void join_wait(exec::WarpContext* warp, std::uint32_t) { machine(warp).yield(warp); }
  static void yield(exec::WarpContext* warp) {
    ++machine(warp).yields;
    machine(warp).yield(warp);
  }
  static void poll(exec::WarpContext*) {}
  __attribute__((noreturn)) static void fault(exec::WarpContext* warp, exec::FaultKind kind,
                                              std::uint64_t address, std::uint32_t lane, std::uint32_t line) {
    TestMachine& m = machine(warp);
    m.fault_ = kind, m.fault_address = address, m.fault_lane = lane, m.fault_line = line;
    setcontext(&m.main_);
    std::abort();
  }
  static void exit_lanes(exec::WarpContext* warp, std::uint32_t lanes) {
    lanes &= warp->live_lanes;
    warp->live_lanes &= ~lanes;
    warp->cta->live_threads -= static_cast<std::uint32_t>(std::popcount(lanes));
    for (auto& barrier : warp->cta->barriers) exec::complete_after_exit(barrier, warp->cta->live_threads);
  }
  static std::int32_t print(exec::WarpContext* warp, std::uint32_t lane, std::uint64_t format,
                            std::uint64_t arguments) {
    std::uint32_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(arguments), sizeof value);
    machine(warp).printed +=
        std::to_string(lane) + ":" + reinterpret_cast<const char*>(format) + std::to_string(value) + " ";
    return 1;
  }
  __attribute__((noreturn)) static void assert_fail(exec::WarpContext* warp, std::uint32_t lane,
                                                    std::uint64_t, std::uint64_t, std::uint32_t line,
                                                    std::uint64_t) {
    fault(warp, exec::FaultKind::assertion, 0, lane, line);
  }
  static std::uint64_t allocate(exec::WarpContext*, std::uint64_t bytes) {
    return reinterpret_cast<std::uint64_t>(std::malloc(bytes));
  }
  static void release(exec::WarpContext*, std::uint64_t address) {
    std::free(reinterpret_cast<void*>(address));
  }
  static void sleep(exec::WarpContext* warp, std::uint32_t) { machine(warp).yield(warp); }
  static std::uint64_t clock(exec::WarpContext*) { return 42; }
};

namespace {
constexpr exec::Services kServices = {
    TestServices::sync,        TestServices::arrive,   TestServices::reduce,     TestServices::yield,
    TestServices::poll,        TestServices::fault,    TestServices::exit_lanes, TestServices::print,
    TestServices::assert_fail, TestServices::allocate, TestServices::release,    TestServices::sleep,
    TestServices::clock,       TestServices::clock,    TestServices::join,       TestServices::join_wait};
}

TestMachine::TestMachine() : engine_(make_engine()) {}
TestMachine::~TestMachine() = default;

bool TestMachine::load(const std::string& text) {
  std::string full = text.find(".version") == std::string::npos
                         ? ".version 8.0\n.target sm_90\n.address_size 64\n" + text
                         : text;
  auto parsed = ptx::parse(full, "test.ptx");
  if (!parsed) {
    error = parsed.error().to_string();
    return false;
  }
  module = std::move(parsed).value();
  return true;
}

void TestMachine::link() {
  globals.assign(module.variables.size(), {});
  variables_.assign(module.variables.size(), 0);
  for (std::size_t id = 0; id < module.variables.size(); ++id) {
    const ptx::Variable& v = module.variables[id];
    if (v.space != ptx::Space::global && v.space != ptx::Space::const_) continue;
    globals[id].assign(std::max<std::size_t>(v.size, 1) + 64, std::byte{0});
    auto base = reinterpret_cast<std::uint64_t>(globals[id].data());
    variables_[id] = (base + 63) & ~std::uint64_t{63};
    if (!v.initial.empty())
      std::memcpy(reinterpret_cast<void*>(variables_[id]), v.initial.data(), v.initial.size());
  }
  for (std::size_t id = 0; id < module.variables.size(); ++id) {
    for (const auto& r : module.variables[id].relocations) {
      std::uint64_t value = r.is_function ? exec::function_handle(r.index)
                                          : variables_[r.index] + static_cast<std::uint64_t>(r.addend);
      std::memcpy(reinterpret_cast<void*>(variables_[id] + r.offset), &value, r.size);
    }
  }
}

void TestMachine::resume(Coroutine& c) { swapcontext(&main_, &c.context); }

void TestMachine::yield(exec::WarpContext* warp) {
  auto* c = static_cast<Coroutine*>(warp->machine);
  swapcontext(&c->context, &main_);
}

exec::FaultKind TestMachine::run(const std::string& kernel, std::uint32_t threads,
                                 const std::vector<std::uint64_t>& arguments, std::uint32_t dynamic_shared) {
  const ptx::Function* function = module.find_function(kernel);
  if (function == nullptr) {
    error = "no kernel " + kernel;
    return exec::FaultKind::unsupported;
  }
  auto compiled =
      engine_->compile(module, static_cast<ptx::FunctionId>(function - module.functions.data()), {});
  if (!compiled) {
    error = compiled.error().to_string();
    return exec::FaultKind::unsupported;
  }
  link();
  exec::Executable& executable = **compiled;
  alignas(128) static std::byte parameters[4096];
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const ptx::Variable& v = module.variables[function->parameters[k]];
    std::memcpy(parameters + v.offset, &arguments[k], std::min<std::size_t>(v.size, 8));
  }
  std::uint32_t shape[3] = {block[0] != 0 ? block[0] : threads, block[1], block[2]};
  ptx::SharedLayout layout =
      ptx::shared_layout(module, static_cast<ptx::FunctionId>(function - module.functions.data()));
  launch_ = {.ntid = {shape[0], shape[1], shape[2]},
             .nctaid = {1, 1, 1},
             .dynamic_shared = dynamic_shared,
             .static_shared = layout.static_bytes,
             .dynamic_shared_offset = layout.dynamic_offset,
             .nsmid = 1,
             .parameters = parameters,
             .variables = variables_.data(),
             .cluster_shape = {1, 1, 1}};
  // The whole window, so that nothing else lies in it; only what is touched is memory.
  const auto unmap = [](void* window) { munmap(window, exec::kSharedWindow); };
  const std::unique_ptr<void, decltype(unmap)> shared(
      mmap(nullptr, exec::kSharedWindow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
           -1, 0),
      unmap);
  std::uint64_t stride = (executable.local_bytes + 63) / 64 * 64 + 64;
  std::vector<std::byte> local(stride * threads + 64);
  auto aligned = [](std::vector<std::byte>& v) {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uint64_t>(v.data()) + 63) &
                                        ~std::uint64_t{63});
  };
  cta_ = {};
  cta_.launch = &launch_, cta_.services = &kServices, cta_.poll = &poll_;
  cta_.shared = static_cast<std::byte*>(shared.get()), cta_.local = aligned(local),
  cta_.local_stride = stride;
  cluster_.window = cta_.shared, cluster_.cta_count = 1, cluster_.live = 1, cta_.cluster = &cluster_;
  cta_.thread_count = cta_.live_threads = threads, cta_.warp_count = (threads + 31) / 32, cta_.machine = this;
  coroutines_.clear();
  for (std::uint32_t w = 0; w < cta_.warp_count; ++w) {
    auto c = std::make_unique<Coroutine>();
    std::uint32_t count = std::min(32u, threads - 32 * w);
    c->warp.cta = &cta_, c->warp.warp_id = w, c->warp.machine = c.get();
    c->warp.initial_lanes = c->warp.live_lanes = count == 32 ? ~0u : (1u << count) - 1;
    c->executable = &executable, c->machine = this;
    getcontext(&c->context);
    c->context.uc_stack.ss_sp = c->stack.data();
    c->context.uc_stack.ss_size = c->stack.size();
    auto bits = reinterpret_cast<std::uint64_t>(c.get());
    makecontext(&c->context, reinterpret_cast<void (*)()>(&Coroutine::enter), 2, static_cast<unsigned>(bits),
                static_cast<unsigned>(bits >> 32));
    coroutines_.push_back(std::move(c));
  }
  fault_ = exec::FaultKind::none;
  for (std::uint32_t step = 0; fault_ == exec::FaultKind::none; ++step) {
    bool running = false;
    for (auto& c : coroutines_) {
      if (c->done || fault_ != exec::FaultKind::none) continue;
      running = true;
      resume(*c);
    }
    if (!running) return exec::FaultKind::none;
    if (step > max_steps) return exec::FaultKind::timeout;
  }
  return fault_;
}

std::vector<std::uint32_t> run(const std::string& text, std::uint32_t threads, std::size_t words,
                               std::uint32_t dynamic_shared) {
  TestMachine m;
  EXPECT_TRUE(m.load(text)) << m.error;
  std::vector<std::uint32_t> out(words);
  exec::FaultKind fault = m.run("k", threads, {address_of(out)}, dynamic_shared);
  EXPECT_EQ(fault, exec::FaultKind::none) << m.error << " line " << m.fault_line << " lane " << m.fault_lane;
  return out;
}

namespace {

TEST(Interpreter, RunsAKernel) {
  TestMachine m;
  ASSERT_TRUE(m.load(R"(
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [a];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
  ret;
})")) << m.error;
  std::vector<float> x(70), y(70);
  for (int k = 0; k < 70; ++k) x[k] = static_cast<float>(k), y[k] = 1.0f;
  ASSERT_EQ(m.run("saxpy", 70, {address_of(x), address_of(y), std::bit_cast<std::uint32_t>(2.0f)}),
            exec::FaultKind::none)
      << m.error;
  for (int k = 0; k < 70; ++k) EXPECT_EQ(y[k], 2.0f * static_cast<float>(k) + 1.0f);
}

}  // namespace
}  // namespace raddle::interp
