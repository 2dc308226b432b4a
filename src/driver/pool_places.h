// Where pools may be, and which pool a place has: each device, the host, and managed memory by the location
// that it prefers.
#pragma once

#include "driver/pool.h"
#include "driver/status.h"

namespace raddle::driver {

/// Where memory with these properties comes from; `props` without what the manual ignores of them.
/// INVALID_VALUE: there is no such place, or it cannot share with processes; INVALID_DEVICE; NOT_SUPPORTED
Answer<std::shared_ptr<PoolSource>> source_for(CUmemPoolProps& props);

/// A pool with these properties. INVALID_VALUE: there is no such place, or it cannot share with processes
Answer<std::shared_ptr<Pool>> make_pool(const CUmemPoolProps& props, Pool::Kind kind);

}  // namespace raddle::driver
