// The table of parsed rows, made once at start-up from the texts of rows.def.
#include "isa/row.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/assert.h"
#include "isa/fragment.h"
#include "isa/op.h"
#include "isa/parse_row.h"
#include "isa/texts.h"

namespace raddle::isa {
namespace {

struct Table {
  std::vector<Row> rows;
  std::vector<std::string> problems;
  std::unordered_map<std::string_view, std::vector<Op>> by_mnemonic;

  Table() {
    rows.reserve(kOpCount);
    for (std::size_t i = 0; i < kOpCount; ++i)
      rows.push_back(parse_row(static_cast<Op>(i), row_texts()[i], problems));
    for (const Row& r : rows) by_mnemonic[r.mnemonic].push_back(r.op);
  }
};

const Table& table() {
  static const Table the_table;
  return the_table;
}

}  // namespace

const Row& row(Op op) {
  RADDLE_ASSERT(op < Op::count, "no such instruction row");
  return table().rows[static_cast<std::size_t>(op)];
}

std::span<const Row> rows() { return table().rows; }

std::span<const std::string> row_problems() { return table().problems; }

std::span<const Op> rows_of_mnemonic(std::string_view mnemonic) {
  const auto found = table().by_mnemonic.find(mnemonic);
  return found == table().by_mnemonic.end() ? std::span<const Op>() : std::span<const Op>(found->second);
}

std::optional<unsigned> Form::operand(std::string_view name) const {
  for (unsigned k = 0; k < operands.size(); ++k)
    if (operands[k].name == name) return k;
  return {};
}

bool Row::uses_mbarrier() const { return std::ranges::any_of(operands, &OperandSpec::names_mbarrier); }

bool Opcode::observes() const {
  if (row->text->observes != Observes::strong) return row->text->observes == Observes::always;
  const Mod semantics = get(ModKind::semantics), cache = get(ModKind::cache);
  return (semantics != Mod::none && semantics != Mod::weak) || cache == Mod::cg || cache == Mod::cv;
}

bool Opcode::names_several_spaces() const {
  unsigned spaces = 0;
  for (const ModSlot& slot : form->slots)
    for (const Mod mod : slot.mods)
      if (mod_kind(mod) == ModKind::space && has(mod)) {
        ++spaces;
        break;
      }
  return spaces > 1;
}

Type Opcode::operand_type(const OperandSpec& spec) const {
  Type type = spec.fixed;
  if (spec.type_slot >= 0) type = types[static_cast<std::size_t>(spec.type_slot)];
  if (spec.geometric == GeometricKind::fragment) return fragment_register(type);
  return spec.widened && has(Mod::wide) ? isa::widened(type) : type;
}

}  // namespace raddle::isa
