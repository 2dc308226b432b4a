#include "runtime/copy_checker.h"

#include "machine/sm/worker.h"

namespace raddle {
namespace {
class CopyChecker final : public exec::AccessListener {
 public:
  void on_access(const exec::Access& access, unsigned lane, std::uint64_t address) override {
    const bool is_memory = access.space == ptx::Space::generic || access.space == ptx::Space::shared ||
                           access.space == ptx::Space::global;
    const bool is_load = access.kind == exec::AccessKind::load;
    // Loads that may see what others do are a way of waiting.
    if (!is_memory || (is_load && access.instruction->opcode->observes())) return;
    machine::Worker* const worker = machine::current_worker();
    if (worker != nullptr && worker->adversary() != nullptr)
      worker->judge_access({address, access.bytes}, is_load, lane, access.instruction->line);
  }
};
}  // namespace

exec::AccessListener& copy_checker() {
  static CopyChecker checker;
  return checker;
}

}  // namespace raddle
