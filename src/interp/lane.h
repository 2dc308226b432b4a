// One lane as reference functions see it: typed operands by position (0 is the first operand as written),
// memory, carry flag, control. Registers hold their value in the low bits, zero above their width.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "exec/abi.h"
#include "exec/access.h"
#include "interp/code.h"
#include "numerics/half.h"

namespace raddle::interp {

class Warp;
using Bits128 = unsigned __int128;

/// Calls f with the number of every lane of the set, lowest first.
template <class F>
void each_lane(std::uint32_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// What a lane waits for at a CTA barrier, and what it gets.
struct BarrierWait {
  enum class Kind : std::uint8_t { sync, all, any, count } kind = Kind::sync;
  std::uint32_t id = 0, threads = 0;
  bool predicate = false;
  bool arrived = false;  ///< counted; released when the generation changes
  std::uint32_t generation = 0;
  bool operator==(const BarrierWait&) const = default;
};

class Lane {
 public:
  enum class State : std::uint8_t { running, at_members, at_barrier, exited };

  // --- operands ---
  const ptx::Operand& operand(unsigned k) const { return operands_[k]; }
  bool has(unsigned k) const { return k < operand_count_ && operands_[k].kind != ptx::Operand::Kind::none; }
  template <class T>
  T in(unsigned k) const {
    return value<T>(operands_[k]);
  }
  template <class T>
  void out(unsigned k, T result) {
    assign<T>(operands_[k], result);
  }
  /// Elements of a vector operand; a scalar counts as one.
  unsigned count(unsigned k) const;
  const ptx::Operand& element(unsigned k, unsigned i) const;
  template <class T>
  T value(const ptx::Operand& operand) const;
  /// Writes a register; a signed T is sign-extended to the register's width, anything else zero-extended.
  template <class T>
  void assign(const ptx::Operand& operand, T result);
  unsigned register_bits(const ptx::Operand& operand) const { return code().register_bits[operand.index]; }

  // --- state ---
  bool carry = false;
  unsigned index() const { return index_; }
  std::uint32_t linear_thread() const;
  Warp& warp() const { return *warp_; }
  exec::WarpContext& context() const;
  const exec::Services& services() const { return *context().cta->services; }
  std::uint64_t special(ptx::SpecialRegister which, unsigned component) const;
  [[noreturn]] void fault(exec::FaultKind kind, std::uint64_t address = 0) const;

  // --- memory (interp/memory.cpp) ---
  /// The one way to memory: host address of an access of `bytes` bytes at address operand k, in the
  /// instruction's space; checks alignment, and bounds where the space has them, and tells the listener.
  /// Faults: misaligned_address, illegal_address.
  std::byte* access(unsigned k, unsigned bytes) const;
  /// The same in a space that the instruction names for this operand.
  std::byte* access(unsigned k, unsigned bytes, isa::Mod named) const;
  /// The same for one of the two accesses of a copy.
  std::byte* access(unsigned k, unsigned bytes, isa::Mod named, exec::AccessKind kind) const;
  /// Where an aligned generic address leads; for what follows from an address that access() has checked.
  /// Fault: illegal_address where the kernel may not go there.
  std::byte* reached(std::uint64_t generic, std::uint32_t bytes,
                     std::optional<exec::AccessKind> of_copy = {}) const;
  /// Tells the listener of the instruction's access; for textures and surfaces, which the machine translates.
  void note_access(std::uint64_t address) const;
  /// Generic address that address operand k names in `space`; the machine itself reads or writes there.
  std::uint64_t generic_address(unsigned k, ptx::Space space) const;
  std::uint64_t to_generic(ptx::Space space, std::uint64_t address) const;
  std::uint64_t from_generic(ptx::Space space, std::uint64_t address) const;
  /// isspacep; for shared memory, the CTA's own.
  bool in_space(ptx::Space space, std::uint64_t generic) const;
  /// isspacep.shared::cluster.
  bool in_cluster(std::uint64_t generic) const;
  /// Address of a variable in its own space; private parameters: generic.
  std::uint64_t variable_address(ptx::VariableId id) const;
  /// The dynamic stack (PTX alloca): grows down from the end of local memory, addresses as of .local.
  std::uint64_t stack_pointer() const;
  /// Fault: stack_overflow where the pointer would leave the room above the function's frame.
  void set_stack_pointer(std::uint64_t pointer);
  /// Marks the warp context while host memory is touched, so that a SIGSEGV names the lane.
  template <class F>
  auto touch(F f) const;

  // --- control (interp/control.cpp) ---
  void branch(ptx::BlockId block);
  void call(const ptx::Call& call);
  void ret();
  void exit();
  void wait_at_barrier(const BarrierWait& wait);
  /// The instruction found a phase of an mbarrier not over.
  void note_phase(std::uint64_t address, bool odd) const;
  /// Argument k of a call to a built-in, zero-extended; and its result.
  std::uint64_t argument(const ptx::Call& call, unsigned k) const;
  void set_return(const ptx::Call& call, std::uint64_t bits);
  /// The arguments as exec::Services::device_runtime takes them; those beyond its room are left out.
  void argument_words(const ptx::Call& call, std::span<std::uint64_t> words) const;
  std::string_view name_of_callee(const ptx::Call& call) const;

  const FunctionCode& code() const { return *frames_[depth_].code; }

 private:
  friend class Warp;

  struct Frame {
    const FunctionCode* code = nullptr;
    std::vector<std::uint64_t> registers;
    std::uint64_t local = 0;          ///< offset of the frame in the thread's local memory
    std::uint32_t dynamic_stack = 0;  ///< bytes of the dynamic stack in use when it was entered
    std::uint32_t return_pc = 0;      ///< in the caller
    const ptx::Call* call = nullptr;  ///< in the caller
  };
  /// Where lanes that diverge will meet again; see joins.h.
  struct Join {
    std::uint32_t depth, pc;
    const FunctionCode* code;
    bool operator==(const Join&) const = default;
  };

  std::byte* host_address(unsigned k, unsigned bytes, isa::Mod named,
                          std::optional<exec::AccessKind> of_copy) const;
  void start(Warp& warp, unsigned index, const FunctionCode& kernel);
  void enter(const FunctionCode& code, std::uint64_t local);
  void begin(const ptx::Instruction& instruction);
  bool guard(const ptx::Instruction& instruction) const;
  void push_join(std::uint32_t pc);
  bool pop_joins_here();
  std::uint64_t raw(const ptx::Operand& operand) const;
  Bits128 raw128(const ptx::Operand& operand) const;
  void store(const ptx::Operand& operand, std::uint64_t bits);
  std::uint64_t base_address(const ptx::Operand& operand, ptx::Space& space) const;
  std::uint64_t constant_window() const;  ///< upper 32 bits of the module's constants' addresses
  std::byte* private_address(ptx::VariableId id, unsigned depth) const;
  void enter_call(const FunctionCode& callee, const ptx::Call& call);
  void pass_value(const ptx::Operand& from, unsigned from_depth, const ptx::Variable& to,
                  ptx::VariableId to_id, unsigned to_depth);
  void return_value(const ptx::Operand& to, unsigned to_depth, ptx::VariableId from, unsigned from_depth);
  const FunctionCode& callee_of(const ptx::Call& call) const;
  const FunctionCode& code_of_entry() const;
  bool is_constant(std::uint64_t generic) const;
  std::byte* remote_address(std::uint64_t generic, unsigned bytes) const;
  /// Where a formal `.reg` parameter is held, or null for a `.param` one.
  std::uint64_t* formal_register(ptx::VariableId id, unsigned depth);

  Warp* warp_ = nullptr;
  const ptx::Operand* operands_ = nullptr;
  unsigned operand_count_ = 0;
  unsigned index_ = 0;
  std::uint32_t pc_ = 0, depth_ = 0;
  State state_ = State::running;
  std::uint32_t member_mask_ = 0;  ///< at_members: lanes waited for
  BarrierWait barrier_;            ///< at_barrier
  const ptx::Instruction* current_ = nullptr;
  std::vector<Frame> frames_;  ///< [0, depth_] in use; deeper ones keep their memory for the next call
  std::array<Join, 8> joins_{};
  unsigned join_count_ = 0;
};

template <class T>
T Lane::value(const ptx::Operand& operand) const {
  if constexpr (sizeof(T) == 16) {
    return raw128(operand);
  } else {
    std::uint64_t bits = raw(operand);
    if constexpr (std::is_same_v<T, bool>) {
      return (bits & 1) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits);
    } else {
      return numerics::from_encoding<T>(bits);
    }
  }
}

template <class T>
void Lane::assign(const ptx::Operand& operand, T result) {
  if constexpr (sizeof(T) == 16) {
    store(operand, static_cast<std::uint64_t>(result));
    std::uint32_t high = operand.is_register() ? code().high[operand.index] : ptx::kNone;
    if (high != ptx::kNone) frames_[depth_].registers[high] = static_cast<std::uint64_t>(result >> 64);
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    store(operand, static_cast<std::uint64_t>(static_cast<Wide>(result)));
  } else if constexpr (sizeof(T) == 2) {
    store(operand, result.bits);
  } else if constexpr (sizeof(T) == 4) {
    store(operand, std::bit_cast<std::uint32_t>(result));
  } else {
    store(operand, std::bit_cast<std::uint64_t>(result));
  }
}

template <class F>
auto Lane::touch(F f) const {
  context().lane = index_ + 1;
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    context().lane = 0;
  } else {
    auto result = f();
    context().lane = 0;
    return result;
  }
}

}  // namespace raddle::interp
