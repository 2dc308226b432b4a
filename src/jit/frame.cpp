#include "jit/frame.h"

#include <algorithm>

#include "base/round_up.h"
#include "jit/holds.h"

namespace raddle::jit {
namespace {

using ptx::BlockId;
using ptx::RegisterId;
using Row = std::vector<bool>;  // by register, or by place in the list of those that some barrier holds

bool is_barrier(const ptx::Instruction& i) {
  const isa::Scope scope = i.opcode->row->text->scope;
  return holds_lanes(*i.opcode) && (scope == isa::Scope::cta || scope == isa::Scope::cluster);
}

bool join(Row& into, const Row& more) {
  bool changed = false;
  for (std::size_t r = 0; r < into.size(); ++r)
    if (more[r] && !into[r]) into[r] = changed = true;
  return changed;
}

class FrameAnalysis {
 public:
  FrameAnalysis(const ptx::Function& f, const ptx::Cfg& cfg, const ptx::Liveness& live,
                const AlsoRead& also_read)
      : f_(f), cfg_(cfg), live_(live), also_read_(also_read), order_(ptx::reverse_postorder(cfg)) {}

  std::map<std::uint32_t, FrameUse> run() {
    find_held();
    if (uses_.empty()) return {};
    find_saved();
    find_also_read();
    find_loaded();
    return std::move(uses_);
  }

 private:
  /// Steps over an instruction from its end to its begin: a guarded definition leaves the old value needed.
  template <typename Set>
  void step_back(std::uint32_t n, const Set& set) {
    ptx::register_uses(f_, f_.instructions[n], now_);
    if (f_.instructions[n].guard == ptx::kNone)
      for (RegisterId r : now_.definitions) set(r, false);
    for (RegisterId r : now_.uses) set(r, true);
  }

  void set(Row& row, RegisterId r, bool value) const {
    if (index_[r] != ptx::kNone) row[index_[r]] = value;
  }
  /// The registers that a barrier holds and the row contains.
  std::vector<RegisterId> held_in(const FrameUse& use, const Row& row) const {
    std::vector<RegisterId> result;
    std::copy_if(use.held.begin(), use.held.end(), std::back_inserter(result),
                 [&](RegisterId r) { return row[index_[r]]; });
    return result;
  }

  void find_held() {
    index_.assign(f_.registers.size(), ptx::kNone);
    for (BlockId b : order_) {
      const auto& block = f_.blocks[b];
      if (std::none_of(f_.instructions.begin() + block.begin, f_.instructions.begin() + block.end,
                       is_barrier))
        continue;
      Row row(f_.registers.size());
      for (BlockId s : cfg_.nodes[b].successors)
        for (RegisterId r = 0; r < row.size(); ++r) row[r] = row[r] || live_.live(s, r);
      for (std::uint32_t n = block.end; n-- > block.begin;) {
        if (is_barrier(f_.instructions[n])) hold(uses_[n], row);
        step_back(n, [&](RegisterId r, bool value) { row[r] = value; });
      }
    }
  }

  void hold(FrameUse& use, const Row& needed) {
    for (RegisterId r = 0; r < needed.size(); ++r) {
      if (!needed[r]) continue;
      use.held.push_back(r);
      if (index_[r] == ptx::kNone) index_[r] = count_++;
    }
  }

  /// What may have changed since the entry, on ways without a barrier, and since the last barrier.
  struct Changed {
    Row since_entry, since_barrier;
    bool is_behind = false;  // some barrier
    bool add(const Changed& more) {
      bool changed = more.is_behind && !is_behind;
      is_behind = is_behind || more.is_behind;
      changed |= join(since_entry, more.since_entry);
      return join(since_barrier, more.since_barrier) || changed;
    }
  };

  /// Forwards. At entry everything has changed.
  void find_saved() {
    std::vector<Changed> at(f_.blocks.size(), Changed{Row(count_), Row(count_)});
    at[order_.front()].since_entry.assign(count_, true);
    for (bool again = true; again;) {
      again = false;
      for (BlockId b : order_) {
        Changed now = at[b];
        for (std::uint32_t n = f_.blocks[b].begin; n < f_.blocks[b].end; ++n) step_forward(n, now);
        for (BlockId s : cfg_.nodes[b].successors) again |= at[s].add(now);
      }
    }
  }

  void step_forward(std::uint32_t n, Changed& now) {
    if (is_barrier(f_.instructions[n])) {
      FrameUse& use = uses_[n];
      use.saved = held_in(use, now.since_barrier);
      for (RegisterId r : use.held)
        now.since_entry[index_[r]] = now.since_entry[index_[r]] && !now.since_barrier[index_[r]];
      use.first = held_in(use, now.since_entry);
      now = {Row(count_), Row(count_), true};
    }
    if (!now.is_behind) return;  // since the entry, everything has changed already
    ptx::register_uses(f_, f_.instructions[n], now_);
    for (RegisterId r : now_.definitions) set(now.since_barrier, r, true);
  }

  void find_also_read() {
    also_.resize(f_.instructions.size());
    for (BlockId b : order_)
      for (std::uint32_t n = f_.blocks[b].begin; n < f_.blocks[b].end; ++n)
        also_[n] = also_read_(b, f_.instructions[n]);
  }

  /// Backwards: what is read, or saved although it may not have changed on this path, up to the next barrier.
  void find_loaded() {
    std::vector<Row> needed(f_.blocks.size(), Row(count_));
    for (bool again = true; again;) {
      again = false;
      for (auto b = order_.rbegin(); b != order_.rend(); ++b) {
        Row row(count_);
        for (BlockId s : cfg_.nodes[*b].successors) join(row, needed[s]);
        for (std::uint32_t n = f_.blocks[*b].end; n-- > f_.blocks[*b].begin;) {
          if (is_barrier(f_.instructions[n])) {
            FrameUse& use = uses_[n];
            use.loaded = held_in(use, row);
            row.assign(count_, false);
            for (RegisterId r : use.saved) set(row, r, true);
          }
          step_back(n, [&](RegisterId r, bool value) { set(row, r, value); });
          for (RegisterId r : also_[n]) set(row, r, true);
        }
        again |= join(needed[*b], row);
      }
    }
  }

  const ptx::Function& f_;
  const ptx::Cfg& cfg_;
  const ptx::Liveness& live_;
  const AlsoRead& also_read_;
  const std::vector<BlockId> order_;
  std::vector<std::uint32_t> index_;  // by register: its place in rows, kNone if no barrier holds it
  std::uint32_t count_ = 0;
  std::vector<std::vector<RegisterId>> also_;  // by instruction
  std::map<std::uint32_t, FrameUse> uses_;
  ptx::RegisterUses now_;
};

}  // namespace

std::map<std::uint32_t, FrameUse> frame_uses(const ptx::Function& function, const ptx::Cfg& cfg,
                                             const ptx::Liveness& live, const AlsoRead& also_read) {
  return FrameAnalysis(function, cfg, live, also_read).run();
}

std::uint32_t FrameLayout::place(std::uint32_t size, const std::vector<std::uint32_t>& barriers) {
  auto is_free = [&](const Place& p) {
    return p.size == size && std::none_of(barriers.begin(), barriers.end(),
                                          [&](std::uint32_t b) { return b < p.taken.size() && p.taken[b]; });
  };
  auto found = std::find_if(places_.begin(), places_.end(), is_free);
  if (found == places_.end()) {
    end_ = static_cast<std::uint32_t>(round_up(end_, alignment(size)));
    found = places_.insert(places_.end(), {end_, size, {}});
    end_ += size;
  }
  for (std::uint32_t b : barriers) {
    if (b >= found->taken.size()) found->taken.resize(b + 1);
    found->taken[b] = true;
  }
  return found->offset;
}

}  // namespace raddle::jit
