#include "graph/scheduler/split.h"

#include "graph/resources/ranges.h"

namespace raddle::graph {
namespace {

/// How a pass is cut: `units` are blocks of a grid or bytes of a range.
struct Cut {
  std::uint64_t units = 0, alignment = 1;
  std::uint32_t pieces = 1;

  std::uint64_t begin(std::uint32_t piece) const {
    if (piece == pieces) return units;
    return units * piece / pieces / alignment * alignment;
  }
};

class Splitter {
 public:
  Splitter(const Graph& graph, const Target& target, const SchedulerOptions& options)
      : graph_(graph), target_(target), options_(options) {}

  Cut cut_of(const PassInfo& pass) const {
    if (pass.commands.size() != 1 || pass.pieces != 1) return {};
    const Command& command = pass.commands[0];
    if (const auto* dispatch = std::get_if<Dispatch>(&command)) return cut_of(pass, *dispatch);
    if (const auto* copy = std::get_if<Copy>(&command))
      return is_image(copy->to) || is_image(copy->from) ? Cut() : cut_of(copy->to);
    if (const auto* clear = std::get_if<Clear>(&command))
      return is_image(clear->view) ? Cut() : cut_of(clear->view);
    if (const auto* fill = std::get_if<Fill>(&command))
      return is_image(fill->view) ? Cut() : cut_of(fill->view);
    return {};
  }

  PassInfo piece_of(const PassInfo& pass, Pass origin, const Cut& cut, std::uint32_t number) const {
    PassInfo piece = pass;
    piece.origin = pass.origin ? pass.origin : origin;
    piece.piece = number, piece.pieces = cut.pieces;
    const std::uint64_t begin = cut.begin(number), end = cut.begin(number + 1);
    if (auto* dispatch = std::get_if<Dispatch>(&piece.commands[0]))
      narrow(piece, *dispatch, begin, end, number + 1 == cut.pieces);
    else
      narrow(piece, begin, end);
    if (piece.nanoseconds) *piece.nanoseconds *= double(end - begin) / double(cut.units);
    return piece;
  }

 private:
  bool is_image(const View& view) const { return graph_.info(view.resource).is_image; }

  /// A dispatch keeps several times as many blocks in a piece as run at once. That its blocks have parts of
  /// their own of what it writes is what the pass says of them.
  Cut cut_of(const PassInfo& pass, const Dispatch& dispatch) const {
    const LaunchConfig& config = dispatch.config;
    if (config.cooperative || config.part || !target_.has_parts_of_grids) return {};
    bool is_by_block = false;
    for (const Access& access : pass.accesses) {
      if (access.writes && !access.unordered && access.bytes_per_block == 0) return {};
      is_by_block |= access.bytes_per_block != 0;
    }
    if (!is_by_block) return {};
    const std::uint32_t required =
        dispatch.kernel.info().blocks_are_clusters ? 1 : dispatch.kernel.info().required_cluster.x;
    std::uint64_t multiple = std::max({config.cluster.x, required, 1u});
    for (const ClusterLevel& level : config.clusters) multiple *= level.extent[0];
    const std::uint64_t at_once =
        std::uint64_t{target_.resident_blocks(dispatch.kernel.info(), config)} * target_.sm_count;
    const std::uint64_t slices = std::uint64_t{config.grid.y} * config.grid.z,
                        blocks = config.grid.x * slices;
    const std::uint64_t pieces = std::min<std::uint64_t>(blocks / (2 * at_once), config.grid.x / multiple);
    if (pieces < 2) return {};
    return {config.grid.x, multiple,
            static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces, options_.most_pieces))};
  }

  Cut cut_of(const View& view) const {
    const std::uint64_t bytes = resolved(graph_.info(view.resource), view).bytes;
    const std::uint64_t pieces = bytes / std::max<std::uint64_t>(options_.split_bytes, 4096);
    if (pieces < 2) return {};
    return {bytes, 256, static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces, options_.most_pieces))};
  }

  void narrow(PassInfo& piece, Dispatch& dispatch, std::uint64_t begin, std::uint64_t end,
              bool is_last) const {
    const Dim3 grid = dispatch.config.grid;
    dispatch.config.part = {{static_cast<std::uint32_t>(begin), 0, 0},
                            {static_cast<std::uint32_t>(end - begin), grid.y, grid.z}};
    for (Access& access : piece.accesses) {
      if (access.bytes_per_block == 0) continue;
      const View whole = resolved(graph_.info(access.view.resource), access.view);
      const std::uint64_t from = begin * access.bytes_per_block;
      const std::uint64_t to = is_last ? whole.bytes : std::min(end * access.bytes_per_block, whole.bytes);
      access.view = View::range(whole.resource, whole.begin + from, to - from);
    }
  }

  void narrow(PassInfo& piece, std::uint64_t begin, std::uint64_t end) const {
    const auto part = [&](View& view) {
      const View whole = resolved(graph_.info(view.resource), view);
      view = View::range(whole.resource, whole.begin + begin, end - begin);
    };
    for (Access& access : piece.accesses) part(access.view);
    if (auto* copy = std::get_if<Copy>(&piece.commands[0])) part(copy->to), part(copy->from);
    if (auto* clear = std::get_if<Clear>(&piece.commands[0])) part(clear->view);
    if (auto* fill = std::get_if<Fill>(&piece.commands[0])) part(fill->view);
  }

  const Graph& graph_;
  const Target& target_;
  const SchedulerOptions& options_;
};

/// The graph's resources and orders around other passes.
class PieceGraph {
 public:
  explicit PieceGraph(const Graph& graph) : from_(graph), result_(std::make_shared<Graph>(graph)) {
    result_->clear_passes();
  }
  void add(const Splitter& splitter) {
    std::vector<std::vector<Pass>> made(from_.passes().size());
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      const PassInfo& pass = from_.passes()[i];
      const Cut cut = splitter.cut_of(pass);
      if (cut.pieces == 1) {
        PassInfo same = pass;
        if (!same.origin) same.origin = {i};
        made[i].push_back(result_->add(std::move(same)));
      }
      for (std::uint32_t piece = 0; cut.pieces > 1 && piece < cut.pieces; ++piece)
        made[i].push_back(result_->add(splitter.piece_of(pass, {i}, cut, piece)));
    }
    for (const auto& [earlier, later] : from_.orders())
      for (const Pass before : made[earlier.index])
        for (const Pass after : made[later.index]) result_->order(before, after);
  }
  std::shared_ptr<const Graph> take() { return std::move(result_); }

 private:
  const Graph& from_;
  std::shared_ptr<Graph> result_;
};

}  // namespace

std::shared_ptr<const Graph> with_pieces(const Graph& graph, const Target& target,
                                         const SchedulerOptions& options) {
  const Splitter splitter(graph, target, options);
  bool is_large = false;
  for (const PassInfo& pass : graph.passes()) is_large = is_large || splitter.cut_of(pass).pieces > 1;
  if (!is_large) return nullptr;
  PieceGraph result(graph);
  result.add(splitter);
  return result.take();
}

}  // namespace raddle::graph
