// A Lua state in which programs can do nothing but compute and call what they are given: no files, no other
// code, at most so much memory and so many instructions.
#pragma once

#include <functional>
#include <lua.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/lua/value.h"
#include "raddle/graph/source_line.h"

namespace raddle::graph {

/// What functions for programs answer: nothing, a number, a text.
using LuaAnswer = std::variant<std::monostate, std::int64_t, double, std::string>;
using LuaFunction =
    std::function<Result<LuaAnswer>(const std::vector<LuaValue>& arguments, const SourceLine& line)>;

class Sandbox {
 public:
  struct Limits {
    std::uint64_t instructions, memory_bytes;
    double seconds;  ///< of processor time
  };
  explicit Sandbox(const Limits& limits) : limits_(limits) {}
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;

  /// Functions by name, for the prelude and the program.
  void add(std::string name, LuaFunction function);
  /// Called when a function of the program returns.
  void on_return(std::function<Result<void>()> function) { on_return_ = std::move(function); }
  /// @param prelude  Lua that is not the program's: its lines are nobody's
  /// @errors invalid: syntax, a wrong operation or a limit, with the line; what a function answers
  Result<void> run(std::string_view prelude, std::string_view text, const std::string& name);

 private:
  static void* allocate(void* sandbox, void* old, std::size_t old_bytes, std::size_t bytes);
  static void hook(lua_State* state, lua_Debug* at);
  static int call(lua_State* state);
  static int handle_error(lua_State* state);
  static int open(lua_State* state);
  static Sandbox& of(lua_State* state);

  bool call(lua_State* state, std::size_t number);
  bool returned(lua_State* state);
  SourceLine line_of(lua_State* state) const;
  Result<void> run_chunk(std::string_view text, const std::string& name, const char* mode);
  Error error_of(int status);

  const Limits limits_;
  lua_State* state_ = nullptr;
  std::vector<std::pair<std::string, LuaFunction>> functions_;
  std::function<Result<void>()> on_return_;
  std::string program_;  // its name
  std::uint64_t instructions_ = 0, bytes_ = 0;
  double begin_ = 0;               // on the clock of processor time
  const char* is_over_ = nullptr;  // what has reached its limit
  std::optional<Error> error_;     // of a function that was called
  SourceLine error_line_;          // of an error of Lua's
  LuaAnswer answer_;               // of the last call
};

}  // namespace raddle::graph
