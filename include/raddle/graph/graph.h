// A graph of passes and resources (G-1): one whole workload, built by calls in a program's order, or node by
// node.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "raddle/graph/command.h"
#include "raddle/graph/source_line.h"

namespace raddle::graph {

/// A pass of a graph, by its place in the program.
struct Pass {
  std::uint32_t index = ~0u;

  explicit operator bool() const { return index != ~0u; }
  friend bool operator==(Pass, Pass) = default;
};

struct ResourceInfo {
  std::string name;
  Origin origin = Origin::transient;
  bool is_image = false;
  std::uint64_t bytes = 0;
  ImageShape shape{};            ///< of an image
  Resource previous, following;  ///< of a temporal one: last step's value, or what it is the value of
  SourceLine line;
};

/// What a pass needs while it runs, in parts of what the target has (G-10a), from 0 to 1.
struct Needs {
  enum Kind : unsigned { slots, registers, shared_memory, bandwidth, copy_engines, host, kCount };
  float share[kCount] = {};
};
const char* need_name(unsigned kind);

struct PassInfo {
  std::string name;
  SourceLine line;        ///< where it was invoked
  SourceLine definition;  ///< of a pass that has one; else nowhere
  std::vector<Access> accesses;
  std::vector<Command> commands;
  std::optional<Needs> needs;           ///< said by the program; else estimated
  std::optional<double> nanoseconds;    ///< likewise
  Pass origin;                          ///< of a piece: the pass of the program that it is a part of
  std::uint32_t piece = 0, pieces = 1;  ///< of a split pass
};

class PassBuilder;

class Graph {
 public:
  /// How passes that touch the same bytes are ordered.
  enum class Order : std::uint8_t {
    program,  ///< as they were invoked (G-8h)
    none,     ///< built node by node: who reads comes after who writes, the rest is said by order()
  };
  explicit Graph(Order order = Order::program) : order_(order) {}

  Resource buffer(std::string name, std::uint64_t bytes, Origin origin = Origin::transient,
                  SourceLine line = std::source_location::current());
  Resource image(std::string name, const ImageShape& shape, Origin origin = Origin::transient,
                 SourceLine line = std::source_location::current());
  /// What the last run wrote to a temporal resource; in the first run it is all zero.
  Resource previous(Resource temporal);

  /// A new pass, the last so far.
  PassBuilder pass(std::string name, SourceLine line = std::source_location::current());
  Pass add(PassInfo pass);
  /// `later` begins after `earlier` has ended.
  void order(Pass earlier, Pass later);
  /// A pass that everything before it comes before, and everything after it after (G-2e).
  Pass synchronise(SourceLine line = std::source_location::current());

  Order order() const { return order_; }
  std::span<const ResourceInfo> resources() const { return resources_; }
  std::span<const PassInfo> passes() const { return passes_; }
  std::span<const std::pair<Pass, Pass>> orders() const { return orders_; }
  const ResourceInfo& info(Resource resource) const { return resources_[resource.index]; }
  const PassInfo& info(Pass pass) const { return passes_[pass.index]; }
  PassInfo& edit(Pass pass) { return ++changes_, passes_[pass.index]; }
  bool has(Resource resource) const { return resource.index < resources_.size(); }
  Resource find(std::string_view name) const;  ///< by name; none: no such resource
  void reserve(std::size_t passes, std::size_t resources);
  /// Leaves the resources alone.
  void clear_passes() { ++changes_, passes_.clear(), orders_.clear(); }
  /// Equal for the same graph without changes in between, and for no other one.
  struct Version {
    std::uint64_t graph = 0, changes = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };
  Version version() const { return {identity_.number, changes_}; }

 private:
  Resource add(ResourceInfo info);

  /// A copy is another graph.
  struct Identity {
    std::uint64_t number = next();
    Identity() = default;
    Identity(const Identity&) : number(next()) {}
    Identity& operator=(const Identity&) { return number = next(), *this; }
    static std::uint64_t next();
  };

  Order order_;
  Identity identity_;
  std::uint64_t changes_ = 0;
  std::vector<ResourceInfo> resources_;
  std::vector<PassInfo> passes_;
  std::vector<std::pair<Pass, Pass>> orders_;
};

/// Says what a pass does, call after call. A handle: it stays good while the graph lives.
class PassBuilder {
 public:
  PassBuilder(Graph& graph, Pass pass) : graph_(&graph), pass_(pass) {}
  operator Pass() const { return pass_; }  // NOLINT: what the calls before it have described
  Pass pass() const { return pass_; }
  Graph& graph() const { return *graph_; }

  PassBuilder& access(const Access& access);
  PassBuilder& reads(const View& view, const Usage& usage = {});
  PassBuilder& writes(const View& view, const Usage& usage = {});    ///< some of its bytes
  PassBuilder& discards(const View& view, const Usage& usage = {});  ///< writes all of its bytes
  PassBuilder& read_writes(const View& view, const Usage& usage = {});

  PassBuilder& command(Command command);
  PassBuilder& dispatch(Dispatch dispatch) { return command(std::move(dispatch)); }
  template <class... Values>
  PassBuilder& dispatch(const KernelCode& kernel, const LaunchConfig& config, const Values&... values) {
    return command(Dispatch{kernel, config, std::vector<Value>{Value(values)...}});
  }
  /// These say what they access themselves.
  PassBuilder& copy(const View& to, const View& from);
  PassBuilder& clear(const View& view);
  PassBuilder& fill(const View& view, std::uint64_t word, unsigned word_bytes = 4);
  PassBuilder& change_layout(const View& view, Layout to);
  PassBuilder& cache(const View& view, CacheAction::Kind kind, Unit unit = Unit::kernel);

  PassBuilder& draw(std::string what, std::function<Result<void>(Recorder&)> record);
  PassBuilder& call(std::function<void()> function);
  PassBuilder& body(std::function<Result<void>(Recorder&)> run);
  PassBuilder& include(std::shared_ptr<const Graph> graph, std::vector<std::pair<Resource, View>> bindings);
  PassBuilder& synchronise();

  /// Instead of what the scheduler estimates.
  PassBuilder& needs(const Needs& needs);
  PassBuilder& takes(double nanoseconds);

 private:
  PassInfo& info() { return graph_->edit(pass_); }
  PassBuilder& add(const View& view, bool reads, bool writes, const Usage& usage);

  Graph* graph_;
  Pass pass_;
};

}  // namespace raddle::graph
