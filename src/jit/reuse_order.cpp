// Long, as all of it looks at one model of a stretch: its vectors, what an order costs, its strands.
#include "jit/reuse_order.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "jit/baseline/flow.h"

namespace raddle::jit {
namespace {

constexpr const char* kOrdered = "raddle-ordered";
constexpr unsigned kNever = std::numeric_limits<unsigned>::max();
constexpr std::size_t kShortest = 100, kLongest = 30'000;  // instructions of a stretch that is looked at

struct VectorValue {
  unsigned weight;             ///< registers
  std::vector<unsigned> uses;  ///< which instructions of the stretch read it
  bool lives_on = false;       ///< it is read elsewhere, too
};

struct Node {
  llvm::Instruction* instruction;
  std::vector<unsigned> needs, users;  ///< instructions of the stretch
  std::vector<unsigned> reads;         ///< vectors, each once
  unsigned result = kNever;            ///< a vector
  unsigned depth = 0;                  ///< of supplies
  bool supplies = false;               ///< made from scalars alone: waits for whoever reads it
};

/// Instructions of a block, in which nothing writes to memory, and the vectors that they read and make.
class Stretch {
 public:
  /// @param whole  the stretch of which these are a part; what the rest of it reads, it makes for itself
  Stretch(llvm::ArrayRef<llvm::Instruction*> instructions, unsigned vector_bits,
          const Stretch* whole = nullptr)
      : layout_(instructions.front()->getModule()->getDataLayout()),
        vector_bits_(vector_bits),
        whole_(whole != nullptr ? *whole : *this) {
    for (llvm::Instruction* i : instructions) number_.emplace(i, static_cast<unsigned>(number_.size()));
    for (llvm::Instruction* i : instructions) add(*i);
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<VectorValue>& values() const { return values_; }

 private:
  void add(llvm::Instruction& i) {
    const auto n = static_cast<unsigned>(nodes_.size());
    nodes_.push_back({&i});
    Node& node = nodes_.back();
    for (llvm::Value* operand : i.operands()) {
      if (const auto found = number_.find(operand); found != number_.end())
        if (std::ranges::find(node.needs, found->second) == node.needs.end()) {
          node.needs.push_back(found->second);
          nodes_[found->second].users.push_back(n);
        }
      const unsigned value = value_of(*operand);
      if (value == kNever || std::ranges::find(node.reads, value) != node.reads.end()) continue;
      node.reads.push_back(value);
      values_[value].uses.push_back(n);
    }
    for (const unsigned need : node.needs) node.depth = std::max(node.depth, nodes_[need].depth + 1);
    node.supplies = is_supply(node);
    node.result = value_of(i);
    if (node.result == kNever) return;
    values_[node.result].lives_on = std::ranges::any_of(
        i.users(), [&](const llvm::User* user) { return !whole_.number_.contains(user); });
  }

  /// Its number; kNever if it takes no vector register.
  unsigned value_of(llvm::Value& value) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
    if (type == nullptr || llvm::isa<llvm::Constant>(value) || type->getElementType()->isIntegerTy(1))
      return kNever;
    const auto [found, is_new] = value_number_.emplace(&value, static_cast<unsigned>(values_.size()));
    if (is_new) {
      const auto bits = static_cast<unsigned>(layout_.getTypeSizeInBits(value.getType()).getFixedValue());
      values_.push_back({std::max(1U, (bits + vector_bits_ - 1) / vector_bits_), {}});
    }
    return found->second;
  }

  bool is_supply(const Node& node) const {
    constexpr unsigned kDeepest = 64;
    const llvm::Instruction& i = *node.instruction;
    const auto supplies = [&](unsigned n) { return nodes_[n].supplies; };
    const auto is_made_here = [&](unsigned value) {
      return std::ranges::any_of(node.needs, [&](unsigned n) { return nodes_[n].result == value; });
    };
    return node.depth <= kDeepest &&
           (llvm::isa<llvm::LoadInst, llvm::CastInst, llvm::InsertElementInst, llvm::ShuffleVectorInst,
                      llvm::GetElementPtrInst>(i) ||
            !i.getType()->isVectorTy()) &&
           std::ranges::all_of(node.needs, supplies) && std::ranges::all_of(node.reads, is_made_here);
  }

  const llvm::DataLayout& layout_;
  unsigned vector_bits_;
  const Stretch& whole_;
  std::unordered_map<const llvm::Value*, unsigned> number_, value_number_;
  std::vector<Node> nodes_;
  std::vector<VectorValue> values_;
};

/// Which vectors are in registers. What is longest away goes first.
class RegisterFile {
 public:
  RegisterFile(const std::vector<VectorValue>& values, unsigned registers)
      : values_(values), holds_(values.size()), away_(values.size()), registers_(registers) {}

  bool holds(unsigned value) const { return holds_[value]; }
  unsigned used() const { return used_; }
  unsigned registers() const { return registers_; }
  void hold(unsigned value, unsigned away) {
    away_[value] = away;
    if (holds_[value]) return;
    holds_[value] = true;
    held_.push_back(value);
    used_ += values_[value].weight;
  }
  void forget(unsigned value) {
    if (!holds_[value]) return;
    holds_[value] = false;
    std::erase(held_, value);
    used_ -= values_[value].weight;
  }
  /// Makes what there is fit. @param put_away  (value)
  template <class PutAway>
  void fit(const PutAway& put_away) {
    while (used_ > registers_) {
      const unsigned value = *std::ranges::max_element(held_, {}, [&](unsigned v) { return away_[v]; });
      forget(value);
      put_away(value);
    }
  }

 private:
  const std::vector<VectorValue>& values_;
  std::vector<bool> holds_;
  std::vector<unsigned> away_, held_;
  unsigned registers_, used_ = 0;
};

/// How many registers go to memory or come from there, if the best are kept.
unsigned traffic_of(const Stretch& stretch, const std::vector<unsigned>& order, unsigned registers) {
  const auto& values = stretch.values();
  std::vector<unsigned> place(order.size());
  for (unsigned at = 0; at < order.size(); ++at) place[order[at]] = at;
  std::vector<std::vector<unsigned>> uses(values.size());  // the last first
  for (unsigned v = 0; v < values.size(); ++v) {
    for (const unsigned n : values[v].uses) uses[v].push_back(place[n]);
    std::ranges::sort(uses[v], std::greater());
  }
  RegisterFile file(values, registers);
  std::vector<bool> in_memory(values.size(), true);
  unsigned traffic = 0;
  const auto keep = [&](unsigned v) {
    if (!uses[v].empty() || values[v].lives_on)
      file.hold(v, uses[v].empty() ? kNever : uses[v].back());
    else
      file.forget(v);
  };
  for (const unsigned n : order) {
    const Node& node = stretch.nodes()[n];
    for (const unsigned v : node.reads) {
      if (!file.holds(v)) traffic += values[v].weight;
      uses[v].pop_back();
      keep(v);
    }
    if (node.result != kNever) in_memory[node.result] = false, keep(node.result);
    file.fit([&](unsigned v) {
      if (!in_memory[v]) traffic += values[v].weight;
      in_memory[v] = true;
    });
  }
  return traffic;
}

/// Takes one after the other what has the least to fetch and to put away.
class Ordering {
 public:
  Ordering(const Stretch& stretch, unsigned registers)
      : stretch_(stretch),
        file_(stretch.values(), registers),
        taken_(stretch.nodes().size()),
        missing_(stretch.nodes().size()) {
    for (const VectorValue& value : stretch.values())
      left_.push_back(static_cast<unsigned>(value.uses.size()) + (value.lives_on ? 1 : 0));
    const auto& nodes = stretch.nodes();
    for (unsigned n = 0; n < nodes.size(); ++n) {
      missing_[n] = static_cast<unsigned>(
          std::ranges::count_if(nodes[n].needs, [&](unsigned need) { return !nodes[need].supplies; }));
      if (missing_[n] == 0 && !nodes[n].supplies) ready_.insert(n);
    }
  }

  std::vector<unsigned> order() {
    while (!ready_.empty()) {
      const unsigned next = best();
      ready_.erase(next);
      take(next);
    }
    for (unsigned n = 0; n < taken_.size(); ++n) take(n);
    return std::move(order_);
  }

 private:
  struct Cost {
    unsigned accesses;
    int growth;
    auto operator<=>(const Cost&) const = default;
  };

  unsigned best() const {
    constexpr unsigned kMostTried = 512;
    unsigned tried = 0;
    auto least = *ready_.begin();
    Cost cost = cost_of(least);
    for (const unsigned n : ready_) {
      if (++tried > kMostTried) break;
      if (const Cost other = cost_of(n); other < cost) least = n, cost = other;
    }
    return least;
  }

  Cost cost_of(unsigned n) const {
    constexpr unsigned kAwayAndBack = 2;
    const Node& node = stretch_.nodes()[n];
    unsigned fetched = 0;
    int growth = node.result == kNever ? 0 : static_cast<int>(weight(node.result));
    for (const unsigned v : node.reads) {
      if (!file_.holds(v)) fetched += weight(v);
      if (!file_.holds(v) && left_[v] > 1) growth += static_cast<int>(weight(v));
      if (file_.holds(v) && left_[v] == 1) growth -= static_cast<int>(weight(v));
    }
    const int over = static_cast<int>(file_.used()) + growth - static_cast<int>(file_.registers());
    return {fetched + kAwayAndBack * static_cast<unsigned>(std::max(0, over)), growth};
  }

  /// It, and what supplies it before.
  void take(unsigned n) {
    if (taken_[n]) return;
    const Node& node = stretch_.nodes()[n];
    for (const unsigned need : node.needs) take(need);
    taken_[n] = true;
    const auto now = static_cast<unsigned>(order_.size());
    order_.push_back(n);
    for (const unsigned v : node.reads) {
      if (--left_[v] == 0)
        file_.forget(v);
      else
        file_.hold(v, kNever - now);
    }
    if (node.result != kNever && left_[node.result] != 0) file_.hold(node.result, kNever - now);
    file_.fit([](unsigned) {});
    if (node.supplies) return;
    for (const unsigned user : node.users)
      if (--missing_[user] == 0 && !stretch_.nodes()[user].supplies) ready_.insert(user);
  }

  unsigned weight(unsigned value) const { return stretch_.values()[value].weight; }

  const Stretch& stretch_;
  RegisterFile file_;
  std::vector<bool> taken_;
  std::vector<unsigned> missing_, left_, order_;  // left_: uses that are to come, by vector
  std::set<unsigned> ready_;
};

using Instructions = std::vector<llvm::Instruction*>;

/// Another order of a stretch: one strand after the other, each of which makes for itself what it is supplied
/// with.
struct Order {
  std::vector<Instructions> strands;
  unsigned traffic = 0;
};

/// Some registers are for what operations need within.
unsigned registers_of(unsigned vector_bits) { return (vector_bits == 512 ? 32 : 16) - 4; }

Order best_order(const Stretch& stretch, unsigned registers) {
  const std::vector<unsigned> order = Ordering(stretch, registers).order();
  Instructions instructions;
  for (const unsigned n : order) instructions.push_back(stretch.nodes()[n].instruction);
  return {{std::move(instructions)}, traffic_of(stretch, order, registers)};
}

/// What needs nothing of the rest but what is made from scalars alone, as the parts of a warp do.
class Strands {
 public:
  explicit Strands(const Stretch& stretch) : nodes_(stretch.nodes()), first_(nodes_.size()) {
    for (unsigned n = 0; n < nodes_.size(); ++n) {
      first_[n] = n;
      for (const unsigned need : nodes_[n].needs)
        if (!nodes_[n].supplies && !nodes_[need].supplies) first_[first(need)] = first(n);
    }
  }

  /// Each with all that supplies it, in the order that there is. Nothing if there are not some long ones.
  std::vector<Instructions> each() {
    constexpr unsigned kMost = 8, kLeastShare = 32;
    std::vector<Bundle> alone;
    for (const Strand& strand : longer_than(nodes_.size() / kLeastShare)) alone.push_back({strand.first});
    if (alone.size() < 2 || alone.size() > kMost) return {};
    return instructions_of(alone);
  }

  /// Where there are more, sums of a matrix say: so many together. Nothing if that is all, or if there are
  /// too many to bundle in time.
  std::vector<Instructions> bundles(unsigned size) {
    constexpr unsigned kShortest = 8, kMost = 128;
    const std::vector<Strand> strands = longer_than(kShortest);
    if (strands.size() <= size || strands.size() > kMost) return {};
    return instructions_of(bundled(strands, size));
  }

 private:
  struct Strand {
    unsigned first;                  ///< its number
    std::size_t size = 0;            ///< without what supplies it
    std::vector<unsigned> supplies;  ///< that it reads, each once
  };
  using Bundle = std::vector<unsigned>;  // numbers of strands

  unsigned first(unsigned n) {
    while (first_[n] != n) n = first_[n] = first_[first_[n]];
    return n;
  }

  std::vector<Strand> longer_than(std::size_t size) {
    std::vector<Strand> found;
    std::unordered_map<unsigned, std::size_t> places;
    for (unsigned n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].supplies) continue;
      const auto [place, is_new] = places.emplace(first(n), found.size());
      if (is_new) found.push_back({.first = first(n), .supplies = {}});
      Strand& strand = found[place->second];
      ++strand.size;
      std::ranges::copy_if(nodes_[n].needs, std::back_inserter(strand.supplies),
                           [&](unsigned need) { return nodes_[need].supplies; });
    }
    std::erase_if(found, [&](const Strand& strand) { return strand.size <= size; });
    for (Strand& strand : found) {
      std::ranges::sort(strand.supplies);
      const auto again = std::ranges::unique(strand.supplies);
      strand.supplies.erase(again.begin(), again.end());
    }
    return found;
  }

  /// Adds to a bundle what reads least that the others in it do not.
  static std::vector<Bundle> bundled(std::vector<Strand> strands, unsigned size) {
    std::vector<Bundle> bundles;
    while (!strands.empty()) {
      std::unordered_set<unsigned> supplied;
      const auto further = [&](const Strand& strand) {
        return std::ranges::count_if(strand.supplies, [&](unsigned n) { return !supplied.contains(n); });
      };
      bundles.emplace_back();
      while (bundles.back().size() < size && !strands.empty()) {
        const auto next = std::ranges::min_element(strands, {}, further);
        bundles.back().push_back(next->first);
        supplied.insert(next->supplies.begin(), next->supplies.end());
        strands.erase(next);
      }
    }
    return bundles;
  }

  /// The first bundle has what is in none, too.
  std::vector<Instructions> instructions_of(const std::vector<Bundle>& bundles) {
    std::unordered_map<unsigned, std::size_t> bundle_of;
    for (std::size_t b = 0; b < bundles.size(); ++b)
      for (const unsigned strand : bundles[b]) bundle_of[strand] = b;
    std::vector<Instructions> found;
    for (std::size_t b = 0; b < bundles.size(); ++b)
      found.push_back(with_supplies([&](unsigned n) {
        if (nodes_[n].supplies) return b == 0 && nodes_[n].users.empty();
        const auto bundle = bundle_of.find(first(n));
        return bundle == bundle_of.end() ? b == 0 : bundle->second == b;
      }));
    return found;
  }

  /// @param is_wanted  (number)
  template <class IsWanted>
  Instructions with_supplies(const IsWanted& is_wanted) const {
    std::vector<bool> taken(nodes_.size());
    for (auto n = static_cast<unsigned>(nodes_.size()); n-- > 0;) {
      if (is_wanted(n)) taken[n] = true;
      if (taken[n])
        for (const unsigned need : nodes_[n].needs) taken[need] = true;
    }
    Instructions found;
    for (unsigned n = 0; n < nodes_.size(); ++n)
      if (taken[n]) found.push_back(nodes_[n].instruction);
    return found;
  }

  const std::vector<Node>& nodes_;
  std::vector<unsigned> first_;
};

/// Each in its best order. Nothing of nothing.
Order one_after_the_other(const Stretch& stretch, const std::vector<Instructions>& strands,
                          unsigned vector_bits) {
  Order all;
  std::unordered_set<const llvm::Instruction*> made;
  for (const Instructions& strand : strands) {
    Order one = best_order(Stretch(strand, vector_bits, &stretch), registers_of(vector_bits));
    all.traffic += one.traffic;
    for (const llvm::Instruction* i : strand)
      if (!made.insert(i).second && i->mayReadFromMemory()) ++all.traffic;
    all.strands.push_back(std::move(one.strands.front()));
  }
  return all;
}

/// Nothing where the stretch has no strands.
Order order_by_strands(const Stretch& stretch, unsigned vector_bits) {
  Strands strands(stretch);
  Order best = one_after_the_other(stretch, strands.each(), vector_bits);
  if (!best.strands.empty()) return best;
  for (const unsigned size : {12U, 8U, 6U, 4U}) {
    Order other = one_after_the_other(stretch, strands.bundles(size), vector_bits);
    if (other.strands.empty()) continue;
    other.traffic +=
        static_cast<unsigned>(other.strands.size()) * registers_of(vector_bits);  // left to the next
    if (best.strands.empty() || other.traffic < best.traffic) best = std::move(other);
  }
  return best;
}

/// Puts strands before `end`. What several need, each but the first makes anew, and behind a fence, which is
/// no instruction of the processor: LLVM would make one of them again.
void lay_out(const std::vector<Instructions>& strands, llvm::Instruction* end) {
  std::unordered_set<llvm::Instruction*> placed;
  std::unordered_map<llvm::Value*, llvm::Value*> original;
  for (const Instructions& strand : strands) {
    if (!placed.empty())
      new llvm::FenceInst(end->getContext(), llvm::AtomicOrdering::SequentiallyConsistent,
                          llvm::SyncScope::SingleThread, end->getIterator());
    std::unordered_map<llvm::Value*, llvm::Value*> here;
    for (llvm::Instruction* i : strand) {
      llvm::Instruction* one = i;
      if (placed.insert(i).second) {
        i->moveBefore(end);
      } else if (!i->getType()->isVectorTy() && !i->mayReadFromMemory()) {
        continue;  // a part of addresses
      } else {
        one = i->clone();
        one->insertBefore(end->getIterator());
        original[one] = i;
      }
      here[i] = one;
      for (llvm::Use& operand : one->operands()) {
        const auto from = original.find(operand.get());
        const auto found = here.find(from == original.end() ? operand.get() : from->second);
        if (found != here.end()) operand.set(found->second);
      }
    }
  }
}

/// @returns whether the stretch has another order now
bool reorder(llvm::ArrayRef<llvm::Instruction*> instructions, unsigned vector_bits, unsigned least_gain) {
  const unsigned registers = registers_of(vector_bits);
  if (instructions.size() < kShortest || instructions.size() > kLongest) return false;
  const Stretch stretch(instructions, vector_bits);
  if (stretch.values().size() <= registers) return false;
  std::vector<unsigned> order(instructions.size());
  for (unsigned n = 0; n < order.size(); ++n) order[n] = n;
  const unsigned before = traffic_of(stretch, order, registers);
  if (before < least_gain) return false;
  Order other = vector_bits == 512 ? best_order(stretch, registers) : order_by_strands(stretch, vector_bits);
  if (other.strands.empty()) return false;
  // By strands more must be gained, as the processor sees less of one when it is at another.
  const auto size = static_cast<unsigned>(instructions.size()), share = other.strands.size() > 1 ? 5U : 10U;
  if (other.traffic + std::max({least_gain, before / 4, size / share}) > before) return false;
  lay_out(other.strands, instructions.back()->getNextNode());
  return true;
}

/// Nothing may pass it.
bool stands(const llvm::Instruction& i) {
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(i) || i.isTerminator()) return true;
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return i.mayHaveSideEffects() && !(intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::prefetch);
}

bool reorder(llvm::BasicBlock& block, unsigned vector_bits, unsigned least_gain) {
  bool changed = false;
  std::vector<llvm::Instruction*> stretch;
  std::vector<std::vector<llvm::Instruction*>> all;
  for (llvm::Instruction& i : block) {
    if (!stands(i)) {
      stretch.push_back(&i);
    } else if (!stretch.empty()) {
      all.push_back(std::move(stretch));
      stretch.clear();
    }
  }
  for (const auto& each : all) changed = reorder(each, vector_bits, least_gain) || changed;
  return changed;
}

struct Candidate {
  llvm::BasicBlock* block;
  unsigned least_gain;
};

/// Blocks of loops; with few registers also what runs once or more often in each call, as a loop with a
/// barrier is none of LLVM's: the function is entered behind it anew. There it must be worth more, for the
/// kernel then does without LLVM's scheduler.
std::vector<Candidate> candidates_in(llvm::Function& function, const llvm::LoopInfo& loops,
                                     unsigned vector_bits) {
  constexpr unsigned kOfLoop = 32, kOfOthers = 512;
  std::vector<Candidate> found;
  for (llvm::BasicBlock& block : function)
    if (loops.getLoopFor(&block) != nullptr) found.push_back({&block, kOfLoop});
  if (vector_bits == 512) return found;
  const baseline::Flow flow(function);
  auto of_block = flow.blocks.begin();
  for (llvm::BasicBlock& block : function)
    if ((of_block++)->frequency >= 1 && loops.getLoopFor(&block) == nullptr)
      found.push_back({&block, kOfOthers});
  return found;
}

}  // namespace

llvm::PreservedAnalyses OrderForReuse::run(llvm::Function& function,
                                           llvm::FunctionAnalysisManager& analyses) {
  const auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  bool changed = false;
  for (const auto [block, least_gain] : candidates_in(function, loops, vector_bits_))
    changed = reorder(*block, vector_bits_, least_gain) || changed;
  if (!changed) return llvm::PreservedAnalyses::all();
  function.addFnAttr(kOrdered);
  return llvm::PreservedAnalyses::allInSet<llvm::CFGAnalyses>();
}

bool keeps_order(const llvm::Module& module) {
  return std::ranges::any_of(module, [](const llvm::Function& f) { return f.hasFnAttribute(kOrdered); });
}

}  // namespace raddle::jit
