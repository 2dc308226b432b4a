// Cutting the stream into blocks.
#include "raddle/graph/command_stream.h"

#include <fmt/format.h>

namespace raddle::graph {

void CommandStream::set_state(std::string name, StateValue value, SourceLine line) {
  open_.push_back(
      {.kind = Instruction::Kind::state, .line = line, .name = std::move(name), .value = std::move(value)});
}

void CommandStream::set_resources(std::vector<View> reads, std::vector<View> writes, SourceLine line) {
  std::vector<Access> accesses;
  for (const View& view : reads) accesses.push_back({.view = view, .reads = true});
  for (const View& view : writes) {
    bool also_reads = false;
    for (Access& access : accesses)
      if (access.view == view) access.writes = also_reads = true;
    if (!also_reads) accesses.push_back({.view = view, .writes = true});
  }
  set_accesses(std::move(accesses), line);
}

void CommandStream::set_accesses(std::vector<Access> accesses, SourceLine line) {
  open_.push_back({.kind = Instruction::Kind::resources, .line = line, .accesses = std::move(accesses)});
}

Result<void> CommandStream::command(std::string name, Arguments arguments, SourceLine line) {
  if (table_.find(name) == nullptr)
    return line.error(ErrorCode::not_found,
                      fmt::format("no command is called '{}'; there are {}", name, table_.names()));
  open_.push_back({.kind = Instruction::Kind::command,
                   .line = line,
                   .name = std::move(name),
                   .arguments = std::move(arguments)});
  ++commands_;
  if (mode_.commands != 0 && commands_ == mode_.commands) return cut(open_.size());
  return {};
}

Result<void> CommandStream::control_flow() {
  if (open_.empty()) return {};
  if (mode_.may_end_without_command) {
    // State alone makes no pass: it is set, and stays.
    bool makes_pass = false;
    for (const Instruction& each : open_) makes_pass = makes_pass || each.kind != Instruction::Kind::state;
    return makes_pass ? cut(open_.size()) : Result<void>();
  }
  if (commands_ == 0) return {};
  std::size_t count = open_.size();
  while (open_[count - 1].kind != Instruction::Kind::command) --count;
  return cut(count);
}

namespace {
/// What a block reads after it has written it comes from inside the block (G-2h).
void add_accesses(PassInfo& pass, const std::vector<Access>& accesses) {
  const std::size_t before = pass.accesses.size();
  for (Access access : accesses) {
    for (std::size_t i = 0; i < before; ++i) {
      const Access& earlier = pass.accesses[i];
      const bool is_covered = earlier.view == access.view || earlier.view == View(access.view.resource);
      if (earlier.writes && is_covered) access.reads = false;
    }
    if (access.reads || access.writes) pass.accesses.push_back(access);
  }
}
}  // namespace

/// The first instructions become a pass; the others stay open.
Result<void> CommandStream::cut(std::size_t count) {
  std::vector<Instruction> block(std::make_move_iterator(open_.begin()),
                                 std::make_move_iterator(open_.begin() + static_cast<std::ptrdiff_t>(count)));
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(count));
  commands_ = 0;
  PassInfo pass;
  for (Instruction& each : block) {
    if (each.kind == Instruction::Kind::state) {
      state_.insert_or_assign(each.name, std::move(each.value));
    } else if (each.kind == Instruction::Kind::resources) {
      add_accesses(pass, each.accesses);
      if (pass.line.line == 0) pass.line = each.line;
    } else {
      if (pass.commands.empty()) pass.line = each.line;
      pass.name += (pass.name.empty() ? "" : "+") + each.name;
      each.arguments.state.insert(state_.begin(), state_.end());
      Result<Command> made = (*table_.find(each.name))(each.arguments);
      if (!made.ok())
        return each.line.error(made.error().code, fmt::format("{}: {}", each.name, made.error().message));
      pass.commands.push_back(std::move(*made));
    }
  }
  if (pass.accesses.empty() &&
      !(pass.commands.size() == 1 && std::holds_alternative<Synchronise>(pass.commands[0])))
    return pass.line.error(ErrorCode::invalid,
                           fmt::format("the block of '{}' names no resources", pass.name));
  if (pass.name.empty()) pass.name = "resources";
  graph_.add(std::move(pass));
  return {};
}

}  // namespace raddle::graph
