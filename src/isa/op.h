// The names of the rows, which cmake/ops.cmake takes out of the rows in every build. Only a new name changes
// them, so editing a row does not recompile the code that names instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace raddle::isa {

enum class Op : std::uint16_t {
#define PTX_OP(id) id,
#include "isa/ops.def"
#undef PTX_OP
  count
};
constexpr std::size_t kOpCount = static_cast<std::size_t>(Op::count);

}  // namespace raddle::isa
