// `raddle run`: buffers in, one launch, buffers out and checked. Through the public API only.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/file.h"
#include "cli/argument.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/images.h"
#include "cli/launch.h"
#include "cli/machine_options.h"
#include "cli/tlb_sweep.h"
#include "cli/wait.h"
#include "raddle/raddle.h"

namespace raddle::cli {
namespace {

/// Everything that the command line asks for, parsed before the device is opened.
struct Plan {
  std::vector<fatbin::PtxImage> images;
  std::size_t chosen = 0;  ///< the image that has the kernel
  LaunchConfig config;
  bool block_given = false;
  std::vector<Argument> arguments;
  std::vector<Indexed> outputs, prints;
  std::vector<std::pair<unsigned, Array>> expectations;
};

Result<void> parse_results(const RunOptions& options, Plan& plan) {
  for (const std::string& text : options.outputs) {
    TRY_ASSIGN(Indexed output, parse_indexed(text, plan.arguments, "--out"));
    plan.outputs.push_back(std::move(output));
  }
  for (const std::string& text : options.expectations) {
    TRY_ASSIGN(Indexed expectation, parse_indexed(text, plan.arguments, "--expect"));
    TRY_ASSIGN(Array expected, expected_array(expectation, plan.arguments[expectation.index]));
    plan.expectations.emplace_back(expectation.index, std::move(expected));
  }
  for (const std::string& text : options.prints) {
    TRY_ASSIGN(Indexed print, parse_indexed(text + "=", plan.arguments, "--print"));
    plan.prints.push_back(std::move(print));
  }
  return {};
}

Result<Plan> make_plan(const RunOptions& options) {
  Plan plan;
  TRY_ASSIGN(plan.images, read_images(options.file, options.machine.shape));
  TRY_ASSIGN(plan.config.grid, parse_dim3(options.grid, "grid"));
  plan.block_given = !options.block.empty();
  if (plan.block_given) {
    TRY_ASSIGN(plan.config.block, parse_dim3(options.block, "block"));
  }
  plan.config.shared_bytes = options.shared_bytes;
  plan.config.cooperative = options.cooperative;
  TRY(parse_clusters(options.clusters, plan.config));
  if (options.spread) plan.config.distribution = DistributionMode::multicast;
  for (const std::string& text : options.arguments) {
    TRY_ASSIGN(Argument argument, parse_argument(text, static_cast<unsigned>(plan.arguments.size())));
    plan.arguments.push_back(std::move(argument));
  }
  TRY(parse_results(options, plan));
  return plan;
}

struct Loaded {
  std::size_t image;
  Module module;
};

/// The module that has the kernel, or the only kernel of all.
Result<Loaded> load_module(Device& device, const std::vector<fatbin::PtxImage>& images, std::string& kernel) {
  std::vector<std::string> all;
  std::optional<Loaded> chosen;
  for (std::size_t i = 0; i < images.size(); ++i) {
    TRY_ASSIGN(Module module, device.load(images[i].text, images[i].name));
    const std::vector<std::string> names = module.kernels();
    all.insert(all.end(), names.begin(), names.end());
    const bool suits = kernel.empty() || std::find(names.begin(), names.end(), kernel) != names.end();
    if (suits && !names.empty() && !chosen) chosen = Loaded{i, std::move(module)};
  }
  if (kernel.empty() && all.size() != 1)
    return Error::invalid("--kernel is needed; the file has: {}", fmt::join(all, ", "));
  if (!chosen)
    return Error::make(ErrorCode::not_found, "no kernel '{}'; the file has: {}", kernel,
                       fmt::join(all, ", "));
  if (kernel.empty()) kernel = all[0];
  return std::move(*chosen);
}

/// Device addresses of the buffers, by argument; 0 for scalars and empty buffers.
Result<std::vector<DevicePtr>> upload(Device& device, const std::vector<Argument>& arguments) {
  std::vector<DevicePtr> addresses(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::vector<std::byte>& bytes = arguments[i].array.bytes;
    if (!arguments[i].is_buffer || bytes.empty()) continue;
    TRY_ASSIGN(addresses[i], device.allocate(bytes.size()));
    TRY(device.write(addresses[i], bytes.data(), bytes.size()));
  }
  return addresses;
}

Result<void> download(Device& device, const std::vector<DevicePtr>& addresses,
                      std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::vector<std::byte>& bytes = arguments[i].array.bytes;
    if (addresses[i]) TRY(device.read(bytes.data(), addresses[i], bytes.size()));
  }
  return {};
}

std::string extents_text(Dim3 extents) {
  if (extents.z > 1) return fmt::format("{}x{}x{}", extents.x, extents.y, extents.z);
  return extents.y > 1 ? fmt::format("{}x{}", extents.x, extents.y) : fmt::format("{}", extents.x);
}

void print_report(const std::string& kernel, const LaunchConfig& config, const LaunchReport& report) {
  fmt::print("{}: {} blocks of {} threads, engine {}, block kind {}\n", kernel, extents_text(config.grid),
             extents_text(config.block), report.engine, report.block_kind);
  const double share =
      report.memory_operations ? 100.0 * report.not_vectorised / report.memory_operations : 0;
  fmt::print("  {} memory operations, {} ({:.0f} %) not vectorised; {} loops dispatched{}{}\n",
             report.memory_operations, report.not_vectorised, share, report.dispatched_loops,
             report.warps_together ? fmt::format("; {} warps run together", report.warps_together) : "",
             report.one_by_one ? "; threads run one by one" : "");
  fmt::print("  compiled in {}{}, ran in {}\n", time_text(report.compile_seconds), code_origin(report),
             time_text(report.seconds));
}

/// A table of what has been counted; nothing where nothing translates.
void print_translation(const TranslationCounts& counts) {
  const auto row = [](const char* name, const Hits& hits) {
    const std::uint64_t all = hits.hits + hits.misses;
    if (all == 0) return;
    fmt::print("  {:<18} {:>12} hits {:>12} misses {:>7.2f} % hits\n", name, hits.hits, hits.misses,
               100.0 * static_cast<double>(hits.hits) / static_cast<double>(all));
  };
  row("SMs' TLBs", counts.sm_tlbs);
  row("GPCs' TLBs", counts.gpc_tlbs);
  row("copy engines' TLBs", counts.copy_engine_tlbs);
  row("virtual caches", counts.virtual_caches);
  row("physical cache", counts.physical_cache);
}

void print_elements(unsigned index, const Array& array) {
  constexpr std::size_t kMost = 16;
  const std::size_t step = isa::byte_size(array.type), count = array.bytes.size() / step;
  std::string line;
  for (std::size_t i = 0; i < std::min(count, kMost); ++i)
    line += " " + element_text(array.type, load_element(array.type, array.bytes.data() + i * step));
  fmt::print("  argument {}:{}{}\n", index, line, count > kMost ? " ..." : "");
}

/// Writes, prints and checks what came back.
Result<int> finish(const RunOptions& options, const Plan& plan) {
  for (const Indexed& print : plan.prints) print_elements(print.index, plan.arguments[print.index].array);
  for (const Indexed& output : plan.outputs) TRY(write_npy(output.text, plan.arguments[output.index].array));
  int status = kSuccess;
  for (const auto& [index, expected] : plan.expectations) {
    const Array& actual = plan.arguments[index].array;
    const std::string difference =
        first_difference(actual.type, actual.bytes, expected.bytes, options.tolerance);
    if (difference.empty()) continue;
    fmt::print(stderr, "raddle: argument {} ({}): {}\n", index, plan.arguments[index].text, difference);
    status = kExpectationFailed;
  }
  if (status == kSuccess && !plan.expectations.empty())
    fmt::print("  {} buffers as expected\n", plan.expectations.size());
  return status;
}

/// What a run measured; what it computed is in the plan's arguments.
struct Outcome {
  std::string kernel;
  LaunchReport report;
  TranslationCounts translation;
};

Result<Outcome> launch(const RunOptions& options, Plan& plan) {
  TRY_ASSIGN(DeviceOptions wanted, device_options(options.machine));
  // Rounded up: 0 would be no limit.
  wanted.time_limit =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(options.time_limit));
  wanted.heap_bytes = options.heap_bytes;
  wanted.stack_bytes = options.stack_bytes;
  TRY_ASSIGN(Device device, Device::open(wanted));
  if (const std::string warning = device.properties().warning; !warning.empty())
    fmt::print(stderr, "raddle: {}\n", warning);
  std::string name = options.kernel;
  TRY_ASSIGN(Loaded loaded, load_module(device, plan.images, name));
  plan.chosen = loaded.image;
  TRY_ASSIGN(Kernel kernel, loaded.module.kernel(name));
  TRY_ASSIGN(std::vector<DevicePtr> addresses, upload(device, plan.arguments));
  std::vector<raddle::Argument> values;
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    const Array& array = plan.arguments[i].array;
    values.push_back(plan.arguments[i].is_buffer ? raddle::Argument(addresses[i])
                                                 : raddle::Argument(array.bytes.data(), array.bytes.size()));
  }
  plan.config.block = plan.block_given ? plan.config.block : kernel.suggested_block();
  const LaunchConfig& config = plan.config;
  const std::uint64_t before = device.blocks_completed();
  TRY_ASSIGN(Launch launched, kernel.launch(config, std::span<const raddle::Argument>(values)));
  const Dim3 cluster = kernel.info().blocks_are_clusters ? kernel.info().required_cluster : Dim3{};
  const std::uint64_t blocks = std::uint64_t{config.grid.x} * config.grid.y * config.grid.z * cluster.x *
                               std::max(cluster.y, 1u) * std::max(cluster.z, 1u);
  TRY_ASSIGN(LaunchReport report,
             wait_with_progress(launched, blocks, [&] { return device.blocks_completed() - before; }));
  TRY(device.synchronize());
  TRY(download(device, addresses, plan.arguments));
  return Outcome{kernel.info().name, std::move(report), device.translation_counts()};
}

Result<int> run_once(const RunOptions& options, Plan& plan) {
  TRY(record_launches(options.record, options.decisions));
  TRY_ASSIGN(const Outcome outcome, launch(options, plan));
  print_report(outcome.kernel, plan.config, outcome.report);
  print_translation(outcome.translation);
  return finish(options, plan);
}

/// Each run begins with the arguments as they were given.
Result<int> sweep(const RunOptions& options, Plan& plan) {
  if (options.machine.translation != "modelled") return Error::invalid("--tlb-sweep needs --mmu=modelled");
  const auto count = [&](const std::string& tlb) -> Result<TranslationCounts> {
    RunOptions resized = options;
    resized.machine.tlb = tlb;
    Plan fresh = plan;
    TRY_ASSIGN(const Outcome outcome, launch(resized, fresh));
    plan.chosen = fresh.chosen;
    return outcome.translation;
  };
  const std::string title =
      fmt::format("TLBs of {}{}{}", options.file, options.kernel.empty() ? "" : ": ", options.kernel);
  TRY_ASSIGN(const std::string page, sweep_tlbs(title, options.machine.tlb, count));
  TRY(write_file(options.tlb_sweep, page));
  fmt::print("{}: hit rates over the sizes of TLBs\n", options.tlb_sweep);
  return kSuccess;
}

}  // namespace

int run(const RunOptions& options) {
  Result<Plan> plan = make_plan(options);
  if (!plan) return report(plan.error());
  Result<int> status = options.tlb_sweep.empty() ? run_once(options, *plan) : sweep(options, *plan);
  if (status) return *status;
  if (interrupted()) return kInterrupted;
  Error& error = status.error();
  if (error.where.line != 0 && error.where.file.empty())
    error.where.file = plan->images[plan->chosen].name;  // a fault knows its line only
  return report(error, text_of(plan->images, error));
}

}  // namespace raddle::cli
