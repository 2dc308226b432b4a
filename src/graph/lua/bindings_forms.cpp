// The two forms of programs.
#include "graph/lua/bindings.h"
#include "graph/lua/fields.h"

namespace raddle::graph {
namespace {

Result<Unit> unit_of(const LuaValue& value) {
  if (is_nil(value)) return Unit::kernel;
  TRY_ASSIGN(const std::string name, text(value, "unit"));
  constexpr std::pair<const char*, Unit> kUnitNames[] = {{"kernel", Unit::kernel},
                                                         {"texture", Unit::texture},
                                                         {"draw", Unit::draw},
                                                         {"copy", Unit::copy},
                                                         {"host", Unit::host}};
  for (const auto& [known, unit] : kUnitNames)
    if (name == known) return unit;
  return Error::invalid("unit '{}' is none of kernel, texture, draw, copy, host", name);
}

}  // namespace

// --- form 1

Result<LuaAnswer> LuaBindings::define(const LuaTable& options, const SourceLine& line) {
  TRY_ASSIGN(const std::string name, text(at(options, "name"), "name"));
  Definition definition(name, line);
  TRY_ASSIGN(const Unit unit, unit_of(at(options, "unit")));
  const std::pair<const char*, Definition& (Definition::*)(std::string, const Usage&)> kinds[] = {
      {"reads", &Definition::imports}, {"writes", &Definition::exports}, {"updates", &Definition::updates}};
  for (const auto& [kind, add] : kinds)
    for (const LuaValue& each : table_or_empty(at(options, kind)).list) {
      // A name, or {name, unit=, unordered=, bytes_per_block=}.
      Usage usage{.unit = unit};
      const LuaTable* detail = table_of(each);
      TRY_ASSIGN(std::string resource, text(detail == nullptr ? each : at(detail->list, 0), kind));
      if (detail != nullptr) {
        if (!is_nil(at(*detail, "unit"))) {
          TRY_ASSIGN(usage.unit, unit_of(at(*detail, "unit")));
        }
        usage.unordered = at(*detail, "unordered") == LuaValue(true);
        if (!is_nil(at(*detail, "bytes_per_block"))) {
          TRY_ASSIGN(const std::int64_t bytes,
                     whole(at(*detail, "bytes_per_block"), "bytes_per_block", 1, kMostBytes));
          usage.bytes_per_block = static_cast<std::uint64_t>(bytes);
        }
      }
      (definition.*add)(std::move(resource), usage);
    }
  for (const auto& [state, value] : table_or_empty(at(options, "state")).named) {
    TRY_ASSIGN(StateValue known, state_of(value));
    definition.state(state, std::move(known));
  }
  std::string body;
  if (!is_nil(at(options, "body"))) {
    TRY_ASSIGN(body, text(at(options, "body"), "body"));
    if (!options_.bodies.contains(body))
      return Error::make(ErrorCode::not_found, "no body is called '{}'", body);
  }
  definitions_.push_back({std::move(definition), std::move(body)});
  return LuaAnswer(static_cast<std::int64_t>(definitions_.size() - 1));
}

Result<LuaAnswer> LuaBindings::begin_pass(const Values& arguments, const SourceLine& line) {
  TRY_ASSIGN(const std::int64_t number,
             whole(at(arguments, 0), "definition", 0, static_cast<std::int64_t>(definitions_.size()) - 1));
  TRY_ASSIGN(Arguments with, arguments_of(table_or_empty(at(arguments, 1)), {}));
  TRY_ASSIGN(const Pass pass,
             definitions_[static_cast<std::size_t>(number)].definition.invoke(graph_, std::move(with), line));
  return LuaAnswer(std::int64_t{pass.index});
}

Result<LuaAnswer> LuaBindings::add_command(const Values& arguments) {
  TRY_ASSIGN(const std::int64_t pass,
             whole(at(arguments, 0), "pass", 0, static_cast<std::int64_t>(graph_.passes().size()) - 1));
  TRY_ASSIGN(const std::string name, text(at(arguments, 1), "command"));
  TRY_ASSIGN(const Arguments with, arguments_of(table_or_empty(at(arguments, 2)), {}));
  TRY_ASSIGN(Command command, (*options_.commands.find(name))(with));
  graph_.edit({static_cast<std::uint32_t>(pass)}).commands.push_back(std::move(command));
  return LuaAnswer();
}

Result<LuaAnswer> LuaBindings::add_body(const Values& arguments) {
  TRY_ASSIGN(const std::int64_t number,
             whole(at(arguments, 0), "definition", 0, static_cast<std::int64_t>(definitions_.size()) - 1));
  TRY_ASSIGN(const std::int64_t pass,
             whole(at(arguments, 1), "pass", 0, static_cast<std::int64_t>(graph_.passes().size()) - 1));
  TRY_ASSIGN(Arguments with, arguments_of(table_or_empty(at(arguments, 2)), {}));
  const auto& body = options_.bodies.find(definitions_[static_cast<std::size_t>(number)].body)->second;
  graph_.edit({static_cast<std::uint32_t>(pass)}).commands.push_back(Body{[body, with](Recorder& recorder) {
    return body(recorder, with);
  }});
  return LuaAnswer();
}

Result<LuaAnswer> LuaBindings::order(const Values& arguments) {
  const auto passes = static_cast<std::int64_t>(graph_.passes().size());
  TRY_ASSIGN(const std::int64_t earlier, whole(at(arguments, 0), "pass", 0, passes - 1));
  TRY_ASSIGN(const std::int64_t later, whole(at(arguments, 1), "pass", 0, passes - 1));
  graph_.order({static_cast<std::uint32_t>(earlier)}, {static_cast<std::uint32_t>(later)});
  return LuaAnswer();
}

// --- form 2

Result<LuaAnswer> LuaBindings::set_state(const LuaTable& state, const SourceLine& line) {
  for (const auto& [name, value] : state.named) {
    TRY_ASSIGN(StateValue known, state_of(value));
    if (const auto* kernel = std::get_if<KernelCode>(&known); kernel != nullptr && name == "kernel")
      stream_kernel_ = *kernel;
    stream_->set_state(name, std::move(known), line);
  }
  return LuaAnswer();
}

Result<LuaAnswer> LuaBindings::set_resources(const Values& arguments, const SourceLine& line) {
  std::vector<View> views[2];
  for (std::size_t i = 0; i < 2; ++i)
    for (const LuaValue& each : table_or_empty(at(arguments, i)).list) {
      TRY_ASSIGN(const View view, view_of(each));
      views[i].push_back(view);
    }
  stream_->set_resources(std::move(views[0]), std::move(views[1]), line);
  return LuaAnswer();
}

Result<LuaAnswer> LuaBindings::stream_command(const Values& arguments, const SourceLine& line) {
  TRY_ASSIGN(std::string name, text(at(arguments, 0), "command"));
  TRY_ASSIGN(Arguments with, arguments_of(table_or_empty(at(arguments, 1)), stream_kernel_));
  TRY(stream_->command(std::move(name), std::move(with), line));
  return LuaAnswer();
}

Result<LuaAnswer> LuaBindings::set_mode(const Values& arguments) {
  CommandStream::Mode mode;
  if (at(arguments, 0) == LuaValue(std::string("any"))) {
    mode.commands = 0;
  } else {
    TRY_ASSIGN(const std::int64_t commands, whole(at(arguments, 0), "blocks", 1, 1 << 30));
    mode.commands = static_cast<std::uint32_t>(commands);
  }
  mode.may_end_without_command = at(table_or_empty(at(arguments, 1)), "open_ended") == LuaValue(true);
  TRY(stream_->finish());
  stream_->set_mode(mode);
  return LuaAnswer();
}

}  // namespace raddle::graph
