#include "exec/matrix_arithmetic.h"

namespace raddle::exec {

Result<MatrixArithmetic> parse_matrix_arithmetic(std::string_view text) {
  if (text.empty() || text == "reference") return MatrixArithmetic::reference;
  if (text == "hopper") return MatrixArithmetic::hopper;
  if (text == "fast") return MatrixArithmetic::fast;
  return Error::invalid("no arithmetic of matrices '{}'; there are reference, hopper, fast", text);
}

}  // namespace raddle::exec
