// Stack switching: our own few instructions on x86-64, Boost.Context elsewhere (or with
// RADDLE_FIBER_FCONTEXT). AddressSanitizer and ThreadSanitizer are told about every switch.
#include "base/fiber.h"

#include <sys/mman.h>

#include <cstring>

#include "base/assert.h"
#include "base/page.h"

#if !defined(__x86_64__) && !defined(RADDLE_FIBER_FCONTEXT)
#define RADDLE_FIBER_FCONTEXT 1
#endif
#ifdef RADDLE_FIBER_FCONTEXT
#include <boost/context/detail/fcontext.hpp>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define RADDLE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RADDLE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define RADDLE_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define RADDLE_TSAN 1
#endif
#ifdef RADDLE_ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef RADDLE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef RADDLE_ASAN
/// Objects that outlive their function are looked for on fake stacks, one for each fiber, which stay where a
/// fiber is abandoned: with hundreds of blocks that wait they took 10 GB, and half of the tests' time.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
#endif

namespace raddle::base {
namespace {
constexpr std::size_t kGuard = 64 << 10;  // larger than most frames, so that a frame does not step over it
constexpr std::size_t kColourStep = 576;  // 9 cache lines: 32 fibers spread over the sets of a 32 KiB cache
constexpr std::size_t kColours = 32;
}  // namespace

#ifndef RADDLE_FIBER_FCONTEXT
// raddle_fiber_switch(save, to): pushes the callee-saved registers, stores the stack pointer, takes the other
// one.
extern "C" void raddle_fiber_switch(void** save, void* to);
extern "C" void raddle_fiber_start();
asm(R"(
  .text
  .p2align 4
  .globl raddle_fiber_switch
  .hidden raddle_fiber_switch
  .type raddle_fiber_switch, @function
raddle_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size raddle_fiber_switch, .-raddle_fiber_switch

  .p2align 4
  .globl raddle_fiber_start
  .hidden raddle_fiber_start
  .type raddle_fiber_start, @function
raddle_fiber_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%rbx
  ud2
  .cfi_endproc
  .size raddle_fiber_start, .-raddle_fiber_start
)");
#endif

Fiber::~Fiber() { release(); }

void Fiber::release() {
#ifdef RADDLE_TSAN
  if (tsan_owned_) __tsan_destroy_fiber(tsan_);
  tsan_owned_ = false;
#endif
  if (map_ != nullptr) munmap(map_, static_cast<std::size_t>(low_ - map_) + bytes_);
  map_ = low_ = top_ = nullptr;
  bytes_ = 0;
}

bool Fiber::allocate(std::size_t bytes, unsigned colour) {
  const std::size_t shift = colour % kColours * kColourStep;
  const std::size_t wanted = whole_pages(bytes + shift);
  if (low_ != nullptr && bytes_ >= wanted) return true;
  release();
  void* map = mmap(nullptr, wanted + kGuard, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (map == MAP_FAILED) return false;
  map_ = static_cast<std::byte*>(map);
  if (mprotect(map_, kGuard, PROT_NONE) != 0) {
    munmap(map_, wanted + kGuard);
    map_ = nullptr;
    return false;
  }
  low_ = map_ + kGuard;
  bytes_ = wanted;
  top_ = low_ + (bytes_ - shift) / 16 * 16;
  asan_low_ = low_;
  asan_bytes_ = bytes_;
  return true;
}

bool Fiber::in_guard(std::uint64_t address) const {
  const auto guard = reinterpret_cast<std::uint64_t>(map_);
  return map_ != nullptr && address >= guard && address < guard + kGuard;
}

#ifdef RADDLE_FIBER_FCONTEXT
namespace {
struct Jump {
  void** save;
};
void landed(boost::context::detail::transfer_t transfer) {
  *static_cast<Jump*>(transfer.data)->save = transfer.fctx;
}
}  // namespace
#endif

void Fiber::prepare(Entry entry, void* argument) {
  RADDLE_ASSERT(low_ != nullptr, "a fiber needs a stack before it is prepared");
  entry_ = entry;
  argument_ = argument;
#ifdef RADDLE_TSAN
  if (tsan_owned_) __tsan_destroy_fiber(tsan_);
  tsan_ = __tsan_create_fiber(0);
  tsan_owned_ = true;
#endif
#ifdef RADDLE_ASAN
  __asan_unpoison_memory_region(low_, bytes_);
  asan_fake_ = nullptr;
#endif
#ifdef RADDLE_FIBER_FCONTEXT
  stack_pointer_ = boost::context::detail::make_fcontext(
      top_, static_cast<std::size_t>(top_ - low_), [](boost::context::detail::transfer_t transfer) {
        landed(transfer);
        auto* fiber = reinterpret_cast<Fiber**>(transfer.data)[1];
        run(fiber);
      });
#else
  // As raddle_fiber_switch expects it: r15 r14 r13 r12 rbx rbp, the return address; then two words, so that
  // the stack is 16-byte aligned where raddle_fiber_start makes its call.
  constexpr std::size_t kWords = 9;
  auto** frame = reinterpret_cast<void**>(top_) - kWords;
  std::memset(frame, 0, kWords * sizeof(void*));
  frame[3] = this;                                          // r12: argument of run
  frame[4] = reinterpret_cast<void*>(&Fiber::run);          // rbx
  frame[6] = reinterpret_cast<void*>(&raddle_fiber_start);  // return address
  stack_pointer_ = frame;
#endif
}

#ifdef RADDLE_ASAN
namespace {
thread_local Fiber* asan_previous = nullptr;
}
#endif

void Fiber::run(Fiber* fiber) {
#ifdef RADDLE_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &asan_previous->asan_low_, &asan_previous->asan_bytes_);
#endif
  fiber->entry_(fiber->argument_);
  RADDLE_UNREACHABLE("a fiber's entry returned");
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
#ifdef RADDLE_TSAN
  if (from.tsan_ == nullptr) from.tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsan_, 0);
#endif
#ifdef RADDLE_ASAN
  asan_previous = &from;
  __sanitizer_start_switch_fiber(&from.asan_fake_, to.asan_low_, to.asan_bytes_);
#endif
#ifdef RADDLE_FIBER_FCONTEXT
  void* message[2] = {&from.stack_pointer_, &to};
  landed(boost::context::detail::jump_fcontext(to.stack_pointer_, message));
#else
  raddle_fiber_switch(&from.stack_pointer_, to.stack_pointer_);
#endif
#ifdef RADDLE_ASAN
  __sanitizer_finish_switch_fiber(from.asan_fake_, &asan_previous->asan_low_, &asan_previous->asan_bytes_);
#endif
}

}  // namespace raddle::base
