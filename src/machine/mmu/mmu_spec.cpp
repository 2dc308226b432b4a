#include "machine/mmu/mmu_spec.h"

#include <array>
#include <charconv>

#include "base/assert.h"

namespace raddle::machine {
namespace {

constexpr unsigned kMostEntries = 1u << 20;

/// Cuts off what stands before the separator.
std::string_view next_part(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

Result<unsigned> parse_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0 || number > kMostEntries)
    return Error::invalid("'{}' is no number from 1 to {}", text, kMostEntries);
  return number;
}

constexpr std::array kReplacements = {Replacement::lru, Replacement::fifo, Replacement::random};

Result<Replacement> parse_replacement(std::string_view text) {
  for (const Replacement replacement : kReplacements)
    if (text == replacement_name(replacement)) return replacement;
  return Error::invalid("no replacement '{}'; there are lru, fifo, random", text);
}

Result<TagStoreSpec> parse_store(std::string_view text) {
  TagStoreSpec spec;
  const std::string_view whole = text;
  TRY_ASSIGN(spec.entries, parse_number(next_part(text, ':')));
  if (!text.empty()) {
    TRY_ASSIGN(spec.ways, parse_number(next_part(text, ':')));
  }
  if (!text.empty()) {
    TRY_ASSIGN(spec.replacement, parse_replacement(text));
  }
  if (spec.ways != 0 && spec.entries % spec.ways != 0)
    return Error::invalid("'{}': {} entries are not whole sets of {}", whole, spec.entries, spec.ways);
  return spec;
}

Result<Aperture> parse_aperture(std::string_view text) {
  if (text == "device") return Aperture::device;
  if (text == "host") return Aperture::host;
  return Error::invalid("no memory '{}'; page tables lie in device or host", text);
}

TagStoreSpec* store_named(MmuSpec& spec, std::string_view name) {
  if (name == "l1") return &spec.sm_tlb;
  if (name == "l2") return &spec.gpc_tlb;
  if (name == "walk") return &spec.walk_cache;
  if (name == "virtual") return &spec.virtual_cache;
  return name == "physical" ? &spec.physical_cache : nullptr;
}

}  // namespace

std::string_view replacement_name(Replacement replacement) {
  switch (replacement) {
    case Replacement::lru:
      return "lru";
    case Replacement::fifo:
      return "fifo";
    case Replacement::random:
      return "random";
  }
  RADDLE_UNREACHABLE("a replacement");
}

Result<MmuSpec> parse_mmu_spec(std::string_view text) {
  MmuSpec spec;
  while (!text.empty()) {
    std::string_view part = next_part(text, ',');
    const std::string_view name = next_part(part, '=');
    if (name == "tables") {
      TRY_ASSIGN(spec.tables, parse_aperture(part));
    } else if (TagStoreSpec* const store = store_named(spec, name)) {
      TRY_ASSIGN(*store, parse_store(part));
    } else {
      return Error::invalid(
          "no '{}'; there are l1, l2, walk, virtual, physical, tables, as in l1=32,l2=512:8:lru,tables=host",
          name);
    }
  }
  return spec;
}

}  // namespace raddle::machine
