// The two recorders: into the plan of a run, and straight into a stream while a body runs.
#pragma once

#include "graph/execution/modules.h"
#include "raddle/executable_graph.h"
#include "raddle/graph/recorder.h"
#include "raddle/graph/schedule.h"

namespace raddle::graph {

/// Textures and surfaces that a plan has made.
class Images {
 public:
  explicit Images(Device& device) : device_(device) {}
  ~Images();
  Images(const Images&) = delete;
  Result<TextureHandle> texture(const Image& image, const Sampler& sampler);
  Result<SurfaceHandle> surface(const Image& image);
  void clear();

 private:
  Device& device_;
  std::vector<TextureHandle> textures_;
  std::vector<SurfaceHandle> surfaces_;
};

/// What all recorders of a plan share.
struct RunContext {
  Device& device;
  Modules& modules;
  Images& images;
  const Graph* graph;
  const std::vector<DevicePtr>& addresses;  ///< by resource
};

/// The part that is the same for both: what a pass's views are.
class PassRecorder : public Recorder {
 public:
  PassRecorder(const RunContext& context, const PassInfo& pass) : context_(context), pass_(pass) {}

  Device& device() override { return context_.device; }
  Result<DevicePtr> address(const View& view) const override;
  Result<Image> image(const View& view) const override;
  Result<Kernel> kernel(const KernelCode& code) override { return context_.modules.kernel(code); }
  Result<TextureHandle> texture(const View& view, const Sampler& sampler) override;
  Result<SurfaceHandle> surface(const View& view) override;

 protected:
  const RunContext& context() const { return context_; }
  const PassInfo& pass() const { return pass_; }

 private:
  const RunContext& context_;
  const PassInfo& pass_;
};

class PlanRecorder : public PassRecorder {
 public:
  using Node = ExecutableGraph::Node;
  /// Changes work that was made for a pass like this one. Whoever asks for other kinds of work, or more, gets
  /// an error.
  PlanRecorder(const RunContext& context, const PassInfo& pass, ExecutableGraph& work,
               std::span<const Node> known)
      : PassRecorder(context, pass), work_(work), known_(known), is_update_(true) {}
  /// Makes new work.
  PlanRecorder(const RunContext& context, const PassInfo& pass, ExecutableGraph& work,
               std::vector<ExecutableGraph::Dependency> after)
      : PassRecorder(context, pass), work_(work), after_(std::move(after)) {}

  Result<void> launch(const Kernel& kernel, const LaunchConfig& config,
                      std::span<const Argument> arguments) override;
  Result<void> copy(const BoxCopy& copy) override;
  Result<void> fill(const RowFill& fill) override;
  Result<void> call(std::function<void()> function) override;
  /// Nothing, in its place.
  Result<void> mark() { return add(work_.add_empty(after_)); }
  /// Whether all work that was there has been changed.
  bool is_complete() const { return next_ == known_.size(); }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  Result<void> add(Result<Node> node);
  /// @errors invalid: there is no more
  Result<Node> next_known();

  ExecutableGraph& work_;
  std::span<const Node> known_;
  std::size_t next_ = 0;
  bool is_update_ = false;
  std::vector<ExecutableGraph::Dependency> after_;  // of the next piece of work
  std::vector<Node> nodes_;
};

class StreamRecorder : public PassRecorder {
 public:
  StreamRecorder(const RunContext& context, const PassInfo& pass, Stream& stream)
      : PassRecorder(context, pass), stream_(stream) {}

  Result<void> launch(const Kernel& kernel, const LaunchConfig& config,
                      std::span<const Argument> arguments) override;
  Result<void> copy(const BoxCopy& copy) override { return stream_.copy(copy); }
  Result<void> fill(const RowFill& fill) override { return stream_.fill(fill); }
  Result<void> call(std::function<void()> function) override;

 private:
  Stream& stream_;
};

}  // namespace raddle::graph
