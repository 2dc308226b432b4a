// Graph programs in Lua 5.4, in a sandbox (docs/graphs.md): both forms, the same graphs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "raddle/graph/command_stream.h"
#include "raddle/graph/executor.h"

namespace raddle::graph {

struct LuaOptions {
  std::map<std::string, std::string> parameters;     ///< what param("name") answers
  std::uint64_t most_instructions = 200'000'000;     ///< of Lua; more: an error
  std::uint64_t memory_bytes = 64 << 20;             ///< that Lua takes; more: an error
  double seconds = 60;                               ///< of processor time that Lua takes; more: an error
  std::string directory;                             ///< where kernel("file") looks; nothing above it
  CommandTable commands = CommandTable::standard();  ///< of both forms
  /// Bodies in a compiled language, for passes that name them (G-20).
  std::map<std::string, std::function<Result<void>(Recorder&, const Arguments&)>> bodies;
  std::function<void(std::string_view)> output;  ///< of print(), a line each; none: stdout
  bool dry = false;  ///< schedules what it builds and runs nothing; what the program reads is then 0
};

/// What the program has executed.
struct LuaReport {
  std::vector<RunReport> runs;  ///< of dry programs without times
  std::vector<std::shared_ptr<const Graph>> graphs;
};

/// Runs a program's text. What it has built when it ends is executed, too.
/// @param name  of the text, for errors
/// @errors invalid: syntax, a wrong call, a limit; those of graphs; with the program's line
Result<LuaReport> run_lua(Executor& executor, std::string_view text, const std::string& name,
                          const LuaOptions& options = {});

}  // namespace raddle::graph
