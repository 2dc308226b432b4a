#include "base/assert.h"

#include <execinfo.h>

#include <cstdio>
#include <cstdlib>

namespace raddle {

void assertion_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::fprintf(stderr, "raddle: internal error at %s:%d: %s (%.*s)\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), 2);
  std::abort();
}

}  // namespace raddle
