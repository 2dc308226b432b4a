#include "graph/lua/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "graph/lua/words.h"
#include "graph/resources/ranges.h"

namespace raddle::graph {
namespace {

const LuaTable kEmptyTable;

const LuaValue& at(const std::vector<LuaValue>& values, std::size_t number) {
  static const LuaValue kNil;
  return number < values.size() ? values[number] : kNil;
}
const LuaValue& at(const LuaTable& table, std::string_view name) {
  static const LuaValue kNil;
  const LuaValue* value = table.find(name);
  return value == nullptr ? kNil : *value;
}
const LuaTable& table_or_empty(const LuaValue& value) {
  const LuaTable* table = table_of(value);
  return table == nullptr ? kEmptyTable : *table;
}
bool is_nil(const LuaValue& value) { return std::holds_alternative<std::monostate>(value); }

Result<std::int64_t> whole(const LuaValue& value, std::string_view what, std::int64_t least,
                           std::int64_t most) {
  std::int64_t number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    number = *integer;
  } else if (const auto* real = std::get_if<double>(&value);
             real && *real == static_cast<double>(static_cast<std::int64_t>(*real))) {
    number = static_cast<std::int64_t>(*real);
  } else {
    return Error::invalid("{}: a whole number is wanted", what);
  }
  if (number < least || number > most)
    return Error::invalid("{}: {} is not in {} to {}", what, number, least, most);
  return number;
}
Result<std::string> text(const LuaValue& value, std::string_view what) {
  if (const auto* string = std::get_if<std::string>(&value)) return *string;
  return Error::invalid("{}: a text is wanted", what);
}

constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;

Result<Origin> origin_of(const LuaValue& value) {
  if (is_nil(value)) return Origin::transient;
  TRY_ASSIGN(const std::string name, text(value, "origin"));
  constexpr std::pair<const char*, Origin> kOrigins[] = {{"transient", Origin::transient},
                                                         {"input", Origin::input},
                                                         {"output", Origin::output},
                                                         {"in_out", Origin::in_out},
                                                         {"temporal", Origin::temporal}};
  for (const auto& [known, origin] : kOrigins)
    if (name == known) return origin;
  return Error::invalid("origin '{}' is none of transient, input, output, in_out, temporal", name);
}

/// "f32", "f32x4", "unorm8x4", ...
Result<TexelFormat> format_of(const LuaValue& value) {
  if (is_nil(value)) return TexelFormat{ChannelType::unorm8, 4};
  TRY_ASSIGN(std::string name, text(value, "format"));
  TexelFormat format;
  if (name.size() > 2 && name[name.size() - 2] == 'x') {
    format.channels = static_cast<unsigned>(name.back() - '0');
    name.resize(name.size() - 2);
  }
  constexpr std::pair<const char*, ChannelType> kChannels[] = {
      {"u8", ChannelType::unsigned8},    {"u16", ChannelType::unsigned16}, {"u32", ChannelType::unsigned32},
      {"s8", ChannelType::signed8},      {"s16", ChannelType::signed16},   {"s32", ChannelType::signed32},
      {"f16", ChannelType::float16},     {"f32", ChannelType::float32},    {"unorm8", ChannelType::unorm8},
      {"unorm16", ChannelType::unorm16}, {"snorm8", ChannelType::snorm8},  {"snorm16", ChannelType::snorm16}};
  for (const auto& [known, type] : kChannels)
    if (name == known && (format.channels == 1 || format.channels == 2 || format.channels == 4))
      return format.type = type, format;
  return Error::invalid("format '{}' is not known", std::get<std::string>(value));
}

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

LuaBindings::LuaBindings(Executor& executor, const LuaOptions& options)
    : executor_(executor), options_(options) {
  stream_.emplace(graph_, options.commands);
  std::string names = options.commands.names();
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(", ", begin), names.size());
    commands_.push_back(names.substr(begin, end - begin));
    begin = end + 2;
  }
}

void LuaBindings::add_to(Sandbox& sandbox) {
  const auto add = [&](const char* name, auto function) { sandbox.add(name, std::move(function)); };
  add("_buffer", [this](const Values& a, const SourceLine& line) {
    return make_buffer(table_or_empty(at(a, 0)), line);
  });
  add("_image",
      [this](const Values& a, const SourceLine& line) { return make_image(table_or_empty(at(a, 0)), line); });
  add("_previous", [this](const Values& a, const SourceLine&) { return make_previous(a); });
  add("_kernel", [this](const Values& a, const SourceLine&) { return make_kernel(a); });
  add("_param", [this](const Values& a, const SourceLine&) { return find_parameter(a); });
  add("_define",
      [this](const Values& a, const SourceLine& line) { return define(table_or_empty(at(a, 0)), line); });
  add("_begin", [this](const Values& a, const SourceLine& line) { return begin_pass(a, line); });
  add("_command", [this](const Values& a, const SourceLine&) { return add_command(a); });
  add("_body", [this](const Values& a, const SourceLine&) { return add_body(a); });
  add("_order", [this](const Values& a, const SourceLine&) { return order(a); });
  add("_state",
      [this](const Values& a, const SourceLine& line) { return set_state(table_or_empty(at(a, 0)), line); });
  add("_resources", [this](const Values& a, const SourceLine& line) { return set_resources(a, line); });
  add("_stream", [this](const Values& a, const SourceLine& line) { return stream_command(a, line); });
  add("_mode", [this](const Values& a, const SourceLine&) { return set_mode(a); });
  add("_read", [this](const Values& a, const SourceLine&) { return read(a); });
  add("_write", [this](const Values& a, const SourceLine&) { return write(a); });
  add("_execute", [this](const Values&, const SourceLine&) -> Result<LuaAnswer> {
    TRY(execute());
    return LuaAnswer();
  });
  add("_commands", [this](const Values&, const SourceLine&) -> Result<LuaAnswer> {
    // An iterator of Lua's `for`: one name a call, nothing at the end, and then from the beginning.
    if (next_command_ == commands_.size()) return next_command_ = 0, LuaAnswer();
    return LuaAnswer(commands_[next_command_++]);
  });
  add("__flow", [this](const Values&, const SourceLine&) -> Result<LuaAnswer> {
    TRY(stream_->control_flow());
    return LuaAnswer();
  });
  add("print",
      [this](const Values& a, const SourceLine&) -> Result<LuaAnswer> { return print(a), LuaAnswer(); });
}

void LuaBindings::print(const Values& arguments) const {
  std::string line;
  for (const LuaValue& value : arguments) {
    if (!line.empty()) line += '\t';
    if (const auto* text = std::get_if<std::string>(&value)) line += *text;
    if (const auto* number = std::get_if<std::int64_t>(&value)) line += fmt::format("{}", *number);
    if (const auto* real = std::get_if<double>(&value)) line += fmt::format("{}", *real);
    if (const auto* flag = std::get_if<bool>(&value)) line += *flag ? "true" : "false";
    if (table_of(value) != nullptr) line += "table";
    if (is_nil(value)) line += "nil";
  }
  if (options_.output)
    options_.output(line);
  else
    std::printf("%s\n", line.c_str());
}

// --- resources

Result<LuaAnswer> LuaBindings::make_buffer(const LuaTable& options, const SourceLine& line) {
  TRY_ASSIGN(std::string name, text(at(options, "name"), "name"));
  TRY_ASSIGN(const std::int64_t bytes, whole(at(options, "bytes"), "bytes", 1, kMostBytes));
  TRY_ASSIGN(const Origin origin, origin_of(at(options, "origin")));
  const Resource made = graph_.buffer(std::move(name), static_cast<std::uint64_t>(bytes), origin, line);
  if (origin != Origin::transient) TRY(memory_of(made));
  return LuaAnswer(std::int64_t{made.index});
}

Result<LuaAnswer> LuaBindings::make_image(const LuaTable& options, const SourceLine& line) {
  TRY_ASSIGN(std::string name, text(at(options, "name"), "name"));
  TRY_ASSIGN(const Origin origin, origin_of(at(options, "origin")));
  ImageShape shape;
  TRY_ASSIGN(shape.format, format_of(at(options, "format")));
  const std::pair<const char*, std::uint32_t*> extents[] = {{"width", &shape.width},
                                                            {"height", &shape.height},
                                                            {"depth", &shape.depth},
                                                            {"layers", &shape.layers},
                                                            {"mips", &shape.mips}};
  for (const auto& [extent, number] : extents) {
    if (is_nil(at(options, extent))) continue;
    TRY_ASSIGN(const std::int64_t value, whole(at(options, extent), extent, 1, 65536));
    *number = static_cast<std::uint32_t>(value);
  }
  shape.dimensions = shape.depth > 1 ? 3 : 2;
  if (shape.mips > Image::kMaxLevels) return Error::invalid("mips: at most {}", Image::kMaxLevels);
  const Resource made = graph_.image(std::move(name), shape, origin, line);
  if (origin != Origin::transient) TRY(memory_of(made));
  return LuaAnswer(std::int64_t{made.index});
}

Result<LuaAnswer> LuaBindings::make_previous(const Values& arguments) {
  TRY_ASSIGN(const std::uint32_t index, resource_of(at(arguments, 0)));
  if (graph_.info(Resource{index}).origin != Origin::temporal)
    return Error::invalid("'{}' is not temporal", graph_.info(Resource{index}).name);
  return LuaAnswer(std::int64_t{graph_.previous({index}).index});
}

/// Bound resources of programs are the executor's memory.
Result<DevicePtr> LuaBindings::memory_of(Resource resource) {
  const ResourceInfo& info = graph_.info(resource);
  if (info.origin == Origin::temporal || options_.dry) return DevicePtr{};
  return executor_.provide(info.name, info.bytes);
}

Result<std::uint32_t> LuaBindings::resource_of(const LuaValue& value) const {
  const LuaTable* table = table_of(value);
  if (table == nullptr) return Error::invalid("a resource is wanted");
  TRY_ASSIGN(const std::int64_t index, whole(at(*table, "resource"), "resource", 0, ~0u));
  if (!graph_.has({static_cast<std::uint32_t>(index)})) return Error::invalid("a resource that is none");
  return static_cast<std::uint32_t>(index);
}

Result<View> LuaBindings::view_of(const LuaValue& value) const {
  TRY_ASSIGN(const std::uint32_t index, resource_of(value));
  const LuaTable& table = *table_of(value);
  View view{Resource{index}};
  if (!is_nil(at(table, "first"))) {
    TRY_ASSIGN(const std::int64_t first, whole(at(table, "first"), "first byte", 0, kMostBytes));
    view.begin = static_cast<std::uint64_t>(first);
  }
  if (!is_nil(at(table, "count"))) {
    TRY_ASSIGN(const std::int64_t count, whole(at(table, "count"), "bytes", 0, kMostBytes));
    view.bytes = static_cast<std::uint64_t>(count);
  }
  const std::pair<const char*, std::uint32_t*> parts[] = {
      {"mip", &view.mip}, {"mip_count", &view.mips}, {"layer", &view.layer}, {"layer_count", &view.layers}};
  for (const auto& [part, number] : parts) {
    if (is_nil(at(table, part))) continue;
    TRY_ASSIGN(const std::int64_t given, whole(at(table, part), part, 0, 65536));
    *number = static_cast<std::uint32_t>(given);
  }
  return view;
}

// --- kernels, parameters, state

/// Only files beside the program, or below.
Result<LuaAnswer> LuaBindings::make_kernel(const Values& arguments) {
  TRY_ASSIGN(const std::string file, text(at(arguments, 0), "file"));
  TRY_ASSIGN(const std::string name, text(at(arguments, 1), "kernel"));
  if (file.empty() || file[0] == '/' || file.find("..") != std::string::npos)
    return Error::invalid("kernel file '{}' does not lie beside the program", file);
  auto& program = programs_[file];
  if (program == nullptr) {
    TRY_ASSIGN(const std::string image,
               read_file(options_.directory.empty() ? file : options_.directory + "/" + file));
    const raddle::Program::Image images[] = {{.bytes = image, .name = file}};
    TRY_ASSIGN(raddle::Program made, raddle::Program::read(images, 90));
    program = std::make_shared<const raddle::Program>(std::move(made));
  }
  TRY_ASSIGN(KernelCode code, KernelCode::find(program, name));
  kernels_.push_back(std::move(code));
  return LuaAnswer(static_cast<std::int64_t>(kernels_.size() - 1));
}

Result<LuaAnswer> LuaBindings::find_parameter(const Values& arguments) const {
  TRY_ASSIGN(const std::string name, text(at(arguments, 0), "parameter"));
  TRY_ASSIGN(const std::string type, text(at(arguments, 1), "type"));
  const auto found = options_.parameters.find(name);
  if (found == options_.parameters.end()) return LuaAnswer();
  const std::string& value = found->second;
  if (type == "string") return LuaAnswer(value);
  char* end = nullptr;
  const std::int64_t integer = std::strtoll(value.c_str(), &end, 10);
  if (!value.empty() && *end == '\0') return LuaAnswer(integer);
  const double real = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0') return LuaAnswer(real);
  if (type == "number") return Error::invalid("parameter {} is '{}', and a number is wanted", name, value);
  return LuaAnswer(value);
}

Result<StateValue> LuaBindings::state_of(const LuaValue& value) const {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return StateValue(*number);
  if (const auto* real = std::get_if<double>(&value)) return StateValue(*real);
  if (const auto* string = std::get_if<std::string>(&value)) return StateValue(*string);
  if (const auto* flag = std::get_if<bool>(&value)) return StateValue(std::int64_t{*flag});
  const LuaTable* table = table_of(value);
  if (table == nullptr) return Error::invalid("a state that is no number, text, list or kernel");
  if (table->find("kernel") != nullptr) {
    TRY_ASSIGN(const std::int64_t number,
               whole(at(*table, "kernel"), "kernel", 0, static_cast<std::int64_t>(kernels_.size()) - 1));
    return StateValue(kernels_[static_cast<std::size_t>(number)]);
  }
  std::vector<std::int64_t> numbers;
  for (const LuaValue& each : table->list) {
    TRY_ASSIGN(const std::int64_t number, whole(each, "number", INT64_MIN, INT64_MAX));
    numbers.push_back(number);
  }
  return StateValue(std::move(numbers));
}

/// Numbers get the type of the kernel's parameter.
Result<Value> LuaBindings::kernel_value(const LuaValue& value, const KernelInfo& kernel,
                                        std::size_t number) const {
  if (const LuaTable* table = table_of(value)) {
    if (const LuaValue* of = table->find("surface")) {
      TRY_ASSIGN(const View view, view_of(*of));
      return Value(SurfaceOf{view});
    }
    if (const LuaValue* of = table->find("texture")) {
      TRY_ASSIGN(const View view, view_of(*of));
      TextureOf texture{view};
      const LuaTable& sampler = table_or_empty(at(*table, "sampler"));
      if (at(sampler, "filter") == LuaValue(std::string("linear")))
        texture.sampler.filter = FilterMode::linear;
      if (at(sampler, "normalized") == LuaValue(true)) texture.sampler.normalized_coordinates = true;
      return Value(texture);
    }
    TRY_ASSIGN(const View view, view_of(value));
    return Value(view);
  }
  if (number >= kernel.parameters.size())
    return Error::invalid("kernel {} has {} parameters, more are given", kernel.name,
                          kernel.parameters.size());
  const KernelParameter& parameter = kernel.parameters[number];
  Result<std::string> word = word_of(value, parameter.type);
  if (!word.ok())
    return Error::invalid("parameter {} ({}) of kernel {}: {}", number, parameter.name, kernel.name,
                          word.error().message);
  return Value::of_bytes(std::move(*word));
}

Result<Arguments> LuaBindings::arguments_of(const LuaTable& table, const KernelCode& kernel) const {
  Arguments arguments;
  for (const auto& [name, value] : table.named) {
    if (name == "args") continue;
    const LuaTable* inner = table_of(value);
    if (inner != nullptr && inner->find("resource") != nullptr) {
      TRY_ASSIGN(const View view, view_of(value));
      arguments.views.emplace(name, view);
    } else {
      TRY_ASSIGN(StateValue state, state_of(value));
      arguments.state.emplace(name, std::move(state));
    }
  }
  KernelCode code = kernel;
  if (arguments.state.contains("kernel")) {
    TRY_ASSIGN(code, arguments.kernel("kernel"));
  }
  const LuaTable& list = table_or_empty(at(table, "args"));
  if (!list.list.empty() && !code) return Error::invalid("arguments of no kernel");
  for (std::size_t i = 0; i < list.list.size(); ++i) {
    TRY_ASSIGN(Value value, kernel_value(list.list[i], code.info(), i));
    arguments.list.push_back(std::move(value));
  }
  return arguments;
}

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

// --- execution

Result<void> LuaBindings::execute() {
  TRY(stream_->finish());
  if (graph_.passes().empty()) return {};
  auto graph = std::make_shared<const Graph>(graph_);
  RunReport run;
  if (options_.dry) {
    TRY_ASSIGN(run.schedule, executor_.schedule(*graph));
  } else {
    TRY_ASSIGN(run, executor_.run(*graph));
  }
  report_.runs.push_back(std::move(run));
  report_.graphs.push_back(std::move(graph));
  graph_.clear_passes();  // resources stay
  return {};
}

Result<void> LuaBindings::finish() { return execute(); }

Result<LuaAnswer> LuaBindings::read(const Values& arguments) {
  TRY_ASSIGN(const std::uint32_t index, resource_of(at(arguments, 0)));
  TRY_ASSIGN(const std::string type, text(at(arguments, 1), "type"));
  TRY_ASSIGN(const std::int64_t number, whole(at(arguments, 2), "index", 0, kMostBytes));
  const std::size_t bytes = word_bytes(type);
  if (bytes == 0) return Error::invalid("no numbers of type '{}'", type);
  if (options_.dry) return LuaAnswer(std::int64_t{0});
  const ResourceInfo& info = graph_.info(Resource{index});
  if (info.origin == Origin::transient)
    return Error::invalid("'{}' is transient: it is gone after its run", info.name);
  std::string word(bytes, '\0');
  if (const auto result =
          executor_.read(info.name, static_cast<std::uint64_t>(number) * bytes, word.data(), bytes);
      !result.ok()) {
    // A temporal value that no run has written yet is zero, as its readers see it.
    const bool is_new = info.origin == Origin::temporal && result.error().code == ErrorCode::not_found;
    if (!is_new) return result.error();
  }
  const auto value = number_of(word, type);
  if (const auto* real = std::get_if<double>(&value)) return LuaAnswer(*real);
  return LuaAnswer(std::get<std::int64_t>(value));
}

Result<LuaAnswer> LuaBindings::write(const Values& arguments) {
  TRY_ASSIGN(const std::uint32_t index, resource_of(at(arguments, 0)));
  TRY_ASSIGN(const std::string type, text(at(arguments, 1), "type"));
  TRY_ASSIGN(const std::int64_t number, whole(at(arguments, 3), "index", 0, kMostBytes));
  const ResourceInfo& info = graph_.info(Resource{index});
  if (info.origin != Origin::input && info.origin != Origin::in_out)
    return Error::invalid("'{}' is neither input nor in_out", info.name);
  if (word_bytes(type) == 0) return Error::invalid("no numbers of type '{}'", type);
  std::string bytes;
  for (const LuaValue& value : table_or_empty(at(arguments, 2)).list) {
    TRY_ASSIGN(const std::string word, word_of(value, type));
    bytes += word;
  }
  if (options_.dry || bytes.empty()) return LuaAnswer();
  TRY(executor_.write(info.name, static_cast<std::uint64_t>(number) * word_bytes(type), bytes.data(),
                      bytes.size()));
  return LuaAnswer();
}

}  // namespace raddle::graph
