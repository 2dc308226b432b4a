// Where the project's sources lie, for tests that read files of them. One object knows it, so that the others
// are the same in every checkout and a compiler cache serves them all.
#pragma once

#include <string>

namespace raddle {

/// The project's root, absolute, without a slash at the end.
std::string source_directory();

}  // namespace raddle
