// What went wrong in calls, in words, for programs that ask for it (cuLogs...).
#pragma once

#include <string_view>

namespace raddle::driver {

/// Keeps a message of an error and tells it to the registered callbacks.
void log_error(std::string_view text);

}  // namespace raddle::driver
