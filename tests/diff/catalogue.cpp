// Reads rows through isa::rows() and isa::all_spellings().
#include "diff/catalogue.h"

#include <algorithm>

#include "diff/exclusions.h"
#include "isa/enumerate.h"

namespace raddle::diff {
namespace {

using isa::Effects;
using isa::Mod;
using isa::ModKind;
using isa::OperandKind;
using isa::Type;
using isa::TypeClass;

constexpr std::size_t kSpellings = 150;  ///< per row; above, a sample that has every modifier

/// Where a row's instructions go, or why they go nowhere.
struct Suits {
  Place place = Place::count;
  std::string_view why;  ///< empty if there is a place
};

/// Rows that only touch memory or have no effect that a program could see need an address of their own.
Suits place_by_effects(const isa::Row& row) {
  const Effects e = row.text->effects;
  const bool addressed = has_operand(row, OperandKind::address);
  if (has_operand(row, OperandKind::handle)) return {Place::count, "names a texture or surface"};
  if (has(e, Effects::reads) || has(e, Effects::writes)) {
    if (addressed) return {Place::memory, {}};
    return {Place::count, "touches memory that no operand names"};
  }
  if (addressed && has_destination(row))
    return {Place::count, "computes from an address, which differs between engines"};
  if (addressed) return {Place::memory, {}};  // a hint
  if (has(e, Effects::orders)) {
    if (row.operands.empty()) return {Place::lane, {}};
    return {Place::count, "orders memory by operands"};
  }
  if (has_destination(row)) return {Place::lane, {}};
  return {Place::count, "has no result"};
}

Suits place_of(const isa::Row& row) {
  const isa::RowText& text = *row.text;
  const Effects e = text.effects;
  if (text.status != isa::Status::done) return {Place::count, "not done"};
  if (text.numerics == isa::Numerics::approx) return {Place::count, "results are approximate"};
  if (has_operand(row, OperandKind::label) || has_operand(row, OperandKind::call) ||
      has_operand(row, OperandKind::vector_list))
    return {Place::count, "jumps or calls: the generator writes them itself"};
  if (text.scope == isa::Scope::cta) {
    if (has(e, Effects::sync)) return {Place::cta, {}};
    return {Place::count, "works on the whole block"};
  }
  if (text.scope == isa::Scope::warp) {
    if (std::ranges::any_of(row.operands, &isa::OperandSpec::names_members)) return {Place::warp, {}};
    if (has(e, Effects::sync)) return {Place::count, "wants whole warps, which have diverged"};
    return {Place::count, "asks which lanes are together, which is open to the engine"};
  }
  if (text.scope != isa::Scope::lane) return {Place::count, "works on more than a block"};
  if (row.uses_mbarrier()) return {Place::count, "the private slots hold no mbarrier"};
  if (has(e, Effects::control)) return {Place::count, "jumps or calls: the generator writes them itself"};
  if (has(e, Effects::sync)) return {Place::count, "waits for other threads"};
  if (has(e, Effects::layout) || has(e, Effects::stack))
    return {Place::count, "depends on the engine's layout of stacks"};
  return place_by_effects(row);
}

/// Why no statement is made of an opcode; empty if one is.
std::string_view why_unfit(const isa::Opcode& opcode) {
  if (std::ranges::any_of(opcode.row->operands, &isa::OperandSpec::is_constant))
    return "takes constants of a small range";
  for (const isa::OperandSpec& spec : opcode.row->operands) {
    if (spec.kind != OperandKind::value) continue;
    Type type = opcode.operand_type(spec);
    if (type == Type::none || isa::bit_size(type) > 128)
      return "has operands that no register of the pool holds";
  }
  return {};
}

/// Atomics on one cell whose outcome does not depend on the order of the threads (of floats: where all values
/// are small integers).
bool is_sum(const isa::Opcode& opcode) {
  if (!is_atomic(opcode) || opcode.has(Mod::l2_cache_hint)) return false;
  switch (opcode.get(ModKind::operation)) {
    case Mod::add:
    case Mod::min:
    case Mod::max:
    case Mod::and_:
    case Mod::or_:
    case Mod::xor_:
      return true;
    default:
      return false;
  }
}

void add_row(Catalogue& all, const isa::Row& row) {
  const Suits suits = place_of(row);
  if (suits.place == Place::count) {
    all.skipped.push_back({std::string(row.id), 0, suits.why});
    return;
  }
  Opcodes opcodes, sums;
  std::vector<Skip> skipped;
  for (const std::string& text : isa::all_spellings(row, kSpellings)) {
    auto opcode = isa::resolve(text);
    if (!opcode.ok() || (*opcode)->row != &row) continue;  // another row's, with which it shares a spelling
    if (is_sum(**opcode)) sums.push_back(*opcode);
    std::string_view why = why_unfit(**opcode);
    if (why.empty()) why = excluded(row.id, text);
    if (why.empty()) {
      opcodes.push_back(*opcode);
      continue;
    }
    auto same = std::find_if(skipped.begin(), skipped.end(), [&](const Skip& s) { return s.reason == why; });
    if (same == skipped.end()) same = skipped.insert(same, {std::string(row.id), 0, why});
    ++same->spellings;
  }
  all.skipped.insert(all.skipped.end(), skipped.begin(), skipped.end());
  if (!sums.empty()) all.sums.push_back(std::move(sums));
  if (opcodes.empty()) return;
  // A shuffle reads lanes that may be elsewhere.
  if (suits.place == Place::warp && opcodes.front()->get(ModKind::shuffle) == Mod::none)
    all.places[std::size_t(Place::subset)].push_back(opcodes);
  all.places[std::size_t(suits.place)].push_back(std::move(opcodes));
}

}  // namespace

bool is_fractional(Type type) {
  const TypeClass cls = isa::type_class(type);
  return cls == TypeClass::float_ || cls == TypeClass::packed_float;
}

bool is_atomic(const isa::Opcode& opcode) { return opcode.is(Effects::reads) && opcode.is(Effects::writes); }

bool has_operand(const isa::Row& row, OperandKind kind) {
  return std::any_of(row.operands.begin(), row.operands.end(), [&](const auto& o) { return o.kind == kind; });
}

bool has_destination(const isa::Row& row) {
  return std::any_of(row.operands.begin(), row.operands.end(),
                     [](const auto& o) { return o.is_destination; });
}

const Catalogue& catalogue() {
  static const Catalogue all = [] {
    Catalogue made;
    for (const isa::Row& row : isa::rows()) add_row(made, row);
    return made;
  }();
  return all;
}

}  // namespace raddle::diff
