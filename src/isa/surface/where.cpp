// Legality of surface accesses (PTX ISA "suld", "sust", "sured") beyond the grammar.
#include "isa/where.h"

namespace raddle::isa {

std::string_view surface_vector_legal(const Opcode& opcode) {
  return opcode.vector_length() * bit_size(opcode.type()) > 128 ? "a surface access moves at most 128 bits"
                                                                : "";
}

std::string_view surface_reduction_legal(const Opcode& opcode) {
  const Type type = opcode.type();
  const Mod operation = opcode.get(ModKind::operation);
  const bool bitwise = operation == Mod::and_ || operation == Mod::or_;
  const bool min_max = operation == Mod::min || operation == Mod::max;
  if (opcode.has(Mod::p)) {
    if (type == Type::b64 && !min_max) return ".b64 is for min and max only";
    return {};
  }
  if (bitwise != (type == Type::b32)) return ".and and .or are for .b32, and only they";
  if (operation == Mod::add && type == Type::s64) return ".add is not for .s64";
  return {};
}

}  // namespace raddle::isa
