#include "machine/memory/translation.h"

namespace raddle::machine {

Result<Translation> parse_translation(std::string_view text) {
  if (text.empty() || text == "direct") return Translation::direct;
  if (text == "windowed") return Translation::windowed;
  if (text == "modelled") return Translation::modelled;
  return Error::invalid("no translation '{}'; there are direct, windowed, modelled", text);
}

}  // namespace raddle::machine
