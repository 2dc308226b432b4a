// RADDLE_QUIET=1: nothing is told on stderr of what a program asks for and that is missing.
#pragma once

#include <cstdlib>
#include <string_view>

namespace raddle::base {

inline bool notices_wanted() {
  static const bool wanted = [] {
    const char* quiet = std::getenv("RADDLE_QUIET");
    return quiet == nullptr || *quiet == '\0' || std::string_view(quiet) == "0";
  }();
  return wanted;
}

}  // namespace raddle::base
