// Switching fibers makes no system call: a child process that the kernel kills at any call but write and exit
// still switches back and forth.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fiber.h"

namespace raddle::base {
namespace {

struct PingPong {
  Fiber main, other;
  int switches = 0;
};

void answer(void* argument) {
  auto* game = static_cast<PingPong*>(argument);
  while (true) {
    ++game->switches;
    Fiber::switch_to(game->other, game->main);
  }
}

/// Runs in a child under strict seccomp. @returns its wait status
int status_under_seccomp(bool with_system_call) {
  const pid_t child = fork();
  if (child == 0) {
    PingPong game;
    if (!game.other.allocate(64 << 10)) _exit(2);
    game.other.prepare(answer, &game);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(3);
    for (int i = 0; i < 1000; ++i) Fiber::switch_to(game.main, game.other);
    if (with_system_call) syscall(SYS_getpid);
    syscall(SYS_exit, game.switches == 1000 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// proves: K-2d
TEST(FiberSystemCalls, ASwitchMakesNone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers make system calls of their own when fibers switch";
#endif
  const int refused = status_under_seccomp(true);
  if (WIFEXITED(refused) && WEXITSTATUS(refused) == 3) GTEST_SKIP() << "this kernel has no strict seccomp";
  EXPECT_TRUE(WIFSIGNALED(refused)) << "the trap must be armed";
  const int status = status_under_seccomp(false);
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace raddle::base
