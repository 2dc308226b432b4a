// Variables and registers: `.space .align N .type name[dims] = initialiser, ...;` and formal parameters.
#pragma once

#include "ptx/state.h"

namespace raddle::ptx {

/// What stands in front of the names of a declaration.
struct Qualifiers {
  Space space = Space::generic;  ///< generic: none given
  Linkage linkage = Linkage::none;
  std::uint32_t align = 0;  ///< 0: natural
  unsigned vector = 1;
  Type type = Type::none;
  bool managed = false, is_pointer = false;
};

/// Reads `.space`, `.align`, `.attribute`, `.vN`, `.type`, `.ptr` in any sensible order.
bool parse_qualifiers(Parser& parser, Qualifiers& qualifiers);
/// A whole declaration up to its ';'. The cursor is at the state space (or a qualifier after the linkage).
bool parse_declaration(Parser& parser, Linkage linkage);
/// `( .param .u64 a, .reg .b32 b, ... )`, also empty; nothing is bound yet.
bool parse_formals(Parser& parser, std::vector<Variable>& formals);
/// Reads `[3][4]` behind a name and works out the size.
bool parse_dimensions(Parser& parser, Variable& variable);
/// True if a directive of this name starts a declaration.
bool is_state_space(std::string_view name);

/// Places a variable behind `bytes`, which grows. @returns its offset
std::uint32_t place(std::uint64_t size, std::uint32_t align, std::uint32_t& bytes);

/// `= { 1, {2, 3}, symbol + 4, 0xff(symbol), generic(symbol) }`; the '=' is passed.
bool parse_initialiser(Parser& parser, VariableId variable);

/// What a name of an operand stands for; makes registers of ranges on their first use.
/// @param id  the interned name, always set
Binding look_up(Parser& parser, const Token& name, NameId& id);
/// A new register of the current function; kNone (reported) when there are too many.
RegisterId make_register(Parser& parser, NameId name, Type type, Position at);

}  // namespace raddle::ptx
