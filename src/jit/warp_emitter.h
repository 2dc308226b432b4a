// What the lowering of an instruction of a whole warp sees (collectives, memory, barriers, services): its
// operands as values of the warp, its results, the lanes that take part, and the objects that write code for
// what it needs. Lowerings of one lane see an Emitter (emitter.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/lane_loops.h"
#include "jit/meetings.h"
#include "jit/memory_access.h"
#include "jit/regions.h"

namespace raddle::jit {

using isa::Mod;
using isa::ModKind;
using isa::Op;

/// A value for each lane, in memory: for loops over lanes.
class LaneArray {
 public:
  LaneArray(WarpValues& values, llvm::Value* array, llvm::Type* element)
      : values_(values), array_(array), element_(element) {}
  llvm::Value* operator[](llvm::Value* lane) const { return values_.load_lane(array_, element_, lane); }
  void set(llvm::Value* lane, llvm::Value* value) const { values_.store_lane(array_, value, lane); }
  std::vector<llvm::Value*> parts() const { return values_.reload(array_, element_); }
  llvm::Value* pointer() const { return array_; }

 private:
  WarpValues& values_;
  llvm::Value* array_;
  llvm::Type* element_;
};

/// The same for values that may be one for all lanes.
class LaneValue {
 public:
  explicit LaneValue(llvm::Value* same) : same_(same) {}
  explicit LaneValue(LaneArray lanes) : lanes_(lanes) {}
  bool is_uniform() const { return same_ != nullptr; }
  llvm::Value* operator[](llvm::Value* lane) const { return same_ ? same_ : (*lanes_)[lane]; }

 private:
  llvm::Value* same_ = nullptr;
  std::optional<LaneArray> lanes_;
};

class WarpEmitter {
 public:
  // ---- the objects ----
  Builder& ir;
  const KernelPlan& kernel;
  const Cursor& cursor;
  FunctionBuilder& code;
  WarpValues& values;
  Masks& masks;
  Context& context;
  StateSpaces& spaces;
  Registers& registers;
  LaneLoops& loops;
  Addresses& addresses;
  MemoryAccess& memory;
  Meetings& meetings;
  Regions& regions;
  exec::CodeStatistics& statistics;

  // ---- the instruction ----
  const isa::Opcode& opcode() const { return cursor.opcode(); }
  bool has(Mod m) const { return opcode().has(m); }
  Mod get(ModKind k) const { return opcode().get(k); }
  Type type(unsigned i = 0) const { return opcode().type(i); }
  unsigned operand_count() const { return cursor.instruction->operand_count; }
  const ptx::Operand& operand(unsigned k) const { return cursor.operand(k); }
  bool present(unsigned k) const { return cursor.present(k); }  ///< optional operand given
  bool wants(unsigned k) const { return cursor.wants(k); }      ///< destination k is given and no sink
  std::vector<ptx::Operand> elements(unsigned k) const { return cursor.elements(k); }

  // ---- operands ----
  /// Source operand k (position in the form, destinations counted).
  WarpValue in(unsigned k) { return registers.read(k); }
  /// The same as a collective sees it: from each participant's place.
  WarpValue collective(unsigned k) { return meetings.collective(k); }
  /// Part p of a value; of a mask.
  Val part(const WarpValue& value, unsigned p) { return values.part(value, p); }
  Val part(const WarpValue& value, unsigned p, Type t) { return values.part(value, p).as(t); }
  Val part(const Mask& mask, unsigned p) { return {&ir, mask[p], Type::pred}; }
  /// The one value of a uniform operand.
  Val scalar(const WarpValue& value) { return values.scalar_of_uniform(value); }

  // ---- results ----
  /// Destination k: the same in all lanes.
  void out(unsigned k, Type t, llvm::Value* scalar) { registers.write_uniform(operand(k), t, scalar); }
  void out(unsigned k, Val scalar) { out(k, scalar.type, scalar.v); }
  /// Part by part.
  void out(unsigned k, Type t, std::vector<llvm::Value*> parts) {
    registers.write_parts(operand(k), t, std::move(parts));
  }
  void out(unsigned k, Type t, const LaneArray& lanes) { out(k, t, lanes.parts()); }
  void out(unsigned k, const WarpValue& value) { registers.write(operand(k), value); }
  /// The vectors of `make` for every part.
  std::vector<llvm::Value*> by_part(const std::function<Val(unsigned p)>& make) {
    std::vector<llvm::Value*> made;
    for (unsigned p = 0; p < parts(); ++p) made.push_back(make(p).v);
    return made;
  }

  // ---- values ----
  unsigned parts() const { return code.parts(); }
  unsigned lanes() const { return code.lanes(); }
  llvm::FixedVectorType* words() { return code.vector_of(ir.getInt32Ty()); }
  Val word(std::uint32_t value) { return {&ir, ir.getInt32(value), Type::u32}; }
  Val word(llvm::Value* value) { return {&ir, value, Type::u32}; }
  Val splat(Val scalar) { return {&ir, code.splat(scalar.v), scalar.type}; }
  llvm::Value* splat(llvm::Value* scalar) { return code.splat(scalar); }
  /// Numbers of the lanes of part p.
  Val lane_numbers(unsigned p) { return {&ir, code.lane_numbers(32, p), Type::s32}; }

  // ---- lanes ----
  Mask executing() { return registers.executing(); }       ///< those that the guard admits
  bool runs_whole_warp();                                  ///< known when code is written: all 32 execute it
  Mask participants() { return meetings.participants(); }  ///< of a collective, also at other places
  Val bits(const Mask& mask) { return word(masks.bits(mask)); }
  void if_any(Val bits, const std::function<void()>& then) {
    code.if_then(ir.CreateICmpNE(bits.v, ir.getInt32(0)), then);
  }
  /// Emits the body for each lane in the word, lowest first.
  void for_each_lane(Val bits, const LaneLoops::Body& body) { loops.for_each(bits.v, body); }
  /// A place for each lane's value, uninitialised.
  LaneArray lane_array(llvm::Type* element, const char* name);
  LaneArray spill(const WarpValue& value);
  LaneArray spill(const std::vector<llvm::Value*>& parts);
  LaneValue lane_value(const WarpValue& value) {
    return value.shape.uniform() ? LaneValue(scalar(value).v) : LaneValue(spill(value));
  }
};

/// emit<Op>: the code of a row that is no plain lane operation (memory, warp collectives, barriers,
/// services); declared for every such done row, so that a missing one is a link error that names the op.
template <Op>
void emit(WarpEmitter& e) = delete;
using EmitFunction = void (*)(WarpEmitter&);
EmitFunction emission_of(Op op);

}  // namespace raddle::jit
