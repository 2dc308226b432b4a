// The OpenMP rival: plugins built from openmp/ by each compiler and flag set found at configure time
// (RADDLE_BENCH_PLUGINS: "file=instruction set=description;..."), each with its own OpenMP runtime, loaded
// privately.
#include <dlfcn.h>
#include <fmt/format.h>

#include <map>

#include "parallel.h"
#include "system.h"

namespace bench {
namespace {

using Entry = void (*)(const PluginCall*);

class OpenMpSystem : public System {
 public:
  OpenMpSystem(std::string_view name, std::map<std::string, Entry> entries)
      : name_(name), entries_(std::move(entries)) {}
  std::string_view name() const override { return name_; }
  std::vector<std::string> variants() const override {
    std::vector<std::string> names;
    for (const auto& [variant, entry] : entries_) names.push_back(variant);
    return names;
  }
  Result<void> prepare(Workload& workload, const std::string& variant) override {
    entry_ = entries_.at(variant);
    variant_ = variant;
    call_ = {workload.kernel, {}, workload.size};
    for (std::size_t i = 0; i < workload.buffers.size(); ++i) call_.buffers[i] = workload.buffers[i].data();
    return {};
  }
  Result<void> run() override {
    entry_(&call_);
    return {};
  }
  std::string remark() const override { return variant_; }

 private:
  std::string name_;
  std::map<std::string, Entry> entries_;
  Entry entry_ = nullptr;
  std::string variant_;
  PluginCall call_{};
};

/// The text before the next `separator`, which goes with it from `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::string_view item = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), item.size() + 1));
  return item;
}

}  // namespace

Result<std::unique_ptr<System>> make_openmp_system(std::string_view name, std::string_view simd) {
  setenv("OMP_NUM_THREADS", fmt::format("{}", core_count()).c_str(), 1);
  setenv("KMP_BLOCKTIME", "10", 0);  // ms that clang's idle threads spin: not into another system's turn
  // The widest vectors are those of the host, whose name is that of no instruction set.
  const std::string_view wanted = simd == "avx512" ? "native" : simd;
  std::map<std::string, Entry> entries;
  std::string problems;
  std::string_view rest = RADDLE_BENCH_PLUGINS;
  while (!rest.empty()) {
    std::string_view description = take(rest, ';');
    const std::string path = std::string(RADDLE_BENCH_PLUGIN_DIR) + "/" + std::string(take(description, '='));
    if (take(description, '=') != wanted) continue;
    void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* entry = plugin ? dlsym(plugin, "bench_openmp_run") : nullptr;
    if (!entry) {
      problems += std::string(dlerror()) + "; ";
      continue;
    }
    entries[std::string(description)] = reinterpret_cast<Entry>(entry);
  }
  if (entries.empty()) {
    return Error::make(raddle::ErrorCode::not_found, "no OpenMP build: {}",
                       problems.empty() ? "no compiler with -fopenmp was found at configure time" : problems);
  }
  return std::unique_ptr<System>(std::make_unique<OpenMpSystem>(name, std::move(entries)));
}

}  // namespace bench
