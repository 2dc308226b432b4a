#include "runtime/hardware.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <vector>

#include "distribute/live_recorder.h"
#include "interp/interpreter.h"
#include "machine/shape/shape_file.h"
#include "proxy/server.h"
#include "runtime/copy_checker.h"
#ifdef RADDLE_JIT
#include "jit/engine.h"
#endif

namespace raddle {
namespace {

/// Things in use, by what was asked for.
template <class Key, class Thing>
class Shared {
 public:
  /// @param make  () -> Result<std::shared_ptr<Thing>>
  template <class Make>
  Result<std::shared_ptr<Thing>> get(const Key& key, Make make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(in_use_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [known, thing] : in_use_)
      if (known == key)
        if (auto found = thing.lock()) return found;
    TRY_ASSIGN(std::shared_ptr<Thing> made, make());
    in_use_.emplace_back(key, made);
    return made;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<Key, std::weak_ptr<Thing>>> in_use_;
};

#ifdef RADDLE_JIT
Result<jit::SimdLevel> simd_level(const std::string& name) {
  if (name.empty() || name == "host") return jit::SimdLevel::host;
  if (name == "avx512") return jit::SimdLevel::avx512;
  if (name == "avx2") return jit::SimdLevel::avx2;
  if (name == "sse42") return jit::SimdLevel::sse42;
  return Error::make(ErrorCode::not_found, "no vectors '{}'; there are avx512, avx2, sse42", name);
}

Result<std::optional<jit::Tier>> tier(const std::string& name) {
  if (name.empty()) return std::optional<jit::Tier>{};
  if (const auto known = jit::tier_named(name)) return known;
  return Error::make(ErrorCode::not_found, "no tier '{}'; there are quick, balanced, optimised", name);
}
#endif

Result<std::unique_ptr<exec::Engine>> make_engine(const DeviceOptions& options) {
  TRY(check_engine(options.engine));
#ifdef RADDLE_JIT
  if (options.engine != "interp") {
    jit::EngineOptions wanted;
    TRY_ASSIGN(wanted.simd, simd_level(options.simd));
    TRY_ASSIGN(wanted.tier, tier(options.tier));
    const std::string cache =
        options.code_cache.empty() ? jit::default_cache_directory() : options.code_cache;
    wanted.cache = cache != "off";
    if (wanted.cache) wanted.cache_directory = cache;
    return jit::make_engine(wanted);
  }
#endif
  return make_interpreter(options);
}

Result<std::shared_ptr<machine::Machine>> make_machine(const DeviceOptions& options,
                                                       machine::MachineShape shape) {
  struct Recorded {  // a machine's recorder outlives it
    std::unique_ptr<distribute::LiveRecorder> recorder;
    std::shared_ptr<machine::Machine> machine;
  };
  auto made = std::make_shared<Recorded>();
  TRY_ASSIGN(made->recorder, distribute::LiveRecorder::from_environment(shape, options.policy));
  TRY_ASSIGN(const machine::MmuSpec mmu, machine::parse_mmu_spec(options.tlb));
  TRY_ASSIGN(made->machine, machine::Machine::create({.shape = std::move(shape),
                                                      .policy = options.policy,
                                                      .distributor = options.distributor,
                                                      .workers = options.workers,
                                                      .pin = options.pin,
                                                      .deterministic = options.deterministic,
                                                      .asynchrony = options.asynchrony,
                                                      .mmu = mmu,
                                                      .contexts = options.contexts,
                                                      .recorder = made->recorder.get()}));
  return std::shared_ptr<machine::Machine>(made, made->machine.get());
}

}  // namespace

Result<std::shared_ptr<machine::Machine>> shared_machine(const DeviceOptions& options) {
  using Key = std::tuple<machine::MachineShape, unsigned, std::string, DistributorOptions, unsigned, bool,
                         std::string, std::optional<ContextMode>>;
  static Shared<Key, machine::Machine>& machines = *new Shared<Key, machine::Machine>;
  TRY_ASSIGN(machine::MachineShape shape, machine::find_shape(options.shape));
  if (options.memory_bytes != 0) shape.memory_bytes = std::min(shape.memory_bytes, options.memory_bytes);
  if (options.deterministic) return make_machine(options, std::move(shape));
  const Key key{shape,           options.ordinal, options.policy, options.distributor,
                options.workers, options.pin,     options.tlb,    options.contexts};
  return machines.get(key, [&] { return make_machine(options, shape); });
}

Result<ServedMachine> served_machine(const std::string& path) {
  TRY_ASSIGN(const proxy::Server* const server, proxy::Server::connect(path));
  return ServedMachine{server->machine()->shape(), server->machine()->capacity()};
}

Result<void> check_engine(const std::string& name) {
  if (name.empty() || name == "interp") return {};
#ifdef RADDLE_JIT
  if (name == "jit") return {};
  return Error::make(ErrorCode::not_found, "no engine '{}'; there are jit, interp", name);
#else
  return Error::make(ErrorCode::not_found, "no engine '{}'; this build has interp only", name);
#endif
}

std::unique_ptr<exec::Engine> make_interpreter(const DeviceOptions& options) {
  const bool is_late = options.asynchrony.mode != Asynchrony::Mode::eager;
  return interp::make_engine(is_late ? &copy_checker() : nullptr);
}

Result<std::shared_ptr<exec::Engine>> shared_engine(const DeviceOptions& options) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, bool>;
  static Shared<Key, exec::Engine>& engines = *new Shared<Key, exec::Engine>;
  const bool is_late = options.asynchrony.mode != Asynchrony::Mode::eager;
  return engines.get({options.engine, options.simd, options.tier, options.code_cache, is_late},
                     [&]() -> Result<std::shared_ptr<exec::Engine>> {
                       TRY_ASSIGN(std::unique_ptr<exec::Engine> made, make_engine(options));
                       return std::shared_ptr<exec::Engine>(std::move(made));
                     });
}

}  // namespace raddle
