#include "jit/warp_emitter.h"

#include <algorithm>

namespace raddle::jit {

LaneArray WarpEmitter::lane_array(llvm::Type* element, const char* name) {
  return {values, code.entry_alloca(llvm::ArrayType::get(element, exec::kWarpSize), name, 64), element};
}

LaneArray WarpEmitter::spill(const WarpValue& value) {
  return {values, values.spill(value), ir.getIntNTy(isa::bit_size(value.type))};
}

LaneArray WarpEmitter::spill(const std::vector<llvm::Value*>& parts) {
  return {values, values.spill_parts(parts), parts[0]->getType()->getScalarType()};
}

bool WarpEmitter::runs_whole_warp() {
  return std::ranges::all_of(executing(), [](llvm::Value* part) {
    const auto* known = llvm::dyn_cast<llvm::Constant>(part);
    return known != nullptr && known->isAllOnesValue();
  });
}

}  // namespace raddle::jit
