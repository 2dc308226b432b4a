// Whose turn it is: started blocks of equal priority have turns by address space first, and within a space
// one after another. So a space has as many turns as another, however many blocks it has (decision 80).
#include <algorithm>

#include "machine/address_space.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

/// Gives turns to the started blocks that have the priority of the one at a position, where they begin: all
/// of them one at least, unless one uses up its slice. Then each space has had as many as that one's.
/// @returns the position behind them
std::size_t Worker::serve(std::size_t first, Moves& moves) {
  const int priority = started_[first]->task->priority;
  unsigned most = 0;
  for (const Share& share : shares_)
    if (share.priority == priority) most = std::max(most, share.blocks);
  bool slice_over = false;
  for (; most != 0 && !slice_over; --most)
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i].blocks == 0 || shares_[i].priority != priority) continue;
      give_turn(next_of(shares_[i]), moves);
      slice_over |= slice_over_;
    }
  moves.slice_over |= slice_over;
  const auto behind = std::ranges::upper_bound(started_, priority, {},
                                               [](const Block* block) { return block->task->priority; });
  return static_cast<std::size_t>(behind - started_.begin());
}

void Worker::give_turn(Block& first, Moves& moves) {
  const std::uint64_t before = progress_;
  slice_over_ = false;
  Block& block = must_park(first) ? first : take_turn(first);
  const bool parks = must_park(block), waits = block.status == Block::Status::waiting;
  moves.any |= progress_ != before || slice_over_ || parks || !waits;
  if (!parks && waits) {
    ++first.turns;
    return;
  }
  const auto position = static_cast<std::size_t>(std::ranges::find(started_, &block) - started_.begin());
  if (parks)
    park(position);
  else
    settle(position);
}

Block& Worker::next_of(Share& share) {
  if (random_ != 0)
    for (std::uint64_t steps = draw() % share.blocks; steps != 0; --steps)
      share.next = share.next->next_in_share;
  Block& block = *share.next;
  share.next = block.next_in_share;
  return block;
}

/// A block was started: it has its turn after all others of its share.
void Worker::join_share(Block& block) {
  const std::uint64_t space = block.task->grid().space->id();
  const int priority = block.task->priority;
  std::size_t mine = shares_.size();
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i].blocks == 0) mine = i;
    if (shares_[i].blocks == 0 || shares_[i].space != space || shares_[i].priority != priority) continue;
    mine = i;
    break;
  }
  if (mine == shares_.size()) shares_.emplace_back();
  Share& share = shares_[mine];
  if (share.blocks == 0) {
    share = {.space = space, .priority = priority, .next = &block};
    block.previous_in_share = &block;
  } else {
    block.previous_in_share = share.next->previous_in_share;
  }
  block.next_in_share = share.next;
  block.previous_in_share->next_in_share = &block;
  block.next_in_share->previous_in_share = &block;
  block.share = static_cast<std::uint32_t>(mine);
  ++share.blocks;
}

void Worker::leave_share(Block& block) {
  Share& share = shares_[block.share];
  block.previous_in_share->next_in_share = block.next_in_share;
  block.next_in_share->previous_in_share = block.previous_in_share;
  if (share.next == &block) share.next = block.next_in_share;
  --share.blocks;
}

bool Worker::has_started_of(std::uint64_t space) const {
  return std::ranges::any_of(shares_,
                             [&](const Share& share) { return share.blocks != 0 && share.space == space; });
}

}  // namespace raddle::machine
