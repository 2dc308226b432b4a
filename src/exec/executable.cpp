// Names of block kinds and other values that engines report.
#include "exec/executable.h"

#include "base/assert.h"
#include "ptx/layout.h"

namespace raddle::exec {

static_assert(kReservedShared == ptx::kSharedStart,
              "kernels would overwrite the reserved bytes, or waste some");

std::string_view block_kind_name(BlockKind kind) {
  switch (kind) {
    case BlockKind::loops:
      return "loops";
    case BlockKind::regions:
      return "regions";
    case BlockKind::fibers:
      return "fibers";
  }
  RADDLE_UNREACHABLE("block kind");
}

}  // namespace raddle::exec
