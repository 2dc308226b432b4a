#include "ptx/call_depth.h"

#include <algorithm>
#include <vector>

#include "ptx/layout.h"

namespace raddle::ptx {
namespace {

/// A depth-first walk with a stack of its own.
class Walk {
 public:
  Walk(const Module& module, const std::function<std::uint64_t(FunctionId)>& frame_bytes)
      : frame_bytes_(frame_bytes), graph_(module), states_(module.functions.size()) {}

  CallDepth run(FunctionId start) {
    open(start);
    while (!stack_.empty()) step();
    return {states_[start].bytes, recursive_};
  }

 private:
  enum class Progress : std::uint8_t { unseen, open, closed };
  struct State {
    Progress progress = Progress::unseen;
    std::uint64_t bytes = 0;
  };
  struct Frame {
    FunctionId function;
    std::size_t next = 0;
    std::uint64_t deepest = 0;
    std::vector<FunctionId> targets;
  };

  void open(FunctionId function) {
    states_[function].progress = Progress::open;
    stack_.push_back({.function = function, .targets = graph_.callees(function)});
  }

  void close() {
    const Frame& top = stack_.back();
    const std::uint64_t own = frame_bytes_(top.function);
    const std::uint64_t total = top.deepest == 0 ? own : frame_bytes(own) + top.deepest;
    states_[top.function] = {Progress::closed, total};
    stack_.pop_back();
    if (!stack_.empty()) stack_.back().deepest = std::max(stack_.back().deepest, total);
  }

  void step() {
    Frame& top = stack_.back();
    if (top.next == top.targets.size()) return close();
    const FunctionId callee = top.targets[top.next++];
    const State& state = states_[callee];
    if (state.progress == Progress::unseen) return open(callee);
    recursive_ |= state.progress == Progress::open;
    if (state.progress == Progress::closed) top.deepest = std::max(top.deepest, state.bytes);
  }

  const std::function<std::uint64_t(FunctionId)>& frame_bytes_;
  CallGraph graph_;
  std::vector<State> states_;
  std::vector<Frame> stack_;
  bool recursive_ = false;
};

}  // namespace

CallDepth call_depth(const Module& module, FunctionId start,
                     const std::function<std::uint64_t(FunctionId)>& frame_bytes) {
  return Walk(module, frame_bytes).run(start);
}

}  // namespace raddle::ptx
