// What is in tables of programs, with errors that name it.
#pragma once

#include <cmath>

#include "graph/lua/value.h"

namespace raddle::graph {

inline const LuaValue& at(const std::vector<LuaValue>& values, std::size_t number) {
  static const LuaValue kNil;
  return number < values.size() ? values[number] : kNil;
}
inline const LuaValue& at(const LuaTable& table, std::string_view name) {
  static const LuaValue kNil;
  const LuaValue* value = table.find(name);
  return value == nullptr ? kNil : *value;
}
inline const LuaTable& table_or_empty(const LuaValue& value) {
  static const LuaTable kEmptyTable;
  const LuaTable* table = table_of(value);
  return table == nullptr ? kEmptyTable : *table;
}
inline bool is_nil(const LuaValue& value) { return std::holds_alternative<std::monostate>(value); }

inline Result<std::int64_t> whole(const LuaValue& value, std::string_view what, std::int64_t least,
                                  std::int64_t most) {
  std::int64_t number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    number = *integer;
  } else if (const auto* real = std::get_if<double>(&value);
             real && std::trunc(*real) == *real && std::abs(*real) < 0x1p63) {
    number = static_cast<std::int64_t>(*real);
  } else {
    return Error::invalid("{}: a whole number is wanted", what);
  }
  if (number < least || number > most)
    return Error::invalid("{}: {} is not in {} to {}", what, number, least, most);
  return number;
}
inline Result<std::string> text(const LuaValue& value, std::string_view what) {
  if (const auto* string = std::get_if<std::string>(&value)) return *string;
  return Error::invalid("{}: a text is wanted", what);
}

inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;

}  // namespace raddle::graph
