// Numbers of Lua as words in memory, by the names that PTX has for types.
#pragma once

#include <string>
#include <string_view>

#include "graph/lua/value.h"

namespace raddle::graph {

/// 0: no such type.
std::size_t word_bytes(std::string_view type);
/// @errors invalid: no number, or beyond the type's range
Result<std::string> word_of(const LuaValue& value, std::string_view type);
/// An integer or a float of Lua's.
std::variant<std::int64_t, double> number_of(std::string_view bytes, std::string_view type);

}  // namespace raddle::graph
