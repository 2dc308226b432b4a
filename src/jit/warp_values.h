// Values over the warp: as scalars where the lanes' values follow from one, as vectors, one a part, or as an
// array in memory that is read and written lane by lane.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "jit/function_builder.h"

namespace raddle::jit {

/// A value over the warp: scalars (one base, or one per part) when shape.affine, vectors when not. When
/// checked, the scalars hold where the flag is true, and the vectors where it is false: `parts`, which are
/// poison elsewhere, or what `late` makes where they are asked for, mostly in code that hardly ever runs, and
/// which hold in both cases.
struct WarpValue {
  Shape shape;
  Type type = Type::none;
  std::vector<llvm::Value*> bases;
  llvm::Value* ok = nullptr;
  std::vector<llvm::Value*> parts;
  std::function<llvm::Value*(unsigned p)> late;

  static WarpValue uniform(Type type, llvm::Value* value) {
    return {.shape = Shape::uniform_value(),
            .type = type,
            .bases = {value},
            .ok = nullptr,
            .parts = {},
            .late = {}};
  }
  static WarpValue varying(Type type, std::vector<llvm::Value*> parts) {
    return {.shape = Shape::varying(),
            .type = type,
            .bases = {},
            .ok = nullptr,
            .parts = std::move(parts),
            .late = {}};
  }
  bool is_empty() const { return bases.empty() && parts.empty(); }
  /// Vectors alone from here on.
  void become_varying(std::vector<llvm::Value*> vectors);
};

class WarpValues {
 public:
  explicit WarpValues(FunctionBuilder& code) : code_(code), ir_(code.ir) {}

  Val part(const WarpValue& value, unsigned p);               ///< as a vector of lanes()
  std::vector<llvm::Value*> vectors(const WarpValue& value);  ///< all parts
  std::vector<llvm::Value*> wrapped(const WarpValue& value);  ///< of a checked one, where its flag is false
  Val scalar(const WarpValue& value, unsigned group = 0);     ///< base of the warp (or of part `group`)
  Val scalar_of_uniform(const WarpValue& value);              ///< the one value of a uniform operand
  /// Least and greatest distance of a lane from its base, 0 included.
  std::pair<std::int64_t, std::int64_t> offset_range(const Shape& shape) const;

  /// A warp-wide array on the stack, for lane loops: values spilled, then read by lane index.
  llvm::Value* spill(const WarpValue& value);
  llvm::Value* spill_parts(const std::vector<llvm::Value*>& parts);
  llvm::Value* load_lane(llvm::Value* array, llvm::Type* type, llvm::Value* lane);
  void store_lane(llvm::Value* array, llvm::Value* value, llvm::Value* lane);
  std::vector<llvm::Value*> reload(llvm::Value* array, llvm::Type* element);

 private:
  llvm::Value* wrapped_part(const WarpValue& value, unsigned p);

  FunctionBuilder& code_;
  Builder& ir_;
};

}  // namespace raddle::jit
