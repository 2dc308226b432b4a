// Registers and the look-up of operand names. `.reg .b32 %r<47000>` makes nothing by itself: a register
// exists from its first use on, so a function's registers are those it needs.
#include <charconv>

#include "ptx/declarations.h"

namespace raddle::ptx {
namespace {

/// The range that has this name as one of its registers: "%r12" is %r<...>'s 12, or %r1<...>'s 2.
/// @returns its number, kUnbound if there is none; `number` is the register's
std::uint32_t find_range(const Parser& parser, std::string_view text, std::uint32_t& number) {
  constexpr std::size_t kMostDigits = 9;
  std::size_t start = text.size();
  while (start > 1 && text.size() - start < kMostDigits && text[start - 1] >= '0' && text[start - 1] <= '9')
    --start;
  for (; start < text.size(); ++start) {
    if (text[start] == '0' && start + 1 < text.size()) continue;  // "%r01" is not a register of %r<...>
    const NameId prefix = parser.names.find(text.substr(0, start));
    if (prefix == NameTable::kNoName) continue;
    const std::uint32_t range = parser.scopes.range(prefix);
    if (range == Scopes::kUnbound) continue;
    std::from_chars(text.data() + start, text.data() + text.size(), number);
    if (number < parser.current->ranges[range].count) return range;
  }
  return Scopes::kUnbound;
}

Binding from_range(Parser& parser, const Token& token, NameId id) {
  std::uint32_t number = 0;
  const std::uint32_t range = find_range(parser, token.text, number);
  if (range == Scopes::kUnbound) return {};
  const RegisterRange r = parser.current->ranges[range];
  const auto first = static_cast<RegisterId>(parser.function().registers.size());
  for (unsigned i = 0; i < r.vector; ++i)
    if (make_register(parser, id, r.type, token.at) == kNone) return {};
  const auto kind = r.vector > 1 ? Binding::Kind::vector_register : Binding::Kind::reg;
  const Binding made{kind, static_cast<std::uint8_t>(r.vector), 1, first};
  parser.scopes.bind_in_function(id, made);
  return made;
}

}  // namespace

RegisterId make_register(Parser& parser, NameId name, Type type, Position at) {
  if (parser.registers_made++ >= kMaxRegisters) {
    parser.in.error(at, "more than {} registers in one module", kMaxRegisters);
    return kNone;
  }
  auto& registers = parser.function().registers;
  registers.push_back({type, unique_name(parser, name)});
  return static_cast<RegisterId>(registers.size() - 1);
}

Binding look_up(Parser& parser, const Token& name, NameId& id) {
  id = parser.names.intern(name.text);
  const Binding bound = parser.scopes.symbol(id);
  if (bound.depth > 0 || !parser.in_function()) return bound;
  const Binding made = from_range(parser, name, id);
  return made.kind != Binding::Kind::none ? made : bound;
}

std::string unique_name(Parser& parser, NameId name) {
  // The printer moves all inner scopes to the function: their names must not hide names of the module.
  const bool inner = parser.scopes.depth() > 1;
  auto take = [&](NameId id) {
    if (inner && parser.scopes.is_module_name(id)) return false;
    if (id >= parser.taken_by.size()) parser.taken_by.resize(id + id / 2 + 64, 0);
    if (parser.taken_by[id] == parser.function_serial) return false;
    parser.taken_by[id] = parser.function_serial;
    return true;
  };
  if (take(name)) return std::string(parser.names.text(name));
  std::uint32_t& suffix = parser.current->next_suffix[name];
  for (;;) {
    const std::string_view spelling =
        parser.names.keep(fmt::format("{}${}", parser.names.text(name), ++suffix));
    if (take(parser.names.intern(spelling))) return std::string(spelling);
  }
}

}  // namespace raddle::ptx
