// Named values that programs hand to definitions and commands.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "raddle/graph/command.h"
#include "raddle/graph/source_line.h"

namespace raddle::graph {

/// State of a pass (G-2g): which kernel, extents, numbers, texts.
using StateValue = std::variant<std::int64_t, double, std::string, KernelCode, std::vector<std::int64_t>>;
using State = std::map<std::string, StateValue, std::less<>>;

struct Arguments {
  std::map<std::string, View, std::less<>> views;
  State state;
  std::vector<Value> list;  ///< of a kernel

  /// @errors not_found, invalid: of another type; likewise below
  Result<View> view(std::string_view name) const;
  Result<std::int64_t> whole(std::string_view name) const;
  Result<double> number(std::string_view name) const;  ///< also a whole one
  Result<std::string> text(std::string_view name) const;
  Result<KernelCode> kernel(std::string_view name) const;
  /// One to three numbers. @param fallback  if the name is not there
  Result<Dim3> extent(std::string_view name, Dim3 fallback = {}) const;
};

}  // namespace raddle::graph
