// Where control flow stands in a Lua program: command streams are cut there (G-5c).
#pragma once

#include <string>
#include <string_view>

namespace raddle::graph {

/// The text with a call of `__flow()` wherever a branch, a turn of a loop or a function begins, and behind
/// each branch and loop; where a function returns, the sandbox says. Lines stay where they are. What is no
/// Lua stays so.
std::string with_control_flow(std::string_view text);

}  // namespace raddle::graph
