#include "cli/wait.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "cli/commands.h"

namespace raddle::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> interrupt_seen = false;  // a signal handler has no other way to report

void on_interrupt(int) {
  if (interrupt_seen.exchange(true)) _exit(kInterrupted);
}

void show_progress(std::uint64_t done, std::uint64_t blocks, double seconds) {
  const double share = blocks ? 100.0 * static_cast<double>(done) / static_cast<double>(blocks) : 0;
  fmt::print(stderr, "\r{:.0f} % ({} of {} blocks), {:.0f} s", share, done, blocks, seconds);
  std::fflush(stderr);
}

void clear_progress() { fmt::print(stderr, "\r{:60}\r", ""); }

}  // namespace

Result<LaunchReport> wait_with_progress(Launch& launch, std::uint64_t blocks,
                                        const std::function<std::uint64_t()>& completed) {
  constexpr auto kStep = std::chrono::milliseconds(100);
  constexpr double kQuiet = 1;  // seconds before progress is shown
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  struct sigaction before{};
  sigaction(SIGINT, &action, &before);
  const Clock::time_point start = Clock::now();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  bool shown = false, cancelled = false;
  std::future<Result<LaunchReport>> result = launch.future();
  while (result.wait_for(kStep) != std::future_status::ready) {
    if (interrupt_seen && !std::exchange(cancelled, true)) launch.cancel();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (terminal && seconds > kQuiet) {
      show_progress(completed(), blocks, seconds);
      shown = true;
    }
  }
  if (shown) clear_progress();
  sigaction(SIGINT, &before, nullptr);
  return result.get();
}

bool interrupted() { return interrupt_seen; }

}  // namespace raddle::cli
