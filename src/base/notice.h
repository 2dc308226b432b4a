// What is told on stderr of things that a program asks for and that are missing: once for each, with the page
// that explains it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/quiet.h"

namespace raddle::base {

template <class... Parts>
void notice(fmt::format_string<Parts...> text, Parts&&... parts) {
  if (notices_wanted()) fmt::print(stderr, text, std::forward<Parts>(parts)...);
}

}  // namespace raddle::base
