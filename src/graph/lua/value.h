// Values of Lua as values of C++, read without any call that may leave by longjmp.
#pragma once

#include <lua.hpp>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace raddle::graph {

struct LuaTable;
using LuaValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::shared_ptr<const LuaTable>>;

struct LuaTable {
  std::vector<LuaValue> list;  ///< at 1, 2, ...
  std::map<std::string, LuaValue, std::less<>> named;

  const LuaValue* find(std::string_view name) const {
    const auto found = named.find(name);
    return found == named.end() ? nullptr : &found->second;
  }
};

/// The value at a place of the stack, which stays as it is. Functions and userdata read as nothing.
/// @errors invalid: tables in tables too deep, or too large
Result<LuaValue> read_lua(lua_State* state, int place);

inline const LuaTable* table_of(const LuaValue& value) {
  const auto* table = std::get_if<std::shared_ptr<const LuaTable>>(&value);
  return table == nullptr ? nullptr : table->get();
}

}  // namespace raddle::graph
