// Memory that all contexts share: pinned and registered host memory, managed memory, pools, mappings of the
// virtual-memory API, memory of other processes. The runtime's table (runtime/memory.h) tells every device
// where it lies; this one adds what CUDA knows of it. Memory of one context (cuMemAlloc, variables, arrays)
// is known to that context's device.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "driver/objects.h"
#include "runtime/memory.h"

namespace raddle::driver {

enum class MemoryKind { device, host, registered, managed, pooled, mapped, imported };

/// A piece of such memory. Derived classes give the memory back when they are destroyed.
struct Memory : SharedRange {
  virtual unsigned long long handle_types() const { return 0; }  ///< that it may be exported by
  virtual CUmemAccess_flags access() const { return ACCESS_READ_WRITE; }
  /// Of its part of the range.
  virtual bool allows(CUdeviceptr /*begin*/, std::size_t /*bytes*/, CUmemAccess_flags wanted) const {
    return (access() & wanted) == wanted;
  }
  /// What it is to programs: memory of pools may be the host's, or managed.
  virtual MemoryKind nature() const { return kind; }
  virtual CUmemoryPool pool() const { return nullptr; }  ///< that it is from
  virtual std::uint64_t block_id() const { return id; }  ///< of the memory behind it

  MemoryKind kind = MemoryKind::host;
  CUcontext context = nullptr;  ///< that made it and ends it; null where that is no context
  CUdevice device = 0;          ///< that it is of, or that the context is of
  unsigned flags = 0;           ///< as given by the call that made it
};

/// Ends memory that contexts share, for all calls from now on; work that was given before may use it.
/// @returns false: none begins there
bool end_shared(CUdeviceptr base);

/// The runtime's table, of which every range is a Memory.
class MemoryTable {
 public:
  /// @errors invalid: a part of it is known already
  Result<void> add(std::shared_ptr<Memory> memory);
  /// The memory that an address lies in, or null.
  std::shared_ptr<Memory> find(CUdeviceptr address) const;
  std::vector<std::shared_ptr<Memory>> all() const;
  /// Whether the whole range may be accessed so, as far as contexts share it.
  bool allows(CUdeviceptr begin, std::size_t bytes, CUmemAccess_flags access) const;
  /// Takes the memory that begins at an address out of the table; null: none. No context knows it any more.
  std::shared_ptr<Memory> remove(CUdeviceptr base);
};

/// What is known of an address.
struct AddressInfo {
  std::shared_ptr<Context> context;      ///< whose memory it is; null where contexts share it
  std::shared_ptr<Memory> shared;        ///< null where one context has it
  MemoryKind kind = MemoryKind::device;  ///< Memory::nature
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  std::uint64_t id = 0;
};

/// @param current  its memory comes first; null: no context is current
/// False for addresses that CUDA does not know: memory of the host program.
bool find_address(const std::shared_ptr<Context>& current, CUdeviceptr address, AddressInfo& info);

}  // namespace raddle::driver
