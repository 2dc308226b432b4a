// Legality rules that the syntax of a row cannot say (RowText::where). Each returns an empty text when the
// opcode is legal, else the rule it breaks; defined beside the chapter's rows.
#pragma once

#include <string_view>

#include "isa/row.h"

namespace raddle::isa {

/// Loads and stores: a vector is at most 128 bits wide, 256 in global memory (PTX ISA "Vectors", ld, st).
std::string_view vector_access_legal(const Opcode& opcode);

/// wgmma: integer and single-bit operands allow fewer values of N (PTX ISA "wgmma.mma_async").
std::string_view wgmma_shape_legal(const Opcode& opcode);

}  // namespace raddle::isa
