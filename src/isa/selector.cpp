// Texts and legality of selectors; see selector.h.
#include "isa/selector.h"

namespace raddle::isa {

std::uint16_t selector_from_text(std::string_view text) {
  if (text.size() < 2 || text.size() > 5 || (text[0] != 'b' && text[0] != 'h')) return 0;
  unsigned count = static_cast<unsigned>(text.size()) - 1, bits = count << 12 | (text[0] == 'h') << 15;
  for (unsigned k = 0; k < count; ++k) {
    char digit = text[count - k];
    if (digit < '0' || digit > '7') return 0;
    bits |= static_cast<unsigned>(digit - '0') << (3 * k);
  }
  return static_cast<std::uint16_t>(bits);
}

std::string selector_text(std::uint16_t selector) {
  if (selector == 0) return {};
  std::string text = selector_bits(selector) == 16 ? ".h" : ".b";
  for (unsigned k = selector_count(selector); k-- > 0;)
    text += static_cast<char>('0' + selector_digit(selector, k));
  return text;
}

bool selector_fits(SelectorKind kind, std::uint16_t selector) {
  unsigned count = selector_count(selector), most = 0;
  bool half = selector_bits(selector) == 16, ascending = true;
  for (unsigned k = 0; k < count; ++k) {
    unsigned digit = selector_digit(selector, k);
    ascending = ascending && (k == 0 || digit > selector_digit(selector, k - 1));
    most = digit > most ? digit : most;
  }
  switch (kind) {
    case SelectorKind::none:
      return selector == 0;
    case SelectorKind::part:
      return count == 1 && most < (half ? 2 : 4);
    case SelectorKind::halves:
      return half && count == 2 && most < 4;
    case SelectorKind::bytes:
      return !half && count == 4;
    case SelectorKind::half_mask:
      return half && count <= 2 && most < 2 && ascending;
    case SelectorKind::byte_mask:
      return !half && most < 4 && ascending;
  }
  return false;
}

std::uint16_t default_selector(SelectorKind kind, bool second) {
  switch (kind) {
    case SelectorKind::halves:
      return selector_from_text(second ? "h32" : "h10");
    case SelectorKind::bytes:
      return selector_from_text(second ? "b7654" : "b3210");
    case SelectorKind::half_mask:
      return selector_from_text("h10");
    case SelectorKind::byte_mask:
      return selector_from_text("b3210");
    default:
      return 0;
  }
}

}  // namespace raddle::isa
