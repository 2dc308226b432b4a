// Push buffers by hand: commands that lie in memory, found through pointers, read while the client does
// something else (A-1).
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

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

/// More commands than a buffer has room for, through the program's own end of it, which has them in one
/// memory or the other.
void expect_to_come_round(std::byte* streams) {
  auto memory = std::make_unique<proxy::PushBuffer>();
  proxy::PushBufferWriter writer(*memory, streams);
  PushBufferReader reader(*memory);
  std::vector<std::byte> piece(70000), command(48), data(70000 - 48);
  std::uint32_t written = 0, read = 0;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    std::memcpy(command.data(), &written, sizeof written);
    const bool fits = writer.write(command, std::span(data).first(i * 7919 % data.size()));
    if (fits) ++written;
    if (fits && i % 3 != 0) continue;
    ASSERT_TRUE(reader.has_more());
    const auto next = reader.next();
    ASSERT_TRUE(next);
    ASSERT_EQ(reader.read(*next, piece).ok(), streams == nullptr);
    if (streams != nullptr) {
      const auto start = reinterpret_cast<std::uint64_t>(streams);
      ASSERT_EQ(next->memory, proxy::StreamPiece::kDevice);
      ASSERT_TRUE(next->start >= start &&
                  next->start + next->bytes <= start + proxy::PushBuffer::kStreamBytes);
      std::memcpy(piece.data(), reinterpret_cast<const void*>(next->start), next->bytes);
    }
    reader.pass();
    std::uint32_t number;
    std::memcpy(&number, piece.data(), sizeof number);
    EXPECT_EQ(number, read++);
  }
  EXPECT_GT(read, 5000u);
}

TEST(PushBuffers, ComeRound) {
  expect_to_come_round(nullptr);
  std::vector<std::byte> streams(proxy::PushBuffer::kStreamBytes);
  expect_to_come_round(streams.data());
}

constexpr std::uint64_t kStreamsAt = 64 << 20;  // behind the words of a Steps

/// Far more commands than fit, from device memory and from host memory in turns.
int launch_from_both(const std::string& path) {
  constexpr std::uint64_t kLaunches = 6000;
  Steps steps(path);
  steps.take(9);
  proxy::PushBuffer* const buffer = steps.push_buffer();
  proxy::PushBuffer* const other = steps.add_push_buffer(-5);
  std::byte* const streams =
      steps.add_memory(steps.memory_address() + kStreamsAt, proxy::PushBuffer::kStreamBytes);
  if (buffer == nullptr || other == nullptr || streams == nullptr) return 1;
  proxy::PushBufferWriter in_device(*buffer, streams), in_host(*other);
  proxy::Channel& channel = steps.channel_memory();
  steps.words()[0] = 1;  // these kernels end at once
  for (std::uint64_t number = 1; number <= kLaunches; ++number) {
    proxy::PushBufferWriter& writer = number % 8 == 0 ? in_host : in_device;
    // As programs do: no more under way than are answered.
    if (!wait_until([&] { return number - channel.completed < proxy::kMostInFlight; })) return 2;
    if (!wait_until([&] { return steps.push_spin(writer, number, steps.memory_address()); })) return 3;
  }
  if (!wait_until([&] { return channel.completed == kLaunches; })) return 4;
  for (const proxy::Completion& completion : channel.completions)
    if (completion.outcome != 0) return 5;
  // The commands were nowhere else.
  if (std::ranges::count(buffer->streams, std::byte{}) != proxy::PushBuffer::kStreamBytes) return 6;
  return buffer->got == kLaunches - kLaunches / 8 && other->got == kLaunches / 8 ? 0 : 7;
}

/// A kernel completes a command that launches another one.
int launch_what_a_kernel_wrote(const std::string& path) {
  constexpr std::uint32_t kSpin = 1, kStore = 2;
  Steps steps(path, kKernels, kStore);
  steps.take(9);
  if (!proxy::exchange(steps.connection(), {{"ask", "compile"},
                                            {"module", steps.module()},
                                            {"kernel", kSpin},
                                            {"x", 1u},
                                            {"y", 1u},
                                            {"z", 1u}}))
    return 6;
  const std::uint64_t at = steps.memory_address() + kStreamsAt;
  std::byte* const memory = steps.add_memory(at, 4096);
  if (steps.push_buffer() == nullptr || memory == nullptr) return 1;
  proxy::Channel& channel = steps.channel_memory();
  proxy::LaunchCommand spin = steps.launch_of(kSpin, 2);
  spin.grid[0] = 0;  // no grid yet
  const std::uint64_t flag = steps.memory_address();
  std::memcpy(memory, &spin, sizeof spin);
  std::memcpy(memory + sizeof spin, &flag, sizeof flag);
  steps.words()[0] = 1;
  proxy::PushBufferWriter writer(*steps.push_buffer());
  if (!steps.push_spin(writer, 1, at + offsetof(proxy::LaunchCommand, grid))) return 2;  // "store"
  if (!wait_until([&] { return channel.completed == 1; })) return 3;
  steps.push_buffer()->pieces[1] = {at, sizeof spin + sizeof flag, proxy::StreamPiece::kDevice};
  steps.push_buffer()->put = 2;
  if (!wait_until([&] { return channel.completed == 2; })) return 4;
  const proxy::Completion& last = channel.completions[1];
  return last.number == 2 && last.outcome == 0 && steps.words()[1] != 0 ? 0 : 5;
}

// proves: A-1a, A-1b
TEST(PushBuffers, PointAtCommandsInDeviceMemory) {
  ServerProcess server({"--workers", "1"});
  EXPECT_EQ(run(server, launch_from_both), 0);
  EXPECT_EQ(run(server, launch_what_a_kernel_wrote), 0);
}

/// Who points at what is not its own device memory, in one way of several.
int point_wrongly(const std::string& path, int way, std::uint64_t others_commands) {
  constexpr std::uint64_t kBytes = 64 << 10;
  Steps steps(path);
  steps.take(9);
  const std::uint64_t at = steps.memory_address() + kStreamsAt;
  std::byte* const memory = steps.add_memory(at, kBytes);
  if (steps.push_buffer() == nullptr || memory == nullptr) return 1;
  const proxy::LaunchCommand spin = steps.launch_of(1, 1);
  const std::uint64_t flag = steps.memory_address();
  constexpr std::uint32_t kCommand = sizeof spin + sizeof flag;
  for (const std::uint64_t offset : {std::uint64_t{0}, kBytes - kCommand, kBytes - sizeof spin}) {
    std::memcpy(memory + offset, &spin, sizeof spin);
    if (offset + kCommand <= kBytes) std::memcpy(memory + offset + sizeof spin, &flag, sizeof flag);
  }
  steps.words()[0] = 1;
  proxy::StreamPiece piece{at, kCommand, proxy::StreamPiece::kDevice};
  const auto asked = [&](nlohmann::json request) {
    request["address"] = at, request["bytes"] = kBytes;
    return proxy::exchange(steps.connection(), request).ok();
  };
  switch (way) {
    case 0:  // the last bytes of its memory: this is right
      piece.start = at + kBytes - kCommand;
      break;
    case 1:
      piece.start = at + kBytes - sizeof spin;
      break;
    case 2:
      piece.start = at + kBytes;
      break;
    case 3:
      piece.start = at - 8;
      break;
    case 4:  // freed
      if (!asked({{"ask", "unmap"}})) return 2;
      break;
    case 5:  // not to be read
      if (!asked({{"ask", "protect"}, {"protection", 0u}})) return 3;
      break;
    case 6:
      piece.start = others_commands;
      break;
    case 7:
      piece.start = 0;
      break;
    case 8:  // round the end of all addresses
      piece.start = -std::uint64_t{8};
      break;
    case 9:
      piece.bytes = kBytes;
      break;
    case 10:
      piece.memory = 2;
      break;
    case 11:  // the same number means something in the other memory
      piece.memory = proxy::StreamPiece::kHost;
      break;
    case 12:  // the server's own memory
      piece.start = reinterpret_cast<std::uint64_t>(&proxy::kVersion);
      break;
  }
  steps.push_buffer()->pieces[0] = piece;
  steps.push_buffer()->put = 1;
  proxy::Channel& channel = steps.channel_memory();
  if (way == 0) return wait_until([&] { return channel.completed == 1; }) ? 0 : 4;
  if (!wait_until([&] { return steps.is_cut_off(); })) return 5;
  return channel.completed == 0 && steps.push_buffer()->got == 0 && steps.words()[1] == 0 ? 0 : 6;
}

// Another client's commands are none of its own, though they lie where the server could read them.
// proves: A-1a, A-10a, A-20c
TEST(PushBuffers, PointAtOnesOwnMemoryOnly) {
  ServerProcess server({"--workers", "1"});
  auto* const words = static_cast<std::atomic<std::uint64_t>*>(shared_page());
  const pid_t other = start(server, [=](const std::string& path) {
    Steps steps(path);
    steps.take(9);
    std::byte* const memory = steps.add_memory(steps.memory_address() + kStreamsAt, 4096);
    if (memory == nullptr) return 1;
    const proxy::LaunchCommand spin = steps.launch_of(1, 1);
    std::memcpy(memory, &spin, sizeof spin);
    words[0] = reinterpret_cast<std::uint64_t>(memory);
    for (;;) pause();
    return 0;
  });
  ASSERT_TRUE(wait_until([&] { return words[0] != 0; }));
  for (int way = 0; way <= 12; ++way)
    EXPECT_EQ(run(server, [&](const std::string& path) { return point_wrongly(path, way, words[0]); }), 0)
        << way;
  EXPECT_EQ(run(server, launch_what_a_kernel_wrote), 0);
  kill(other, SIGKILL);
  wait_for(other);
}

/// A thread changes the commands, and what points at them, while they are read.
int change_commands(const std::string& path, std::uint64_t draw) {
  Steps steps(path);
  steps.take(9);
  const std::uint64_t at = steps.memory_address() + kStreamsAt;
  std::byte* const memory = steps.add_memory(at, 4096);
  proxy::PushBuffer* const buffer = steps.push_buffer();
  if (buffer == nullptr || memory == nullptr) return 1;
  const proxy::LaunchCommand right = steps.launch_of(1, 1);
  auto* const command = reinterpret_cast<volatile proxy::LaunchCommand*>(memory);
  std::memcpy(memory, &right, sizeof right);
  steps.words()[0] = 1;
  const proxy::StreamPiece piece{at, sizeof right + 8, proxy::StreamPiece::kDevice};
  for (auto& each : buffer->pieces) each = piece;
  std::atomic<bool> stop{false};
  std::thread changing([&] {
    for (std::uint32_t i = 0; !stop; ++i) {
      command->number = i / 2;
      if (draw % 4 != 0) command->parameter_bytes = i % 2 == 0 ? 8 : 0x7fff'ffff;
      if (draw % 4 == 1) command->depth = i % 2 == 0 ? 0 : 0xffff'ffff;
      if (draw % 4 == 2) buffer->pieces[i % 1024].bytes = i % 2 == 0 ? piece.bytes : 0x8000'0000;
      if (draw % 4 == 3) buffer->pieces[i % 1024].start = i % 2 == 0 ? at : at ^ (std::uint64_t{1} << 45);
    }
  });
  for (std::uint32_t i = 1; i <= 1000; ++i) buffer->put = i;
  (void)wait_until([&] { return buffer->got == 1000 || steps.is_cut_off(); });
  if (draw % 2 == 0)
    (void)proxy::exchange(steps.connection(), {{"ask", "unmap"}, {"address", at}, {"bytes", 4096u}});
  stop = true;
  changing.join();
  return 0;
}

// proves: A-1a, A-20c
TEST(PushBuffers, AreReadOnce) {
  ServerProcess server({"--kernel-time", "1000"});
  for (std::uint64_t draw = 0; draw < 24; ++draw)
    EXPECT_EQ(run(server, [=](const std::string& path) { return change_commands(path, draw); }), 0);
  EXPECT_EQ(run(server, launch_what_a_kernel_wrote), 0);
}

/// An ordinary program.
int add_with(const std::string& path, const char* commands) {
  setenv("RADDLE_COMMANDS", commands, 1);
  DeviceOptions options;
  options.server = path;
  auto device = Device::open(options);
  if (!device)
    return device.error().message.find("commands lie in host or device memory") != std::string::npos ? 50
                                                                                                     : 51;
  Module module = device->load(kKernels).value();
  Buffer<std::uint32_t> data = device->buffer(std::vector<std::uint32_t>(1000)).value();
  for (std::uint32_t i = 1; i <= 3000; ++i)
    if (!module.kernel("add")->launch({.grid = {8}, .block = {128}}, data, 1000u, 1u).ok()) return 52;
  std::vector<std::uint32_t> sums(1000);
  if (!device->synchronize() || !data.read(sums)) return 53;
  return std::ranges::count(sums, 3000u) == 1000 ? 0 : 54;
}

/// The same, which stays until it is asked to go.
int add_and_stay(const std::string& path, const char* commands, std::atomic<int>* words) {
  const int result = add_with(path, commands);
  words[0] = 1 + result;
  return wait_until([&] { return words[1] != 0; }) ? result : 55;
}

// proves: A-1a
TEST(PushBuffers, OfProgramsPointWhereTheyAreTold) {
  ServerProcess server({"--workers", "1"});
  std::uint64_t bytes[2] = {};
  for (const int in_device : {0, 1}) {
    auto* const words = new (shared_page()) std::atomic<int>[2]();
    const pid_t program = start(server, [=](const std::string& path) {
      return add_and_stay(path, in_device != 0 ? "device" : "host", words);
    });
    ASSERT_TRUE(wait_until([&] { return words[0] != 0; }));
    bytes[in_device] = server.clients(1).front()["memory"];
    words[1] = 1;
    EXPECT_EQ(wait_for(program), 0);
  }
  EXPECT_EQ(bytes[1], bytes[0] + proxy::PushBuffer::kStreamBytes);
  EXPECT_EQ(run(server, [](const std::string& path) { return add_with(path, "disk"); }), 50);
}

}  // namespace
}  // namespace raddle::serve
