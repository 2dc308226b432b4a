// Push buffers by hand: commands that lie in memory, found through pointers, read while the client does
// something else.
#include <gtest/gtest.h>

#include "serve/push_buffer_reader.h"
#include "serve/server_process.h"
#include "serve/steps.h"
#include "wait_until.h"

namespace raddle::serve {
namespace {

/// While the server is suspended, both buffers get work: the urgent one goes first, although it is filled
/// last.
int use_two_buffers(const std::string& path, const ServerProcess& server) {
  Steps steps(path);
  steps.take(9);
  if (steps.push_buffer() == nullptr) return 1;
  proxy::PushBufferWriter usual(*steps.push_buffer()), urgent(*steps.add_push_buffer(-5));
  proxy::Channel& channel = steps.channel_memory();
  steps.words()[0] = 1;  // these kernels end at once
  steps.push_spin(usual, 1, steps.memory_address());
  if (!wait_until([&] { return channel.completed == 1; }))
    return 2;  // nobody rang: the server looks by itself
  server.suspend(true);
  for (std::uint64_t i = 2; i < 5; ++i) steps.push_spin(usual, i, steps.memory_address());
  steps.push_spin(urgent, 9, steps.memory_address());
  server.suspend(false);
  if (!wait_until([&] { return channel.completed == 5; })) return 3;
  return channel.completions[1].number == 9 && channel.completions[2].number == 2 ? 0 : 4;
}

// proves: A-1a, A-1b, A-1c, A-1d, A-1e
TEST(PushBuffers, TheMostUrgentGoesFirst) {
  ServerProcess server({"--workers", "1"});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(run(server, [&](const std::string& path) { return use_two_buffers(path, server); }), 0);
}

/// More commands than a buffer has room for, through the program's own end of it.
TEST(PushBuffers, ComeRound) {
  auto memory = std::make_unique<proxy::PushBuffer>();
  proxy::PushBufferWriter writer(*memory);
  PushBufferReader reader(*memory);
  std::vector<std::byte> piece(70000), command(48), data(70000 - 48);
  std::uint32_t written = 0, read = 0;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    std::memcpy(command.data(), &written, sizeof written);
    const bool fits = writer.write(command, std::span(data).first(i * 7919 % data.size()));
    if (fits) ++written;
    if (fits && i % 3 != 0) continue;
    ASSERT_TRUE(reader.has_more());
    const auto bytes = reader.take(piece);
    ASSERT_TRUE(bytes);
    std::uint32_t number;
    std::memcpy(&number, piece.data(), sizeof number);
    EXPECT_EQ(number, read++);
  }
  EXPECT_GT(read, 5000u);
}

}  // namespace
}  // namespace raddle::serve
