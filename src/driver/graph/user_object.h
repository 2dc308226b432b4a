// User objects: what programs give to graphs, to be destroyed when the last graph that refers to them is
// gone.
#pragma once

#include <map>
#include <memory>

#include "driver/objects.h"

namespace raddle::driver {

struct UserObject {
  UserObject(void* given, CUhostFn end) : object(given), destroy(end) {}
  ~UserObject() { destroy(object); }
  UserObject(const UserObject&) = delete;

  void* const object;
  const CUhostFn destroy;
  CUuserObject handle = nullptr;
  std::uint64_t owned = 0;  ///< references of the program; under the lock of graphs
};

/// References of a graph, by object.
using HeldObjects = std::map<std::shared_ptr<UserObject>, std::uint64_t>;

}  // namespace raddle::driver
