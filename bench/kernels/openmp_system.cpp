// The OpenMP rival: plugins built from openmp/kernels.cpp by each compiler and flag set found at configure
// time (RADDLE_BENCH_PLUGINS: "file=description;..."), each with its own OpenMP runtime, loaded privately.
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
  explicit OpenMpSystem(std::map<std::string, Entry> entries) : entries_(std::move(entries)) {}
  std::string_view name() const override { return "openmp"; }
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
  std::map<std::string, Entry> entries_;
  Entry entry_ = nullptr;
  std::string variant_;
  PluginCall call_{};
};

}  // namespace

Result<std::unique_ptr<System>> make_openmp_system() {
  setenv("OMP_NUM_THREADS", fmt::format("{}", core_count()).c_str(), 1);
  setenv("KMP_BLOCKTIME", "10", 0);  // ms that clang's idle threads spin: not into another system's turn
  std::map<std::string, Entry> entries;
  std::string problems;
  std::string_view rest = RADDLE_BENCH_PLUGINS;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string path = std::string(RADDLE_BENCH_PLUGIN_DIR) + "/" + std::string(item.substr(0, equals));
    void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* entry = plugin ? dlsym(plugin, "bench_openmp_run") : nullptr;
    if (!entry) {
      problems += std::string(dlerror()) + "; ";
      continue;
    }
    entries[std::string(item.substr(equals + 1))] = reinterpret_cast<Entry>(entry);
  }
  if (entries.empty()) {
    return Error::make(raddle::ErrorCode::not_found, "no OpenMP build: {}",
                       problems.empty() ? "no compiler with -fopenmp was found at configure time" : problems);
  }
  return std::unique_ptr<System>(std::make_unique<OpenMpSystem>(std::move(entries)));
}

}  // namespace bench
