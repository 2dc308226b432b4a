// Legality of loads and stores beyond the grammar (PTX ISA "ld", "st", "ldu").
#include "isa/where.h"

namespace raddle::isa {

std::string_view vector_access_legal(const Opcode& opcode) {
  const unsigned length = opcode.vector_length();
  if (length == 1) return {};
  const unsigned bits = length * bit_size(opcode.type());
  if (bits <= 128 && length < 8) return {};
  if (bits > 256 || bit_size(opcode.type()) < 32)
    return "a vector access moves at most 128 bits, 256 in global memory";
  const Mod space = opcode.get(ModKind::space);
  if (space != Mod::none && space != Mod::global)
    return "a vector access moves more than 128 bits only in global memory";
  return {};
}

}  // namespace raddle::isa
