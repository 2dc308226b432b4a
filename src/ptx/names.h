// Interned names: every distinct spelling of a module gets a small number, found with one hash lookup. The
// present meaning of a name is then an array index away (ptx/scopes.h).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace raddle::ptx {

using NameId = std::uint32_t;

class NameTable {
 public:
  NameTable() : slots_(kInitialSlots) {}

  /// @param text  must outlive the table (see `keep`)
  NameId intern(std::string_view text);
  /// Number of a name, or kNoName if nobody interned it.
  NameId find(std::string_view text) const;
  std::string_view text(NameId id) const { return texts_[id]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }
  /// Copies a made-up spelling into the table, which keeps it as long as it lives itself.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  static constexpr NameId kNoName = 0xffffffffu;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    NameId id = kNoName;
  };
  static constexpr std::size_t kInitialSlots = 1024;  // a power of two
  void grow();

  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::deque<std::string> kept_;
};

/// 64-bit hash of a text, eight bytes at a time; the same on every run.
std::uint64_t hash_text(std::string_view text);

}  // namespace raddle::ptx
