// Lines and words of LLVM's assembly, for the passes over it.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace raddle::cli {

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The name after `mark` up to the first of `ends`; empty without a mark.
inline std::string_view word_after(std::string_view line, std::string_view mark, std::string_view ends) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + mark.size();
  return line.substr(begin, std::min(line.find_first_of(ends, begin), line.size()) - begin);
}

/// Whether a character can belong to a name: `@x` is not in `@x.y`.
inline bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '.' || c == '-';
}

/// Where `name`, with its `@`, stands as a whole word from `begin` on; npos: nowhere.
inline std::size_t find_name(std::string_view line, std::string_view name, std::size_t begin = 0) {
  for (std::size_t at = line.find(name, begin); at != std::string_view::npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || !is_of_name(line[at - 1]);
    if (starts && (end == line.size() || !is_of_name(line[end]))) return at;
  }
  return std::string_view::npos;
}

}  // namespace raddle::cli
