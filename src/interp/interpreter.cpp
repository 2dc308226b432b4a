// The interpreter as an exec::Engine.
#include "interp/interpreter.h"

#include <chrono>
#include <mutex>
#include <vector>

#include "base/assert.h"
#include "interp/code.h"
#include "interp/warp.h"

namespace raddle::interp {
namespace {

/// Warps are reused, so that running does not allocate once every worker has what it needs. A warp abandoned
/// by a fault is not returned; it is freed with the executable.
class WarpPool {
 public:
  explicit WarpPool(const ModuleCode& code) : code_(code) {}
  Warp& take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
      all_.push_back(std::make_unique<Warp>(code_));
      free_.reserve(all_.size());
      return *all_.back();
    }
    Warp& warp = *free_.back();
    free_.pop_back();
    return warp;
  }
  void give_back(Warp& warp) {
    std::lock_guard lock(mutex_);
    free_.push_back(&warp);
  }

 private:
  const ModuleCode& code_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Warp>> all_;
  std::vector<Warp*> free_;
};

class InterpretedKernel final : public exec::Executable {
 public:
  explicit InterpretedKernel(std::unique_ptr<ModuleCode> code) : code_(std::move(code)), pool_(*code_) {
    kind = exec::BlockKind::fibers;
    local_bytes = code_->local_bytes;
    count_memory_operations();
  }

  void run_block(exec::CtaContext&) override { RADDLE_UNREACHABLE("the interpreter runs warps"); }
  void run_warp(exec::WarpContext& context) override {
    Warp& warp = pool_.take();
    warp.run(context);
    pool_.give_back(warp);
  }

 private:
  void count_memory_operations() {
    for (const auto& function : code_->functions) {
      if (!function || function->built_in != nullptr) continue;
      for (const auto& instruction : function->function->instructions) {
        const isa::Opcode& opcode = *instruction.opcode;
        if (opcode.is(isa::Effects::control)) continue;
        if (opcode.is(isa::Effects::reads) || opcode.is(isa::Effects::writes)) ++statistics.memory_operations;
      }
    }
    statistics.not_vectorised = statistics.memory_operations;
  }

  std::unique_ptr<ModuleCode> code_;
  WarpPool pool_;
};

class Interpreter final : public exec::Engine {
 public:
  explicit Interpreter(exec::AccessListener* listener) : listener_(listener) {}
  std::string_view name() const override { return "interp"; }
  std::uint64_t shape_class(exec::BlockShape) const override { return 0; }
  Result<std::unique_ptr<exec::Executable>> compile(const ptx::Module& module, ptx::FunctionId kernel,
                                                    const exec::CompileOptions& options) override {
    auto begin = std::chrono::steady_clock::now();
    TRY_ASSIGN(auto code, prepare(module, kernel, options.stack_bytes));
    code->listener = listener_;
    code->matrix_arithmetic = options.matrix_arithmetic;
    std::unique_ptr<exec::Executable> made = std::make_unique<InterpretedKernel>(std::move(code));
    made->statistics.compile_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return made;
  }

 private:
  exec::AccessListener* const listener_;
};

}  // namespace

std::unique_ptr<exec::Engine> make_engine(exec::AccessListener* listener) {
  return std::make_unique<Interpreter>(listener);
}

}  // namespace raddle::interp
