// Why nvcc of toolkit 13 does not compile older programs: what it no longer has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace raddle::cli {

/// A line for each thing in nvcc's messages that toolkit 13 no longer has: its name, and what replaces it.
std::vector<std::string> removed_things(std::string_view messages);

}  // namespace raddle::cli
