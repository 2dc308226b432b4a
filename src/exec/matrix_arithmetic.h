// The arithmetic of matrices by name.
#pragma once

#include <string_view>

#include "base/result.h"
#include "raddle/matrix_arithmetic.h"

namespace raddle::exec {

/// What RADDLE_MMA says; `reference` if it is empty. @errors invalid: says what there is
Result<MatrixArithmetic> parse_matrix_arithmetic(std::string_view text);

}  // namespace raddle::exec
