// Programs of the first form: definitions of passes, invoked with arguments (G-4).
//
//   Definition blur("blur");
//   blur.imports("from").exports("to").commands([](PassBuilder& pass, const Arguments& with) { ... });
//   for (...) blur.invoke(graph, {.views = {{"from", a}, {"to", b}}});
#pragma once

#include "raddle/graph/arguments.h"
#include "raddle/graph/graph.h"

namespace raddle::graph {

class Definition {
 public:
  explicit Definition(std::string name, SourceLine line = std::source_location::current())
      : name_(std::move(name)), line_(line) {}

  Definition& imports(std::string name, const Usage& usage = {});  ///< reads
  Definition& exports(std::string name, const Usage& usage = {});  ///< writes
  Definition& updates(std::string name, const Usage& usage = {});  ///< reads and writes
  /// What an invocation that does not say it has.
  Definition& state(std::string name, StateValue value);
  /// Called by each invocation, to say which commands its pass has.
  Definition& commands(std::function<Result<void>(PassBuilder&, const Arguments&)> commands);
  /// A body in a compiled language: called when the pass executes, with the arguments of its invocation
  /// (G-20).
  Definition& body(std::function<Result<void>(Recorder&, const Arguments&)> body);

  /// A new pass, the graph's last so far. Its place in the program is the definition's, for what is measured.
  /// @errors not_found: a resource without argument, or an argument that the definition does not know; what
  /// `commands` answers; with the line of the invocation
  Result<Pass> invoke(Graph& graph, Arguments arguments,
                      SourceLine line = std::source_location::current()) const;

  const std::string& name() const { return name_; }
  const SourceLine& line() const { return line_; }
  /// Names of what it imports and exports, in the order in which they were said.
  std::vector<std::string> resources() const;

 private:
  struct Slot {
    std::string name;
    bool reads, writes;
    Usage usage;
  };
  Result<Arguments> completed(Arguments arguments, const SourceLine& line) const;

  std::string name_;
  SourceLine line_;
  std::vector<Slot> slots_;
  State state_;
  std::function<Result<void>(PassBuilder&, const Arguments&)> commands_;
  std::function<Result<void>(Recorder&, const Arguments&)> body_;
};

}  // namespace raddle::graph
