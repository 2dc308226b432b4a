// The virtual-memory calls' objects: memory without an address, addresses, and what is mapped there.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <ranges>

#include "driver/gpu.h"
#include "driver/memory_table.h"
#include "driver/status.h"

namespace raddle::driver {

/// Unit of sizes, offsets and addresses.
inline constexpr std::size_t kMemoryGranularity = 2 << 20;
inline bool is_whole(std::size_t bytes) { return bytes != 0 && bytes % kMemoryGranularity == 0; }

/// A multicast object's team and the memory bound to it (cuMulticastCreate). What is stored at one of its
/// bytes is stored by every device of the team, of which there is one: so its mappings are mappings of the
/// memory that this device has bound.
class Multicast {
 public:
  explicit Multicast(unsigned devices) : devices_(devices) {}

  /// @errors CUDA_ERROR_INVALID_VALUE: it is in the team already, or that is complete
  Status add(CUdevice device);
  /// Until all devices of the team have been added.
  void wait_for_team();

  struct Binding {
    std::size_t offset = 0, bytes = 0;  ///< in the object
    std::shared_ptr<const MemoryFile> file;
    std::size_t at = 0;  ///< in the file
  };
  /// False: something is bound to a part of it.
  bool bind(const Binding& binding);
  /// False unless the range is that of whole bindings.
  bool unbind(std::size_t offset, std::size_t bytes);
  /// The parts of the range that have memory, by offset.
  std::vector<Binding> parts(std::size_t offset, std::size_t bytes) const;
  bool is_bound(std::size_t offset, std::size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable complete_;
  const unsigned devices_;
  std::vector<CUdevice> team_;
  std::vector<Binding> bindings_;
};

/// Memory as such, from cuMemCreate or another process: a file in memory, which can be mapped any number of
/// times. Or what can be mapped like it: a multicast object.
struct PhysicalMemory {
  PhysicalMemory(MemoryFile memory, Gpu& of, const CUmemAllocationProp& wanted, bool counts);
  explicit PhysicalMemory(const CUmulticastObjectProp& wanted);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  Gpu* const gpu = nullptr;                      ///< whose memory it is; null: a multicast object
  const std::shared_ptr<const MemoryFile> file;  ///< null: a multicast object
  const std::unique_ptr<Multicast> multicast;    ///< null: memory
  const std::size_t bytes;
  const CUmemAllocationProp props;
  const bool counted;  ///< as memory of the device in this process
  const std::uint64_t id;
  std::mutex mutex;
  unsigned uses = 0;  ///< of its handle, by creation, import and cuMemRetainAllocationHandle
  CUmemGenericAllocationHandle handle = 0;
};

/// A handle for an object that has none.
CUmemGenericAllocationHandle add_handle(const std::shared_ptr<PhysicalMemory>& memory);

struct MappedMemory final : Memory {
  MappedMemory(CUdeviceptr address, std::size_t size, std::shared_ptr<const Mapping> in,
               std::shared_ptr<PhysicalMemory> of, std::size_t from);
  ~MappedMemory() override;
  /// Host and kernels have one page table: what one may do, all can that nothing else keeps from it.
  CUmemAccess_flags access() const override {
    return std::ranges::max(granted | std::views::transform([](const auto& each) { return each.load(); }));
  }
  bool is_for(unsigned number) const override { return granted[number + 1] != ACCESS_NONE; }
  bool allows(CUdeviceptr begin, std::size_t bytes, CUmemAccess_flags wanted) const override;
  unsigned long long handle_types() const override;
  std::uint64_t block_id() const override { return physical->id; }

  /// Puts memory at the part of the addresses that a range of the object has, with the access that was given.
  Result<void> fill(std::size_t from, std::size_t size) const;
  /// Takes it away again.
  void empty(std::size_t from, std::size_t size) const;
  Result<void> apply_access() const;

  const std::shared_ptr<const Mapping> addresses;  ///< reserved; given back when nothing is mapped there
  const std::shared_ptr<PhysicalMemory> physical;
  const std::size_t offset;  ///< of the first byte in it
  std::array<std::atomic<CUmemAccess_flags>, kMostDevices + 1>
      granted{};  ///< to the host, then to each device

 private:
  std::vector<Multicast::Binding> parts(std::size_t from, std::size_t size) const;
};

/// Calls `use` for each mapping of an object while nothing is mapped or unmapped.
void with_mappings_of(const PhysicalMemory& memory, const std::function<void(const MappedMemory&)>& use);

}  // namespace raddle::driver
