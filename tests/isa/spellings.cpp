// Enumerates, samples and batches spellings.
#include "isa/spellings.h"

#include <algorithm>
#include <bit>
#include <set>

#include "isa/enumerate.h"
#include "isa/harness/exclusions.h"

namespace raddle::testing {
namespace {

constexpr unsigned kMarkedCases = 6, kFewMarkedCases = 2;  ///< per spelling, with random selectors

/// The parts of a spelling as numbers: its form, modifiers and types.
std::vector<unsigned> features(const isa::Opcode& opcode) {
  std::vector<unsigned> all{static_cast<unsigned>(opcode.form - opcode.row->forms.data())};
  for (std::size_t m = 0; m < opcode.mods.size(); ++m)
    if (opcode.mods.test(m)) all.push_back(100 + static_cast<unsigned>(m));
  for (unsigned i = 0; i < opcode.type_count; ++i)
    all.push_back(10'000 + 1000 * i + static_cast<unsigned>(opcode.types[i]));
  return all;
}

/// Whether the opcode shows a pair of features not seen before; marks its pairs as seen.
bool covers_new_pair(const isa::Opcode& opcode, std::set<std::pair<unsigned, unsigned>>& seen) {
  bool is_new = false;
  auto all = features(opcode);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = i; k < all.size(); ++k) is_new |= seen.insert({all[i], all[k]}).second;
  return is_new;
}

bool has_wide_operand(const isa::Row& row) {
  return std::any_of(row.operands.begin(), row.operands.end(),
                     [](const isa::OperandSpec& o) { return o.may_be_wider; });
}

std::uint32_t random_constant(const isa::OperandSpec& spec, Random& random) {
  if (!spec.is_constant) return random.below(256);
  if (spec.power_of_two) return spec.least << random.below(std::bit_width(spec.greatest / spec.least));
  return spec.least +
         static_cast<std::uint32_t>(random.next() % (std::uint64_t{spec.greatest} - spec.least + 1));
}

std::vector<std::string> immediates_for(const isa::Opcode& opcode, const isa::Form& form, Random& random) {
  std::vector<std::string> immediates(form.operands.size());
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    const isa::OperandSpec* spec = find_operand(*opcode.row, form.operands[i].name);
    if (spec && is_immediate_only(*spec)) immediates[i] = fmt::format("{}", random_constant(*spec, random));
  }
  return immediates;
}

/// Selectors and minus signs for a case's operands, all empty where the row has none. A part of the
/// destination is written only where the operand is there that the rest comes from.
std::vector<std::string> marks_for(const isa::Opcode& opcode, const isa::Form& form,
                                   const std::vector<bool>& present, Random& random) {
  std::vector<std::string> marks(form.operands.size());
  for (std::size_t i = 0; i < form.operands.size(); ++i) {
    const isa::OperandSpec* spec = find_operand(*opcode.row, form.operands[i].name);
    if (!spec || (form.operands[i].optional && !present[i])) continue;
    bool merges = spec->is_destination && spec->selector == isa::SelectorKind::part;
    if (!merges || (present.back() && form.operands.back().optional)) marks[i] = random_mark(random, *spec);
  }
  return marks;
}

bool has_marks(const isa::Row& row) {
  return std::any_of(row.operands.begin(), row.operands.end(), [](const isa::OperandSpec& o) {
    return o.selector != isa::SelectorKind::none || o.may_be_minus;
  });
}

/// A cache policy operand stands exactly where .L2::cache_hint does.
bool policy_matches(const isa::Opcode& opcode, const isa::Form& form, const std::vector<bool>& present) {
  for (std::size_t i = 0; i < form.operands.size(); ++i)
    if (form.operands[i].name == "policy" && form.operands[i].optional &&
        present[i] != opcode.has(isa::Mod::l2_cache_hint))
      return false;
  return true;
}

}  // namespace

std::vector<const isa::Opcode*> sampled_spellings(const isa::Row& row, unsigned limit, std::uint64_t seed) {
  std::vector<const isa::Opcode*> all;
  for (const std::string& text : isa::all_spellings(row))
    if (auto opcode = isa::resolve(text); opcode.ok() && (*opcode)->row == &row) all.push_back(*opcode);
  if (all.size() <= limit) return all;
  Random random(seed);
  for (std::size_t i = all.size() - 1; i > 0; --i)
    std::swap(all[i], all[random.below(static_cast<unsigned>(i + 1))]);
  std::vector<const isa::Opcode*> kept;
  std::set<const isa::Opcode*> taken;
  std::set<unsigned> seen;
  for (const isa::Opcode* opcode : all) {  // every modifier and type at least once, whatever the limit
    bool is_new = false;
    for (unsigned feature : features(*opcode)) is_new |= seen.insert(feature).second;
    if (is_new && taken.insert(opcode).second) kept.push_back(opcode);
  }
  std::set<std::pair<unsigned, unsigned>> pairs;
  for (const isa::Opcode* opcode : kept) covers_new_pair(*opcode, pairs);
  for (const isa::Opcode* opcode : all)  // then pairs of them
    if (kept.size() < limit && covers_new_pair(*opcode, pairs) && taken.insert(opcode).second)
      kept.push_back(opcode);
  return kept;
}

std::vector<Case> spelling_cases(const isa::Row& row, const SpellingOptions& options) {
  std::vector<Case> cases;
  Random random(options.seed);
  std::vector<const isa::Opcode*> spellings = sampled_spellings(row, options.limit, options.seed);
  bool few = spellings.size() < options.limit;  // else one of the choices below per spelling, in turn
  unsigned turn = 0;
  for (const isa::Opcode* opcode : spellings)
    for (const isa::Form* form : matching_forms(*opcode))
      for (const auto& present : operand_choices(*form))
        for (unsigned bits :
             has_wide_operand(row) ? std::vector<unsigned>{0, 32, 64} : std::vector<unsigned>{0}) {
          if (!policy_matches(*opcode, *form, present) || (!few && ++turn % 3 != 0)) continue;
          Case c;
          c.spec = {opcode, form, present, bits, immediates_for(*opcode, *form, random)};
          c.spec.random = true;
          KernelWriter probe;
          auto layout = probe.add(c.spec);
          if (!layout.ok()) continue;
          bool widened = std::any_of(layout->sources.begin(), layout->sources.end(),
                                     [&](const Port& p) { return p.bits == bits; }) ||
                         std::any_of(layout->results.begin(), layout->results.end(),
                                     [&](const Port& p) { return p.bits == bits; });
          if (bits != 0 && !widened) continue;
          c.text = bits ? fmt::format("{} in {}-bit registers", opcode->text, bits) : opcode->text;
          c.where = fmt::format("{}/{}", row.chapter, row.id);
          cases.push_back(c);
          const unsigned draws = !has_marks(row) ? 0 : options.every_engine ? kMarkedCases : kFewMarkedCases;
          for (unsigned draw = 0; draw < draws; ++draw) {
            c.spec.marks = marks_for(*opcode, *form, present, random);
            c.text = fmt::format("{} with {}", opcode->text, fmt::join(c.spec.marks, ","));
            cases.push_back(c);
          }
        }
  return cases;
}

std::size_t first_turn(const isa::Row& row, const SpellingOptions& options) {
  return std::hash<std::string_view>()(row.id) + options.seed;
}

void test_spellings(const isa::Row& row, const std::vector<NamedEngine>& engines,
                    const SpellingOptions& options, Report& report) {
  if (find_exclusion(row, "spellings")) return;
  if (row.text->scope == isa::Scope::cta || row.text->scope == isa::Scope::cluster)
    return;  // barriers need numbers, warps and order that match: their files have them
  std::vector<Case> cases = spelling_cases(row, options);
  report.spellings += static_cast<unsigned>(cases.size());
  Random random(options.seed + 77);
  std::size_t turn = first_turn(row, options);
  for (std::size_t begin = 0; begin < cases.size(); begin += kBatch, ++turn) {
    std::vector<Case> batch(
        cases.begin() + static_cast<std::ptrdiff_t>(begin),
        cases.begin() + static_cast<std::ptrdiff_t>(std::min(cases.size(), begin + kBatch)));
    auto some = static_cast<std::uint32_t>(random.next());
    std::vector<std::uint32_t> masks{~0u, some | 1, 1u << random.below(32)};
    if (find_exclusion(row, "partial masks")) masks.resize(1);
    run_cases(batch, options.every_engine ? engines : engines_in_turn(engines, turn),
              {masks, options.rounds, random.next()}, report);
  }
}

}  // namespace raddle::testing
