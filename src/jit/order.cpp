// Natural loops, waiting loops, and the loop-contiguous topological order.
#include "jit/order.h"

#include <algorithm>

#include "base/assert.h"
#include "ptx/dominators.h"
#include "ptx/waits.h"

namespace raddle::jit {
namespace {

using ptx::Cfg;
using ptx::kNone;

class OrderBuilder {
 public:
  OrderBuilder(const ptx::Module& module, const ptx::Function& f, const Cfg& cfg)
      : cfg_(cfg), dominators_(cfg), waits_(module, f, cfg) {}

  Order build() {
    rpo_ = ptx::reverse_postorder(cfg_);
    index_.assign(cfg_.nodes.size(), kNone);
    for (std::uint32_t i = 0; i < rpo_.size(); ++i) index_[rpo_[i]] = i;
    order_.waiting_header.assign(cfg_.nodes.size(), false);
    order_.loop_of.assign(cfg_.nodes.size(), kNone);
    order_.position.assign(cfg_.nodes.size(), kNone);
    find_loops();
    nest_loops();
    place(kNone, rpo_);
    for (std::uint32_t i = 0; i < order_.blocks.size(); ++i) order_.position[order_.blocks[i]] = i;
    for (auto& loop : order_.loops) {
      loop.begin = order_.position[loop.header];
      loop.end = loop.begin + static_cast<std::uint32_t>(loop.blocks.size());
    }
    return std::move(order_);
  }

 private:
  /// Natural loops by header; irreducible ones have no header and stay out of the forest.
  void find_loops() {
    for (BlockId header : rpo_) {
      std::vector<BlockId> sources;  // of the header's back edges
      for (BlockId p : cfg_.nodes[header].predecessors) {
        if (index_[p] == kNone || index_[p] < index_[header]) continue;
        if (!dominators_.dominates(header, p)) {
          ++order_.dispatched_loops;
          irreducible_ = true;
          continue;
        }
        sources.push_back(p);
      }
      if (sources.empty()) continue;
      std::vector<BlockId> body = body_of(header, sources);
      if (may_wait(header, sources, body)) {
        order_.waiting_header[header] = true;
        order_.has_waiting_loop = true;
      }
      order_.loops.push_back({header, kNone, std::move(body)});
    }
    // A waiting loop, and every loop around it, is run by cyclic sweeps instead; so are all in irreducible
    // code.
    auto dispatched = [&](const Loop& loop) {
      return irreducible_ || std::any_of(loop.blocks.begin(), loop.blocks.end(),
                                         [&](BlockId b) { return order_.waiting_header[b]; });
    };
    order_.dispatched_loops += static_cast<std::uint32_t>(std::erase_if(order_.loops, dispatched));
  }

  std::vector<BlockId> body_of(BlockId header, const std::vector<BlockId>& sources) const {
    std::vector<BlockId> body{header};
    std::vector<bool> inside(cfg_.nodes.size());
    inside[header] = true;
    for (BlockId p : sources)
      if (!inside[p]) inside[p] = true, body.push_back(p);
    for (std::size_t i = 1; i < body.size(); ++i)
      for (BlockId p : cfg_.nodes[body[i]].predecessors)
        if (index_[p] != kNone && !inside[p]) inside[p] = true, body.push_back(p);
    return body;
  }

  /// Loops that share a header look like one, and each of them may wait.
  bool may_wait(BlockId header, const std::vector<BlockId>& sources, const std::vector<BlockId>& body) {
    if (waits_.may_wait({header, body})) return true;
    return sources.size() > 1 && std::any_of(sources.begin(), sources.end(), [&](BlockId source) {
             return waits_.may_wait({header, body_of(header, {source})});
           });
  }

  /// Loops come outermost first (headers in reverse post-order), so the last loop that contains a block is
  /// its innermost.
  void nest_loops() {
    for (std::uint32_t i = 0; i < order_.loops.size(); ++i) {
      order_.loops[i].parent = order_.loop_of[order_.loops[i].header];
      for (BlockId b : order_.loops[i].blocks) order_.loop_of[b] = i;
    }
  }

  /// The child loop of `region` that holds b, or kNone if b lies directly in the region.
  std::uint32_t child_loop(std::uint32_t region, BlockId b) const {
    std::uint32_t loop = order_.loop_of[b];
    while (loop != kNone && loop != region && order_.loops[loop].parent != region)
      loop = order_.loops[loop].parent;
    return loop == region ? kNone : loop;
  }

  /// Topological order of a region's direct blocks and child loops; each loop is placed as one run.
  void place(std::uint32_t region, std::vector<BlockId> members) {
    std::sort(members.begin(), members.end(), [&](BlockId a, BlockId b) { return index_[a] < index_[b]; });
    std::vector<bool> member(cfg_.nodes.size()), done(cfg_.nodes.size());
    for (BlockId b : members) member[b] = true;
    // A depth-first post-order over representatives; a loop's representative is its header.
    auto representative = [&](BlockId b) {
      std::uint32_t loop = child_loop(region, b);
      return loop == kNone ? b : order_.loops[loop].header;
    };
    std::vector<BlockId> post;
    struct Frame {
      BlockId node;
      std::vector<BlockId> next;
      std::size_t i;
    };
    std::vector<Frame> stack;
    auto visit = [&](BlockId node) {
      if (done[node]) return;
      done[node] = true;
      Frame frame{node, {}, 0};
      std::uint32_t loop = child_loop(region, node);
      auto add = [&](BlockId from) {
        for (BlockId s : cfg_.nodes[from].successors) {
          if (!member[s] || (region != kNone && s == order_.loops[region].header)) continue;
          BlockId r = representative(s);
          if (r != node) frame.next.push_back(r);
        }
      };
      if (loop == kNone)
        add(node);
      else
        for (BlockId b : order_.loops[loop].blocks) add(b);
      stack.push_back(std::move(frame));
    };
    visit(representative(members.front()));
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.i < frame.next.size()) {
        visit(frame.next[frame.i++]);
        continue;
      }
      post.push_back(frame.node);
      stack.pop_back();
    }
    for (auto node = post.rbegin(); node != post.rend(); ++node) {
      std::uint32_t loop = child_loop(region, *node);
      if (loop == kNone)
        order_.blocks.push_back(*node);
      else
        place(loop, order_.loops[loop].blocks);
    }
  }

  const Cfg& cfg_;
  const ptx::Dominators dominators_;
  ptx::Waits waits_;
  std::vector<BlockId> rpo_;
  std::vector<std::uint32_t> index_;
  Order order_;
  bool irreducible_ = false;
};

}  // namespace

Order linear_order(const ptx::Module& module, const ptx::Function& function, const ptx::Cfg& cfg) {
  return OrderBuilder(module, function, cfg).build();
}

}  // namespace raddle::jit
