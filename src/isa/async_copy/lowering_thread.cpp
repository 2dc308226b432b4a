// JIT: asynchronous copies that each thread makes for itself, complete when the instruction is (ADR 0047).
// Code for devices where copies land late asks the machine for them, lane after lane.
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "exec/mbarrier.h"
#include "isa/op.h"
#include "jit/mbarriers.h"
#include "jit/sends.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

using exec::AccessKind;

/// Of a lane's source: what the last operand says, if it is there.
std::function<llvm::Value*(llvm::Value* lane)> bytes_read(WarpEmitter& e, llvm::Value* all) {
  auto& ir = e.ir;
  if (!e.present(3)) return [all](llvm::Value*) { return all; };
  const WarpValue limit = e.in(3);
  if (limit.type != Type::pred)
    return [&ir, all, bytes = e.lane_value(limit)](llvm::Value* lane) {
      return ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bytes[lane], all);
    };
  Mask ignored;
  for (unsigned p = 0; p < e.parts(); ++p) ignored.push_back(e.part(limit, p).v);
  return [&ir, all, bits = e.bits(ignored).v](llvm::Value* lane) {
    auto* is_ignored = ir.CreateAnd(ir.CreateLShr(bits, lane), ir.getInt32(1));
    return ir.CreateSelect(ir.CreateIsNull(is_ignored), all, ir.getInt32(0));
  };
}

void copy_late(WarpEmitter& e, std::uint32_t bytes) {
  auto& ir = e.ir;
  const LaneValue from =
      e.lane_value(e.addresses.generic(e.operand(1), Mod::global, bytes, AccessKind::load));
  const LaneValue to = e.lane_value(e.addresses.generic(e.operand(0), Mod::shared, bytes, AccessKind::store));
  auto* all = ir.getInt32(bytes);
  const std::function<llvm::Value*(llvm::Value*)> read = bytes_read(e, all);
  e.context.note_line();
  e.for_each_lane(e.bits(e.executing()), [&](llvm::Value* lane) {
    e.context.call_service(exec::Service::thread_copy, {lane, to[lane], from[lane], all, read(lane)});
  });
}

/// The values of operand 1, a scalar or a {vector}, and for a lane all of them as words of 64 bits.
class ValueWords {
 public:
  explicit ValueWords(WarpEmitter& e) : e_(e), bits_(isa::bit_size(e.type())) {
    for (const auto& element : e.elements(1)) {
      const WarpValue value = e.registers.read(element);
      values_.emplace_back(value.type, e.lane_value(value));
    }
  }

  std::array<llvm::Value*, 2> of(llvm::Value* lane) const {
    auto& ir = e_.ir;
    std::array<llvm::Value*, 2> words = {ir.getInt64(0), ir.getInt64(0)};
    unsigned at = 0;
    for (const auto& [type, value] : values_) {
      auto* all = Val{&ir, value[lane], type}.as(isa::bits_type(isa::bit_size(type))).v;
      auto* wide = ir.CreateZExt(ir.CreateZExtOrTrunc(all, ir.getIntNTy(bits_)), ir.getInt64Ty());
      words[at / 64] = ir.CreateOr(words[at / 64], ir.CreateShl(wide, at % 64));
      at += bits_;
    }
    return words;
  }

 private:
  WarpEmitter& e_;
  const unsigned bits_;
  std::vector<std::pair<Type, LaneValue>> values_;
};

void commit(WarpEmitter& e) {
  e.context.call_service(exec::Service::thread_copy_commit, {e.bits(e.executing()).v});
}

}  // namespace

void send_late(WarpEmitter& e, exec::BulkKind kind) {
  auto& ir = e.ir;
  const std::uint32_t bytes = isa::byte_size(e.type()) * e.opcode().vector_length();
  const Mod space = e.get(ModKind::space);
  const LaneValue to = e.lane_value(e.addresses.begin(e.operand(0)).address);
  const LaneValue mbarrier =
      e.lane_value(e.addresses.begin(e.operand(2), space, exec::kMbarrierBytes).address);
  const ValueWords words(e);
  e.context.note_line();
  e.for_each_lane(e.bits(e.executing()), [&](llvm::Value* lane) {
    const auto [low, high] = words.of(lane);
    e.context.call_service(exec::Service::thread_send, {lane, to[lane], mbarrier[lane], low, high,
                                                        ir.getInt32(bytes), ir.getInt32(kind.word())});
  });
}

template <>
void emit<Op::cp_async>(WarpEmitter& e) {
  const auto bytes = static_cast<std::uint32_t>(e.operand(2).value);
  if (e.kernel.late_copies) return copy_late(e, bytes);
  e.memory.copy({.to = 0, .from = 1, .bytes = bytes, .read = 3});
}

template <>
void emit<Op::cp_async_commit_group>(WarpEmitter& e) {
  if (e.kernel.late_copies) commit(e);
}

/// wait_all is for what is in no group yet, too.
template <>
void emit<Op::cp_async_wait_group>(WarpEmitter& e) {
  if (!e.kernel.late_copies) return;
  const bool all = e.has(Mod::wait_all);
  if (all) commit(e);
  const auto groups = all ? 0 : static_cast<std::uint32_t>(e.operand(0).value);
  e.context.call_service(exec::Service::thread_copy_wait, {e.bits(e.executing()).v, e.ir.getInt32(groups)});
}

template <>
void emit<Op::cp_async_mbarrier_arrive>(WarpEmitter& e) {
  arrive_for_copies(e, 0, e.has(Mod::noinc));
}

}  // namespace raddle::jit
