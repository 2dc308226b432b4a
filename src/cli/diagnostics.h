// Errors as good compilers print them: place, what, the source line and a caret below the column.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace raddle::cli {

/// `file:line:column: error: message`, then the source line and a caret when `source` has that line.
std::string render(const Error& error, std::string_view source = {});

/// Prints render() on stderr; returns the exit status that belongs to the error.
int report(const Error& error, std::string_view source = {});

/// A symbol as C++ spells it, or as it is.
std::string demangle(const std::string& name);

}  // namespace raddle::cli
