#include "machine/tma/asynchrony.h"

#include "base/count.h"

namespace raddle::machine {

Result<Asynchrony> parse_asynchrony(std::string_view text) {
  using Mode = Asynchrony::Mode;
  constexpr std::string_view kSeeded = "random:";
  Asynchrony asynchrony;
  if (text.empty() || text == "eager") return asynchrony;
  if (text == "lazy") {
    asynchrony.mode = Mode::lazy;
    return asynchrony;
  }
  asynchrony.mode = Mode::random;
  if (text == "random") return asynchrony;
  if (!text.starts_with(kSeeded))
    return Error::invalid("no asynchrony '{}'; there are eager, lazy, random, random:SEED", text);
  TRY_ASSIGN(asynchrony.seed, parse_count(text.substr(kSeeded.size())));
  return asynchrony;
}

}  // namespace raddle::machine
