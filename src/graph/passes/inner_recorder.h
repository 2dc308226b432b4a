// What draws and bodies of a sub-graph record with: they name views of their own graph, which lie in views of
// the one around it.
#pragma once

#include <memory>
#include <vector>

#include "graph/resources/ranges.h"
#include "raddle/graph/graph.h"
#include "raddle/graph/recorder.h"

namespace raddle::graph {

/// A view of a resource that lies in a view of another graph, as one of that graph's.
/// @param base  of the other graph; of a buffer, a range that is said
inline View view_within(const View& base, const ResourceInfo& info, const View& view) {
  if (!info.is_image) {
    const View inner = resolved(info, view);
    return View::range(base.resource, base.begin + inner.begin, inner.bytes);
  }
  View result = view;
  result.resource = base.resource;
  return result;
}

/// Where the resources of a sub-graph lie.
struct InnerViews {
  std::shared_ptr<const Graph> graph;  ///< the sub-graph
  std::vector<View> bases;             ///< by its resources: views of the outer graph, ranges of buffers said

  /// @errors invalid: a view that the sub-graph does not have
  Result<View> outer(const View& view) const {
    if (!graph->has(view.resource))
      return Error::invalid("a view of a resource that the sub-graph does not have");
    const ResourceInfo& info = graph->info(view.resource);
    if (const std::string why = view_error(info, view); !why.empty()) return Error::invalid("{}", why);
    return view_within(bases[view.resource.index], info, view);
  }
};

class InnerRecorder final : public Recorder {
 public:
  InnerRecorder(Recorder& outer, const InnerViews& views) : outer_(outer), views_(views) {}

  Device& device() override { return outer_.device(); }
  Result<DevicePtr> address(const View& view) const override {
    TRY_ASSIGN(const View there, views_.outer(view));
    return outer_.address(there);
  }
  Result<Image> image(const View& view) const override {
    TRY_ASSIGN(const View there, views_.outer(view));
    return outer_.image(there);
  }
  Result<Kernel> kernel(const KernelCode& code) override { return outer_.kernel(code); }
  Result<TextureHandle> texture(const View& view, const Sampler& sampler) override {
    TRY_ASSIGN(const View there, views_.outer(view));
    return outer_.texture(there, sampler);
  }
  Result<SurfaceHandle> surface(const View& view) override {
    TRY_ASSIGN(const View there, views_.outer(view));
    return outer_.surface(there);
  }
  Result<void> launch(const Kernel& kernel, const LaunchConfig& config,
                      std::span<const Argument> arguments) override {
    return outer_.launch(kernel, config, arguments);
  }
  Result<void> copy(const BoxCopy& copy) override { return outer_.copy(copy); }
  Result<void> fill(const RowFill& fill) override { return outer_.fill(fill); }
  Result<void> call(std::function<void()> function) override { return outer_.call(std::move(function)); }

 private:
  Recorder& outer_;
  const InnerViews& views_;
};

}  // namespace raddle::graph
