// Spellings and kinds of modifiers, from isa/modifiers.def.
#include <array>
#include <unordered_map>

#include "isa/row.h"

namespace raddle::isa {
namespace {
struct ModText {
  std::string_view name;
  ModKind kind;
};
constexpr auto kMods = std::to_array<ModText>({
    {"", ModKind::other},
#define PTX_MOD(kind, id, name) {name, ModKind::kind},
#include "isa/modifiers.def"
#undef PTX_MOD
});
}  // namespace

std::string_view mod_name(Mod m) { return kMods[static_cast<std::size_t>(m)].name; }
ModKind mod_kind(Mod m) { return kMods[static_cast<std::size_t>(m)].kind; }

Mod mod_from_name(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, Mod> map;
    for (std::size_t i = 1; i < kMods.size(); ++i) map.emplace(kMods[i].name, static_cast<Mod>(i));
    return map;
  }();
  const auto found = index.find(name);
  return found == index.end() ? Mod::none : found->second;
}

}  // namespace raddle::isa
