// Graph programs in Lua: any text must end in a schedule, or in an error, within its limits.
#include "raddle/graph.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace raddle::graph;
  static raddle::Device device = [] {
    raddle::DeviceOptions options;
    options.shape = "tiny";
    options.pin = false;
    return raddle::Device::open(options).value();
  }();
  static Executor executor = Executor::open(device).value();
  LuaOptions options;
  options.dry = true;
  options.most_instructions = 100'000;
  options.memory_bytes = 8 << 20;
  options.seconds = 2;
  options.output = [](std::string_view) {};
  const auto report = run_lua(executor, {reinterpret_cast<const char*>(data), size}, "fuzz.lua", options);
  if (!report.ok() && report.error().message.empty()) __builtin_trap();
  return 0;
}
