// Raddle's JIT through the public API, on the PTX of the examples and of cuda/. Buffers are Raddle's own
// device memory, as the API has it; copies are outside the timed part, compilation too, as for the rivals.
#include <filesystem>
#include <map>

#include "parallel.h"
#include "raddle/raddle.h"
#include "system.h"

namespace bench {
namespace {

/// A launch with everything looked up; arguments point into the workload's plan and `addresses`.
struct PreparedRaddleLaunch {
  Launch plan;
  raddle::Kernel kernel;
  raddle::LaunchConfig config;
  std::vector<raddle::DevicePtr> addresses;
  std::vector<raddle::Argument> arguments;
};

class RaddleSystem : public System {
 public:
  RaddleSystem(raddle::Device device, std::string_view name) : device_(std::move(device)), name_(name) {}
  std::string_view name() const override { return name_; }
  std::string remark() const override { return remark_; }
  Result<void> prepare(Workload& workload, const std::string& variant) override;
  Result<void> upload() override;
  Result<void> download() override;
  Result<void> run() override;
  void release() override;

 private:
  Result<raddle::Kernel> kernel_of(const Launch& plan);
  Result<void> add_launch(Launch plan);
  void bind(PreparedRaddleLaunch& launch);

  raddle::Device device_;
  std::string name_;
  Workload* workload_ = nullptr;
  std::vector<raddle::Buffer<std::byte>> buffers_;
  std::map<std::string_view, raddle::Module> modules_;  // by file
  std::map<std::string_view, raddle::Kernel> kernels_;  // by name; all launches have blocks of one shape
  std::vector<std::unique_ptr<PreparedRaddleLaunch>> launches_;  // arguments hold pointers into them
  std::string remark_;
};

raddle::Dim3 dimensions(const unsigned (&size)[3]) { return {size[0], size[1], size[2]}; }

Result<void> RaddleSystem::prepare(Workload& workload, const std::string&) {
  release();
  workload_ = &workload;
  for (const Buffer& buffer : workload.buffers) {
    TRY_ASSIGN(raddle::Buffer<std::byte> memory, device_.buffer<std::byte>(buffer.bytes()));
    buffers_.push_back(std::move(memory));
  }
  for (Launch& plan : workload.launches()) TRY(add_launch(std::move(plan)));
  return {};
}

/// The examples' PTX, or the benchmark's own.
std::string path_of(std::string_view file) {
  const std::string own = fmt::format("{}/kernels/cuda/{}.ptx", RADDLE_BENCH_SOURCE_DIR, file);
  return std::filesystem::exists(own) ? own : fmt::format("{}/kernels/{}.ptx", RADDLE_EXAMPLES_DIR, file);
}

std::string remark_on(const raddle::LaunchReport& report) {
  return fmt::format(
      "{}{}{}, {} of {} memory operations not vectorised, {} dispatched loops, compiled in {:.0f} ms",
      report.block_kind,
      report.warps_together != 0 ? fmt::format(", {} warps together", report.warps_together) : "",
      report.one_by_one ? ", threads one by one" : "", report.not_vectorised, report.memory_operations,
      report.dispatched_loops, 1e3 * report.compile_seconds);
}

Result<raddle::Kernel> RaddleSystem::kernel_of(const Launch& plan) {
  if (const auto known = kernels_.find(plan.kernel); known != kernels_.end()) return known->second;
  auto module = modules_.find(plan.file);
  if (module == modules_.end()) {
    TRY_ASSIGN(raddle::Module loaded, device_.load_file(path_of(plan.file)));
    module = modules_.emplace(plan.file, std::move(loaded)).first;
  }
  TRY_ASSIGN(raddle::Kernel kernel, module->second.kernel(plan.kernel));
  TRY_ASSIGN(const raddle::LaunchReport report, kernel.compile(dimensions(plan.block)));
  if (report.engine != "jit") return Error::invalid("the {} engine runs it, not the jit", report.engine);
  remark_ += (remark_.empty() ? "" : "; then ") + remark_on(report);
  kernels_.emplace(plan.kernel, kernel);
  return kernel;
}

Result<void> RaddleSystem::add_launch(Launch plan) {
  TRY_ASSIGN(const raddle::Kernel kernel, kernel_of(plan));
  raddle::LaunchConfig config{.grid = dimensions(plan.grid), .block = dimensions(plan.block)};
  config.shared_bytes = plan.shared_bytes;
  if (plan.cluster != 0) config.cluster = {plan.cluster, 1, 1};
  launches_.push_back(
      std::make_unique<PreparedRaddleLaunch>(PreparedRaddleLaunch{std::move(plan), kernel, config, {}, {}}));
  bind(*launches_.back());
  return {};
}

void RaddleSystem::bind(PreparedRaddleLaunch& launch) {
  launch.addresses.reserve(launch.plan.arguments.size());
  for (const Argument& argument : launch.plan.arguments) {
    if (const BufferArgument* buffer = std::get_if<BufferArgument>(&argument)) {
      launch.addresses.push_back(buffers_[buffer->index].address() +
                                 static_cast<std::uint64_t>(buffer->offset));
      launch.arguments.emplace_back(launch.addresses.back());
    } else if (const std::int32_t* integer = std::get_if<std::int32_t>(&argument)) {
      launch.arguments.emplace_back(*integer);
    } else {
      launch.arguments.emplace_back(std::get<float>(argument));
    }
  }
}

Result<void> RaddleSystem::upload() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    TRY(buffers_[i].write(workload_->buffers[i].as<std::byte>()));
  return {};
}

Result<void> RaddleSystem::download() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    TRY(buffers_[i].read(workload_->buffers[i].as<std::byte>()));
  return {};
}

Result<void> RaddleSystem::run() {
  for (const std::unique_ptr<PreparedRaddleLaunch>& launch : launches_) {
    const std::span<const raddle::Argument> arguments(launch->arguments);
    TRY_ASSIGN(raddle::Launch started, launch->kernel.launch(launch->config, arguments));
    if (launch != launches_.back()) continue;  // a stream runs in order: the last one's end is all's
    TRY(started.wait());
  }
  return {};
}

void RaddleSystem::release() {
  launches_.clear();
  kernels_.clear();
  modules_.clear();
  remark_.clear();
  buffers_.clear();
}

}  // namespace

Result<std::unique_ptr<System>> make_raddle_system(std::string_view name, std::string_view simd,
                                                   bool windowed) {
  TRY_ASSIGN(raddle::Device device,
             raddle::Device::open(
                 {.engine = "jit",
                  .simd = std::string(simd),
                  .tier = "optimised",
                  .code_cache = "off",
                  .workers = core_count(),
                  .translation = windowed ? raddle::Translation::windowed : raddle::Translation::direct,
                  .bounds = raddle::Bounds::hardware}));  // as CUDA programs have it
  return std::unique_ptr<System>(std::make_unique<RaddleSystem>(std::move(device), name));
}

}  // namespace bench
