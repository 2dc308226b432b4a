#include <fmt/format.h>
#include <fmt/ranges.h>

#include "raddle/graph/command_stream.h"

namespace raddle::graph {
namespace {

Result<Command> make_dispatch(const Arguments& with) {
  Dispatch dispatch;
  TRY_ASSIGN(dispatch.kernel, with.kernel("kernel"));
  TRY_ASSIGN(dispatch.config.grid, with.extent("grid"));
  TRY_ASSIGN(dispatch.config.block, with.extent("block"));
  if (with.state.contains("shared_bytes")) {
    TRY_ASSIGN(const std::int64_t shared, with.whole("shared_bytes"));
    if (shared < 0) return Error::invalid("shared_bytes is {}", shared);
    dispatch.config.shared_bytes = static_cast<std::uint64_t>(shared);
  }
  dispatch.arguments = with.list;
  return Command(std::move(dispatch));
}

Result<Command> make_copy(const Arguments& with) {
  Copy copy;
  TRY_ASSIGN(copy.to, with.view("to"));
  TRY_ASSIGN(copy.from, with.view("from"));
  return Command(copy);
}

Result<Command> make_clear(const Arguments& with) {
  TRY_ASSIGN(const View view, with.view("view"));
  return Command(Clear{view});
}

Result<Command> make_fill(const Arguments& with) {
  Fill fill{.word_bytes = 4};
  TRY_ASSIGN(fill.view, with.view("view"));
  TRY_ASSIGN(const std::int64_t word, with.whole("word"));
  fill.word = static_cast<std::uint64_t>(word);
  if (with.state.contains("word_bytes")) {
    TRY_ASSIGN(const std::int64_t bytes, with.whole("word_bytes"));
    fill.word_bytes = static_cast<unsigned>(bytes);
  }
  return Command(fill);
}

}  // namespace

CommandTable CommandTable::standard() {
  CommandTable table;
  table.add("dispatch", make_dispatch).add("copy", make_copy).add("clear", make_clear).add("fill", make_fill);
  table.add("synchronise", [](const Arguments&) -> Result<Command> { return Command(Synchronise{}); });
  return table;
}

CommandTable& CommandTable::add(std::string name, Make make) {
  types_.insert_or_assign(std::move(name), std::move(make));
  return *this;
}

const CommandTable::Make* CommandTable::find(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

std::string CommandTable::names() const {
  std::string text;
  for (const auto& [name, make] : types_) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace raddle::graph
