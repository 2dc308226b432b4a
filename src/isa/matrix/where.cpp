// Legality of matrix instructions beyond the grammar (PTX ISA "wgmma.mma_async").
#include "isa/where.h"

#include "isa/fragment.h"

namespace raddle::isa {

std::string_view wgmma_shape_legal(const Opcode& opcode) {
  const Type a = opcode.type(1);
  if (!is_integer(a) && a != Type::b1) return {};
  const unsigned n = matrix_shape(opcode).n;
  if (n == 8 || n == 24 || n % 16 == 0) return {};
  return "integer and single-bit wgmma have N = 8, 24 or a multiple of 16";
}

}  // namespace raddle::isa
