// The memory management unit of a machine whose spaces are modelled: a TLB in each SM, one in
// each GPC behind it, and a walker that all share; caches by their tags. Copy engines have TLBs of their own,
// and one behind these, as a GPC has. A value comes from where the page table says, so a wrong entry is a
// wrong value.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "machine/mmu/asid_table.h"
#include "machine/mmu/data_cache.h"
#include "machine/mmu/fault_buffer.h"
#include "machine/mmu/mmu_spec.h"
#include "machine/mmu/physical_memory.h"
#include "machine/mmu/table_memory.h"
#include "machine/mmu/tlb.h"
#include "machine/mmu/walker.h"
#include "machine/shape/machine_shape.h"

namespace raddle::machine {

enum class MmuProblem : std::uint8_t {
  none,
  not_bound,     ///< no page directory is bound to the ASID
  not_mapped,    ///< there is no page
  to_come,       ///< likewise, in managed memory: the fault is to be serviced, and the access made again
  not_allowed,   ///< the page may not be accessed so
  across_pages,  ///< it begins in one page and ends in another, which physically lies elsewhere
};

/// Where an access leads.
struct Translated {
  std::byte* host = nullptr;
  std::uint64_t left = 0;  ///< bytes from there to the end of the page
  Aperture aperture = Aperture::device;
  MmuProblem problem = MmuProblem::none;
};

class Mmu {
 public:
  /// @param bytes  of physical memory @param identifier_sets  each of MmuSpec::asids @errors out_of_memory
  static Result<std::unique_ptr<Mmu>> create(const MmuSpec& spec, const MachineShape& shape,
                                             std::uint64_t bytes, unsigned identifier_sets = 1,
                                             unsigned copy_engines = 0);

  PhysicalMemory& memory() { return *memory_; }
  /// It lives as long as anybody has something there (movable_memory.h).
  const std::shared_ptr<PhysicalMemory>& shared_memory() const { return memory_; }
  TableMemory& tables() { return tables_; }  ///< for page tables
  std::size_t sm_count() const { return sm_count_; }
  AsidTable& asids() { return asids_; }
  FaultBuffer& faults() { return faults_; }

  /// Who accesses: an SM by its number, or a copy engine.
  std::uint32_t unit_of_engine(unsigned engine) const { return sm_count_ + engine; }
  /// One access that does not cross the end of a page. One call of a unit at a time: on the worker that has
  /// the SM, on the engine's thread.
  Translated translate(std::uint32_t unit, Asid asid, std::uint64_t address, exec::AccessKind kind);

  // What has been counted; any thread.
  Hits sm_tlb(std::uint32_t sm, Asid asid) const { return units_[sm]->tlb.counts(asid); }
  Hits gpc_tlb(std::uint32_t gpc, Asid asid) const { return gpcs_[gpc]->tlb.counts(asid); }
  TranslationCounts counts(Asid asid) const;  ///< all of a space
  TranslationCounts counts() const;           ///< of all spaces
  WalkCounts walks() const;

 private:
  struct alignas(64) Unit {
    std::uint32_t gpc;
    Tlb tlb;
    std::optional<DataCache> cache;  // tagged virtually; engines have none
  };
  struct alignas(64) GpcUnit {
    std::mutex mutex;
    Tlb tlb;
  };
  Mmu(const MmuSpec& spec, const MachineShape& shape, std::shared_ptr<PhysicalMemory> memory, unsigned asids,
      unsigned copy_engines);
  const Page* miss(Unit& unit, Asid asid, const Binding& binding, std::uint64_t address);
  void look_in_caches(Unit& unit, Asid asid, const Binding& binding, std::uint64_t address,
                      std::uint64_t physical, Aperture aperture);

  const std::shared_ptr<PhysicalMemory> memory_;
  TableMemory tables_;
  AsidTable asids_;
  const std::uint32_t sm_count_;
  std::vector<std::unique_ptr<Unit>> units_;    // SMs, then copy engines
  std::vector<std::unique_ptr<GpcUnit>> gpcs_;  // and the engines' last
  mutable std::mutex walker_mutex_;
  Walker walker_;
  std::mutex cache_mutex_;
  std::optional<DataCache> physical_cache_;
  FaultBuffer faults_;
};

}  // namespace raddle::machine
