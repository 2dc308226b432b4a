// Programs of the second form: a stream of instructions, which is cut into blocks by itself; each block is a
// pass (G-5).
//
//   CommandStream stream(graph);
//   stream.set_state("kernel", blur);
//   stream.set_resources({a}, {b});
//   stream.command("dispatch", {.state = {{"grid", 4}, {"block", 256}}, .list = {b, a}});
//   stream.finish();
#pragma once

#include "raddle/graph/arguments.h"
#include "raddle/graph/graph.h"

namespace raddle::graph {

/// What is a command (G-5b): names, and what makes one of state and arguments.
class CommandTable {
 public:
  using Make = std::function<Result<Command>(const Arguments&)>;  ///< of arguments over the state
  /// dispatch (kernel, grid, block, shared_bytes), copy (to, from), clear (view), fill (view, word,
  /// word_bytes), synchronise
  static CommandTable standard();
  CommandTable& add(std::string name, Make make);
  const Make* find(std::string_view name) const;
  std::string names() const;  ///< with commas

 private:
  std::map<std::string, Make, std::less<>> types_;
};

class CommandStream {
 public:
  /// How many commands a block has at most (G-5d). Control flow ends a block in any case.
  struct Mode {
    std::uint32_t commands = 1;  ///< 0: any number
    /// What stands behind the last command before control flow belongs to the block, too, and a block may
    /// have no command at all (G-5e). Else it belongs to the next block.
    bool may_end_without_command = false;
  };
  explicit CommandStream(Graph& graph, CommandTable table = CommandTable::standard())
      : CommandStream(graph, std::move(table), Mode()) {}
  CommandStream(Graph& graph, CommandTable table, Mode mode)
      : graph_(graph), table_(std::move(table)), mode_(mode) {}

  /// Of the blocks that follow; what is open is not cut by this.
  void set_mode(Mode mode) { mode_ = mode; }
  /// Until it is set again (G-5f).
  void set_state(std::string name, StateValue value, SourceLine line = std::source_location::current());
  /// Of the block that the next cut ends (G-5g).
  void set_resources(std::vector<View> reads, std::vector<View> writes,
                     SourceLine line = std::source_location::current());
  void set_accesses(std::vector<Access> accesses, SourceLine line = std::source_location::current());
  /// @errors not_found: no such command; invalid: of a block that this ends: it names no resources (G-5h), or
  /// its commands' arguments are wrong; with the line
  Result<void> command(std::string name, Arguments arguments = {},
                       SourceLine line = std::source_location::current());
  /// A branch, a loop's turn or a call stands here. Programs in Lua say this by themselves. @errors as
  /// command()
  Result<void> control_flow();
  /// The program's end. @errors as command()
  Result<void> finish() { return control_flow(); }

 private:
  struct Instruction {
    enum class Kind : std::uint8_t { state, resources, command } kind;
    SourceLine line;
    std::string name;  // of state, of a command
    StateValue value;  // of state
    std::vector<Access> accesses;
    Arguments arguments;
  };
  Result<void> cut(std::size_t count);

  Graph& graph_;
  CommandTable table_;
  Mode mode_;
  State state_;
  std::vector<Instruction> open_;  // since the last cut
  std::uint32_t commands_ = 0;     // among them
};

}  // namespace raddle::graph
