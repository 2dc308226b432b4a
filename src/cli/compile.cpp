// `raddle compile`: fills the code cache ahead of time, so that a later run starts at once. Kernels are
// compiled side by side.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/images.h"
#include "cli/launch.h"
#include "cli/machine_options.h"
#include "raddle/raddle.h"

namespace raddle::cli {
namespace {

struct Job {
  std::string name;
  Result<Kernel> kernel;
  std::optional<Result<LaunchReport>> outcome;
};

/// All kernels of all modules, or those that were asked for.
std::vector<Job> jobs_of(std::vector<Module>& modules, const std::vector<std::string>& wanted) {
  std::vector<Job> jobs;
  std::vector<std::string> all;
  for (Module& module : modules) {
    for (const std::string& name : module.kernels()) {
      all.push_back(name);
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
        jobs.push_back({name, module.kernel(name), std::nullopt});
    }
  }
  for (const std::string& name : wanted)
    if (std::find(all.begin(), all.end(), name) == all.end())
      jobs.push_back(
          {name,
           Error::make(ErrorCode::not_found, "no kernel '{}'; the file has: {}", name, fmt::join(all, ", ")),
           std::nullopt});
  return jobs;
}

void work_on(Job& job, std::optional<Dim3> block) {
  job.outcome = job.kernel ? job.kernel->compile(block.value_or(job.kernel->suggested_block()))
                           : Result<LaunchReport>(job.kernel.error());
}

void compile_all(std::vector<Job>& jobs, std::optional<Dim3> block) {
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t k = next++; k < jobs.size(); k = next++) work_on(jobs[k], block);
  };
  std::vector<std::thread> threads;
  const std::size_t count =
      std::min<std::size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t t = 1; t < count; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

/// One line per kernel; the exit status of the first error.
int print_outcomes(const std::vector<Job>& jobs) {
  int status = kSuccess;
  for (const Job& job : jobs) {
    const Result<LaunchReport>& outcome = *job.outcome;
    if (outcome) {
      fmt::print("{}: {} in {}{}\n", demangle(job.name), outcome->block_kind,
                 time_text(outcome->compile_seconds), code_origin(*outcome));
      continue;
    }
    const int reported = report(outcome.error());
    if (status == kSuccess) status = reported;
  }
  return status;
}

}  // namespace

int compile(const CompileOptions& options) {
  Result<std::vector<fatbin::PtxImage>> images = read_images(options.file, options.machine.shape);
  if (!images) return report(images.error());
  std::optional<Dim3> block;
  if (!options.block.empty()) {
    Result<Dim3> parsed = parse_dim3(options.block, "block");
    if (!parsed) return report(parsed.error());
    block = *parsed;
  }
  Result<DeviceOptions> wanted = device_options(options.machine);
  if (!wanted) return report(wanted.error());
  if (wanted->tier.empty()) wanted->tier = "optimised";  // ahead of time, there is time
  Result<Device> device = Device::open(*wanted);
  if (!device) return report(device.error());
  std::vector<Module> modules;
  for (const fatbin::PtxImage& image : *images) {
    Result<Module> module = device->load(image.text, image.name);
    if (!module) return report(module.error(), image.text);
    modules.push_back(std::move(*module));
  }
  std::vector<Job> jobs = jobs_of(modules, options.kernels);
  compile_all(jobs, block);
  return print_outcomes(jobs);
}

}  // namespace raddle::cli
