// Greedy reduction over the tree of statements: chunks of halving size in every list, inside out of what
// remains.
#include "diff/shrink.h"

#include <algorithm>

namespace raddle::diff {
namespace {

using List = std::vector<Node>;

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails)
      : best_(std::move(program)), fails_(fails) {}
  Program run();

 private:
  /// Lists of the tree in a fixed order; addressed by number, since trying replaces the tree.
  static List* find(List& list, unsigned& index);
  static List* find(Program& program, unsigned index);
  bool attempt(const std::function<bool(List&)>& change, unsigned list);
  bool drop_chunks(unsigned list);
  bool unwrap(unsigned list);
  std::size_t size_of(unsigned list);

  Program best_;
  const std::function<bool(const Program&)>& fails_;
};

List* Shrinker::find(List& list, unsigned& index) {
  if (index-- == 0) return &list;
  for (Node& n : list)
    for (List& part : n.parts)
      if (List* found = find(part, index)) return found;
  return nullptr;
}

List* Shrinker::find(Program& program, unsigned index) {
  if (List* found = find(program.body, index)) return found;
  for (Function& f : program.functions)
    if (List* found = find(f.body, index)) return found;
  return nullptr;
}

std::size_t Shrinker::size_of(unsigned list) {
  List* found = find(best_, list);
  return found ? found->size() : 0;
}

bool Shrinker::attempt(const std::function<bool(List&)>& change, unsigned list) {
  Program candidate = best_;
  List* found = find(candidate, list);
  if (!found || !change(*found) || !fails_(candidate)) return false;
  best_ = std::move(candidate);
  return true;
}

bool Shrinker::drop_chunks(unsigned list) {
  bool any = false;
  for (std::size_t chunk = std::max<std::size_t>(1, size_of(list) / 2);; chunk /= 2) {
    for (std::size_t at = 0; at < size_of(list);) {
      auto drop = [&](List& nodes) {
        auto end = std::min(nodes.size(), at + chunk);
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at),
                    nodes.begin() + static_cast<std::ptrdiff_t>(end));
        return true;
      };
      if (attempt(drop, list))
        any = true;
      else
        at += chunk;
    }
    if (chunk <= 1) return any;
  }
}

/// Replaces a structure by a part of it; the lines before it (its predicate, its trips) stay.
bool Shrinker::unwrap(unsigned list) {
  bool any = false;
  for (std::size_t at = 0; at < size_of(list); ++at)
    for (std::size_t part = 0; part < 4; ++part) {
      auto replace = [&](List& nodes) {
        if (part >= nodes[at].parts.size()) return false;
        List inner = std::move(nodes[at].parts[part]);
        auto where = nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
        nodes.insert(where, inner.begin(), inner.end());
        return true;
      };
      if (attempt(replace, list)) {
        any = true;
        break;
      }
    }
  return any;
}

Program Shrinker::run() {
  for (bool any = true; any;) {
    any = false;
    for (unsigned list = 0; find(best_, list) != nullptr; ++list) any |= drop_chunks(list);
    for (unsigned list = 0; find(best_, list) != nullptr; ++list) any |= unwrap(list);
  }
  return best_;
}

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails) {
  return Shrinker(std::move(program), fails).run();
}

}  // namespace raddle::diff
