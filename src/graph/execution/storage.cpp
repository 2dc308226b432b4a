#include "graph/execution/storage.h"

#include <fmt/format.h>

namespace raddle::graph {

// Freeing fails only on a device that has failed, whose memory goes with it.
Storage::~Storage() {
  for (const auto& [name, place] : provided_) memory_.free(place.address);
  for (const auto& [name, temporal] : temporal_)
    for (const DevicePtr memory : temporal.memory) memory_.free(memory);
  if (transient_) memory_.free(transient_);
}

Result<DevicePtr> Storage::zeroed(std::uint64_t bytes) {
  TRY_ASSIGN(const DevicePtr address, memory_.allocate(bytes));
  TRY(memory_.clear(address, bytes));
  return address;
}

Result<DevicePtr> Storage::provide(const std::string& name, std::uint64_t bytes) {
  if (const auto known = provided_.find(name); known != provided_.end()) {
    if (known->second.bytes == bytes) return known->second.address;
    return Error::invalid("'{}' was given {} bytes before, now {} are wanted", name, known->second.bytes,
                          bytes);
  }
  TRY_ASSIGN(const DevicePtr address, zeroed(bytes));
  provided_.emplace(name, Place{address, bytes});
  bound_[name] = address;
  return address;
}

Result<DevicePtr> Storage::bound_address(const ResourceInfo& info) const {
  const auto found = bound_.find(info.name);
  if (found == bound_.end())
    return info.line.error(ErrorCode::not_found, fmt::format("no memory is bound to '{}'", info.name));
  const std::optional<Memory::Piece> region = memory_.region(found->second);
  if (!region)
    return info.line.error(ErrorCode::invalid,
                           fmt::format("'{}' is bound to no memory of this device", info.name));
  const std::uint64_t there = region->bytes - (found->second.value - region->address.value);
  if (there < info.bytes)
    return info.line.error(ErrorCode::invalid,
                           fmt::format("'{}' has {} bytes, and the memory that is bound to it has {}",
                                       info.name, info.bytes, there));
  return found->second;
}

Result<DevicePtr> Storage::temporal_address(const Graph& graph, const ResourceInfo& info) {
  const ResourceInfo& current = info.following ? graph.info(info.following) : info;
  Temporal& temporal = temporal_[current.name];
  if (temporal.bytes == 0) {
    for (DevicePtr& memory : temporal.memory) {
      TRY_ASSIGN(memory, zeroed(info.bytes));
    }
    temporal.bytes = info.bytes;
  }
  if (temporal.bytes != info.bytes)
    return info.line.error(ErrorCode::invalid, fmt::format("'{}' had {} bytes in the last run, now {}",
                                                           current.name, temporal.bytes, info.bytes));
  const bool wants_second = temporal.is_second != static_cast<bool>(info.following);
  return temporal.memory[wants_second ? 1 : 0];
}

Result<void> Storage::grow(std::uint64_t bytes) {
  if (bytes <= transient_bytes_) return {};
  if (transient_) memory_.free(transient_);
  transient_ = {}, transient_bytes_ = 0;
  TRY_ASSIGN(transient_, memory_.allocate(bytes));
  transient_bytes_ = bytes;
  return {};
}

Result<std::vector<DevicePtr>> Storage::addresses(const Schedule& schedule) {
  const Graph& graph = *schedule.graph;
  std::vector<bool> used(graph.resources().size());
  for (const PassInfo& pass : graph.passes())
    for (const Access& access : pass.accesses) used[access.view.resource.index] = true;
  TRY(grow(schedule.peak_bytes));
  std::vector<DevicePtr> addresses(used.size());
  for (const Placement& placement : schedule.placements)
    addresses[placement.resource] = transient_ + placement.offset;
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    const ResourceInfo& info = graph.resources()[i];
    if (!used[i] || info.origin == Origin::transient) continue;
    TRY_ASSIGN(addresses[i],
               info.origin == Origin::temporal ? temporal_address(graph, info) : bound_address(info));
  }
  return addresses;
}

void Storage::turn(const Graph& graph) {
  std::vector<bool> written(graph.resources().size());
  for (const PassInfo& pass : graph.passes())
    for (const Access& access : pass.accesses)
      if (access.writes) written[access.view.resource.index] = true;
  for (std::uint32_t i = 0; i < written.size(); ++i) {
    const ResourceInfo& info = graph.resources()[i];
    if (info.origin != Origin::temporal || info.following || !written[i]) continue;
    Temporal& temporal = temporal_[info.name];
    temporal.is_second = !temporal.is_second;
  }
}

Result<Storage::Place> Storage::find(const std::string& name) const {
  if (const auto found = temporal_.find(name); found != temporal_.end())
    return Place{found->second.memory[found->second.is_second ? 0 : 1], found->second.bytes};
  if (const auto found = provided_.find(name); found != provided_.end()) return found->second;
  if (const auto found = bound_.find(name); found != bound_.end()) return Place{found->second, 0};
  return Error::make(ErrorCode::not_found, "no bound or temporal resource is called '{}'", name);
}

}  // namespace raddle::graph
