// CUDA contexts of a device that are device contexts of their own (RADDLE_CONTEXTS).
#include "devices/several_devices.h"

namespace raddle::driver {
namespace {

std::vector<Environment> ways_to_share() {
  std::vector<Environment> all;
  for (const std::string& engine : engines())
    for (const char* contexts : {"queued", "concurrent"})
      for (const char* translation : {"direct", "windowed", "modelled"})
        all.push_back({{"RADDLE_DEVICE", "tiny"},
                       {"RADDLE_ENGINE", engine},
                       {"RADDLE_CONTEXTS", contexts},
                       {"RADDLE_MMU", translation}});
  return all;
}

// A kernel of one waits for a word that the program writes after a kernel of the other has ended.
TEST(DeviceContexts, OfOneProgramDoNotWaitForEachOther) {
  for (const Environment& environment : ways_to_share())
    in_process(environment, [] {
      const On first(0), second(0);
      void* memory = nullptr;
      ASSERT_EQ(cuMemHostAlloc(&memory, 64, 0), CUDA_SUCCESS);
      auto* const words = static_cast<volatile unsigned*>(memory);
      words[0] = 0;
      words[1] = 0;
      const auto address = reinterpret_cast<CUdeviceptr>(memory);
      const CUdeviceptr one = first.word(10), other = second.word(20);
      EXPECT_EQ(first.launch_in(nullptr, "wait", address, address + 4), CUDA_SUCCESS);
      for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(second.run("add", other, i), CUDA_SUCCESS);
      EXPECT_EQ(read(other), 30u);
      EXPECT_EQ(words[1], 0u);
      words[0] = 3;
      first.use();
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(words[1], 3u);
      EXPECT_EQ(cuMemcpyPeer(other, second.context, one, first.context, 4), CUDA_SUCCESS);
      EXPECT_EQ(second.run("add", other, 1u), CUDA_SUCCESS);
      EXPECT_EQ(read(other), 11u);
    });
}

TEST(DeviceContexts, KeepTheirFaults) {
  for (const Environment& environment : ways_to_share()) {
    if (environment.at("RADDLE_MMU") == "direct") continue;
    in_process(environment, [] {
      const On first(0), second(0);
      const CUdeviceptr word = second.word(1);
      EXPECT_EQ(first.launch_in(nullptr, "fault", CUdeviceptr{0x40}), CUDA_SUCCESS);
      EXPECT_EQ(second.run("add", word, 1u), CUDA_SUCCESS);
      EXPECT_EQ(read(word), 2u);
      first.use();
      EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
      second.use();
      EXPECT_EQ(second.run("add", word, 1u), CUDA_SUCCESS);
    });
  }
}

TEST(DeviceContexts, AnUnknownWayToShareIsRefused) {
  in_process({{"RADDLE_DEVICE", "tiny"}, {"RADDLE_CONTEXTS", "dice"}},
             [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

}  // namespace
}  // namespace raddle::driver
