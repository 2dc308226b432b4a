// The pass over the program that finds dependencies and what must be inserted.
#include "graph/analysis/analysis.h"

#include <fmt/format.h>

#include <optional>

#include "graph/analysis/access_map.h"
#include "graph/analysis/cache_rules.h"

namespace raddle::graph {
namespace {

constexpr std::uint32_t kNobody = ~0u;

class Analyser {
 public:
  explicit Analyser(const Graph& graph) : graph_(graph) {
    const std::size_t passes = graph.passes().size(), resources = graph.resources().size();
    result_.nodes.reserve(passes);
    result_.first_edge.reserve(passes + 1);
    result_.edges.reserve(passes * 2);
    stamps_.reserve(passes);
    maps_.resize(resources);
    transient_of_.assign(resources, kNobody);
  }

  Result<Analysis> run(std::span<const std::uint32_t> order) {
    read_orders();
    for (const std::uint32_t pass : order) TRY(add_pass(pass));
    finish_users();
    return std::move(result_);
  }

 private:
  /// Explicit orders, by the later pass.
  void read_orders() {
    if (graph_.orders().empty()) return;
    node_of_.assign(graph_.passes().size(), kNobody);
    earlier_.resize(graph_.passes().size());
    for (const auto& [earlier, later] : graph_.orders()) earlier_[later.index].push_back(earlier.index);
  }

  Result<void> add_pass(std::uint32_t index) {
    const PassInfo& pass = graph_.passes()[index];
    for (const Access& access : pass.accesses) prepare(index, access);
    const std::uint32_t node = begin_node({.kind = NodeKind::pass, .pass = index});
    for (const Access& access : pass.accesses)
      if (access.reads) TRY(read(node, pass, access));
    for (const Access& access : pass.accesses)
      if (access.writes) write(node, access);
    if (!node_of_.empty()) {
      node_of_[index] = node;
      for (const std::uint32_t earlier : earlier_[index]) depend(node, node_of_[earlier], Reason::order, 0);
    }
    synchronise(node, pass);
    end_node();
    return {};
  }

  // --- nodes and edges

  std::uint32_t begin_node(const Node& node) {
    result_.nodes.push_back(node);
    stamps_.push_back(kNobody);
    return static_cast<std::uint32_t>(result_.nodes.size() - 1);
  }
  void end_node() {
    result_.first_edge.push_back(static_cast<std::uint32_t>(result_.edges.size()));
    for (const std::uint32_t transient : touched_) result_.uses.values.push_back(transient);
    result_.uses.end_list();
    touched_.clear();
  }
  void depend(std::uint32_t node, std::uint32_t on, Reason reason, std::uint32_t resource) {
    if (on == node || stamps_[on] == node) return;
    stamps_[on] = node;
    result_.edges.push_back({.from = on, .reason = reason, .resource = resource});
  }
  void depend_on_list(std::uint32_t node, std::uint32_t list, Reason reason, std::uint32_t resource) {
    lists_.each(list, [&](std::uint32_t on) { depend(node, on, reason, resource); });
  }

  // --- resources

  AccessMap& map_of(Resource resource) {
    std::optional<AccessMap>& map = maps_[resource.index];
    if (!map) {
      const ResourceInfo& info = graph_.info(resource);
      Segment initial;
      initial.has_value = info.origin == Origin::input || info.origin == Origin::in_out || info.following;
      if (initial.has_value) initial.layout = Layout::general;
      map.emplace(info.bytes, initial);
      if (info.origin == Origin::transient) {
        transient_of_[resource.index] = static_cast<std::uint32_t>(result_.transient.size());
        result_.transient.push_back(resource.index);
      }
    }
    return *map;
  }
  std::span<const ByteRange> ranges_of(const Access& access) {
    ranges_.clear();
    append_ranges(graph_.info(access.view.resource), access.view, ranges_);
    return ranges_;
  }
  void touch(Resource resource) {
    const std::uint32_t transient = transient_of_[resource.index];
    if (transient == kNobody || std::find(touched_.begin(), touched_.end(), transient) != touched_.end())
      return;
    touched_.push_back(transient);
  }

  // --- actions before a pass

  void prepare(std::uint32_t pass, const Access& access) {
    const bool keeps = access.reads || !access.discards;
    const bool is_image = graph_.info(access.view.resource).is_image;
    if (!keeps || access.changes_layout) return;
    AccessMap& map = map_of(access.view.resource);
    bool layout_differs = false, is_hidden = false;
    Layout was = Layout::undefined;
    Unit writer = Unit::kernel;
    for (const ByteRange& range : ranges_of(access))
      map.look(range.begin, range.end, [&](std::uint64_t, const Segment& segment) {
        if (access.reads && (segment.visible & unit_bit(access.unit)) == 0)
          is_hidden = true, writer = segment.writer;
        if (is_image && segment.layout != Layout::undefined && segment.layout != access.layout)
          layout_differs = true, was = segment.layout;
      });
    if (is_hidden) insert_cache_action(pass, access, map, writer);
    if (layout_differs) insert_layout_change(pass, access, map, was);
  }

  void insert_cache_action(std::uint32_t pass, const Access& access, AccessMap& map, Unit writer) {
    const CacheAction::Kind kind = missing_action(writer, access.unit);
    const std::uint32_t node = begin_node({.kind = NodeKind::cache_action,
                                           .pass = pass,
                                           .view = access.view,
                                           .action = kind,
                                           .unit = kind == CacheAction::Kind::flush ? writer : access.unit});
    const std::uint8_t sees =
        kind == CacheAction::Kind::invalidate
            ? unit_bit(access.unit)
            : static_cast<std::uint8_t>(0xff & ~unit_bit(Unit::texture)) | unit_bit(access.unit);
    for (const ByteRange& range : ranges_of(access))
      map.each(range.begin, range.end, [&](std::uint64_t, Segment& segment) {
        if ((segment.visible & unit_bit(access.unit)) != 0) return;
        depend_on_list(node, segment.writers, Reason::read_after_write, access.view.resource.index);
        segment.visible |= sees;
        become_writer(segment, node);
      });
    touch(access.view.resource);
    end_node();
  }

  void insert_layout_change(std::uint32_t pass, const Access& access, AccessMap& map, Layout was) {
    const std::uint32_t node = begin_node({.kind = NodeKind::layout_change,
                                           .pass = pass,
                                           .view = access.view,
                                           .was = was,
                                           .layout = access.layout});
    for (const ByteRange& range : ranges_of(access))
      map.each(range.begin, range.end, [&](std::uint64_t, Segment& segment) {
        if (segment.layout == Layout::undefined || segment.layout == access.layout) return;
        depend_on_list(node, segment.writers, Reason::read_after_write, access.view.resource.index);
        depend_on_list(node, segment.readers, Reason::write_after_read, access.view.resource.index);
        segment.layout = access.layout;
        segment.readers = NodeLists::kEmpty;
        become_writer(segment, node);
      });
    touch(access.view.resource);
    end_node();
  }

  /// Whoever comes after waits for the node instead of those that it has waited for.
  void become_writer(Segment& segment, std::uint32_t node) {
    segment.writers = lists_.push(node, NodeLists::kEmpty);
    segment.unordered = false;
  }

  // --- accesses of a pass

  Result<void> read(std::uint32_t node, const PassInfo& pass, const Access& access) {
    const Resource resource = access.view.resource;
    AccessMap& map = map_of(resource);
    touch(resource);
    std::optional<ByteRange> unwritten;
    for (const ByteRange& range : ranges_of(access))
      map.each(range.begin, range.end, [&](std::uint64_t begin, Segment& segment) {
        if (!segment.has_value && !unwritten) unwritten = {begin, segment.end};
        const bool joins = access.unordered && access.writes;  // as write() will have it
        if (joins && segment.unordered) return;
        depend_on_list(node, segment.writers, Reason::read_after_write, resource.index);
        if (segment.layout == Layout::undefined) segment.layout = access.layout;
        if (!joins) segment.readers = lists_.push(node, segment.readers);
      });
    if (unwritten) return missing_writer(pass, graph_.info(resource), *unwritten);
    return {};
  }

  static Error missing_writer(const PassInfo& pass, const ResourceInfo& info, const ByteRange& bytes) {
    const char* const why = info.origin == Origin::output
                                ? "which is bound for output only and nobody writes before"
                                : "which nobody writes before and no caller bound";
    return pass.line.error(ErrorCode::invalid,
                           fmt::format("pass '{}' reads bytes {} to {} of '{}', {}", pass.name, bytes.begin,
                                       bytes.end, info.name, why));
  }

  void write(std::uint32_t node, const Access& access) {
    const Resource resource = access.view.resource;
    AccessMap& map = map_of(resource);
    touch(resource);
    for (const ByteRange& range : ranges_of(access)) {
      Segment merged;
      bool same = true, is_first = true;
      map.each(range.begin, range.end, [&](std::uint64_t, Segment& segment) {
        if (access.unordered)
          join_group(node, segment, resource);
        else
          succeed(node, segment, resource);
        mark_written(segment, access);
        // A write that leaves one state everywhere needs one segment.
        same = same && !access.unordered &&
               (is_first || (segment.layout == merged.layout && segment.visible == merged.visible &&
                             segment.writer == merged.writer));
        merged = segment;
        is_first = false;
      });
      if (!same) continue;
      merged.writers = lists_.push(node, NodeLists::kEmpty);
      map.replace(range.begin, range.end, merged);
    }
  }

  void succeed(std::uint32_t node, Segment& segment, Resource resource) {
    depend_on_list(node, segment.readers, Reason::write_after_read, resource.index);
    depend_on_list(node, segment.writers, Reason::write_after_write, resource.index);
    segment.writers = lists_.push(node, NodeLists::kEmpty);
    segment.readers = segment.before = NodeLists::kEmpty;
    segment.unordered = false;
  }

  /// An unordered write waits for all before its group, and not for the group. One of a pass that also reads
  /// the bytes in order is in order itself.
  void join_group(std::uint32_t node, Segment& segment, Resource resource) {
    if (contains(segment.readers, node)) return succeed(node, segment, resource);
    if (!segment.unordered || segment.readers != NodeLists::kEmpty) {
      std::uint32_t before = NodeLists::kEmpty;
      for (const std::uint32_t list : {segment.writers, segment.readers})
        lists_.each(list, [&](std::uint32_t on) { before = lists_.push(on, before); });
      segment.before = before;
      segment.writers = segment.readers = NodeLists::kEmpty;
      segment.unordered = true;
    }
    depend_on_list(node, segment.before, Reason::write_after_write, resource.index);
    segment.writers = lists_.push(node, segment.writers);
  }
  bool contains(std::uint32_t list, std::uint32_t node) const {
    bool result = false;
    lists_.each(list, [&](std::uint32_t each) { result = result || each == node; });
    return result;
  }

  void mark_written(Segment& segment, const Access& access) {
    segment.has_value = true;
    const bool keeps_layout = access.changes_layout && access.layout == Layout::undefined;
    if (!keeps_layout) segment.layout = access.layout;
    if (access.changes_layout) {
      segment.visible |= access.makes_visible;
      return;
    }
    segment.writer = access.unit;
    segment.visible = sees_writes_of(access.unit) | access.makes_visible;
  }

  // --- explicit synchronisation

  void synchronise(std::uint32_t node, const PassInfo& pass) {
    bool is_point = false;
    for (const Command& command : pass.commands)
      is_point = is_point || std::holds_alternative<Synchronise>(command);
    if (last_point_ != kNobody) depend(node, last_point_, Reason::order, 0);
    if (!is_point) return;
    for (std::uint32_t on = last_point_ == kNobody ? 0 : last_point_ + 1; on < node; ++on)
      depend(node, on, Reason::order, 0);
    last_point_ = node;
  }

  // --- who uses transient memory

  void finish_users() {
    const std::size_t transients = result_.transient.size();
    std::vector<std::uint32_t> count(transients + 1);
    for (const std::uint32_t transient : result_.uses.values) ++count[transient + 1];
    for (std::size_t i = 0; i < transients; ++i) count[i + 1] += count[i];
    result_.users.first.assign(count.begin(), count.end());
    result_.users.values.resize(result_.uses.values.size());
    for (std::uint32_t node = 0; node < result_.nodes.size(); ++node)
      for (const std::uint32_t transient : result_.uses[node])
        result_.users.values[count[transient]++] = node;
    std::vector<std::uint32_t> marks(result_.nodes.size(), kNobody), waited(result_.nodes.size(), kNobody);
    for (std::uint32_t transient = 0; transient < transients; ++transient)
      find_ends(transient, marks, waited);
  }

  void find_ends(std::uint32_t transient, std::vector<std::uint32_t>& marks,
                 std::vector<std::uint32_t>& waited) {
    const auto users = result_.users[transient];
    for (const std::uint32_t node : users) marks[node] = transient;
    for (const std::uint32_t node : users) {
      bool is_first = true;
      for (const Edge& edge : result_.edges_of(node)) {
        if (marks[edge.from] != transient) continue;
        is_first = false;
        waited[edge.from] = transient;
      }
      if (is_first) result_.first_users.values.push_back(node);
    }
    for (const std::uint32_t node : users)
      if (waited[node] != transient) result_.last_users.values.push_back(node);
    result_.first_users.end_list();
    result_.last_users.end_list();
  }

  const Graph& graph_;
  Analysis result_;
  NodeLists lists_;
  std::vector<std::optional<AccessMap>> maps_;
  std::vector<std::uint32_t> transient_of_;  // by resource: place among the transient ones
  std::vector<std::uint32_t> stamps_;        // by node: the last one that depends on it
  std::vector<std::uint32_t> touched_;       // by the node that is being made
  std::vector<ByteRange> ranges_;
  std::vector<std::uint32_t> node_of_;  // by pass, where there are explicit orders
  std::vector<std::vector<std::uint32_t>> earlier_;
  std::uint32_t last_point_ = kNobody;
};

Result<void> check_orders(const Graph& graph) {
  for (const auto& [earlier, later] : graph.orders())
    if (earlier.index >= later.index)
      return graph.info(later).line.error(
          ErrorCode::invalid,
          fmt::format("a cycle: pass '{}' was invoked before '{}' ({}) and is to come after it",
                      graph.info(later).name, graph.info(earlier).name, graph.info(earlier).line.text()));
  return {};
}

}  // namespace

Result<Analysis> analyse(const Graph& graph) {
  TRY(check_passes(graph));
  std::vector<std::uint32_t> order;
  if (graph.order() == Graph::Order::none) {
    TRY_ASSIGN(order, order_of_nodes(graph));
  } else {
    TRY(check_orders(graph));
    order.resize(graph.passes().size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  }
  return Analyser(graph).run(order);
}

}  // namespace raddle::graph
