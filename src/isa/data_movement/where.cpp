// Legality of memory accesses (PTX ISA "ld", "st", "ldu", "multimem", "atom", "red") and conversions beyond
// the grammar.
#include "isa/where.h"

namespace raddle::isa {
namespace {

bool is_global_or_generic(const Opcode& opcode) {
  const Mod space = opcode.get(ModKind::space);
  return space == Mod::none || space == Mod::global;
}

/// Whether other threads can reach the space, so that an order of accesses means something.
bool is_shared_by_threads(const Opcode& opcode) {
  const Mod space = opcode.get(ModKind::space);
  return is_global_or_generic(opcode) || space == Mod::shared || space == Mod::shared_cta ||
         space == Mod::shared_cluster;
}

unsigned access_bits(const Opcode& opcode) { return opcode.vector_length() * bit_size(opcode.type()); }

std::string_view cache_qualifiers_legal(const Opcode& opcode) {
  if (is_global_or_generic(opcode)) return {};
  for (const ModKind kind : {ModKind::evict1, ModKind::evict2, ModKind::cache_hint, ModKind::prefetch})
    if (opcode.get(kind) != Mod::none) return "eviction, prefetch and cache hints are for global memory only";
  return {};
}

std::string_view order_legal(const Opcode& opcode) {
  const Mod semantics = opcode.get(ModKind::semantics);
  if (semantics == Mod::none || semantics == Mod::weak || is_shared_by_threads(opcode)) return {};
  return "only global and shared memory is accessed in an order";
}

/// Vectors of 256 bits: of words or double words, in global memory (sm_100).
bool is_widest(const Opcode& opcode) { return opcode.vector_length() > 1 && access_bits(opcode) == 256; }

std::string_view vector_legal(const Opcode& opcode) {
  if (opcode.vector_length() > 1 && access_bits(opcode) > 128) {
    const unsigned bits = bit_size(opcode.type());
    if (!is_widest(opcode) || (bits != 32 && bits != 64))
      return "a vector access moves at most 128 bits, or 8 words or 4 double words in global memory";
    if (!is_global_or_generic(opcode))
      return "a vector access moves more than 128 bits only in global memory";
  }
  if (opcode.get(ModKind::evict2) != Mod::none && !is_widest(opcode))
    return "an L2 eviction priority stands with vectors of 256 bits only";
  return {};
}

}  // namespace

std::string_view access_legal(const Opcode& opcode) {
  for (const auto rule : {cache_qualifiers_legal, order_legal, vector_legal})
    if (const std::string_view broken = rule(opcode); !broken.empty()) return broken;
  return {};
}

std::string_view scope_legal(const Opcode& opcode) {
  const Mod semantics = opcode.get(ModKind::semantics);
  const bool has_order = semantics != Mod::none && semantics != Mod::weak;
  return has_order == (opcode.get(ModKind::scope) != Mod::none)
             ? std::string_view{}
             : "an order stands with its scope, and a scope with an order";
}

std::string_view narrow_vector_legal(const Opcode& opcode) {
  return access_bits(opcode) > 128 ? "a vector access moves at most 128 bits" : std::string_view{};
}

std::string_view saturation_legal(const Opcode& opcode) {
  const Type to = opcode.type(0), from = opcode.type(1);
  if (!opcode.has(Mod::sat) || !is_integer(to) || !is_integer(from)) return {};
  const unsigned magnitude_to = bit_size(to) - is_signed(to),
                 magnitude_from = bit_size(from) - is_signed(from);
  const bool holds_all = magnitude_to >= magnitude_from && (is_signed(to) || !is_signed(from));
  return holds_all ? "the destination holds every value of the source: nothing saturates"
                   : std::string_view{};
}

}  // namespace raddle::isa
