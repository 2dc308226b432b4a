// Managed memory of several devices: one address, and pages with a home.
#include <atomic>
#include <thread>

#include "devices/several_devices.h"

namespace raddle::driver {
namespace {

constexpr std::size_t kPage = 64 << 10, kPages = 16;

CUdeviceptr managed(const On& on) {
  on.use();
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocManaged(&address, kPages * kPage, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  return address;
}

const Environment kModelled{{"RADDLE_DEVICE", "2xtiny"}, {"RADDLE_MMU", "modelled"}};

TEST(Managed, PagesMoveToWhoTouchesThemMost) {
  for (const std::string& engine : engines()) {
    Environment environment = kModelled;
    environment["RADDLE_ENGINE"] = engine;
    in_process(environment, [] {
      const On zero(0), one(1);
      const CUdeviceptr pages = managed(zero), page = pages + kPage;
      const std::size_t before[] = {left_on(0), left_on(1)};
      const auto taken = [&](CUdevice device) { return before[device] - left_on(device); };
      EXPECT_EQ(zero.run("touch", page, 100u), CUDA_SUCCESS);
      EXPECT_EQ(taken(0), kPage) << "the first touch brings it";
      EXPECT_EQ(one.run("touch", page, 100u), CUDA_SUCCESS);
      EXPECT_EQ(taken(0), kPage) << "as often as device 0 is not most";
      EXPECT_EQ(taken(1), 0u);
      EXPECT_EQ(one.run("touch", page, 100u), CUDA_SUCCESS);
      EXPECT_EQ(taken(0), 0u);
      EXPECT_EQ(taken(1), kPage);
      EXPECT_EQ(zero.run("touch", page, 1u), CUDA_SUCCESS);
      EXPECT_EQ(taken(1), kPage) << "one touch is not most";
      EXPECT_EQ(zero.run("touch", page + kPage, 1u), CUDA_SUCCESS);
      EXPECT_EQ(taken(0), kPage) << "each page by itself";
      zero.use();
      EXPECT_EQ(cuMemFree_v2(pages), CUDA_SUCCESS);
      one.use();
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(left_on(1), before[1]);
    });
  }
}

// Kernels of both devices and a thread of the program add, while prefetches and touches move the page.
// proves: A-22d
TEST(Managed, NothingIsLostWhilePagesMove) {
  for (const std::string& engine : engines()) {
    Environment environment = kModelled;
    environment["RADDLE_ENGINE"] = engine;
    in_process(environment, [] {
      constexpr unsigned kRuns = 40;
      const On zero(0), one(1);
      const CUdeviceptr page = managed(zero);
      auto* const words = reinterpret_cast<unsigned*>(page);
      std::atomic<bool> stop{false};
      unsigned adds = 0;
      std::thread adding([&] {
        for (; !stop; ++adds) std::atomic_ref(words[64]).fetch_add(1);
      });
      for (unsigned i = 0; i < kRuns; ++i)
        for (const On* on : {&zero, &one}) {
          EXPECT_EQ(on->run("add", page + 4 * static_cast<CUdeviceptr>(on->device), 3u), CUDA_SUCCESS);
          EXPECT_EQ(cuMemPrefetchAsync_v2(page, kPage, {LOCATION_DEVICE, 1 - on->device}, 0, nullptr),
                    CUDA_SUCCESS);
          if (i % 4 == 0) {
            EXPECT_EQ(cuMemPrefetchAsync_v2(page, kPage, {LOCATION_HOST, 0}, 0, nullptr), CUDA_SUCCESS);
          }
          EXPECT_EQ(words[on->device], 3 * (i + 1));
        }
      stop = true;
      adding.join();
      EXPECT_EQ(words[64], adds);
      EXPECT_EQ(cuMemFree_v2(page), CUDA_SUCCESS);
    });
  }
}

TEST(Managed, PrefetchesAndAdviceDecide) {
  in_process(kModelled, [] {
    const On zero(0), one(1);
    const CUdeviceptr pages = managed(zero);
    const std::size_t before[] = {left_on(0), left_on(1)};
    const auto taken = [&](CUdevice device) { return before[device] - left_on(device); };
    const CUmemLocation at_one{LOCATION_DEVICE, 1}, at_host{LOCATION_HOST, 0};
    EXPECT_EQ(cuMemPrefetchAsync_v2(pages, 4 * kPage, at_one, 0, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(taken(1), 4 * kPage);
    int where = 7;
    EXPECT_EQ(cuMemRangeGetAttribute(&where, 4, RANGE_LAST_PREFETCH_LOCATION, pages, kPage), CUDA_SUCCESS);
    EXPECT_EQ(where, 1);
    EXPECT_EQ(cuMemAdvise_v2(pages, kPage, ADVISE_SET_PREFERRED_LOCATION, at_one), CUDA_SUCCESS);
    EXPECT_EQ(zero.run("touch", pages, 1000u), CUDA_SUCCESS);
    EXPECT_EQ(taken(1), 4 * kPage) << "it is where it is to be";
    EXPECT_EQ(zero.run("touch", pages + kPage, 1000u), CUDA_SUCCESS);
    EXPECT_EQ(taken(1), 3 * kPage);
    EXPECT_EQ(taken(0), kPage);
    EXPECT_EQ(cuMemPrefetchAsync_v2(pages, 4 * kPage, at_host, 0, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(taken(0) + taken(1), 0u);
    int by[3] = {7, 7, 7};
    EXPECT_EQ(cuMemAdvise_v2(pages, kPage, ADVISE_SET_ACCESSED_BY, at_one), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRangeGetAttribute(by, sizeof by, RANGE_ACCESSED_BY, pages, kPage), CUDA_SUCCESS);
    EXPECT_EQ(by[0], 1);
    EXPECT_EQ(by[1], -2);
    EXPECT_EQ(cuMemAdvise_v2(pages, kPage, ADVISE_SET_ACCESSED_BY, {LOCATION_DEVICE, 2}),
              CUDA_ERROR_INVALID_DEVICE);
  });
}

TEST(Managed, VariablesAreOneForAllDevices) {
  for (const char* mode : {"direct", "windowed", "modelled"})
    in_process({{"RADDLE_DEVICE", "tiny,a100"}, {"RADDLE_MMU", mode}}, [] {
      const On zero(0), one(1);
      CUlibrary library = nullptr;
      CUkernel kernel = nullptr;
      CUdeviceptr address[2] = {};
      std::size_t bytes = 0;
      ASSERT_EQ(cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0),
                CUDA_SUCCESS);
      ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "count"), CUDA_SUCCESS);
      for (const On* on : {&zero, &one, &zero}) {
        on->use();
        EXPECT_EQ(cuLibraryGetManaged(&address[on->device], &bytes, library, "counter"), CUDA_SUCCESS);
        EXPECT_EQ(bytes, 4u);
        void* none[] = {nullptr};
        EXPECT_EQ(
            cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, none, nullptr),
            CUDA_SUCCESS);
        EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      }
      EXPECT_EQ(address[0], address[1]);
      EXPECT_EQ(*reinterpret_cast<unsigned*>(address[0]), 43u);
      // They live as long as some context has them.
      EXPECT_EQ(cuCtxDestroy_v2(zero.context), CUDA_SUCCESS);
      EXPECT_EQ(*reinterpret_cast<unsigned*>(address[0]), 43u);
      EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace raddle::driver
