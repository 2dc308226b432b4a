// Graphs that are built node by node: no program orders their passes, so what they access and what order()
// says must do. Pairs of passes that share a resource are looked at one by one.
#include <fmt/format.h>

#include <queue>

#include "graph/analysis/analysis.h"

namespace raddle::graph {
namespace {

class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) : graph_(graph), explicit_(graph.passes().size()) {
    for (const auto& [earlier, later] : graph.orders()) explicit_[earlier.index].push_back(later.index);
    after_ = explicit_;
  }

  Result<std::vector<std::uint32_t>> run() {
    collect();
    for (const auto& users : users_) order_reads(users);
    TRY_ASSIGN(std::vector<std::uint32_t> order, sort());
    for (const auto& users : users_) TRY(check_writes(users));
    return order;
  }

 private:
  struct User {
    std::uint32_t pass;
    const Access* access;
  };
  using Users = std::vector<User>;

  void collect() {
    users_.resize(graph_.resources().size());
    for (std::uint32_t pass = 0; pass < graph_.passes().size(); ++pass)
      for (const Access& access : graph_.passes()[pass].accesses)
        users_[access.view.resource.index].push_back({pass, &access});
  }
  bool meet(const User& one, const User& other) const {
    return one.pass != other.pass &&
           overlap(graph_.info(one.access->view.resource), one.access->view, other.access->view);
  }

  /// Who reads comes after who writes, unless order() says that it comes before.
  void order_reads(const Users& users) {
    for (const User& writer : users) {
      if (!writer.access->writes) continue;
      for (const User& reader : users) {
        if (!reader.access->reads || !meet(writer, reader)) continue;
        const bool is_group = writer.access->unordered && reader.access->unordered && reader.access->writes;
        if (is_group || reaches(explicit_, reader.pass, writer.pass)) continue;
        after_[writer.pass].push_back(reader.pass);
      }
    }
  }

  Result<std::vector<std::uint32_t>> sort() const {
    std::vector<std::uint32_t> waits(after_.size()), order;
    for (const auto& list : after_)
      for (const std::uint32_t later : list) ++waits[later];
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t pass = 0; pass < waits.size(); ++pass)
      if (waits[pass] == 0) ready.push(pass);
    while (!ready.empty()) {
      const std::uint32_t pass = ready.top();
      ready.pop();
      order.push_back(pass);
      for (const std::uint32_t later : after_[pass])
        if (--waits[later] == 0) ready.push(later);
    }
    if (order.size() < waits.size()) return cycle(waits);
    return order;
  }

  /// From any pass that still waits, backwards over others that do, until one comes again.
  Error cycle(const std::vector<std::uint32_t>& waits) const {
    std::vector<std::uint32_t> before(waits.size(), ~0u), place(waits.size(), ~0u), path;
    for (std::uint32_t pass = 0; pass < waits.size(); ++pass)
      if (waits[pass] != 0)
        for (const std::uint32_t later : after_[pass]) before[later] = pass;
    std::uint32_t at = 0;
    while (waits[at] == 0) ++at;
    for (; place[at] == ~0u; at = before[at]) {
      place[at] = static_cast<std::uint32_t>(path.size());
      path.push_back(at);
    }
    const std::vector<std::uint32_t> ring(path.rbegin(), path.rend() - place[at]);
    std::string text = "a cycle: ";
    for (const std::uint32_t pass : ring) text += name(pass) + " before ";
    return graph_.passes()[ring[0]].line.error(ErrorCode::invalid, text + name(ring[0]));
  }

  Result<void> check_writes(const Users& users) const {
    for (std::size_t i = 0; i < users.size(); ++i)
      for (std::size_t j = i + 1; j < users.size(); ++j) {
        const User &one = users[i], &other = users[j];
        if (!one.access->writes || !other.access->writes || !meet(one, other)) continue;
        if (one.access->unordered && other.access->unordered) continue;
        if (reaches(after_, one.pass, other.pass) || reaches(after_, other.pass, one.pass)) continue;
        const ResourceInfo& info = graph_.info(one.access->view.resource);
        return graph_.passes()[other.pass].line.error(
            ErrorCode::invalid,
            fmt::format("{} and {} both write {}, and nothing says which comes first", name(one.pass),
                        name(other.pass), view_text(info, other.access->view)));
      }
    return {};
  }

  std::string name(std::uint32_t pass) const {
    const PassInfo& info = graph_.passes()[pass];
    return fmt::format("'{}' ({})", info.name, info.line.text());
  }

  static bool reaches(const std::vector<std::vector<std::uint32_t>>& after, std::uint32_t from,
                      std::uint32_t to) {
    if (after[from].empty()) return false;
    std::vector<bool> seen(after.size());
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
      const std::uint32_t pass = open.back();
      open.pop_back();
      for (const std::uint32_t later : after[pass]) {
        if (later == to) return true;
        if (!seen[later]) open.push_back(later);
        seen[later] = true;
      }
    }
    return false;
  }

  const Graph& graph_;
  std::vector<std::vector<std::uint32_t>> explicit_, after_;  // by pass: those that come later
  std::vector<Users> users_;                                  // by resource
};

}  // namespace

Result<std::vector<std::uint32_t>> order_of_nodes(const Graph& graph) { return NodeOrder(graph).run(); }

}  // namespace raddle::graph
