// Counts of who touches managed memory, in all spaces: pages move to the processor that touches them most,
// be that a device or the host. Copies land late where it says "lazy", so that machines are deterministic and
// have one worker.
#include <atomic>
#include <cstdio>
#include <fstream>

#include "devices/several_devices.h"
#include "machine/memory/host_touches.h"

namespace raddle::driver {
namespace {

using machine::HostTouches;
using machine::Residency;

constexpr unsigned kLead = Residency::kLead;
static_assert(HostTouches::kTouchesOfALook == kLead);

constexpr const char* kMoreKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry of_block(.param .u64 p, .param .u32 block)
{
  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u64 %d, [p]; ld.param.u32 %r1, [block];
  mov.u32 %r2, %ctaid.x;
  setp.ne.u32 %q, %r1, %r2;
  @%q ret;
  ld.volatile.global.u32 %r2, [%d];
  ret;
}
.visible .entry bulk(.param .u64 p)
{
  .shared .align 16 .b8 tile[16];
  .reg .b32 %r; .reg .b64 %d;
  ld.param.u64 %d, [p];
  mov.u32 %r, tile;
  st.shared.u32 [%r], 7;
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%d], [%r], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";

/// A page of managed memory that begins at device 0, and a word of another kind on that device.
struct Scene {
  explicit Scene(const On& on) : zero(on), word(on.word(0)) {
    zero.use();
    EXPECT_EQ(cuMemAllocManaged(&page, Residency::kPage, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPrefetchAsync_v2(page, Residency::kPage, {LOCATION_DEVICE, 0}, 0, nullptr), CUDA_SUCCESS);
    for (int device = 0; device < on_all(); ++device) before.push_back(left_on(device) + is_at_0(device));
  }
  static int on_all() {
    int count = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    return count;
  }
  static std::size_t is_at_0(int device) { return device == 0 ? Residency::kPage : 0; }

  /// In whose memory the page counts; -1: the host's.
  int home() const {
    int found = -1;
    for (int device = 0; device < on_all(); ++device) {
      const std::size_t taken = before[static_cast<std::size_t>(device)] - left_on(device);
      EXPECT_TRUE(taken == 0 || taken == Residency::kPage) << device;
      if (taken != 0) found = device;
    }
    return found;
  }
  /// Something that the host does between two pieces of work, in an interval that is looked at.
  template <class What>
  void between_work(const What& what) const {
    usleep(11'000);  // more than HostTouches::kBetweenLooks
    EXPECT_EQ(zero.run("touch", word, 1u), CUDA_SUCCESS);
    what();
    EXPECT_EQ(zero.run("touch", word, 1u), CUDA_SUCCESS);
  }
  void touch() const { (void)*reinterpret_cast<volatile unsigned*>(page); }

  const On& zero;
  const CUdeviceptr word;
  CUdeviceptr page = 0;
  std::vector<std::size_t> before;
};

/// Runs a body in each kind of space, by each engine. In modelled spaces copies never land late.
void everywhere(const std::function<void()>& body, const std::string& asynchrony = "eager") {
  std::vector<std::string> translations{"direct", "windowed"};
  if (asynchrony == "eager") translations.push_back("modelled");
  for (const std::string& translation : translations)
    for (const std::string& engine : engines())
      in_process({{"RADDLE_DEVICE", "3xtiny"},
                  {"RADDLE_MMU", translation},
                  {"RADDLE_ENGINE", engine},
                  {"RADDLE_ASYNC", asynchrony}},
                 body);
}

void move_to_who_touches_most() {
  const On zero(0), one(1), two(2), another_of_two(2);
  const Scene scene(zero);
  const auto touches = [&](const On& on, unsigned times) {
    EXPECT_EQ(on.run("touch", scene.page, times), CUDA_SUCCESS);
  };
  EXPECT_EQ(scene.home(), 0);
  touches(zero, 100);
  touches(one, 100 + kLead - 1);
  EXPECT_EQ(scene.home(), 0) << "one less than it takes";
  touches(one, 1);
  EXPECT_EQ(scene.home(), 1);
  touches(two, kLead - 1);
  EXPECT_EQ(scene.home(), 1);
  touches(another_of_two, 1);
  EXPECT_EQ(scene.home(), 2) << "contexts of a device count together";
  touches(two, 100);
  for (int looks = 1; looks <= 2; ++looks) {
    scene.between_work([&] { scene.touch(); });
    EXPECT_EQ(scene.home(), 2) << "seen " << looks * kLead << " times, device 2 100 times";
  }
  scene.between_work([&] { scene.touch(); });
  EXPECT_EQ(scene.home(), -1);
  touches(one, kLead - 1);
  EXPECT_EQ(scene.home(), -1) << "it touched the page most, so the first to come does not take it";
  touches(one, 1);
  EXPECT_EQ(scene.home(), 1);
  for (int i = 0; i < 3; ++i) scene.between_work([] {});
  EXPECT_EQ(scene.home(), 1) << "nobody touched it";
}

// proves: A-22d
TEST(Counters, PagesMoveToTheProcessorThatTouchesThemMost) { everywhere(move_to_who_touches_most); }

// proves: A-22d
TEST(Counters, AreExactOnDeterministicMachines) { everywhere(move_to_who_touches_most, "lazy"); }

// System calls find the pages that are looked at, and are touches, too.
// proves: A-22d
TEST(Counters, SystemCallsAreTheHosts) {
  everywhere([] {
    const On zero(0), one(1);
    const Scene scene(zero);
    int ends[2] = {};
    ASSERT_EQ(pipe(ends), 0);
    scene.between_work([&] { EXPECT_EQ(::write(ends[1], reinterpret_cast<void*>(scene.page), 8), 8); });
    EXPECT_EQ(scene.home(), -1);
    EXPECT_EQ(one.run("touch", scene.page, kLead), CUDA_SUCCESS);
    EXPECT_EQ(scene.home(), 1);
    scene.between_work([&] { EXPECT_EQ(::read(ends[0], reinterpret_cast<void*>(scene.page), 8), 8); });
    EXPECT_EQ(scene.home(), -1);
  });
}

// A grid of device 0 writes to the page while device 1 begins and ends to work.
TEST(Counters, OfADeviceThatWorksOnAreNotTheHosts) {
  everywhere([] {
    const On zero(0), one(1);
    const CUdeviceptr word = one.word(0);
    const Scene scene(zero);
    void* memory = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&memory, 4, 0), CUDA_SUCCESS);
    const std::atomic_ref<unsigned> flag(*static_cast<unsigned*>(memory));
    for (unsigned i = 0; i < 4; ++i) {
      usleep(11'000);
      flag = 0;
      const auto flag_address = reinterpret_cast<CUdeviceptr>(memory);
      EXPECT_EQ(zero.launch_in(nullptr, "wait", flag_address, scene.page), CUDA_SUCCESS);
      EXPECT_EQ(one.run("touch", word, 1u), CUDA_SUCCESS);
      flag = 1;
      zero.use();
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(one.run("touch", word, 1u), CUDA_SUCCESS);
    }
    EXPECT_EQ(scene.home(), 0);
  });
}

CUfunction one_of_more(const On& on, const char* name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  on.use();
  EXPECT_EQ(cuModuleLoadData(&module, kMoreKernels), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
  return function;
}

// One block of 32 touches the page: each launch of a direct device counts two blocks, and in sixteen each.
// proves: A-22d
TEST(Counters, OfALargeGridAreOfBlocksInTurn) {
  for (const std::string& engine : engines())
    in_process({{"RADDLE_DEVICE", "2xtiny"}, {"RADDLE_ENGINE", engine}}, [] {
      const On zero(0), one(1);
      const Scene scene(zero);
      const CUfunction function = one_of_more(one, "of_block");
      CUdeviceptr page = scene.page;
      unsigned block = 5;
      void* arguments[] = {&page, &block};
      const auto launch = [&](unsigned times) {
        one.use();
        for (unsigned i = 0; i < times; ++i)
          EXPECT_EQ(cuLaunchKernel(function, 32, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
                    CUDA_SUCCESS);
        EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      };
      launch(16 * (kLead - 1));
      EXPECT_EQ(scene.home(), 0);
      launch(16);
      EXPECT_EQ(scene.home(), 1);
    });
}

// What the machine itself copies for a kernel may go there, too.
TEST(Counters, BulkCopiesReachManagedMemory) {
  everywhere([] {
    const On zero(0), one(1);
    const Scene scene(zero);
    const CUfunction function = one_of_more(one, "bulk");
    CUdeviceptr page = scene.page;
    void* arguments[] = {&page};
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(*reinterpret_cast<unsigned*>(page), 7u);
  });
}

/// As the system knows it.
std::string name_of_mapping(CUdeviceptr address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long start = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &start, &end) == 2 && start <= address && address < end)
      return line;
  }
  return "none";
}

// Where no page could move nobody counts: it stays the only device's, whoever touches it, and is no memory
// whose accesses are compiled to be counted.
TEST(Counters, OfOneDirectDeviceAreNone) {
  in_process({{"RADDLE_DEVICE", "tiny"}}, [] {
    const On zero(0);
    const Scene scene(zero);
    for (int i = 0; i < 3; ++i) scene.between_work([&] { scene.touch(); });
    EXPECT_EQ(scene.home(), 0);
    EXPECT_EQ(name_of_mapping(scene.page).find("memfd"), std::string::npos) << "it lies where pages move";
  });
}

}  // namespace
}  // namespace raddle::driver
