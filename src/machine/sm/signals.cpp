// The handler records what happened as plain data and returns into a landing routine at the top of the
// abandoned fiber's stack, which switches to the worker's scheduler. Nothing of the kernel is unwound.
#include "machine/sm/signals.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <mutex>

#include "machine/memory/guarded_access.h"
#include "machine/memory/movable_memory.h"
#include "machine/sm/saved_registers.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

/// What the handler may see of a worker.
struct SignalAccess {
  static bool in_kernel(const Worker& worker) { return worker.in_kernel_ && worker.running_ != nullptr; }
  static Block& block(Worker& worker) { return *worker.running_; }
  static exec::SavedRegisters& registers(Worker& worker) { return worker.fault_registers_; }
  static void begin(Worker& worker, const RawFault& fault) {
    worker.in_kernel_ = false;
    worker.raw_fault_ = fault;
  }
  [[noreturn]] static void land() {
    Worker& worker = *current_worker();
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(0x1f80);  // kernel code may have changed the rounding or flush modes
#endif
    worker.fault(*worker.running_, worker.raw_fault_);
  }
};

namespace {
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[65];

exec::FaultKind kind_of(int signal, std::uint64_t address, Block& block) {
  if (signal == SIGFPE) return exec::FaultKind::division;
  if (signal == SIGILL) return exec::FaultKind::illegal_instruction;
  if (signal == SIGBUS) return exec::FaultKind::illegal_address;
  return block.current_fiber().in_guard(address) ? exec::FaultKind::stack_overflow
                                                 : exec::FaultKind::illegal_address;
}

#if defined(__x86_64__)
bool is_write(const ucontext_t& context) {
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;  // page-fault error code, bit 1
}

void fill(RawFault& fault, exec::SavedRegisters& registers, const siginfo_t& info,
          const ucontext_t& context) {
  fault.code_address = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  save_registers(context, registers);
  fault.registers = &registers;
  if (info.si_signo == SIGSEGV && info.si_code == SI_KERNEL) {
    fault.address_known = false;
  } else if (info.si_signo == SIGSEGV) {
    fault.access_known = true;
    fault.is_write = is_write(context);
  }
}
/// The thread goes on with a function that does not return.
void redirect(ucontext_t& context, std::uint64_t stack_top, void (*function)()) {
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(stack_top - 8);  // as after a call
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uint64_t>(function));
  context.uc_mcontext.gregs[REG_EFL] &= ~0x400;  // direction flag
}

std::uint64_t stack_pointer(const ucontext_t& context) {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}
#elif defined(__aarch64__)
void fill(RawFault& fault, exec::SavedRegisters&, const siginfo_t&, const ucontext_t& context) {
  fault.code_address = context.uc_mcontext.pc;
}
bool is_write(const ucontext_t&) { return false; }
void redirect(ucontext_t& context, std::uint64_t stack_top, void (*function)()) {
  context.uc_mcontext.sp = stack_top;
  context.uc_mcontext.pc = reinterpret_cast<std::uint64_t>(function);
}
std::uint64_t stack_pointer(const ucontext_t& context) { return context.uc_mcontext.sp; }
#endif

void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = previous[signal];
  if ((old.sa_flags & SA_SIGINFO) != 0 && old.sa_sigaction != nullptr) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
    old.sa_handler(signal);
  } else {
    struct sigaction standard{};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard,
              nullptr);  // the instruction runs again and takes the process down as it would have
  }
}

/// A thread that touches memory which need not be there goes on behind that.
void leave_access(GuardedAccess& access, const siginfo_t& info, ucontext_t& context) {
  constexpr std::uint64_t kRedZone = 128, kAlignment = 16;
  access.note({reinterpret_cast<std::uint64_t>(info.si_addr), is_write(context)});
  redirect(context, (stack_pointer(context) - kRedZone) / kAlignment * kAlignment, &GuardedAccess::leave);
}

/// A write to a page that moves, by whatever thread, is made again when it has moved.
bool waited_for_page(int signal, const siginfo_t& info, const ucontext_t& context) {
  return signal == SIGSEGV && info.si_code == SEGV_ACCERR && is_write(context) &&
         MovableMemory::wait_for_move(reinterpret_cast<std::uint64_t>(info.si_addr));
}

void on_signal(int signal, siginfo_t* info, void* raw_context) {
  if (waited_for_page(signal, *info, *static_cast<ucontext_t*>(raw_context))) return;
  const bool is_of_memory = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0;
  if (GuardedAccess* const access = GuardedAccess::current(); access != nullptr && is_of_memory)
    return leave_access(*access, *info, *static_cast<ucontext_t*>(raw_context));
  Worker* worker = current_worker();
  // si_code <= 0: sent by kill(), not by an instruction.
  if (worker == nullptr || !SignalAccess::in_kernel(*worker) || info->si_code <= 0) {
    chain(signal, info, raw_context);
    return;
  }
  Block& block = SignalAccess::block(*worker);
  auto& context = *static_cast<ucontext_t*>(raw_context);
  RawFault fault;
  fault.address = signal == SIGFPE || signal == SIGILL ? 0 : reinterpret_cast<std::uint64_t>(info->si_addr);
  fill(fault, SignalAccess::registers(*worker), *info, context);
  fault.kind = kind_of(signal, fault.address, block);
  if (block.kind == exec::BlockKind::fibers && block.cta.running_warp == 0) {
    fault.warp = block.current + 1;
    fault.lane = block.warps[block.current]->context.lane;
    fault.line = block.warps[block.current]->context.line;
  } else {
    fault.warp = block.cta.running_warp;
  }
  if (fault.lane == 0) fault.lane = block.cta.running_lane;
  if (block.cta.running_line != 0) fault.line = block.cta.running_line;
  SignalAccess::begin(*worker, fault);
  redirect(context, reinterpret_cast<std::uint64_t>(block.current_fiber().stack_top()), &SignalAccess::land);
}
}  // namespace

void install_fault_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    prepare_saved_registers();
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int signal : kSignals) sigaction(signal, &action, &previous[signal]);
  });
}

ThreadSignals::ThreadSignals() {
  // Large: the state of AMX alone is 8 KiB, and the system refuses AMX to processes with small alternate
  // stacks.
  bytes_ = std::max<std::size_t>(getauxval(AT_MINSIGSTKSZ) + (64 << 10), 128 << 10);
  stack_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack_ == MAP_FAILED) stack_ = nullptr;
  stack_t alternate{};
  alternate.ss_sp = stack_;
  alternate.ss_size = bytes_;
  if (stack_ != nullptr) sigaltstack(&alternate, nullptr);
  // Asynchronous signals are for the program's own threads.
  sigset_t mask;
  sigfillset(&mask);
  for (int signal : kSignals) sigdelset(&mask, signal);
  sigdelset(&mask, SIGTRAP);
  sigdelset(&mask, SIGABRT);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

ThreadSignals::~ThreadSignals() {
  if (stack_ == nullptr) return;
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
  munmap(stack_, bytes_);
}

}  // namespace raddle::machine
