// How far a copy or a fill is when its call returns: CUDA's table ("API synchronization behavior"),
// a test for each cell. The stream of the call waits for a value that the test writes, and then has a
// function change the source; so what was read and written tells what was waited for, however long it takes.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "driver_test.h"
#include "unit/limit.h"

namespace raddle::driver {
namespace {

enum Form { synchronous, asynchronous, in_order, during_call };  // the last two: of batches
enum Place { pageable, pinned, registered, managed, device };
enum Returns { at_once, source_read, done };
constexpr const char* kForms[] = {"Synchronous", "Asynchronous", "InOrder", "DuringCall"};
constexpr const char* kPlaces[] = {"Pageable", "Pinned", "Registered", "Managed", "Device"};

struct Cell {
  Form form;
  Place from, to;
  Returns returns;
};

// Rows: sources, columns: targets, in the order of Place. N: done when the call returns, R: the source is
// read, L: the stream does it later. Where the manuals leave it open, what docs/driver.md promises.
constexpr const char* kTable[4][5] = {
    {"NNNNN", "NNNNN", "NNNNN", "NNNNN", "NNNNL"},  // synchronous
    {"NNNRR", "NNNLL", "NNNLL", "NLLLL", "NLLLL"},  // asynchronous
    {"LLLLL", "LLLLL", "LLLLL", "LLLLL", "LLLLL"},  // in order
    {"RRRRR", "RRRRR", "RRRRR", "RRRRR", "RRRRR"},  // during the call
};

std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (const Form form : {synchronous, asynchronous, in_order, during_call})
    for (int from = pageable; from <= device; ++from)
      for (int to = pageable; to <= device; ++to) {
        const char entry = kTable[form][from][to];
        all.push_back({form, Place(from), Place(to),
                       entry == 'N'   ? done
                       : entry == 'R' ? source_read
                                      : at_once});
      }
  return all;
}

constexpr std::size_t kWidth = 64, kHeight = 4, kDepth = 2, kBytes = kWidth * kHeight * kDepth;
constexpr std::size_t kLarge = 1 << 20;  // too much to be copied aside
constexpr int kEarly = 'e', kLate = 'l', kChanged = 'x', kOld = 'o';

/// A piece of memory of each kind, and an array of as many bytes.
class Memories {
 public:
  Memories() {
    EXPECT_EQ(cuMemHostAlloc(&pinned_, kLarge, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemHostRegister_v2(registered_.data(), kLarge, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAllocManaged(&managed_, kLarge, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&device_, kLarge), CUDA_SUCCESS);
    const CUDA_ARRAY3D_DESCRIPTOR shape{kWidth, kHeight, kDepth, FORMAT_UNSIGNED_INT8, 1, 0};
    EXPECT_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_SUCCESS);
  }
  ~Memories() { EXPECT_EQ(cuMemHostUnregister(registered_.data()), CUDA_SUCCESS); }
  CUdeviceptr at(Place place) {
    const CUdeviceptr all[] = {reinterpret_cast<CUdeviceptr>(pageable_.data()),
                               reinterpret_cast<CUdeviceptr>(pinned_),
                               reinterpret_cast<CUdeviceptr>(registered_.data()), managed_, device_};
    return all[place];
  }
  CUarray array = nullptr;

 private:
  std::vector<char> pageable_ = std::vector<char>(kLarge), registered_ = std::vector<char>(kLarge);
  void* pinned_ = nullptr;
  CUdeviceptr managed_ = 0, device_ = 0;
};

char* host(CUdeviceptr address) { return reinterpret_cast<char*>(address); }
/// Whether only the device reaches it: as on hardware, not on Raddle.
bool is_far(CUdeviceptr address) {
  unsigned type = 0;
  unsigned char is_managed = 0;
  return on_hardware() && cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address) == CUDA_SUCCESS &&
         type == MEMORYTYPE_DEVICE &&
         cuPointerGetAttribute(&is_managed, POINTER_IS_MANAGED, address) == CUDA_SUCCESS && is_managed == 0;
}

/// Whether a thread of this process sleeps.
bool sleeps(long thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "S") == 0;
}

class Synchronisation : public testing::Test {
 protected:
  // Beside whatever waits: in a stream of their own, where the host does not reach the memory.
  static void set(CUdeviceptr address, int value, std::size_t bytes) {
    if (!is_far(address)) {
      std::memset(host(address), value, bytes);
      return;
    }
    EXPECT_EQ(cuMemsetD8Async(address, static_cast<unsigned char>(value), bytes, beside), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(beside), CUDA_SUCCESS);
  }
  static bool is_all(CUdeviceptr address, std::size_t bytes, int value) {
    std::vector<char> copy;
    const char* begin = host(address);
    if (is_far(address)) {
      copy.resize(bytes);
      EXPECT_EQ(cuMemcpyDtoHAsync_v2(copy.data(), address, bytes, beside), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamSynchronize(beside), CUDA_SUCCESS);
      begin = copy.data();
    }
    return std::all_of(begin, begin + bytes, [value](char c) { return c == value; });
  }

  static void SetUpTestSuite() {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxCreate_v4(&context, nullptr, 0, 0), CUDA_SUCCESS);
    sources = new Memories;
    targets = new Memories;
    ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&gate), 4, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&independent, STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&beside, STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  static void TearDownTestSuite() {
    delete sources;
    delete targets;
    EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  }

  static std::atomic_ref<unsigned> is_open() { return std::atomic_ref(*gate); }

  /// Makes a stream wait until the gate is open, then change the source.
  void block(CUstream stream, CUdeviceptr source, std::size_t bytes) {
    is_open() = 0;
    changed_ = {source, bytes};
    ASSERT_EQ(cuStreamWaitValue32_v2(stream, reinterpret_cast<CUdeviceptr>(gate), 1, WAIT_VALUE_EQ),
              CUDA_SUCCESS);
    if (bytes != 0 && is_far(source)) {
      ASSERT_EQ(cuMemsetD8Async(source, kLate, bytes, stream), CUDA_SUCCESS);
      return;
    }
    ASSERT_EQ(cuLaunchHostFunc(
                  stream,
                  [](void* data) {
                    const auto& [address, count] = *static_cast<std::pair<CUdeviceptr, std::size_t>*>(data);
                    std::memset(host(address), kLate, count);
                  },
                  &changed_),
              CUDA_SUCCESS);
  }

  /// Runs a call. @returns whether it came back with the gate closed. Once it sleeps, the gate is opened if
  /// the call may wait; on hardware, whose calls wait awake, after a while.
  bool returns_before_the_gate_opens(const char* name, bool may_wait, const std::function<CUresult()>& call) {
    const TimeLimit limit(name);
    std::atomic<bool> returned{false};
    const long caller = syscall(SYS_gettid);
    const auto latest = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    const bool opens_anyway = on_hardware();
    std::thread opener([&] {
      while (!returned && !(may_wait && sleeps(caller)) &&
             !(opens_anyway && std::chrono::steady_clock::now() > latest))
        std::this_thread::yield();
      if (!returned && (may_wait || opens_anyway)) is_open() = 1;
    });
    EXPECT_EQ(call(), CUDA_SUCCESS) << name;
    const bool was_closed = is_open() == 0;
    returned = true;
    opener.join();
    return was_closed;
  }

  /// @param call      a copy from `source` to `target`, in a stream that waits until the gate opens
  /// @param finishes  waits for all of it
  void check(const char* name, Returns expected, CUdeviceptr source, CUdeviceptr target, std::size_t bytes,
             const std::function<CUresult()>& call, const std::function<void()>& finish) {
    const bool was_closed = returns_before_the_gate_opens(name, expected == done, call);
    EXPECT_EQ(was_closed, expected != done) << name;
    EXPECT_TRUE(is_all(target, bytes, expected == done ? kLate : kOld)) << name << ": when it returned";
    if (expected == source_read) set(source, kChanged, bytes);
    is_open() = 1;
    finish();
    EXPECT_TRUE(is_all(target, bytes, expected == source_read ? kEarly : kLate)) << name << ": afterwards";
  }

  static inline CUcontext context = nullptr;
  static inline Memories *sources = nullptr, *targets = nullptr;
  static inline unsigned* gate = nullptr;
  static inline CUstream blocking = nullptr, independent = nullptr, beside = nullptr;

 private:
  std::pair<CUdeviceptr, std::size_t> changed_;
};

CUDA_MEMCPY3D box(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = p.dstMemoryType = MEMORYTYPE_UNIFIED;
  p.srcDevice = from, p.dstDevice = to;
  p.srcPitch = p.dstPitch = p.WidthInBytes = kWidth;
  p.srcHeight = p.dstHeight = p.Height = kHeight;
  p.Depth = kDepth;
  return p;
}

CUDA_MEMCPY2D rows(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY2D p{};
  p.srcMemoryType = p.dstMemoryType = MEMORYTYPE_UNIFIED;
  p.srcDevice = from, p.dstDevice = to;
  p.srcPitch = p.dstPitch = p.WidthInBytes = kWidth;
  p.Height = kHeight * kDepth;
  return p;
}

/// A way to say one copy, in a stream or, synchronous, in the default stream of whoever calls.
struct Way {
  const char* name;
  std::function<CUresult(CUdeviceptr to, CUdeviceptr from, CUstream stream)> copy;
};

const Way kAsynchronous[] = {
    {"cuMemcpyAsync", [](auto to, auto from, auto s) { return cuMemcpyAsync(to, from, kBytes, s); }},
    {"cuMemcpy2DAsync",
     [](auto to, auto from, auto s) {
       const auto p = rows(to, from);
       return cuMemcpy2DAsync_v2(&p, s);
     }},
    {"cuMemcpy3DAsync",
     [](auto to, auto from, auto s) {
       const auto p = box(to, from);
       return cuMemcpy3DAsync_v2(&p, s);
     }},
};
const Way kSynchronous[] = {
    {"cuMemcpy", [](auto to, auto from, auto) { return cuMemcpy(to, from, kBytes); }},
    {"cuMemcpy2D",
     [](auto to, auto from, auto) {
       const auto p = rows(to, from);
       return cuMemcpy2D_v2(&p);
     }},
    {"cuMemcpy3D",
     [](auto to, auto from, auto) {
       const auto p = box(to, from);
       return cuMemcpy3D_v2(&p);
     }},
};
const Way kOwnStream[] = {
    {"cuMemcpy_ptds", [](auto to, auto from, auto) { return cuMemcpy_ptds(to, from, kBytes); }},
    {"cuMemcpy2D_ptds",
     [](auto to, auto from, auto) {
       const auto p = rows(to, from);
       return cuMemcpy2D_v2_ptds(&p);
     }},
    {"cuMemcpy3D_ptds",
     [](auto to, auto from, auto) {
       const auto p = box(to, from);
       return cuMemcpy3D_v2_ptds(&p);
     }},
};

CUresult copy_batch(CUdeviceptr to, CUdeviceptr from, CUstream stream, CUmemcpySrcAccessOrder order) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = order;
  std::size_t bytes = kBytes, first = 0;
  return cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &attributes, &first, 1, stream);
}
CUresult copy_box_batch(CUdeviceptr to, CUdeviceptr from, CUstream stream, CUmemcpySrcAccessOrder order) {
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = kOperandPointer;
  op.src.op.ptr = {from, 0, 0, {}};
  op.dst.op.ptr = {to, 0, 0, {}};
  op.width = kWidth, op.height = kHeight, op.depth = kDepth;
  op.srcAccessOrder = order;
  return cuMemcpy3DBatchAsync_v2(1, &op, 0, stream);
}
const Way kInOrder[] = {
    {"cuMemcpyBatchAsync",
     [](auto to, auto from, auto s) { return copy_batch(to, from, s, ACCESS_ORDER_STREAM); }},
    {"cuMemcpy3DBatchAsync",
     [](auto to, auto from, auto s) { return copy_box_batch(to, from, s, ACCESS_ORDER_ANY); }},
};
const Way kDuringCall[] = {
    {"cuMemcpyBatchAsync",
     [](auto to, auto from, auto s) { return copy_batch(to, from, s, ACCESS_ORDER_DURING_CALL); }},
    {"cuMemcpy3DBatchAsync",
     [](auto to, auto from, auto s) { return copy_box_batch(to, from, s, ACCESS_ORDER_DURING_CALL); }},
};

/// The entry whose name says the direction.
Way by_name(Place from, Place to, bool own_stream) {
  if (from == pageable && to != pageable)
    return {"cuMemcpyHtoD", [=](auto t, auto f, auto) {
              return own_stream ? cuMemcpyHtoD_v2_ptds(t, host(f), kBytes)
                                : cuMemcpyHtoD_v2(t, host(f), kBytes);
            }};
  if (from != pageable && to == pageable)
    return {"cuMemcpyDtoH", [=](auto t, auto f, auto) {
              return own_stream ? cuMemcpyDtoH_v2_ptds(host(t), f, kBytes)
                                : cuMemcpyDtoH_v2(host(t), f, kBytes);
            }};
  if (from != pageable)
    return {"cuMemcpyDtoD", [=](auto t, auto f, auto) {
              return own_stream ? cuMemcpyDtoD_v2_ptds(t, f, kBytes) : cuMemcpyDtoD_v2(t, f, kBytes);
            }};
  return kSynchronous[0];
}
Way by_name_later(Place from, Place to) {
  if (from == pageable && to != pageable)
    return {"cuMemcpyHtoDAsync",
            [](auto t, auto f, auto s) { return cuMemcpyHtoDAsync_v2(t, host(f), kBytes, s); }};
  if (from != pageable && to == pageable)
    return {"cuMemcpyDtoHAsync",
            [](auto t, auto f, auto s) { return cuMemcpyDtoHAsync_v2(host(t), f, kBytes, s); }};
  if (from != pageable)
    return {"cuMemcpyDtoDAsync",
            [](auto t, auto f, auto s) { return cuMemcpyDtoDAsync_v2(t, f, kBytes, s); }};
  return kAsynchronous[0];
}

const auto kLegacy = reinterpret_cast<CUstream>(kLegacyStream);
const auto kOwn = reinterpret_cast<CUstream>(kPerThreadStream);

class SynchronisationTable : public Synchronisation, public testing::WithParamInterface<Cell> {};

TEST_P(SynchronisationTable, OfCopies) {
  const Cell cell = GetParam();
  const CUdeviceptr source = sources->at(cell.from), target = targets->at(cell.to);
  const auto try_ways = [&](auto&& ways, CUstream stream) {
    for (const Way& way : ways) {
      set(source, kEarly, kBytes);
      set(target, kOld, kBytes);
      block(stream, source, kBytes);
      check(
          way.name, cell.returns, source, target, kBytes, [&] { return way.copy(target, source, stream); },
          [&] { EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS); });
    }
  };
  switch (cell.form) {
    case synchronous:
      try_ways(kSynchronous, kLegacy);
      try_ways(std::vector{by_name(cell.from, cell.to, false)}, kLegacy);
      try_ways(kOwnStream, kOwn);
      try_ways(std::vector{by_name(cell.from, cell.to, true)}, kOwn);
      break;
    case asynchronous:
      for (const CUstream stream : {CUstream{nullptr}, kLegacy, kOwn, blocking, independent}) {
        try_ways(kAsynchronous, stream);
        try_ways(std::vector{by_name_later(cell.from, cell.to)}, stream);
      }
      break;
    case in_order:
      for (const CUstream stream : {kOwn, blocking, independent}) try_ways(kInOrder, stream);
      break;
    case during_call:
      for (const CUstream stream : {kOwn, blocking, independent}) try_ways(kDuringCall, stream);
      break;
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, SynchronisationTable, testing::ValuesIn(cells()), [](const auto& info) {
  const Cell& cell = info.param;
  return std::string(kForms[cell.form]) + "From" + kPlaces[cell.from] + "To" + kPlaces[cell.to];
});

/// What is too large to be copied aside may wait for the stream; it is never read after the call.
TEST_F(Synchronisation, OfLargePageableSources) {
  const CUdeviceptr source = sources->at(pageable);
  for (const Place to : {managed, device}) {
    const CUdeviceptr target = targets->at(to);
    set(source, kEarly, kLarge);
    block(independent, source, kLarge);
    returns_before_the_gate_opens("cuMemcpyHtoDAsync", true, [&] {
      return cuMemcpyHtoDAsync_v2(target, host(source), kLarge, independent);
    });
    set(source, kChanged, kLarge);
    is_open() = 1;
    EXPECT_EQ(cuStreamSynchronize(independent), CUDA_SUCCESS);
    EXPECT_TRUE(is_all(target, kLarge, kEarly) || is_all(target, kLarge, kLate)) << kPlaces[to];
  }
}

/// Arrays are device memory: from and to each kind of memory, of one row and of all.
TEST_F(Synchronisation, OfArrays) {
  for (const Form form : {synchronous, asynchronous})
    for (const Place other : {pageable, pinned, registered, managed, device})
      for (const bool to_array : {true, false}) {
        const Returns expected = [&] {
          const char entry = to_array ? kTable[form][other][device] : kTable[form][device][other];
          return entry == 'N' ? done : entry == 'R' ? source_read : at_once;
        }();
        const CUstream stream = form == synchronous ? kLegacy : independent;
        const CUdeviceptr memory = sources->at(other), late = targets->at(pinned);
        CUDA_MEMCPY3D p = box(memory, memory), change = box(0, late);
        set(late, kLate, kBytes);
        set(memory, to_array ? kEarly : kOld, kBytes);
        (to_array ? p.dstMemoryType : p.srcMemoryType) = MEMORYTYPE_ARRAY;
        (to_array ? p.dstArray : p.srcArray) = targets->array;
        change.dstMemoryType = MEMORYTYPE_ARRAY;
        change.dstArray = targets->array;
        block(stream, memory, to_array ? kBytes : 0);
        if (!to_array) ASSERT_EQ(cuMemcpy3DAsync_v2(&change, stream), CUDA_SUCCESS);
        const std::string name = std::string(kForms[form]) +
                                 (to_array ? " to an array from " : " from an array to ") + kPlaces[other];
        const bool was_closed = returns_before_the_gate_opens(name.c_str(), expected == done, [&] {
          return form == synchronous ? cuMemcpy3D_v2(&p) : cuMemcpy3DAsync_v2(&p, stream);
        });
        EXPECT_EQ(was_closed, expected != done) << name;
        if (!to_array) EXPECT_TRUE(is_all(memory, kBytes, expected == done ? kLate : kOld)) << name;
        if (expected == source_read) set(memory, kChanged, kBytes);
        is_open() = 1;
        EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CUDA_MEMCPY3D back = box(late, 0);
        back.srcMemoryType = MEMORYTYPE_ARRAY;
        back.srcArray = targets->array;
        EXPECT_EQ(cuMemcpy3D_v2(&back), CUDA_SUCCESS);
        EXPECT_TRUE(is_all(to_array ? late : memory, kBytes, expected == source_read ? kEarly : kLate))
            << name;
      }
}

/// Fills: of memory that the host sees they are done, in the forms without Async.
TEST_F(Synchronisation, OfFills) {
  struct Fill {
    const char* name;
    bool is_asynchronous;
    std::function<CUresult(CUdeviceptr, CUstream)> fill;
  };
  constexpr auto kWord = kLate * 0x01010101u;
  const Fill fills[] = {
      {"cuMemsetD8", false, [](auto to, auto) { return cuMemsetD8_v2(to, kLate, kBytes); }},
      {"cuMemsetD16", false, [](auto to, auto) { return cuMemsetD16_v2(to, kWord & 0xffff, kBytes / 2); }},
      {"cuMemsetD32", false, [](auto to, auto) { return cuMemsetD32_v2(to, kWord, kBytes / 4); }},
      {"cuMemsetD2D8", false,
       [](auto to, auto) { return cuMemsetD2D8_v2(to, kWidth, kLate, kWidth, kBytes / kWidth); }},
      {"cuMemsetD8Async", true, [](auto to, auto s) { return cuMemsetD8Async(to, kLate, kBytes, s); }},
      {"cuMemsetD16Async", true,
       [](auto to, auto s) { return cuMemsetD16Async(to, kWord & 0xffff, kBytes / 2, s); }},
      {"cuMemsetD32Async", true, [](auto to, auto s) { return cuMemsetD32Async(to, kWord, kBytes / 4, s); }},
      {"cuMemsetD2D8Async", true,
       [](auto to, auto s) { return cuMemsetD2D8Async(to, kWidth, kLate, kWidth, kBytes / kWidth, s); }},
  };
  for (const Fill& each : fills)
    for (const Place place : {pinned, registered, managed, device}) {
      const CUdeviceptr target = targets->at(place);
      const CUstream stream = each.is_asynchronous ? independent : kLegacy;
      set(target, kOld, kBytes);
      block(stream, target, 0);
      const Returns expected = !each.is_asynchronous && place != device ? done : at_once;
      SCOPED_TRACE(kPlaces[place]);
      check(
          each.name, expected, target, target, kBytes, [&] { return each.fill(target, stream); },
          [&] { EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS); });
    }
}

/// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS makes the synchronous forms wait, of device memory too.
TEST_F(Synchronisation, OfMemoryThatAsksForIt) {
  const CUdeviceptr source = sources->at(device), target = targets->at(device);
  unsigned yes = 1, no = 0;
  ASSERT_EQ(cuPointerSetAttribute(&yes, POINTER_SYNC_MEMOPS, source), CUDA_SUCCESS);
  set(target, kOld, kBytes);
  block(kLegacy, source, kBytes);
  check(
      "cuMemcpyDtoD", done, source, target, kBytes, [&] { return cuMemcpyDtoD_v2(target, source, kBytes); },
      [] {});
  ASSERT_EQ(cuPointerSetAttribute(&no, POINTER_SYNC_MEMOPS, source), CUDA_SUCCESS);
}

/// A synchronous copy in the legacy stream waits for blocking streams, not for others.
TEST_F(Synchronisation, OfOtherStreams) {
  const CUdeviceptr source = sources->at(pinned), target = targets->at(pageable);
  set(source, kEarly, kBytes);
  block(independent, source, kBytes);
  EXPECT_TRUE(returns_before_the_gate_opens("cuMemcpyDtoH", false,
                                            [&] { return cuMemcpyDtoH_v2(host(target), source, kBytes); }));
  EXPECT_TRUE(is_all(target, kBytes, kEarly));
  is_open() = 1;
  EXPECT_EQ(cuStreamSynchronize(independent), CUDA_SUCCESS);
  block(blocking, source, kBytes);
  EXPECT_FALSE(returns_before_the_gate_opens("cuMemcpyDtoH", true,
                                             [&] { return cuMemcpyDtoH_v2(host(target), source, kBytes); }));
  EXPECT_TRUE(is_all(target, kBytes, kLate));
}

}  // namespace
}  // namespace raddle::driver
