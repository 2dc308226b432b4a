#include "serve/lent_memory.h"

#include <algorithm>
#include <cstring>

#include "base/page.h"
#include "machine/memory/guarded_access.h"
#include "machine/memory/mapping.h"

namespace raddle::serve {
namespace {

std::byte* pointer_to(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

Result<void> LentMemory::check(exec::AddressRange pages) const {
  const bool whole = pages.start % kPage == 0 && pages.bytes % kPage == 0 && pages.bytes != 0;
  // The margin at the beginning of a window stays empty (exec/window.h).
  if (whole && window_.lent().holds(pages.start, pages.bytes) &&
      window_.range().holds(pages.start, pages.bytes))
    return {};
  return Error::invalid("{} bytes at {:#x} are no pages of the client's part of its window", pages.bytes,
                        pages.start);
}

bool LentMemory::is_free(exec::AddressRange pages) const {
  const auto behind = pieces_.lower_bound(pages.start + pages.bytes);
  if (behind == pieces_.begin()) return true;
  const auto& [start, bytes] = *std::prev(behind);
  return start + bytes <= pages.start;
}

bool LentMemory::is_mapped(exec::AddressRange pages) const {
  std::uint64_t at = pages.start;
  auto piece = pieces_.upper_bound(at);
  if (piece == pieces_.begin()) return false;
  for (--piece; piece != pieces_.end() && piece->first <= at; ++piece) {
    at = std::max(at, piece->first + piece->second);
    if (at >= pages.start + pages.bytes) return true;
  }
  return false;
}

Result<void> LentMemory::map(exec::AddressRange pages, int descriptor, std::uint64_t offset,
                             machine::Protection protection) {
  TRY(check(pages));
  if (!is_free(pages)) return Error::invalid("something is mapped at {:#x} already", pages.start);
  TRY_ASSIGN(const machine::MemoryFile file, machine::MemoryFile::of_sealed(descriptor));
  if (offset % kPage != 0 || offset > file.bytes() || pages.bytes > file.bytes() - offset)
    return Error::invalid("a file of {} bytes has no {} pages' bytes at {}", file.bytes(), pages.bytes,
                          offset);
  if (pieces_.size() >= kMostPieces)
    return Error::make(ErrorCode::out_of_memory, "{} pieces are mapped, which is the limit", kMostPieces);
  TRY(charge(pages.bytes));
  if (!window_.show(pointer_to(pages.start), pages.bytes, descriptor, offset, protection)) {
    refund(pages.bytes);
    return Error::make(ErrorCode::out_of_memory, "the server cannot map {} bytes", pages.bytes);
  }
  pieces_.emplace(pages.start, pages.bytes);
  return {};
}

Result<void> LentMemory::charge(std::uint64_t bytes) {
  if (bytes > limit_ - used_)
    return Error::make(ErrorCode::out_of_memory, "{} bytes wanted, {} of {} are in use", bytes, used_,
                       limit_);
  TRY(shared_.charge(bytes));
  used_ += bytes;
  return {};
}

Result<void> LentMemory::protect(exec::AddressRange pages, machine::Protection protection) {
  TRY(check(pages));
  if (!is_mapped(pages)) return Error::invalid("nothing is mapped at {:#x}", pages.start);
  if (!window_.protect(pointer_to(pages.start), pages.bytes, protection))
    return Error::make(ErrorCode::out_of_memory, "the server cannot protect {} bytes", pages.bytes);
  return {};
}

Result<void> LentMemory::read(exec::AddressRange from, std::byte* to) const {
  if (!window_.lent().holds(from.start, from.bytes))
    return Error::invalid("{} bytes at {:#x} are no device memory of the client", from.bytes, from.start);
  // There is nothing but what it has mapped, and may be unmapping.
  const auto missing =
      machine::GuardedAccess::attempt([&] { std::memcpy(to, pointer_to(from.start), from.bytes); });
  if (!missing) return {};
  return Error::invalid("the client has no device memory at {:#x} that may be read", missing->address);
}

Result<void> LentMemory::unmap(exec::AddressRange pages) {
  TRY(check(pages));
  if (!window_.empty(pointer_to(pages.start), pages.bytes))
    return Error::make(ErrorCode::out_of_memory, "the server cannot unmap {} bytes", pages.bytes);
  forget(pages);
  return {};
}

void LentMemory::forget(exec::AddressRange pages) {
  const std::uint64_t end = pages.start + pages.bytes;
  auto piece = pieces_.upper_bound(pages.start);
  if (piece != pieces_.begin()) --piece;
  while (piece != pieces_.end() && piece->first < end) {
    const auto [start, bytes] = *piece;
    const std::uint64_t piece_end = start + bytes;
    if (piece_end <= pages.start) {
      ++piece;
      continue;
    }
    piece = pieces_.erase(piece);
    refund(std::min(end, piece_end) - std::max(start, pages.start));
    if (start < pages.start) pieces_.emplace(start, pages.start - start);
    if (piece_end > end) pieces_.emplace(end, piece_end - end);
  }
}

}  // namespace raddle::serve
