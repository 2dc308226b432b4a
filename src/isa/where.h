// Legality rules that the syntax of a row cannot say (RowText::where). Each returns an empty text when the
// opcode is legal, else the rule it breaks; defined beside the chapter's rows.
#pragma once

#include <string_view>

#include "isa/row.h"

namespace raddle::isa {

/// Loads, stores and atomics: qualifiers that mean nothing in the state space are not written; a vector is at
/// most 128 bits wide, 256 in global memory (PTX ISA "ld", "st", "atom", "red").
std::string_view access_legal(const Opcode& opcode);

/// A scope is named where an order is, and nowhere else (PTX ISA "multimem").
std::string_view scope_legal(const Opcode& opcode);

/// A vector is at most 128 bits wide (PTX ISA "ldu", "st.async").
std::string_view narrow_vector_legal(const Opcode& opcode);

/// .sat between integers stands only where the destination cannot hold every value of the source (PTX ISA
/// "cvt").
std::string_view saturation_legal(const Opcode& opcode);

/// Surface accesses move at most 128 bits (PTX ISA "suld", "sust").
std::string_view surface_vector_legal(const Opcode& opcode);

/// sured: which types an operation has (PTX ISA "sured").
std::string_view surface_reduction_legal(const Opcode& opcode);

/// wgmma: integer and single-bit operands allow fewer values of N (PTX ISA "wgmma.mma_async").
std::string_view wgmma_shape_legal(const Opcode& opcode);

/// Operations on mbarriers name an order and its scope together or not at all (PTX ISA "mbarrier").
std::string_view mbarrier_order_legal(const Opcode& opcode);

}  // namespace raddle::isa
