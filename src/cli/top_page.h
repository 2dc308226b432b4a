// What `raddle top` shows, as lines of text: the same on a screen and in a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace raddle::cli {

struct TopPage {
  std::vector<std::string> lines;
  std::size_t heading = 0;  ///< number of the line that names the columns of clients
};

/// @param now     what the server says (serve::describe)
/// @param before  what it said `seconds` ago, for rates; null: nothing
TopPage top_page(const nlohmann::json& now, const nlohmann::json* before, double seconds);

}  // namespace raddle::cli
