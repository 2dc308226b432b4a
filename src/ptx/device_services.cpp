#include "ptx/device_services.h"

#include <algorithm>
#include <vector>

namespace raddle::ptx {
namespace {

struct Declared {
  DeviceService service;
  std::string_view name;
  std::uint64_t result_bytes;
  std::vector<std::uint64_t> parameter_bytes;
};

const std::vector<Declared>& declared_services() {
  static const std::vector<Declared> all{
#define DEVICE_SERVICE(id, name, result, ...) {DeviceService::id, name, result, {__VA_ARGS__}},
#include "ptx/device_services.def"
#undef DEVICE_SERVICE
  };
  return all;
}

bool has_shape(const Module& module, const Function& function, const Declared& service) {
  const auto has_bytes = [&module](VariableId id, std::uint64_t bytes) {
    const Variable& variable = module.variables[id];
    return variable.dimensions.empty() && variable.vector == 1 && variable.size == bytes;
  };
  const bool same_result =
      function.returns.empty() || (function.returns.size() == 1 && service.result_bytes != 0 &&
                                   has_bytes(function.returns[0], service.result_bytes));
  return same_result && std::ranges::equal(function.parameters, service.parameter_bytes, has_bytes);
}

/// Whether it is the name that a function had before the second dynamic parallelism (CDP2).
bool is_old_name(std::string_view name, std::string_view today) {
  constexpr std::string_view kMark = "__", kFamily = "cuda", kSecond = "CDP2";
  const auto skip = [](std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
  };
  return skip(today, kMark) && skip(today, kFamily) && skip(today, kSecond) && skip(name, kFamily) &&
         name == today;
}

}  // namespace

std::optional<DeviceRuntimeFunction> find_device_runtime(std::string_view name) {
  constexpr std::string_view kPerThread = "_ptsz";  // of code whose default stream is each thread's own
  if (name.ends_with(kPerThread)) name.remove_suffix(kPerThread.size());
#define DEVICE_RUNTIME(id, text) \
  if (name == text || is_old_name(name, text)) return DeviceRuntimeFunction::id;
#include "ptx/device_runtime.def"
#undef DEVICE_RUNTIME
  return {};
}

std::optional<DeviceService> find_device_service(const Module& module, const Function& function) {
  if (!function.is_declaration || function.alias_of != kNone) return {};
  for (const Declared& each : declared_services())
    if (each.name == function.name && has_shape(module, function, each)) return each.service;
  if (find_device_runtime(function.name)) return DeviceService::device_runtime;
  return {};
}

bool names_device_service(std::string_view name) {
  const auto has_name = [name](const Declared& each) { return each.name == name; };
  return std::ranges::any_of(declared_services(), has_name) || find_device_runtime(name).has_value();
}

}  // namespace raddle::ptx
