// Where the resources of a graph lie in a device's memory: bound ones where the caller says, temporal ones in
// two memories that take turns, transient ones in one allocation at the schedule's offsets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/execution/backend.h"

namespace raddle::graph {

class Storage {
 public:
  explicit Storage(Memory& memory) : memory_(memory) {}
  ~Storage();
  Storage(const Storage&) = delete;

  void bind(const std::string& name, DevicePtr address) { bound_[name] = address; }
  Result<DevicePtr> provide(const std::string& name, std::uint64_t bytes);
  /// Addresses by resource; 0: none is needed. @errors not_found; invalid: a bound memory is too small;
  /// out_of_memory
  Result<std::vector<DevicePtr>> addresses(const Schedule& schedule);
  std::uint64_t transient_bytes() const { return transient_bytes_; }
  /// What the run that is over wrote to temporal resources is now the previous value.
  void turn(const Graph& graph);
  struct Place {
    DevicePtr address;
    std::uint64_t bytes = 0;  ///< 0: unknown
  };
  /// Of a bound resource, or of the previous value of a temporal one. @errors not_found
  Result<Place> find(const std::string& name) const;

 private:
  struct Temporal {
    DevicePtr memory[2];
    std::uint64_t bytes = 0;
    bool is_second = false;  ///< the current one
  };
  Result<DevicePtr> bound_address(const ResourceInfo& info) const;
  Result<DevicePtr> temporal_address(const Graph& graph, const ResourceInfo& info);
  Result<DevicePtr> zeroed(std::uint64_t bytes);
  Result<void> grow(std::uint64_t bytes);

  Memory& memory_;
  std::map<std::string, DevicePtr> bound_;
  std::map<std::string, Place> provided_;
  std::map<std::string, Temporal> temporal_;
  DevicePtr transient_;
  std::uint64_t transient_bytes_ = 0;
};

}  // namespace raddle::graph
