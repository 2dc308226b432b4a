// What a tensor copy costs beside the memcpy in it, in instructions: a child process makes one, and its
// parent lets it go step by step. Seconds are bench/micro/tma.cpp's.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "tma_blocks.h"
#include "tma_fixture.h"

namespace raddle::machine {
namespace {

/// Instructions that a process executes for `work` and what surrounds it; nothing: it cannot be stepped.
std::optional<long> steps_around(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 4; ++i) work();  // symbols are found, pages are there, plans are kept
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    work();
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return {};
  long steps = 0;
  do {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
    waitpid(child, &status, 0);
    ++steps;
  } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  const bool has_come_to_the_end = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return has_come_to_the_end ? std::optional(steps) : std::nullopt;
}

/// Of `work` alone.
std::optional<long> instructions_of(const std::function<void()>& work) {
  const auto with = steps_around(work), without = steps_around([] {});
  return with && without ? std::optional(*with - *without) : std::nullopt;
}

class TmaCost : public TmaTest {
 protected:
  static constexpr std::uint32_t kRow = 128, kPitch = 512, kRows = 512;

  /// A block of rows, 512 bytes apart in a tensor.
  exec::BulkRequest block_of(std::uint32_t rows) {
    exec::TensorMap map;
    map.element = exec::TensorMap::Element::f16;
    map.rank = 3;
    map.address = address(aligned(tensor_));
    map.size = {256, 256, 2};
    map.stride = {2, kPitch, kPitch * 256};
    map.box = {kRow / 2, std::min(rows, 256u), rows > 256 ? rows / 256 : 1};
    map.step = {1, 1, 1};
    encode(map, aligned(map_));
    return {.kind =
                exec::BulkKind{
                    .direction = exec::BulkDirection::to_shared, .mode = exec::BulkMode::tile, .rank = 3}
                    .word(),
            .global = address(aligned(map_)),
            .shared = at(kBlock),
            .barrier = at(kBarrier)};
  }

  std::vector<std::byte> tensor_ = std::vector<std::byte>(kRows * kPitch + 256),
                         map_ = std::vector<std::byte>(256);
};

// The rows are no run of bytes on both sides, so the memcpy in it is one for each. From 4 KiB on the block
// may cost half as much again, at 1 KiB, where its set-up counts, three times as much.
// proves: T-19a
TEST_F(TmaCost, ABlockTakesLittleMoreThanTheMemcpysInIt) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers add instructions";
#endif
  for (const std::uint32_t rows : {8u, 32u, 128u, kRows}) {
    const exec::BulkRequest request = block_of(rows);
    exec::init_mbarrier(barrier(), 1);
    const TmaRequester requester = thread();
    const auto block = instructions_of([&] {
      if (unit_.submit(requester, request)) _exit(2);
    });
    const std::byte* const from = aligned(tensor_);
    std::byte* const to = shared(kBlock);
    const auto copies = instructions_of([&] {
      for (std::uint32_t row = 0; row < rows; ++row) std::memcpy(to + row * kRow, from + row * kPitch, kRow);
    });
    if (!block || !copies) GTEST_SKIP() << "processes cannot be stepped here (ptrace)";
    EXPECT_GT(*copies, rows);
    EXPECT_LE(*block, *copies * (rows == 8 ? 3 : 1.5)) << rows << " rows, " << *copies << " for memcpy";
    RecordProperty("rows_" + std::to_string(rows), std::to_string(*block) + " of " + std::to_string(*copies));
  }
}

}  // namespace
}  // namespace raddle::machine
