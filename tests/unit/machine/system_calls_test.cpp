// Warps of a block switch without a system call: in a child process whose worker the kernel kills at any call
// but exit_group, they pass barriers of every kind and end.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "machine_fixture.h"

namespace raddle::machine {
namespace {

/// From here on the calling thread lives as long as it makes no system call. @returns false if it cannot be
bool forbid_system_calls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

struct SystemCalls : MachineTest {
  /// Thirty-two warps of one block at barriers of all kinds, some of which exit before the others.
  static void meet(exec::WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    for (int i = 0; i < 300; ++i) {
      machine.barrier_sync(&warp, 0, 0, warp.live_lanes);
      std::uint32_t all = 0;
      machine.barrier_reduce(&warp, 1, 0, warp.live_lanes, warp.warp_id, &all);
      if (warp.warp_id % 2 == 0) machine.barrier_arrive(&warp, 2 + warp.warp_id / 2 % 14, 0, warp.live_lanes);
      machine.barrier_sync(&warp, 0, 0, warp.live_lanes);
      machine.yield(&warp);  // while others have something to do
      if (i == 200 && warp.warp_id >= 16) return;
    }
  }
  /// @returns the wait status of the child
  int status_of_child(bool with_system_call) {
    const pid_t child = fork();
    if (child == 0) _exit(run_child(with_system_call));
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  int run_child(bool with_system_call) {
    MachineOptions options;
    options.workers = 1;
    open(std::move(options));
    int left = 32;
    auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
      warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes);  // all fibers have begun
      if (warp.warp_id == 0 && !forbid_system_calls()) _exit(3);
      meet(warp);
      if (with_system_call) syscall(SYS_getpid);
      if (--left == 0) syscall(SYS_exit_group, 0);
    });
    run(kernel, {.x = 1, .threads = 1024});
    return 1;
  }
};

// proves: K-2d
TEST_F(SystemCalls, WarpsSwitchWithoutAny) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers make system calls of their own when fibers switch";
#endif
  const int refused = status_of_child(true);
  if (WIFEXITED(refused) && WEXITSTATUS(refused) == 3) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_TRUE(WIFSIGNALED(refused)) << "the trap must be armed";
  const int status = status_of_child(false);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace raddle::machine
