// Functions' frames and branches.
#include <llvm/IR/Constants.h>

#include <bit>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {
namespace {

constexpr unsigned char kNop[] = {0x0f, 0x1f, 0x40, 0x00};  // as long as a move of a register that is kept

}  // namespace

/// What a function has to give back as it got it lies below rbp.
template <class Move>
void Selector::move_kept(const Move& move) {
  std::int32_t place = 0;
  for (std::uint32_t left = kept_by(llvm::CallingConv::C); left != 0; left &= left - 1) {
    const auto reg = static_cast<unsigned>(std::countr_zero(left));
    moves_of_kept_.push_back({code_.offset(), reg});
    move(x86::gpq(reg), x86::ptr(x86::rbp, place -= 8));
  }
}

void Selector::prologue() {
  a_.push(x86::rbp);
  a_.mov(x86::rbp, x86::rsp);
  a_.long_().sub(x86::rsp, 0x7fffffff);
  frame_size_at_ = code_.offset() - 4;
  a_.and_(x86::rsp, -64);
  move_kept([&](const x86::Gp& kept, const x86::Mem& place) { a_.mov(place, kept); });
  lay_out_variables();
  receive_arguments();
}

std::uint32_t Selector::finish_frame() {
  auto* text = code_.holder.textSection()->buffer().data();
  for (const auto& [at, reg] : moves_of_kept_)
    if (!places_.has_written(Class::general, reg)) std::memcpy(text + at, kNop, sizeof kNop);
  const auto kept = static_cast<std::uint32_t>(std::popcount(kept_by(llvm::CallingConv::C)));
  const std::uint32_t size = (places_.frame_bytes() + 63) / 64 * 64 + 8 * kept;
  std::memcpy(text + frame_size_at_, &size, sizeof size);
  return size;
}

/// To their homes, if those are no other argument's way in, or to slots.
void Selector::receive_arguments() {
  std::uint32_t ways_in = 0;
  for (unsigned n = 0; n < std::min<std::size_t>(function_.arg_size(), kArgumentsInRegisters); ++n)
    ways_in |= 1u << kArgumentRegisters[n];
  std::vector<PieceId> later;
  unsigned n = 0;
  for (const llvm::Argument& argument : function_.args()) {
    const auto kind = shape_of(argument.getType());
    if (!kind || kind->kind != Class::general) {
      unknown_ = "an argument that is no scalar";
      return;
    }
    const PieceId id = piece(&argument);
    const std::int8_t home = analysis_.pieces[id].home;
    const bool is_in_register = n < kArgumentsInRegisters, is_truth = argument.getType()->isIntegerTy(1);
    const unsigned from = is_in_register ? kArgumentRegisters[n] : kScratch.id();
    if (!is_in_register)
      a_.mov(kScratch, x86::ptr(x86::rbp, static_cast<std::int32_t>(16 + 8 * (n - kArgumentsInRegisters))));
    if (is_truth) a_.and_(general_register(from, 32), 1);
    if (home >= 0 && static_cast<unsigned>(home) == from) {
      places_.define(id);
    } else if (home >= 0 && !(ways_in >> home & 1)) {
      a_.mov(x86::gpq(places_.define(id)), x86::gpq(from));
    } else {
      a_.mov(places_.define_in_memory(id), x86::gpq(from));
      if (home >= 0) later.push_back(id);
    }
    ++n;
  }
  for (const PieceId id : later) places_.made(id);
}

/// What calls take on the stack lies lowest, then variables.
void Selector::lay_out_variables() {
  unsigned outgoing_bytes = 0;
  for (const llvm::BasicBlock& block : function_)
    for (const llvm::Instruction& i : block)
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
          call && call->arg_size() > kArgumentsInRegisters)
        outgoing_bytes = std::max(outgoing_bytes, (call->arg_size() - kArgumentsInRegisters) * 8);
  if (outgoing_bytes != 0) places_.allocate(outgoing_bytes, 64);
  for (const llvm::BasicBlock& block : function_)
    for (const llvm::Instruction& i : block) {
      const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&i);
      if (!variable) continue;
      const auto bytes = variable->getAllocationSize(code_.module.getDataLayout());
      if (!bytes || &block != &function_.getEntryBlock()) return cannot(i);
      variables_[variable] =
          places_.allocate(static_cast<unsigned>(bytes->getFixedValue()),
                           static_cast<unsigned>(std::min<std::uint64_t>(variable->getAlign().value(), 64)));
    }
}

void Selector::epilogue() {
  a_.vzeroupper();
  move_kept([&](const x86::Gp& kept, const x86::Mem& place) { a_.mov(kept, place); });
  a_.leave();
  a_.ret();
}

void Selector::visitReturnInst(llvm::ReturnInst& i) {
  if (const llvm::Value* value = i.getReturnValue()) {
    if (shape(value).kind != Class::general) return cannot(i);
    load_general(kScratch, value);
  }
  epilogue();
}

void Selector::jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  give_to_phis(from, to);
  if (next_of(from) != &to) a_.jmp(labels_[&to]);
}

void Selector::visitBranchInst(llvm::BranchInst& i) {
  const llvm::BasicBlock& here = *i.getParent();
  if (i.isUnconditional()) {
    if (i.getSuccessor(0)->getSinglePredecessor()) contents_[i.getSuccessor(0)] = places_.contents();
    return jump(here, *i.getSuccessor(0));
  }
  const llvm::BasicBlock &yes = *i.getSuccessor(0), &no = *i.getSuccessor(1);
  const x86::CondCode holds = condition(i.getCondition());
  for (const llvm::BasicBlock* successor : {&yes, &no})
    if (successor->getSinglePredecessor()) contents_[successor] = places_.contents();
  const auto fails = static_cast<x86::CondCode>(static_cast<unsigned>(holds) ^ 1);
  if (&yes == &no) return jump(here, yes);
  if (!gives(here, yes)) {
    if (next_of(here) == &yes && !gives(here, no)) return void(a_.j(fails, labels_[&no]));
    a_.j(holds, labels_[&yes]);
    return jump(here, no);
  }
  const asmjit::Label other = a_.newLabel();
  a_.j(fails, other);
  give_to_phis(here, yes);
  a_.jmp(labels_[&yes]);
  a_.bind(other);
  jump(here, no);
}

/// Where the numbers lie close and nothing goes to phis: one jump.
bool Selector::switch_by_table(llvm::SwitchInst& i, const x86::Gp& value) {
  constexpr std::uint64_t kFewest = 5;
  const llvm::BasicBlock& here = *i.getParent();
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  for (const auto& way : i.cases()) {
    const std::uint64_t number = way.getCaseValue()->getZExtValue();
    least = std::min(least, number);
    most = std::max(most, number);
    if (gives(here, *way.getCaseSuccessor())) return false;
  }
  if (i.getNumCases() < kFewest || most > 0x7fffffff || most - least >= 2 * std::uint64_t{i.getNumCases()})
    return false;
  const asmjit::Label other = a_.newLabel();
  const bool others_give = gives(here, *i.getDefaultDest());
  const asmjit::Label beyond = others_give ? other : labels_[i.getDefaultDest()];
  Code::Table table{a_.newLabel(), std::vector<asmjit::Label>(most - least + 1, beyond)};
  for (const auto& way : i.cases())
    table.to[way.getCaseValue()->getZExtValue() - least] = labels_[way.getCaseSuccessor()];
  a_.mov(general_register(kScratch.id(), value.size() * 8), value);
  if (least != 0) a_.sub(general_register(kScratch.id(), value.size() * 8), least);
  a_.cmp(general_register(kScratch.id(), value.size() * 8), most - least);
  a_.ja(beyond);
  a_.lea(kScratch2, x86::ptr(table.place));
  a_.movsxd(kScratch, x86::ptr(kScratch2, kScratch, 2, 0, 4));
  a_.add(kScratch, kScratch2);
  a_.jmp(kScratch);
  if (others_give) {
    a_.bind(other);
    jump(here, *i.getDefaultDest());
  }
  code_.tables.push_back(std::move(table));
  return true;
}

void Selector::visitSwitchInst(llvm::SwitchInst& i) {
  const llvm::BasicBlock& here = *i.getParent();
  const unsigned bits = shape(i.getCondition()).element_bits == 64 ? 64 : 32;
  const x86::Gp value = extended(i.getCondition(), bits, false);
  if (switch_by_table(i, value)) return;
  for (const auto& way : i.cases()) {
    const std::uint64_t number = way.getCaseValue()->getZExtValue();
    if (bits == 32 || number <= 0x7fffffff) {
      a_.cmp(value, static_cast<std::int32_t>(number));
    } else {
      a_.mov(kScratch, number);
      a_.cmp(value, kScratch);
    }
    if (!gives(here, *way.getCaseSuccessor())) {
      a_.je(labels_[way.getCaseSuccessor()]);
      continue;
    }
    const asmjit::Label other = a_.newLabel();
    a_.jne(other);
    give_to_phis(here, *way.getCaseSuccessor());
    a_.jmp(labels_[way.getCaseSuccessor()]);
    a_.bind(other);
  }
  jump(here, *i.getDefaultDest());
}

}  // namespace raddle::jit::baseline
