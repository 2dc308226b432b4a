#include "raddle/graph/graph.h"

namespace raddle::graph {

PassBuilder& PassBuilder::access(const Access& access) {
  info().accesses.push_back(access);
  return *this;
}

PassBuilder& PassBuilder::add(const View& view, bool reads, bool writes, const Usage& usage) {
  return access({.view = view,
                 .reads = reads,
                 .writes = writes,
                 .unordered = usage.unordered,
                 .unit = usage.unit,
                 .layout = layout_of(usage.unit),
                 .bytes_per_block = usage.bytes_per_block});
}

PassBuilder& PassBuilder::reads(const View& view, const Usage& usage) {
  return add(view, true, false, usage);
}
PassBuilder& PassBuilder::writes(const View& view, const Usage& usage) {
  return add(view, false, true, usage);
}
PassBuilder& PassBuilder::read_writes(const View& view, const Usage& usage) {
  return add(view, true, true, usage);
}
PassBuilder& PassBuilder::discards(const View& view, const Usage& usage) {
  add(view, false, true, usage);
  info().accesses.back().discards = true;
  return *this;
}

PassBuilder& PassBuilder::command(Command command) {
  info().commands.push_back(std::move(command));
  return *this;
}

PassBuilder& PassBuilder::copy(const View& to, const View& from) {
  reads(from, {.unit = Unit::copy});
  discards(to, {.unit = Unit::copy});
  return command(Copy{to, from});
}

PassBuilder& PassBuilder::clear(const View& view) {
  return discards(view, {.unit = Unit::copy}).command(Clear{view});
}

PassBuilder& PassBuilder::fill(const View& view, std::uint64_t word, unsigned word_bytes) {
  return discards(view, {.unit = Unit::copy}).command(Fill{view, word, word_bytes});
}

PassBuilder& PassBuilder::change_layout(const View& view, Layout to) {
  Access change{.view = view, .reads = true, .writes = true, .layout = to, .changes_layout = true};
  return access(change).command(LayoutChange{view, to});
}

PassBuilder& PassBuilder::cache(const View& view, CacheAction::Kind kind, Unit unit) {
  // A flush makes what the unit wrote visible to all; an invalidation what others wrote to the unit.
  Access action{.view = view, .reads = true, .writes = kind != CacheAction::Kind::prefetch};
  action.layout = Layout::undefined;
  action.changes_layout = true;  // takes any, and leaves it
  if (kind == CacheAction::Kind::flush)
    action.makes_visible = 0xff & ~(1u << static_cast<unsigned>(Unit::texture));
  if (kind == CacheAction::Kind::invalidate)
    action.makes_visible = static_cast<std::uint8_t>(1u << static_cast<unsigned>(unit));
  return access(action).command(CacheAction{view, kind, unit});
}

PassBuilder& PassBuilder::draw(std::string what, std::function<Result<void>(Recorder&)> record) {
  return command(Draw{std::move(what), std::move(record)});
}
PassBuilder& PassBuilder::call(std::function<void()> function) { return command(Call{std::move(function)}); }
PassBuilder& PassBuilder::body(std::function<Result<void>(Recorder&)> run) {
  return command(Body{std::move(run)});
}

PassBuilder& PassBuilder::include(std::shared_ptr<const Graph> graph,
                                  std::vector<std::pair<Resource, View>> bindings) {
  for (const auto& [inner, outer] : bindings) {
    const Origin origin = graph->info(inner).origin;
    add(outer, origin != Origin::output, origin != Origin::input, {});
  }
  return command(SubGraph{std::move(graph), std::move(bindings)});
}

PassBuilder& PassBuilder::synchronise() { return command(Synchronise{}); }

PassBuilder& PassBuilder::needs(const Needs& needs) {
  info().needs = needs;
  return *this;
}
PassBuilder& PassBuilder::takes(double nanoseconds) {
  info().nanoseconds = nanoseconds;
  return *this;
}

}  // namespace raddle::graph
