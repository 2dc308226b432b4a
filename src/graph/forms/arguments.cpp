#include "raddle/graph/arguments.h"

namespace raddle::graph {
namespace {

template <class T>
Result<T> state_as(const State& state, std::string_view name, const char* type) {
  const auto found = state.find(name);
  if (found == state.end()) return Error::make(ErrorCode::not_found, "'{}' is not given", name);
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  return Error::invalid("'{}' is no {}", name, type);
}

}  // namespace

Result<View> Arguments::view(std::string_view name) const {
  const auto found = views.find(name);
  if (found == views.end()) return Error::make(ErrorCode::not_found, "resource '{}' is not given", name);
  return found->second;
}

Result<std::int64_t> Arguments::whole(std::string_view name) const {
  return state_as<std::int64_t>(state, name, "whole number");
}

Result<double> Arguments::number(std::string_view name) const {
  if (const auto whole = state_as<std::int64_t>(state, name, ""); whole.ok())
    return static_cast<double>(*whole);
  return state_as<double>(state, name, "number");
}

Result<std::string> Arguments::text(std::string_view name) const {
  return state_as<std::string>(state, name, "text");
}

Result<KernelCode> Arguments::kernel(std::string_view name) const {
  return state_as<KernelCode>(state, name, "kernel");
}

Result<Dim3> Arguments::extent(std::string_view name, Dim3 fallback) const {
  const auto found = state.find(name);
  if (found == state.end()) return fallback;
  std::vector<std::int64_t> numbers;
  if (const auto* one = std::get_if<std::int64_t>(&found->second)) numbers = {*one};
  if (const auto* several = std::get_if<std::vector<std::int64_t>>(&found->second)) numbers = *several;
  if (numbers.empty() || numbers.size() > 3)
    return Error::invalid("'{}' is not one to three whole numbers", name);
  std::uint32_t extents[3] = {1, 1, 1};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 1 || numbers[i] > 0x7fffffff)
      return Error::invalid("'{}' is {}, not 1 to 2147483647", name, numbers[i]);
    extents[i] = static_cast<std::uint32_t>(numbers[i]);
  }
  return Dim3{extents[0], extents[1], extents[2]};
}

}  // namespace raddle::graph
