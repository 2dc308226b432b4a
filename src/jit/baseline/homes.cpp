#include "jit/baseline/homes.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "jit/baseline/places.h"

namespace raddle::jit::baseline {
namespace {

/// Blocks times values beyond which all values stay in memory between blocks.
constexpr std::size_t kMostBits = 64'000'000;
constexpr std::size_t kLargestWeb = 72;  // a loop's sum, unrolled 64 times
constexpr int kEntered = -1;             // before a block's first instruction
constexpr int kLeft = std::numeric_limits<int>::max();

/// What a call costs registers of any kind. Those that keep the general ones are seldom made.
bool may_call(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
  return call && !call->isInlineAsm() && call->getCallingConv() != llvm::CallingConv::PreserveMost &&
         (!llvm::isa<llvm::IntrinsicInst>(call) || llvm::isa<llvm::MemIntrinsic>(call));
}

/// Numbers below `count`, those with the highest values first.
template <typename Value>
std::vector<std::uint32_t> by_falling(std::size_t count, const Value& value) {
  std::vector<std::pair<float, std::uint32_t>> all;
  for (std::uint32_t n = 0; n < count; ++n) all.emplace_back(-value(n), n);
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> numbers;
  for (const auto& [_, n] : all) numbers.push_back(n);
  return numbers;
}

}  // namespace

bool may_overwrite(const llvm::Instruction& i, unsigned n, const Form& form) {
  const auto shape = shape_of(i.getType(), form);
  if (!shape) return false;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  switch (i.getOpcode()) {
    case llvm::Instruction::Sub:
      return shape->kind != Class::general || n == 0;
    case llvm::Instruction::Add:
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return true;
    case llvm::Instruction::Shl:
    case llvm::Instruction::LShr:
    case llvm::Instruction::AShr:
      return shape->kind == Class::general || form.mask_registers;
    case llvm::Instruction::GetElementPtr:
      return shape->kind == Class::general && i.getNumOperands() == 2;
    case llvm::Instruction::Call:
      if (!call) return false;
      if (call->getIntrinsicID() == llvm::Intrinsic::fma) return true;
      return n == 0 && (call->getIntrinsicID() == llvm::Intrinsic::x86_avx512_vpdpbusd_512 ||
                        call->getIntrinsicID() == llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512);
    default:
      return false;
  }
}

/// When a piece lives. Times within a block are those of its instructions, doubled.
struct Homes::Life {
  struct Use {
    std::uint32_t block;
    int last;
    unsigned count;
  };
  PieceId id;
  std::uint32_t block = 0;
  int made_at = kEntered;
  const llvm::Instruction* made_by = nullptr;
  std::vector<Use> uses;
  llvm::BitVector entered;  ///< blocks that it is read in or behind, but the one that makes it

  bool lives_in(std::uint32_t b) const { return b == block || entered.test(b); }
};

/// Pieces that get one home.
struct Homes::Web {
  std::vector<std::uint32_t> lives;
  float gain = 0;
};

class Homes::Finder {
 public:
  Finder(const llvm::Function& function, Analysis& analysis, const Flow& flow, const Form& form, Homes& homes)
      : function_(function), analysis_(analysis), flow_(flow), form_(form), homes_(homes) {}

  void find() {
    choose_candidates();
    scan();
    if (lives_.size() * flow_.blocks.size() > kMostBits) return;
    for (Life& life : lives_) flow_back(life);
    join();
    settle();
    share_slots();
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  std::uint32_t number(PieceId id) const { return id < number_.size() ? number_[id] : kNone; }

  void candidate(PieceId id) {
    if (id >= number_.size() || analysis_.pieces[id].is_constant() || number_[id] != kNone) return;
    number_[id] = static_cast<std::uint32_t>(lives_.size());
    lives_.push_back({id, analysis_.pieces[id].block});
  }

  /// What several blocks read, and what phis are given.
  void choose_candidates() {
    number_.assign(analysis_.pieces.size(), kNone);
    for (PieceId id = 0; id < analysis_.pieces.size(); ++id)
      if (analysis_.pieces[id].is_global) candidate(id);
    for (const llvm::BasicBlock& block : function_)
      for (const llvm::PHINode& phi : block.phis())
        for (const llvm::Value* value : phi.incoming_values())
          if (llvm::isa<llvm::Instruction>(value) &&
              !analysis_.is_deferred(*llvm::cast<llvm::Instruction>(value)))
            for (unsigned n = 0; n < analysis_.pieces_of(value); ++n) candidate(analysis_.piece(value, n));
    for (const llvm::BasicBlock& block : function_)
      for (const llvm::Instruction& i : block)
        if (has_candidate(i)) choose_links(i);
  }

  bool has_candidate(const llvm::Value& value) {
    const auto* i = llvm::dyn_cast<llvm::Instruction>(&value);
    if (!i || i->getType()->isVoidTy() || analysis_.is_deferred(*i) || llvm::isa<llvm::AllocaInst>(i))
      return false;
    return analysis_.pieces_of(i) > 0 && number(analysis_.piece(i, 0)) != kNone;
  }

  /// What a block adds to a sum step by step keeps the register of the sum.
  void choose_links(const llvm::Instruction& last) {
    std::vector<const llvm::Instruction*> links;
    const llvm::Instruction* i = &last;
    while (const llvm::Instruction* before = overwritten(*i)) {
      if (has_candidate(*before)) {
        for (const llvm::Instruction* link : links)
          for (unsigned n = 0; n < analysis_.pieces_of(link); ++n) candidate(analysis_.piece(link, n));
        return;
      }
      if (before->getParent() != last.getParent() || links.size() >= kLargestWeb) return;
      links.push_back(i = before);
    }
  }

  /// The operand that nothing else reads, whose register the result may have; null: none.
  const llvm::Instruction* overwritten(const llvm::Instruction& i) {
    if (analysis_.has_no_code(i)) return nullptr;
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    for (unsigned k = call ? call->arg_size() : i.getNumOperands(); k-- > 0;) {
      const auto* before = llvm::dyn_cast<llvm::Instruction>(i.getOperand(k));
      const bool is_made = before && (llvm::isa<llvm::PHINode>(before) || !analysis_.has_no_code(*before));
      if (is_made && before->hasOneUse() && before->getType() == i.getType() && may_overwrite(i, k, form_))
        return before;
    }
    return nullptr;
  }

  void scan() {
    for (auto& pressure : pressure_) pressure.assign(flow_.blocks.size(), 0);
    calls_.assign(flow_.blocks.size(), 0);
    for (std::uint32_t b = 0; b < flow_.blocks.size(); ++b) scan_block(b);
  }

  void scan_block(std::uint32_t b) {
    struct Span {
      int begin, end;
    };
    llvm::MapVector<PieceId, Span> local;
    int at = 0;
    for (const llvm::Instruction& i : *flow_.blocks[b].block) {
      if (analysis_.has_no_code(i)) continue;
      at += 2;
      if (may_call(i)) ++calls_[b];
      analysis_.for_each_source(i, [&](PieceId id) {
        if (const std::uint32_t n = number_[id]; n != kNone) {
          auto& uses = lives_[n].uses;
          if (uses.empty() || uses.back().block != b) uses.push_back({b, at, 0});
          uses.back().last = at;
          ++uses.back().count;
        } else if (const auto found = local.find(id); found != local.end()) {
          found->second.end = at;
        }
      });
      if (i.getType()->isVoidTy() || i.use_empty()) continue;
      for (unsigned n = 0; n < analysis_.pieces_of(&i); ++n) {
        const PieceId id = analysis_.piece(&i, n);
        if (number_[id] != kNone) {
          lives_[number_[id]].made_at = at;
          lives_[number_[id]].made_by = &i;
        } else {
          local.try_emplace(id, Span{at, at});
        }
      }
    }
    std::array<std::vector<int>, 3> change;
    for (auto& steps : change) steps.assign(static_cast<std::size_t>(at) + 3, 0);
    for (const auto& [id, span] : local) {
      auto& steps = change[static_cast<unsigned>(analysis_.pieces[id].kind)];
      ++steps[static_cast<std::size_t>(span.begin)];
      --steps[static_cast<std::size_t>(span.end) + 1];
    }
    for (unsigned kind = 0; kind < 3; ++kind) {
      int alive = 0, most = 0;
      for (const int step : change[kind]) most = std::max(most, alive += step);
      pressure_[kind][b] = static_cast<unsigned>(most);
    }
  }

  void flow_back(Life& life) {
    life.entered.resize(flow_.blocks.size());
    std::vector<std::uint32_t> open;
    auto enter = [&](std::uint32_t b) {
      if (b == life.block || life.entered.test(b)) return;
      life.entered.set(b);
      open.push_back(b);
    };
    for (const Life::Use& use : life.uses) enter(use.block);
    while (!open.empty()) {
      const std::uint32_t b = open.back();
      open.pop_back();
      for (const std::uint32_t before : flow_.blocks[b].predecessors) enter(before);
    }
  }

  // ---- webs ----

  std::pair<int, int> span(const Life& life, std::uint32_t b) const {
    const int begin = b == life.block ? life.made_at : kEntered;
    for (const std::uint32_t after : flow_.blocks[b].successors)
      if (life.entered.test(after)) return {begin, kLeft};
    for (const Life::Use& use : life.uses)
      if (use.block == b) return {begin, use.last};
    return {begin, begin};
  }

  /// Where `made` is written, nothing is left to read of `read`.
  bool may_take_over(const Life& made, const Life& read) const {
    if (!made.made_by) return false;
    const llvm::Instruction& i = *made.made_by;
    unsigned piece = 0;
    while (analysis_.piece(&i, piece) != made.id) ++piece;
    for (const llvm::Use& use : i.operands()) {
      const llvm::Value* operand = use.get();
      const auto* before = llvm::dyn_cast<llvm::Instruction>(operand);
      if (!before && !llvm::isa<llvm::Argument>(operand)) continue;
      if (before && analysis_.is_deferred(*before)) return false;
      for (unsigned n = 0; n < analysis_.pieces_of(operand); ++n)
        if (analysis_.piece(operand, n) == read.id &&
            (n != piece || !may_overwrite(i, use.getOperandNo(), form_)))
          return false;
    }
    return true;
  }

  bool meet_in(const Life& one, const Life& other, std::uint32_t b) const {
    const auto [begin, end] = span(one, b);
    const auto [other_begin, other_end] = span(other, b);
    if (end < other_begin || other_end < begin) return false;
    if (end == other_begin && end != kLeft && end != kEntered) return !may_take_over(other, one);
    if (other_end == begin && begin != kEntered) return !may_take_over(one, other);
    return true;
  }

  bool meet(const Life& one, const Life& other) const {
    if (one.lives_in(other.block) && meet_in(one, other, other.block)) return true;
    if (one.block != other.block && other.lives_in(one.block) && meet_in(one, other, one.block)) return true;
    for (int b = one.entered.find_first(); b >= 0; b = one.entered.find_next(static_cast<unsigned>(b)))
      if (other.lives_in(static_cast<std::uint32_t>(b)) && meet_in(one, other, static_cast<std::uint32_t>(b)))
        return true;
    return false;
  }

  void join() {
    web_of_.resize(lives_.size());
    std::iota(web_of_.begin(), web_of_.end(), 0u);
    webs_.resize(lives_.size());
    for (std::uint32_t n = 0; n < lives_.size(); ++n) webs_[n].lives = {n};
    std::vector<const llvm::PHINode*> phis;
    for (const llvm::BasicBlock& block : function_)
      for (const llvm::PHINode& phi : block.phis()) phis.push_back(&phi);
    for (const std::uint32_t n :
         by_falling(phis.size(), [&](std::uint32_t k) { return frequency(phis[k]); })) {
      const llvm::PHINode* phi = phis[n];
      for (const llvm::Value* value : phi->incoming_values()) {
        const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
        if ((!made && !llvm::isa<llvm::Argument>(value)) || (made && analysis_.is_deferred(*made))) continue;
        if (made && llvm::isa<llvm::AllocaInst>(made)) continue;
        for (unsigned n = 0; n < std::min(analysis_.pieces_of(phi), analysis_.pieces_of(value)); ++n)
          join(number_[analysis_.piece(phi, n)], number_[analysis_.piece(value, n)]);
      }
    }
    phi_web_of_ = web_of_;
    join_overwritten();
  }

  /// Sums that one block hands to the next: each is written to where the one before it was.
  void join_overwritten() {
    std::vector<const llvm::Instruction*> all;
    for (const llvm::BasicBlock& block : function_)
      for (const llvm::Instruction& i : block)
        if (!analysis_.has_no_code(i) && (i.isBinaryOp() || llvm::isa<llvm::IntrinsicInst>(i)) &&
            !i.use_empty() && has_candidate(i))
          all.push_back(&i);
    for (const std::uint32_t k : by_falling(all.size(), [&](std::uint32_t n) { return frequency(all[n]); })) {
      const llvm::Instruction& i = *all[k];
      for (unsigned n = 0; n < analysis_.pieces_of(&i); ++n) join_overwritten(i, n);
    }
  }

  void join_overwritten(const llvm::Instruction& i, unsigned n) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
    const unsigned count = call ? call->arg_size() : i.getNumOperands();
    for (unsigned k = count; k-- > 0;) {  // what a multiply-add adds to before its factors
      const llvm::Value* operand = i.getOperand(k);
      const auto* before = llvm::dyn_cast<llvm::Instruction>(operand);
      if (!before || llvm::isa<llvm::AllocaInst>(before) || analysis_.is_deferred(*before)) continue;
      if (!may_overwrite(i, k, form_) || n >= analysis_.pieces_of(operand)) continue;
      if (join(number_[analysis_.piece(&i, n)], number_[analysis_.piece(operand, n)])) return;
    }
  }

  float frequency(const llvm::Instruction* i) const {
    return flow_.blocks[analysis_.number_of(i->getParent())].frequency;
  }

  /// @returns whether they are one web now
  bool join(std::uint32_t one, std::uint32_t other) {
    if (one == kNone || other == kNone) return false;
    if (web_of_[one] == web_of_[other]) return true;
    if (analysis_.pieces[lives_[one].id].kind != analysis_.pieces[lives_[other].id].kind) return false;
    Web &to = webs_[web_of_[one]], &from = webs_[web_of_[other]];
    if (to.lives.size() + from.lives.size() > kLargestWeb) return false;
    for (const std::uint32_t x : to.lives)
      for (const std::uint32_t y : from.lives)
        if (meet(lives_[x], lives_[y])) return false;
    const std::uint32_t web = web_of_[one];
    for (const std::uint32_t y : from.lives) {
      web_of_[y] = web;
      to.lives.push_back(y);
    }
    from.lives.clear();
    return true;
  }

  // ---- homes ----

  void settle() {
    for (Web& web : webs_) web.gain = gain(web);
    for (const std::uint32_t n : by_falling(webs_.size(), [&](std::uint32_t k) { return webs_[k].gain; }))
      if (!webs_[n].lives.empty() && !settle(webs_[n])) settle_parts(webs_[n]);
  }

  /// What phis join and no register is left for lies in one place: a phi is given what is there already. The
  /// first of them is read by several blocks, as phis are, so that the place is nobody else's.
  void share_slots() {
    std::vector<std::uint32_t> first(webs_.size(), kNone);
    for (std::uint32_t n = 0; n < lives_.size(); ++n) {
      std::uint32_t& owner = first[phi_web_of_[n]];
      if (owner == kNone) owner = n;
      if (owner == n || analysis_.pieces[lives_[n].id].home >= 0) continue;
      for (const std::uint32_t one : {owner, n}) analysis_.pieces[lives_[one].id].shares = lives_[owner].id;
    }
  }

  /// For what phis join each, where there is no register for all that is written over.
  void settle_parts(const Web& web) {
    std::map<std::uint32_t, Web> parts;
    for (const std::uint32_t n : web.lives) parts[phi_web_of_[n]].lives.push_back(n);
    if (parts.size() == 1) return;
    std::vector<Web> all;
    for (auto& [_, part] : parts) {
      part.gain = gain(part);
      all.push_back(std::move(part));
    }
    for (const std::uint32_t n : by_falling(all.size(), [&](std::uint32_t k) { return all[k].gain; }))
      settle(all[n]);
  }

  /// Loads and stores that a home spares.
  float gain(const Web& web) const {
    float sum = 0;
    for (const std::uint32_t n : web.lives) {
      const Life& life = lives_[n];
      const bool is_phi = life.made_by == nullptr;
      for (const Life::Use& use : life.uses)
        sum += flow_.blocks[use.block].frequency * static_cast<float>(use.count);
      if (analysis_.pieces[life.id].is_global) sum += flow_.blocks[life.block].frequency * (is_phi ? 2 : 1);
    }
    return sum;
  }

  /// @returns false if there is no register for it
  bool settle(const Web& web) {
    const Class kind = analysis_.pieces[lives_[web.lives.front()].id].kind;
    llvm::BitVector where(flow_.blocks.size());
    for (const std::uint32_t n : web.lives) {
      where |= lives_[n].entered;
      where.set(lives_[n].block);
    }
    auto& reserved = homes_.reserved_[static_cast<unsigned>(kind)];
    std::uint32_t taken = 0;
    float kept = web.gain, called = 0;
    for (const unsigned b : where.set_bits()) {
      taken |= reserved[b];
      const auto others = static_cast<unsigned>(llvm::popcount(reserved[b]));
      const unsigned all = static_cast<unsigned>(registers_of(kind, form_).size());
      if (others + 1 + least_left(kind, form_) > all) return false;
      if (others + 1 + pressure_[static_cast<unsigned>(kind)][b] > all) kept -= 2 * flow_.blocks[b].frequency;
      called += 2 * flow_.blocks[b].frequency * static_cast<float>(calls_[b]);
    }
    if (kept <= 0) return false;
    unsigned best = 32;
    const std::uint32_t kept_by_callee = kind == Class::general ? kept_by(llvm::CallingConv::C) : 0;
    const auto keeps = [&](unsigned reg) { return (kept_by_callee >> reg & 1) != 0; };
    for (const unsigned reg : registers_of(kind, form_)) {
      if (taken >> reg & 1 || (kind == Class::mask && kScratchMasks >> reg & 1)) continue;
      if (!keeps(reg) && called >= kept) continue;
      if (best == 32 || (called > 0 && keeps(reg) && !keeps(best))) best = reg;
    }
    if (best == 32) return false;
    for (const unsigned b : where.set_bits()) reserved[b] |= 1u << best;
    for (const std::uint32_t n : web.lives) {
      const Life& life = lives_[n];
      analysis_.pieces[life.id].home = static_cast<std::int8_t>(best);
      analysis_.pieces[life.id].is_stored = false;  // as phis' slots would be
      for (const unsigned b : life.entered.set_bits()) homes_.entering_[b].push_back(life.id);
      if (life.made_by == nullptr) homes_.entering_[life.block].push_back(life.id);
    }
    return true;
  }

  const llvm::Function& function_;
  Analysis& analysis_;
  const Flow& flow_;
  const Form& form_;
  Homes& homes_;
  std::vector<std::uint32_t> number_;  // of a piece among lives_
  std::vector<Life> lives_;
  std::array<std::vector<unsigned>, 3> pressure_;  // registers that a block's own values take at once
  std::vector<unsigned> calls_;
  std::vector<std::uint32_t> web_of_, phi_web_of_;
  std::vector<Web> webs_;
};

Homes::Homes(const llvm::Function& function, Analysis& analysis, const Flow& flow, const Form& form) {
  for (auto& all : reserved_) all.assign(flow.blocks.size(), 0);
  entering_.resize(flow.blocks.size());
  Finder(function, analysis, flow, form, *this).find();
}

}  // namespace raddle::jit::baseline
