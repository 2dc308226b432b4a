// Operand access and special registers of a lane; see lane.h.
#include "interp/lane.h"

#include <algorithm>

#include "base/assert.h"
#include "exec/cluster.h"
#include "exec/executable.h"
#include "interp/special_registers.h"
#include "interp/warp.h"

namespace raddle::interp {

using Kind = ptx::Operand::Kind;

exec::WarpContext& Lane::context() const { return warp_->context(); }
std::uint32_t Lane::linear_thread() const { return context().warp_id * exec::kWarpSize + index_; }

void Lane::fault(exec::FaultKind kind, std::uint64_t address) const { warp_->fault(kind, address, index_); }

unsigned Lane::count(unsigned k) const { return operands_[k].kind == Kind::vector ? operands_[k].count : 1; }

const ptx::Operand& Lane::element(unsigned k, unsigned i) const {
  const ptx::Operand& operand = operands_[k];
  if (operand.kind != Kind::vector) return operand;
  return code().function->elements[operand.index + i];
}

std::uint64_t Lane::raw(const ptx::Operand& operand) const {
  std::uint64_t bits = 0;
  switch (operand.kind) {
    case Kind::reg:
      bits = frames_[depth_].registers[operand.index];
      break;
    case Kind::immediate:
      bits = static_cast<std::uint64_t>(operand.value);
      break;
    case Kind::special:
      bits = special(static_cast<ptx::SpecialRegister>(operand.index), operand.component);
      break;
    case Kind::variable:
      bits = variable_address(operand.index) + static_cast<std::uint64_t>(operand.value);
      break;
    case Kind::function:
      bits = exec::function_handle(operand.index);
      break;
    case Kind::none:
    case Kind::sink:
      break;
    default:
      RADDLE_UNREACHABLE("operand has no value");
  }
  return operand.negated ? (bits & 1) ^ 1 : bits;
}

Bits128 Lane::raw128(const ptx::Operand& operand) const {
  Bits128 bits = raw(operand);
  std::uint32_t high = operand.is_register() ? code().high[operand.index] : ptx::kNone;
  if (high != ptx::kNone) bits |= static_cast<Bits128>(frames_[depth_].registers[high]) << 64;
  return bits;
}

void Lane::store(const ptx::Operand& operand, std::uint64_t bits) {
  if (operand.kind == Kind::sink || operand.kind == Kind::none) return;
  RADDLE_ASSERT(operand.kind == Kind::reg, "destination is no register");
  unsigned width = code().register_bits[operand.index];
  frames_[depth_].registers[operand.index] = width < 64 ? bits & ((std::uint64_t{1} << width) - 1) : bits;
}

namespace {
using Read = std::uint64_t (*)(const Lane&, unsigned component);
constexpr Read kReads[] = {
#define PTX_SREG(id, ...) &special_register<isa::SpecialRegister::id>,
#include "isa/special_registers/registers.def"
#undef PTX_SREG
};
}  // namespace

std::uint64_t Lane::special(ptx::SpecialRegister which, unsigned component) const {
  return kReads[static_cast<std::size_t>(which)](*this, component);
}

void Lane::start(Warp& warp, unsigned index, const FunctionCode& kernel) {
  warp_ = &warp;
  index_ = index;
  depth_ = 0;
  state_ = State::running;
  carry = false;
  join_count_ = 0;
  frames_.resize(std::max<std::size_t>(frames_.size(), 1));
  context().dynamic_stack[index_] = 0;
  enter(kernel, 0);
}

void Lane::enter(const FunctionCode& code, std::uint64_t local) {
  Frame& frame = frames_[depth_];
  frame.code = &code;
  frame.registers.assign(code.frame_words, 0);
  frame.local = local;
  frame.dynamic_stack = context().dynamic_stack[index_];
  pc_ = 0;
}

void Lane::begin(const ptx::Instruction& instruction) {
  current_ = &instruction;
  operands_ = code().function->operands.data() + instruction.operands;
  operand_count_ = instruction.operand_count;
}

bool Lane::guard(const ptx::Instruction& instruction) const {
  if (instruction.guard == ptx::kNone) return true;
  bool holds = (frames_[depth_].registers[instruction.guard] & 1) != 0;
  return holds != instruction.guard_negated;
}

void Lane::push_join(std::uint32_t pc) {
  Join join{depth_, pc, &code()};
  if (join_count_ != 0 && joins_[join_count_ - 1] == join) return;
  if (join_count_ == joins_.size()) {  // the outermost hint is lost
    std::copy(joins_.begin() + 1, joins_.end(), joins_.begin());
    --join_count_;
  }
  joins_[join_count_++] = join;
}

bool Lane::pop_joins_here() {
  bool popped = false;
  while (join_count_ != 0 && joins_[join_count_ - 1] == Join{depth_, pc_, &code()}) {
    --join_count_;
    popped = true;
  }
  return popped;
}

}  // namespace raddle::interp
