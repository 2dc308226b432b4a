#include "graph/lua/value.h"

#include <algorithm>
#include <memory>

namespace raddle::graph {
namespace {

constexpr unsigned kDeepestTable = 8;
constexpr std::size_t kMostElements = 1 << 20;

class Reader {
 public:
  explicit Reader(lua_State* state) : state_(state) {}

  Result<LuaValue> read(int place, unsigned depth) {
    switch (lua_type(state_, place)) {
      case LUA_TBOOLEAN:
        return LuaValue(lua_toboolean(state_, place) != 0);
      case LUA_TNUMBER:
        if (lua_isinteger(state_, place))
          return LuaValue(std::int64_t{lua_tointegerx(state_, place, nullptr)});
        return LuaValue(double{lua_tonumberx(state_, place, nullptr)});
      case LUA_TSTRING: {
        std::size_t bytes = 0;
        const char* text = lua_tolstring(state_, place, &bytes);  // a string is not converted
        return LuaValue(std::string(text, bytes));
      }
      case LUA_TTABLE:
        return read_table(place, depth);
      default:
        return LuaValue();
    }
  }

 private:
  Result<LuaValue> read_table(int place, unsigned depth) {
    if (depth == kDeepestTable || lua_checkstack(state_, 3) == 0)
      return Error::invalid("tables in tables too deep");
    auto table = std::make_shared<LuaTable>();
    std::vector<std::pair<std::int64_t, LuaValue>> numbered;
    place = lua_absindex(state_, place);
    lua_pushnil(state_);
    while (lua_next(state_, place) != 0) {
      Result<LuaValue> value = ++elements_ > kMostElements
                                   ? Result<LuaValue>(Error::invalid("a table too large"))
                                   : read(-1, depth + 1);
      if (!value.ok()) {
        lua_settop(state_, lua_gettop(state_) - 2);
        return value;
      }
      if (lua_isinteger(state_, -2)) {
        numbered.emplace_back(lua_tointegerx(state_, -2, nullptr), std::move(*value));
      } else if (lua_type(state_, -2) == LUA_TSTRING) {
        std::size_t bytes = 0;
        const char* text = lua_tolstring(state_, -2, &bytes);
        table->named.emplace(std::string(text, bytes), std::move(*value));
      }
      lua_settop(state_, -2);
    }
    std::sort(numbered.begin(), numbered.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [number, value] : numbered)
      if (number == static_cast<std::int64_t>(table->list.size()) + 1)
        table->list.push_back(std::move(value));
    return LuaValue(std::shared_ptr<const LuaTable>(std::move(table)));
  }

  lua_State* state_;
  std::size_t elements_ = 0;
};

}  // namespace

Result<LuaValue> read_lua(lua_State* state, int place) { return Reader(state).read(place, 0); }

}  // namespace raddle::graph
