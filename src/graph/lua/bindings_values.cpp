// Tables of programs as views, state and arguments.
#include "graph/lua/bindings.h"
#include "graph/lua/fields.h"
#include "graph/lua/words.h"

namespace raddle::graph {

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

}  // namespace raddle::graph
