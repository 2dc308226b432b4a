// Lua leaves by longjmp. So no function here has objects with destructors when it calls what may raise an
// error: answers and errors wait in the sandbox.
#include "graph/lua/sandbox.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

namespace raddle::graph {
namespace {

constexpr int kHookEvery = 200;  // instructions
constexpr const char* kPrelude = "=graph";

// All that programs have of Lua's own. Nothing that reads files or code, catches errors (and so limits), or
// works for long without a hook: patterns, moves of tables, lengths by metatables.
constexpr const char* kGlobals[] = {"assert", "error",  "ipairs",   "next",     "pairs", "rawequal",
                                    "rawlen", "select", "tonumber", "tostring", "type",  "setmetatable"};
constexpr const char* kString[] = {"byte", "char",    "format", "len",  "lower",
                                   "rep",  "reverse", "sub",    "upper"};
constexpr const char* kTable[] = {"concat", "insert", "pack", "remove", "sort", "unpack"};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The library on top of the stack keeps the named functions only.
template <std::size_t Count>
void keep(lua_State* state, const char* const (&names)[Count]) {
  lua_newtable(state);
  for (const char* name : names) {
    lua_getfield(state, -2, name);
    lua_setfield(state, -2, name);
  }
  lua_remove(state, -2);
}

}  // namespace

Sandbox::~Sandbox() {
  if (state_ != nullptr) lua_close(state_);
}

void Sandbox::add(std::string name, LuaFunction function) {
  functions_.emplace_back(std::move(name), std::move(function));
}

Sandbox& Sandbox::of(lua_State* state) { return **static_cast<Sandbox**>(lua_getextraspace(state)); }

void* Sandbox::allocate(void* sandbox, void* old, std::size_t old_bytes, std::size_t bytes) {
  Sandbox& self = *static_cast<Sandbox*>(sandbox);
  if (old == nullptr) old_bytes = 0;  // then it is a type
  if (bytes == 0) {
    std::free(old);
    self.bytes_ -= old_bytes;
    return nullptr;
  }
  if (bytes > old_bytes && self.bytes_ + (bytes - old_bytes) > self.limits_.memory_bytes) {
    if (self.state_ != nullptr)
      self.error_line_ = self.line_of(self.state_);  // Lua calls no handler for this
    return nullptr;
  }
  void* const memory = std::realloc(old, bytes);
  if (memory != nullptr) self.bytes_ += bytes - old_bytes;
  return memory;
}

void Sandbox::hook(lua_State* state, lua_Debug* at) {
  Sandbox& self = of(state);
  if (at->event != LUA_HOOKCOUNT) {
    lua_getinfo(state, "S", at);
    if (*at->what == 'C' || std::strcmp(at->source, kPrelude) == 0 || self.returned(state)) return;
    lua_pushnil(state);
    lua_error(state);
  }
  self.instructions_ += kHookEvery;
  const bool is_late = processor_seconds() - self.begin_ > self.limits_.seconds;
  if (self.instructions_ < self.limits_.instructions && !is_late) return;
  self.is_over_ = is_late ? "seconds of processor time" : "instructions";
  lua_pushnil(state);
  lua_error(state);
}

/// Runs protected: anything may raise an error here.
int Sandbox::open(lua_State* state) {
  luaL_requiref(state, "_G", luaopen_base, 0);
  keep(state, kGlobals);
  luaL_requiref(state, LUA_STRLIBNAME, luaopen_string, 0);
  keep(state, kString);
  // Methods of texts ("x"):upper() are these, too.
  lua_pushliteral(state, "");
  lua_getmetatable(state, -1);
  lua_pushvalue(state, -3);
  lua_setfield(state, -2, "__index");
  lua_settop(state, -3);
  lua_setfield(state, -2, "string");
  luaL_requiref(state, LUA_TABLIBNAME, luaopen_table, 0);
  keep(state, kTable);
  lua_setfield(state, -2, "table");
  luaL_requiref(state, LUA_MATHLIBNAME, luaopen_math, 0);
  lua_setfield(state, -2, "math");
  Sandbox& self = of(state);
  for (std::size_t i = 0; i < self.functions_.size(); ++i) {
    lua_pushinteger(state, static_cast<lua_Integer>(i));
    lua_pushcclosure(state, &Sandbox::call, 1);
    lua_setfield(state, -2, self.functions_[i].first.c_str());
  }
  lua_rawseti(state, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  return 0;
}

int Sandbox::call(lua_State* state) {
  Sandbox& self = of(state);
  const auto number = static_cast<std::size_t>(lua_tointegerx(state, lua_upvalueindex(1), nullptr));
  if (!self.call(state, number)) {
    lua_pushnil(state);
    return lua_error(state);
  }
  if (const auto* whole = std::get_if<std::int64_t>(&self.answer_)) return lua_pushinteger(state, *whole), 1;
  if (const auto* real = std::get_if<double>(&self.answer_)) return lua_pushnumber(state, *real), 1;
  if (const auto* text = std::get_if<std::string>(&self.answer_))
    return lua_pushlstring(state, text->data(), text->size()), 1;
  return 0;
}

/// No call of Lua's in here raises an error.
bool Sandbox::call(lua_State* state, std::size_t number) {
  std::vector<LuaValue> arguments;
  const SourceLine line = line_of(state);
  for (int place = 1; place <= lua_gettop(state); ++place) {
    Result<LuaValue> value = read_lua(state, place);
    if (!value.ok()) return error_ = line.error(value.error().code, value.error().message), false;
    arguments.push_back(std::move(*value));
  }
  Result<LuaAnswer> answer = functions_[number].second(arguments, line);
  if (!answer.ok()) {
    error_ = answer.error();
    if (error_->where.line == 0) error_->where = line.span();
    return false;
  }
  answer_ = std::move(*answer);
  return true;
}

bool Sandbox::returned(lua_State* state) {
  Result<void> result = on_return_();
  if (result.ok()) return true;
  error_ = result.error();
  if (error_->where.line == 0) error_->where = line_of(state).span();
  return false;
}

/// The program's line that is being executed: calls of the prelude stand for the one that called them.
SourceLine Sandbox::line_of(lua_State* state) const {
  lua_Debug at;
  for (int level = 0; lua_getstack(state, level, &at) != 0; ++level) {
    lua_getinfo(state, "Sl", &at);
    if (at.currentline > 0 && std::strcmp(at.source, kPrelude) != 0)
      return {std::string_view(program_), static_cast<std::uint32_t>(at.currentline)};
  }
  return {};
}

int Sandbox::handle_error(lua_State* state) {
  Sandbox& self = of(state);
  self.error_line_ = self.line_of(state);
  return 1;
}

Error Sandbox::error_of(int status) {
  if (is_over_ != nullptr)
    return error_line_.error(
        ErrorCode::invalid,
        fmt::format("the program has reached its limit of {} instructions or {} seconds: {}",
                    limits_.instructions, limits_.seconds, is_over_));
  if (error_) return *error_;
  if (status == LUA_ERRMEM)
    return error_line_.error(
        ErrorCode::invalid,
        fmt::format("the program needs more than {} bytes, which is the limit", limits_.memory_bytes));
  std::string text = "an error that is no text";
  if (lua_type(state_, -1) == LUA_TSTRING) text = lua_tolstring(state_, -1, nullptr);
  // "name:line: text"; a syntax error's line stands there alone.
  const std::string prefix = program_ + ":";
  SourceLine line = error_line_;
  if (text.starts_with(prefix)) {
    std::size_t end = prefix.size();
    std::uint32_t number = 0;
    for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end)
      number = number * 10 + static_cast<std::uint32_t>(text[end] - '0');
    line = {std::string_view(program_), number};
    text = text.substr(std::min(text.find_first_not_of(": ", end), text.size()));
  }
  return line.error(ErrorCode::invalid, text);
}

Result<void> Sandbox::run_chunk(std::string_view text, const std::string& name, const char* mode) {
  lua_settop(state_, 0);
  lua_pushcfunction(state_, &Sandbox::handle_error);
  int status = luaL_loadbufferx(state_, text.data(), text.size(), name.c_str(), mode);
  if (status == LUA_OK) status = lua_pcall(state_, 0, 0, 1);
  return status == LUA_OK ? Result<void>() : Result<void>(error_of(status));
}

Result<void> Sandbox::run(std::string_view prelude, std::string_view text, const std::string& name) {
  program_ = name;
  state_ = lua_newstate(&Sandbox::allocate, this);
  if (state_ == nullptr) return Error::invalid("{} bytes are too few for Lua", limits_.memory_bytes);
  *static_cast<Sandbox**>(lua_getextraspace(state_)) = this;
  lua_pushcfunction(state_, &Sandbox::open);
  if (const int status = lua_pcall(state_, 0, 0, 0); status != LUA_OK) return error_of(status);
  TRY(run_chunk(prelude, kPrelude, "t"));
  begin_ = processor_seconds();
  lua_sethook(state_, &Sandbox::hook, on_return_ ? LUA_MASKCOUNT | LUA_MASKRET : LUA_MASKCOUNT, kHookEvery);
  return run_chunk(text, "@" + name, "t");
}

}  // namespace raddle::graph
