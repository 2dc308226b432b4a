// Branches, calls and returns of a lane.
#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "exec/executable.h"
#include "interp/lane.h"
#include "interp/warp.h"
#include "ptx/signature.h"

namespace raddle::interp {

using Kind = ptx::Operand::Kind;
using ptx::Space;

void Lane::branch(ptx::BlockId block) { pc_ = code().function->blocks[block].begin; }

void Lane::exit() {
  state_ = State::exited;
  warp_->exit_lane(index_);
}

void Lane::wait_at_barrier(const BarrierWait& wait) {
  if (wait.id >= exec::kMaxBarriers) fault(exec::FaultKind::illegal_barrier, wait.id);
  state_ = State::at_barrier;
  barrier_ = wait;
}

void Lane::note_phase(std::uint64_t address, bool odd) const {
  const auto n = static_cast<std::size_t>(current_ - code().function->instructions.data());
  if (code().instructions[n].is_awaited) warp_->wait_for_phase(index_, address, odd);
}

const FunctionCode& Lane::callee_of(const ptx::Call& call) const {
  bool direct = call.callee.kind == Kind::function;
  std::uint64_t handle = direct ? exec::function_handle(call.callee.index) : raw(call.callee);
  if (handle == 0 || handle > warp_->module().functions.size())
    fault(exec::FaultKind::invalid_function, handle);
  const FunctionCode* code = warp_->module().find(exec::function_of_handle(handle));
  if (code == nullptr) fault(exec::FaultKind::invalid_function, handle);
  const ptx::Function& function = *code->function;
  if (!direct && !ptx::signature_fits(*warp_->module().module, *this->code().function, call, function))
    fault(exec::FaultKind::invalid_function, handle);
  return *code;
}

void Lane::call(const ptx::Call& call) {
  const FunctionCode& callee = callee_of(call);
  if (callee.built_in != nullptr) {
    callee.built_in(*this, call);
    return;
  }
  enter_call(callee, call);
}

void Lane::enter_call(const FunctionCode& callee, const ptx::Call& call) {
  std::uint64_t local = frames_[depth_].local + code().local_bytes;
  if (local + callee.local_bytes > stack_pointer()) fault(exec::FaultKind::stack_overflow);
  if (frames_.size() == depth_ + 1) frames_.emplace_back();
  std::uint32_t back = pc_, caller = depth_;
  ++depth_;
  enter(callee, local);
  frames_[depth_].return_pc = back;
  frames_[depth_].call = &call;
  const ptx::Module& module = *warp_->module().module;
  for (std::size_t k = 0; k < call.arguments.size(); ++k) {
    ptx::VariableId id = callee.function->parameters[k];
    pass_value(call.arguments[k], caller, module.variables[id], id, depth_);
  }
}

void Lane::ret() {
  if (depth_ == 0) {
    exit();
    return;
  }
  Frame& frame = frames_[depth_];
  const auto& formals = frame.code->function->returns;
  for (std::size_t k = 0; k < formals.size(); ++k) {
    return_value(frame.call->returns[k], depth_ - 1, formals[k], depth_);
  }
  context().dynamic_stack[index_] = frame.dynamic_stack;
  pc_ = frame.return_pc;
  --depth_;
}

namespace {

/// Register that a formal `.reg` parameter is bound to: the one of its name.
ptx::RegisterId register_named(const ptx::Function& function, const std::string& name) {
  for (std::size_t r = 0; r < function.registers.size(); ++r) {
    if (function.registers[r].name == name) return static_cast<ptx::RegisterId>(r);
  }
  RADDLE_UNREACHABLE("a .reg parameter has no register");
}

}  // namespace

std::uint64_t* Lane::formal_register(ptx::VariableId id, unsigned depth) {
  const ptx::Variable& variable = warp_->module().module->variables[id];
  if (variable.space != Space::reg) return nullptr;
  return &frames_[depth].registers[register_named(*frames_[depth].code->function, variable.name)];
}

void Lane::pass_value(const ptx::Operand& from, unsigned from_depth, const ptx::Variable& to,
                      ptx::VariableId to_id, unsigned to_depth) {
  std::uint64_t scratch = 0;
  const void* source = &scratch;
  std::size_t size = std::min<std::size_t>(to.size, sizeof scratch);
  if (from.kind == Kind::variable) {
    source = private_address(from.index, from_depth) + from.value;
    size = std::min<std::size_t>(to.size, warp_->module().module->variables[from.index].size);
  } else {
    depth_ = from_depth;
    scratch = raw(from);
    depth_ = to_depth;
  }
  std::uint64_t* target = formal_register(to_id, to_depth);
  if (target != nullptr) {
    *target = 0;
    std::memcpy(target, source, std::min(size, sizeof *target));
  } else {
    std::memcpy(private_address(to_id, to_depth), source, size);
  }
}

void Lane::return_value(const ptx::Operand& to, unsigned to_depth, ptx::VariableId from,
                        unsigned from_depth) {
  std::uint64_t* held = formal_register(from, from_depth);
  const void* source = held != nullptr ? static_cast<void*>(held) : private_address(from, from_depth);
  std::size_t size = warp_->module().module->variables[from].size;
  if (to.kind == Kind::variable) {
    size = std::min<std::size_t>(size, warp_->module().module->variables[to.index].size);
    std::memcpy(private_address(to.index, to_depth) + to.value, source, size);
    return;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, source, std::min(size, sizeof bits));
  depth_ = to_depth;
  store(to, bits);
  depth_ = from_depth;
}

std::uint64_t Lane::argument(const ptx::Call& call, unsigned k) const {
  if (k >= call.arguments.size()) return 0;
  const ptx::Operand& from = call.arguments[k];
  if (from.kind != Kind::variable) return raw(from);
  std::uint64_t bits = 0;
  std::size_t size = warp_->module().module->variables[from.index].size;
  std::memcpy(&bits, private_address(from.index, depth_) + from.value, std::min(size, sizeof bits));
  return bits;
}

void Lane::argument_words(const ptx::Call& call, std::span<std::uint64_t> words) const {
  const ptx::Module& module = *warp_->module().module;
  std::size_t next = 0;
  for (unsigned k = 0; k < call.arguments.size() && next < words.size(); ++k) {
    const ptx::Operand& from = call.arguments[k];
    if (from.kind != Kind::variable || module.variables[from.index].dimensions.empty()) {
      words[next++] = argument(call, k);
      continue;
    }
    for (std::size_t at = 0; at + 4 <= module.variables[from.index].size && next < words.size(); at += 4) {
      std::uint32_t word;
      std::memcpy(&word, private_address(from.index, depth_) + from.value + at, sizeof word);
      words[next++] = word;
    }
  }
}

std::string_view Lane::name_of_callee(const ptx::Call& call) const {
  const std::vector<ptx::Function>& functions = warp_->module().module->functions;
  const ptx::Function& callee = functions[call.callee.index];
  return callee.alias_of == ptx::kNone ? callee.name : functions[callee.alias_of].name;
}

void Lane::set_return(const ptx::Call& call, std::uint64_t bits) {
  if (call.returns.empty()) return;
  const ptx::Operand& to = call.returns[0];
  if (to.kind != Kind::variable) {
    store(to, bits);
    return;
  }
  std::size_t size = warp_->module().module->variables[to.index].size;
  std::memcpy(private_address(to.index, depth_) + to.value, &bits, std::min(size, sizeof bits));
}

}  // namespace raddle::interp
