// Push buffers by hand: commands that lie in memory, found through pointers, read while the client does
// something else (A-1).
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

// A parent of two generations: each grid launches the next one, and adds 1 to the second word when that is
// complete; the last one waits for the first word. As the manual launches from PTX.
constexpr const char* kGenerations = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 buffer) cudaGetParameterBuffer(.param .b64 alignment, .param .b64 size);
.extern .func (.param .b32 error) cudaLaunchDevice(.param .b64 func, .param .b64 buffer,
  .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared, .param .b64 stream);
.extern .func (.param .b32 error) cudaDeviceSynchronize();
.visible .entry parent(.param .u64 words) {
  .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [words];
  atom.global.add.u32 %r0, [%rd0+8], 1;
  setp.lt.u32 %p, %r0, 2;
  @%p bra LAUNCH;
LOOP:
  ld.volatile.global.u32 %r1, [%rd0];
  setp.ne.u32 %p, %r1, 1;
  @%p bra LOOP;
  bra.uni END;
LAUNCH:
  mov.u64 %rd1, parent;
  { .param .b64 p0; .param .b64 p1; .param .b64 r;
    st.param.b64 [p0], 8; st.param.b64 [p1], 8;
    call.uni (r), cudaGetParameterBuffer, (p0, p1);
    ld.param.b64 %rd2, [r]; }
  st.u64 [%rd2], %rd0;
  { .param .b64 p0; .param .b64 p1; .param .align 4 .b8 p2[12]; .param .align 4 .b8 p3[12]; .param .b32 p4;
    .param .b64 p5; .param .b32 r;
    st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd2;
    st.param.b32 [p2], 1; st.param.b32 [p2+4], 1; st.param.b32 [p2+8], 1;
    st.param.b32 [p3], 1; st.param.b32 [p3+4], 1; st.param.b32 [p3+8], 1;
    st.param.b32 [p4], 0; st.param.b64 [p5], 0;
    call.uni (r), cudaLaunchDevice, (p0, p1, p2, p3, p4, p5); }
  { .param .b32 r;
    call.uni (r), cudaDeviceSynchronize, (); }
END:
  atom.global.add.u32 %r0, [%rd0+4], 1;
  ret;
}
)";

/// All that this process has of the server is its channel and its push buffer.
int hear_nothing_of_children(const std::string& path, const ServerProcess& server) {
  Steps steps(path, kGenerations, 3);
  steps.take(9);
  if (steps.push_buffer() == nullptr) return 1;
  proxy::PushBufferWriter writer(*steps.push_buffer());
  proxy::Channel& channel = steps.channel_memory();
  steps.push_spin(writer, 1, steps.memory_address());
  if (!wait_until([&] { return steps.words()[2] == 3; })) return 2;  // both children have begun
  const auto answered = [](std::uint64_t launches) {
    return [launches](const nlohmann::json& status) { return status["clients"][0]["launches"] == launches; };
  };
  const nlohmann::json mine = server.status_when(answered(0))["clients"][0];
  if (mine["launches running"] != 1u || mine["launches waiting"] != 0u) return 3;
  if (channel.completed != 0 || steps.push_buffer()->put != 1 || steps.push_buffer()->got != 1) return 4;
  steps.words()[0] = 1;
  if (!wait_until([&] { return channel.completed == 1; })) return 5;
  if (steps.words()[1] != 3 || channel.completions[0].number != 1 || channel.completions[0].outcome != 0)
    return 6;
  const auto one = answered(1);
  return one(server.status_when(one)) && channel.completed == 1 && steps.push_buffer()->put == 1 ? 0 : 7;
}

// proves: A-3a, A-3b
TEST(PushBuffers, CarryNoChildren) {
  ServerProcess server({"--workers", "1"});
  EXPECT_EQ(run(server, [&](const std::string& path) { return hear_nothing_of_children(path, server); }), 0);
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
