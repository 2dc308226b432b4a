// Resources, kernels and parameters of programs; execution, and what programs read and write.
#include "graph/lua/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "graph/lua/fields.h"
#include "graph/lua/words.h"

namespace raddle::graph {
namespace {

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

// --- kernels and parameters

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
