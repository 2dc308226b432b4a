#include "graph/feedback/estimate.h"

#include "graph/resources/ranges.h"

namespace raddle::graph {
namespace {

constexpr double kCommandNanoseconds = 1000;  // to start one
constexpr double kThreadNanoseconds = 2;      // of a worker, for a thread of a kernel

float part(double of, double all) { return static_cast<float>(std::min(of / std::max(all, 1e-9), 1.0)); }
void raise(float& share, float to) { share = std::max(share, to); }

struct Guess {
  const Target& target;
  PassEstimate result;

  void add(const Dispatch& dispatch) {
    const LaunchConfig& config = dispatch.config;
    const Dim3 grid = config.launched();
    const double blocks = double(grid.x) * grid.y * grid.z;
    const double threads = double(config.block.x) * config.block.y * config.block.z;
    const KernelInfo& kernel = dispatch.kernel.info();
    const double places = double(target.resident_blocks(kernel, config)) * target.sm_count;
    const double running = std::min(blocks, places);
    float* const share = result.needs.share;
    raise(share[Needs::slots], part(running, places));
    raise(share[Needs::registers],
          part(running * threads * kernel.registers, double(target.registers_per_sm) * target.sm_count));
    raise(share[Needs::shared_memory],
          part(running * double(kernel.static_shared_bytes + config.shared_bytes),
               double(target.shared_bytes_per_sm) * target.sm_count));
    result.nanoseconds += kCommandNanoseconds + blocks * threads * kThreadNanoseconds / target.workers;
  }
  void add(const Draw&) {
    raise(result.needs.share[Needs::slots], 1);
    result.nanoseconds += 100 * kCommandNanoseconds;
  }
  void add_copy() {
    raise(result.needs.share[Needs::copy_engines], 1.0f / static_cast<float>(target.copy_engines));
    result.nanoseconds += kCommandNanoseconds;
  }
  void add(const Copy&) { add_copy(); }
  void add(const Clear&) { add_copy(); }
  void add(const Fill&) { add_copy(); }
  void add_host() {
    raise(result.needs.share[Needs::host], 1);
    result.nanoseconds += kCommandNanoseconds;
  }
  void add(const Call&) { add_host(); }
  void add(const Body&) { add_host(); }
  // Points in the order take no time; a prefetch reads what the pass says to access.
  void add(const LayoutChange&) {}
  void add(const CacheAction&) {}
  void add(const Synchronise&) {}
  void add(const SubGraph&) {}
};

}  // namespace

std::uint64_t accessed_bytes(const Graph& graph, const PassInfo& pass) {
  std::uint64_t bytes = 0;
  for (const Access& access : pass.accesses) {
    const ResourceInfo& info = graph.info(access.view.resource);
    const std::uint64_t each =
        info.is_image ? view_bytes(info, access.view) : resolved(info, access.view).bytes;
    bytes += each * (access.reads && access.writes ? 2 : 1);
  }
  return bytes;
}

namespace {
/// What blocks take of SMs, by how many were there at once.
void correct_by(Needs& needs, double occupancy) {
  float& slots = needs.share[Needs::slots];
  if (occupancy <= 0 || slots <= 0) return;
  const float factor = static_cast<float>(occupancy) / slots;
  for (const Needs::Kind kind : {Needs::registers, Needs::shared_memory})
    needs.share[kind] = std::min(needs.share[kind] * factor, 1.0f);
  slots = static_cast<float>(std::min(occupancy, 1.0));
}
}  // namespace

PassEstimate estimate_pass(const Graph& graph, const PassInfo& pass, const Target& target,
                           const History* history) {
  Guess guess{target, {}};
  if (!pass.needs || !pass.nanoseconds)
    for (const Command& command : pass.commands)
      std::visit([&](const auto& each) { guess.add(each); }, command);
  PassEstimate result = guess.result;
  const double bytes = static_cast<double>(accessed_bytes(graph, pass));
  double peak = target.bytes_per_nanosecond;
  std::optional<Estimate> measured;
  if (history != nullptr && !pass.commands.empty()) measured = history->find(History::key(graph, pass));
  if (measured) {
    result.nanoseconds = measured->nanoseconds;
    correct_by(result.needs, measured->occupancy);
    peak = std::max(peak, history->best_bandwidth());
  } else if (result.nanoseconds != 0) {
    result.nanoseconds = std::max(result.nanoseconds, bytes / peak);
  }
  if (result.nanoseconds != 0)
    raise(result.needs.share[Needs::bandwidth], part(bytes / result.nanoseconds, peak));
  if (pass.needs) result.needs = *pass.needs;
  if (pass.nanoseconds) result.nanoseconds = *pass.nanoseconds;
  return result;
}

}  // namespace raddle::graph
