// Task graphs as CUDA graphs of Raddle's own libcuda.so.1, which a program loads beside them.
#include "raddle/graph/cuda_export.h"

#include <dlfcn.h>

#include "graph_test.h"
#include "raddle/graph.hpp"

namespace raddle::graph {
namespace {

using Numbers = std::vector<std::uint32_t>;

/// The driver as a program has it.
class DriverOfCuda {
 public:
  DriverOfCuda() {
    EXPECT_EQ(call<int(unsigned)>("cuInit")(0), 0);
    EXPECT_EQ((call<int(void**, void*, unsigned, int)>("cuCtxCreate_v4")(&context_, nullptr, 0, 0)), 0);
  }
  ~DriverOfCuda() { EXPECT_EQ(call<int(void*)>("cuCtxDestroy_v2")(context_), 0); }

  std::uint64_t upload(const Numbers& words) {
    unsigned long long address = 0;
    EXPECT_EQ((call<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&address, words.size() * 4)), 0);
    EXPECT_EQ((call<int(unsigned long long, const void*, std::size_t)>("cuMemcpyHtoD_v2")(
                  address, words.data(), words.size() * 4)),
              0);
    return address;
  }
  Numbers download(std::uint64_t address, std::size_t count) {
    Numbers words(count);
    EXPECT_EQ((call<int(void*, unsigned long long, std::size_t)>("cuMemcpyDtoH_v2")(words.data(), address,
                                                                                    count * 4)),
              0);
    return words;
  }
  void run(void* graph) {
    void* exec = nullptr;
    EXPECT_EQ((call<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&exec, graph, 0)),
              0);
    EXPECT_EQ((call<int(void*, void*)>("cuGraphLaunch")(exec, nullptr)), 0);
    EXPECT_EQ(call<int()>("cuCtxSynchronize")(), 0);
    EXPECT_EQ(call<int(void*)>("cuGraphExecDestroy")(exec), 0);
    EXPECT_EQ(call<int(void*)>("cuGraphDestroy")(graph), 0);
  }

 private:
  template <class Signature>
  Signature* call(const char* name) {
    static void* const library = dlopen(RADDLE_LIBCUDA, RTLD_NOW);
    return reinterpret_cast<Signature*>(dlsym(library, name));
  }
  void* context_ = nullptr;
};

// proves: G-16d
TEST(CudaExports, DoTheSameAsTheTaskGraph) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  int calls = 0;
  Graph graph;
  const Resource in = graph.buffer("in", 64, Origin::input), out = graph.buffer("out", 64, Origin::output);
  const Resource a = graph.buffer("a", 64), b = graph.buffer("b", 64), c = graph.buffer("c", 64);
  graph.pass("copy").copy(a, in);
  graph.pass("fill").fill(b, 5, 1);
  const LaunchConfig config{.grid = {1}, .block = {16}};
  graph.pass("one").reads(a).writes(c).dispatch(code("scale"), config, c, a, 3u);
  graph.pass("two").read_writes(c).reads(b).dispatch(code("accumulate"), config, c, b);
  graph.pass("three").reads(c).writes(out).dispatch(code("scale"), config, out, c, 7u);
  graph.pass("call").reads(out).call([&] { ++calls; });
  Numbers numbers(16);
  for (std::uint32_t i = 0; i < 16; ++i) numbers[i] = i;
  executor.provide("in", 64).value();
  executor.provide("out", 64).value();
  RADDLE_ASSERT_OK(executor.write("in", 0, numbers.data(), 64));
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  Numbers expected(16);
  RADDLE_ASSERT_OK(executor.read("out", 0, expected.data(), 64));
  EXPECT_EQ(expected[2], ((2u * 3 + 1) + 0x05050505u) * 7 + 1);
  DriverOfCuda driver;
  auto cuda = CudaExport::open(RADDLE_LIBCUDA).value();
  const std::uint64_t to = driver.upload(Numbers(16));
  cuda.bind("in", driver.upload(numbers)), cuda.bind("out", to);
  calls = 0;
  for (int runs = 1; runs <= 2; ++runs) {
    const auto exported = cuda.make(*report->schedule);
    RADDLE_ASSERT_OK(exported);
    driver.run(*exported);
    EXPECT_EQ(driver.download(to, 16), expected);
    EXPECT_EQ(calls, runs);
  }
}

TEST(CudaExports, SayWhatCudaGraphsHaveNot) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  DriverOfCuda driver;
  auto cuda = CudaExport::open(RADDLE_LIBCUDA).value();
  Graph bodies;
  const Resource out = bodies.buffer("out", 64, Origin::output);
  bodies.pass("compiled").writes(out).body([](Recorder&) -> Result<void> { return {}; });
  const auto schedule = executor.schedule(bodies).value();
  EXPECT_EQ(cuda.make(*schedule).error().code, ErrorCode::not_found);
  cuda.bind("out", driver.upload(Numbers(16)));
  const auto refused = cuda.make(*schedule);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().to_string().find("compiled"), std::string::npos);
  EXPECT_EQ(CudaExport::open("libnothing.so.7").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace raddle::graph
