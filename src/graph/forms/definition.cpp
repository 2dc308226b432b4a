#include "raddle/graph/definition.h"

#include <fmt/format.h>

#include <algorithm>

namespace raddle::graph {

Definition& Definition::imports(std::string name, const Usage& usage) {
  slots_.push_back({std::move(name), true, false, usage});
  return *this;
}
Definition& Definition::exports(std::string name, const Usage& usage) {
  slots_.push_back({std::move(name), false, true, usage});
  return *this;
}
Definition& Definition::updates(std::string name, const Usage& usage) {
  slots_.push_back({std::move(name), true, true, usage});
  return *this;
}
Definition& Definition::state(std::string name, StateValue value) {
  state_.insert_or_assign(std::move(name), std::move(value));
  return *this;
}
Definition& Definition::commands(std::function<Result<void>(PassBuilder&, const Arguments&)> commands) {
  commands_ = std::move(commands);
  return *this;
}
Definition& Definition::body(std::function<Result<void>(Recorder&, const Arguments&)> body) {
  body_ = std::move(body);
  return *this;
}

std::vector<std::string> Definition::resources() const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_) names.push_back(slot.name);
  return names;
}

/// The definition's state below the invocation's; every resource has an argument.
Result<Arguments> Definition::completed(Arguments arguments, const SourceLine& line) const {
  for (const Slot& slot : slots_)
    if (!arguments.views.contains(slot.name))
      return line.error(ErrorCode::not_found,
                        fmt::format("pass '{}' is invoked without its resource '{}'", name_, slot.name));
  for (const auto& [name, view] : arguments.views)
    if (std::none_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.name == name; }))
      return line.error(ErrorCode::not_found, fmt::format("pass '{}' has no resource '{}'", name_, name));
  for (const auto& [name, value] : arguments.state)
    if (!state_.contains(name))
      return line.error(ErrorCode::not_found, fmt::format("pass '{}' has no state '{}'", name_, name));
  arguments.state.insert(state_.begin(), state_.end());
  return arguments;
}

Result<Pass> Definition::invoke(Graph& graph, Arguments arguments, SourceLine line) const {
  TRY_ASSIGN(const Arguments complete, completed(std::move(arguments), line));
  PassBuilder pass = graph.pass(name_, line);
  graph.edit(pass).definition = line_;
  for (const Slot& slot : slots_) {
    const View& view = complete.views.find(slot.name)->second;
    pass.access({.view = view,
                 .reads = slot.reads,
                 .writes = slot.writes,
                 .unordered = slot.usage.unordered,
                 .unit = slot.usage.unit,
                 .layout = layout_of(slot.usage.unit),
                 .bytes_per_block = slot.usage.bytes_per_block});
  }
  if (commands_) {
    Result<void> made = commands_(pass, complete);
    if (!made.ok() && made.error().where.line == 0)
      return line.error(made.error().code, fmt::format("pass '{}': {}", name_, made.error().message));
    TRY(made);
  }
  if (body_) pass.body([body = body_, complete](Recorder& recorder) { return body(recorder, complete); });
  return pass.pass();
}

}  // namespace raddle::graph
