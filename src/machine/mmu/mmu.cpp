#include "machine/mmu/mmu.h"

namespace raddle::machine {
namespace {
std::optional<DataCache> cache_of(const TagStoreSpec& spec, unsigned asids) {
  return spec.entries == 0 ? std::nullopt : std::make_optional<DataCache>(spec, asids);
}
}  // namespace

Result<std::unique_ptr<Mmu>> Mmu::create(const MmuSpec& spec, const MachineShape& shape, std::uint64_t bytes,
                                         unsigned identifier_sets, unsigned copy_engines) {
  TRY_ASSIGN(auto memory, PhysicalMemory::create(bytes));
  return std::unique_ptr<Mmu>(
      new Mmu(spec, shape, std::move(memory), spec.asids * identifier_sets, copy_engines));
}

Mmu::Mmu(const MmuSpec& spec, const MachineShape& shape, std::shared_ptr<PhysicalMemory> memory,
         unsigned asids, unsigned copy_engines)
    : memory_(std::move(memory)),
      tables_(*memory_, spec.tables),
      asids_(asids),
      sm_count_(shape.sm_count()),
      walker_(tables_, spec.walk_cache),
      physical_cache_(cache_of(spec.physical_cache, asids)) {
  const auto add_unit = [&](std::uint32_t gpc, const TagStoreSpec& cache) {
    units_.emplace_back(new Unit{gpc, Tlb(spec.sm_tlb, asids), cache_of(cache, asids)});
    while (gpcs_.size() <= gpc) gpcs_.emplace_back(new GpcUnit{{}, Tlb(spec.gpc_tlb, asids)});
  };
  for (std::uint32_t sm = 0; sm < sm_count_; ++sm)
    add_unit(shape.domain_of(Level::gpc, sm), spec.virtual_cache);
  for (const auto behind = static_cast<std::uint32_t>(gpcs_.size()); copy_engines != 0; --copy_engines)
    add_unit(behind, {.entries = 0});
}

Translated Mmu::translate(std::uint32_t number, Asid asid, std::uint64_t address, exec::AccessKind kind) {
  const auto binding = asids_.find(asid);
  if (!binding) return {.problem = MmuProblem::not_bound};
  Unit& unit = *units_[number];
  const Page* page = unit.tlb.find(asid, binding->generation, address);
  if (page == nullptr) page = miss(unit, asid, *binding, address);
  if (page == nullptr) return {.problem = MmuProblem::not_mapped};
  if (!page->permissions.allow(kind)) return {.problem = MmuProblem::not_allowed};
  const std::uint64_t offset = address & (bytes_of(page->size) - 1), physical = page->physical + offset;
  if (unit.cache || physical_cache_) look_in_caches(unit, asid, *binding, address, physical, page->aperture);
  return {.host = page->aperture == Aperture::device ? memory_->host(physical)
                                                     : reinterpret_cast<std::byte*>(physical),
          .left = bytes_of(page->size) - offset,
          .aperture = page->aperture};
}

/// Asks the GPC's TLB, and that one the walker; who missed keeps what is found. Null: there is no page.
const Page* Mmu::miss(Unit& unit, Asid asid, const Binding& binding, std::uint64_t address) {
  GpcUnit& gpc = *gpcs_[unit.gpc];
  const std::lock_guard lock(gpc.mutex);
  if (const Page* page = gpc.tlb.find(asid, binding.generation, address))
    return &unit.tlb.keep(asid, binding.generation, address, *page);
  std::optional<Page> page;
  {
    const std::lock_guard walking(walker_mutex_);
    page = walker_.walk(asid, binding, address);
  }
  if (!page) return nullptr;
  gpc.tlb.keep(asid, binding.generation, address, *page);
  return &unit.tlb.keep(asid, binding.generation, address, *page);
}

/// What is virtual comes first; the physical cache sees what misses there.
void Mmu::look_in_caches(Unit& unit, Asid asid, const Binding& binding, std::uint64_t address,
                         std::uint64_t physical, Aperture aperture) {
  const Tag virtual_line{address / MmuSpec::kLineBytes, std::uint64_t{asid} << 40 ^ binding.generation};
  if (unit.cache && unit.cache->access(asid, virtual_line)) return;
  if (!physical_cache_) return;
  const std::lock_guard lock(cache_mutex_);
  physical_cache_->access(asid, {physical / MmuSpec::kLineBytes, static_cast<std::uint64_t>(aperture)});
}

TranslationCounts Mmu::counts(Asid asid) const {
  TranslationCounts sum;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    (i < sm_count_ ? sum.sm_tlbs : sum.copy_engine_tlbs) += units_[i]->tlb.counts(asid);
    if (units_[i]->cache) sum.virtual_caches += units_[i]->cache->counts(asid);
  }
  const std::size_t gpc_count = gpcs_.size() - (units_.size() != sm_count_ ? 1 : 0);
  for (std::size_t i = 0; i < gpc_count; ++i) sum.gpc_tlbs += gpcs_[i]->tlb.counts(asid);
  if (physical_cache_) sum.physical_cache = physical_cache_->counts(asid);
  return sum;
}

TranslationCounts Mmu::counts() const {
  TranslationCounts sum{.managed_faults = faults_.count()};
  for (Asid asid = 1; asid <= asids_.count(); ++asid) {
    const TranslationCounts one = counts(asid);
    sum.sm_tlbs += one.sm_tlbs, sum.gpc_tlbs += one.gpc_tlbs, sum.copy_engine_tlbs += one.copy_engine_tlbs;
    sum.virtual_caches += one.virtual_caches, sum.physical_cache += one.physical_cache;
  }
  return sum;
}

WalkCounts Mmu::walks() const {
  const std::lock_guard lock(walker_mutex_);
  return walker_.counts();
}

}  // namespace raddle::machine
