#include "machine/context/context_mode.h"

namespace raddle::machine {

std::string_view name_of(ContextMode mode) { return mode == ContextMode::queued ? "queued" : "concurrent"; }

Result<std::optional<ContextMode>> parse_contexts(std::string_view text) {
  if (text.empty()) return std::optional<ContextMode>();
  for (const ContextMode mode : {ContextMode::queued, ContextMode::concurrent})
    if (text == name_of(mode)) return std::optional(mode);
  return Error::make(ErrorCode::not_found, "device contexts are not '{}'; there are queued, concurrent",
                     text);
}

}  // namespace raddle::machine
