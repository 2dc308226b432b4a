// A copy or fill under way, as a copy engine has it: it can stop at memory that is not there and go on from
// that place. Where neither side is modelled, the host's MMU translates, and all is moved in one go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "machine/memory/device_copy.h"
#include "machine/mmu/paged_space.h"
#include "machine/tasks/work.h"

namespace raddle::machine {

class Transfer {
 public:
  explicit Transfer(const CopyWork& copy);
  explicit Transfer(const FillWork& fill);

  /// Where it had to stop.
  struct Stop {
    std::uint64_t address = 0;
    bool is_write = false;
    Translated place;             ///< what the page table says, if it is asked
    PagedSpace* pages = nullptr;  ///< whose that is; null: the host's
  };
  /// Goes on from where it stopped. @param engine  whose TLB it uses @returns nothing: it is complete
  std::optional<Stop> run(unsigned engine);
  std::uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  struct Side {
    BoxSide box;                  // where the host has it
    PagedSpace* pages = nullptr;  // null: the host's MMU translates
    bool is_written = false;
  };
  struct Position {
    std::uint64_t slice = 0, row = 0, byte = 0;
  };
  struct Piece {
    std::byte* memory = nullptr;
    std::uint64_t left = 0;  // bytes
  };
  static Side side_of(const MemoryRows& rows, bool is_written);
  std::optional<Stop> run_whole();
  std::optional<Stop> run_pieces(unsigned engine);
  std::optional<Stop> move_piece(unsigned engine);
  std::optional<Stop> find(const Side& side, unsigned engine, Piece& piece) const;
  void move(const BoxSide& to, const BoxSide& from, std::uint64_t width, std::uint64_t height,
            std::uint64_t depth) const;

  Side to_, from_;
  std::uint64_t width_, height_, depth_;  // bytes, rows, slices
  std::uint64_t word_ = 0;                // that a fill writes
  unsigned word_bytes_ = 0;               // of it; 0: a copy
  Position at_;
  std::uint64_t bytes_moved_ = 0;
};

}  // namespace raddle::machine
