// Functions' frames, branches, and what phis get.
#include <llvm/IR/Constants.h>

#include "jit/baseline/selector.h"

namespace raddle::jit::baseline {
namespace {

const x86::Gp kKept[] = {x86::rbx, x86::r12, x86::r13, x86::r14, x86::r15};

}  // namespace

std::uint32_t Selector::prologue() {
  a_.push(x86::rbp);
  a_.mov(x86::rbp, x86::rsp);
  for (const x86::Gp& reg : kKept) a_.push(reg);
  a_.and_(x86::rsp, -64);
  a_.long_().sub(x86::rsp, 0x7fffffff);
  const std::uint32_t patch = code_.offset() - 4;
  lay_out_variables();
  unsigned n = 0;
  for (const llvm::Argument& argument : function_.args()) {
    const auto kind = shape_of(argument.getType());
    if (!kind || kind->kind != Class::general) {
      unknown_ = "an argument that is no scalar";
      return patch;
    }
    const x86::Mem slot = places_.define_in_memory(piece(&argument));
    const bool is_truth = argument.getType()->isIntegerTy(1);
    if (n < kArgumentsInRegisters) {
      if (is_truth) a_.and_(general_register(kArgumentRegisters[n], 32), 1);
      a_.mov(slot, x86::gpq(kArgumentRegisters[n]));
    } else {
      a_.mov(kScratch, x86::ptr(x86::rbp, static_cast<std::int32_t>(16 + 8 * (n - kArgumentsInRegisters))));
      if (is_truth) a_.and_(kScratch.r32(), 1);
      a_.mov(slot, kScratch);
    }
    ++n;
  }
  return patch;
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
  a_.lea(x86::rsp, x86::ptr(x86::rbp, -static_cast<std::int32_t>(8 * std::size(kKept))));
  for (auto reg = std::rbegin(kKept); reg != std::rend(kKept); ++reg) a_.pop(*reg);
  a_.pop(x86::rbp);
  a_.ret();
}

void Selector::visitReturnInst(llvm::ReturnInst& i) {
  if (const llvm::Value* value = i.getReturnValue()) {
    if (shape(value).kind != Class::general) return cannot(i);
    load_general(kScratch, value);
  }
  epilogue();
}

/// To the phis' slots; those that another one of the same block is given come first, as all change at once.
void Selector::give_to_phis(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  struct Move {
    PieceId to, from;
    std::int32_t copy = -1;
  };
  std::vector<Move> moves;
  llvm::DenseSet<PieceId> given;
  for (const llvm::PHINode& phi : to.phis()) {
    const llvm::Value* value = phi.getIncomingValueForBlock(&from);
    const bool is_made = shape(&phi).kind == Class::general && is_made_where_used(value);
    for (unsigned n = 0; n < analysis_.pieces_of(&phi); ++n) {
      moves.push_back({piece(&phi, n), is_made ? kNoPiece : piece(value, n)});
      given.insert(piece(&phi, n));
    }
  }
  auto copy = [&](const x86::Mem& at, PieceId id, unsigned bytes) {
    const Piece& source = analysis_.pieces[id];
    const bool has = source.place >= 0;
    const auto place = static_cast<unsigned>(source.place);
    if (source.kind == Class::vector) {
      const unsigned reg = has ? place : kScratchVector;
      if (!has) places_.load(reg, id);
      if (source.origin == Origin::undefined) return;
      if (bytes <= 8)  // the slot is narrow
        a_.vmovsd(at, x86::xmm(reg));
      else
        a_.emit(Inst::kIdVmovups, at, vector_register(reg, bytes));
    } else if (source.kind == Class::mask) {
      if (!has) places_.load(kScratchMask, id);
      a_.kmovq(at, x86::k(has ? place : kScratchMask));
    } else {
      if (!has) places_.load(kScratch.id(), id);
      a_.mov(at, x86::gpq(has ? place : kScratch.id()));
    }
  };
  for (Move& move : moves)
    if (move.from != kNoPiece && move.from != move.to && given.contains(move.from)) {
      move.copy = places_.allocate(form_.bytes, form_.bytes);
      copy(x86::ptr(x86::rsp, move.copy), move.from, analysis_.pieces[move.to].bytes);
    }
  auto next = moves.begin();
  for (const llvm::PHINode& phi : to.phis()) {
    for (unsigned n = 0; n < analysis_.pieces_of(&phi); ++n, ++next) {
      const x86::Mem slot = places_.define_in_memory(next->to);
      if (next->from == next->to) continue;
      if (next->from == kNoPiece) {
        load_general(kScratch, phi.getIncomingValueForBlock(&from));
        a_.mov(slot, kScratch);
      } else if (next->copy < 0) {
        copy(slot, next->from, analysis_.pieces[next->to].bytes);
      } else {
        const Piece& piece = analysis_.pieces[next->to];
        const x86::Mem kept = x86::ptr(x86::rsp, next->copy);
        if (piece.kind == Class::vector && piece.bytes > 8) {
          a_.emit(Inst::kIdVmovups, whole(kScratchVector), kept);
          a_.emit(Inst::kIdVmovups, slot, vector_register(kScratchVector, piece.bytes));
        } else {
          a_.mov(kScratch, kept);
          a_.mov(slot, kScratch);
        }
      }
    }
  }
}

void Selector::jump(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  give_to_phis(from, to);
  if (from.getNextNode() != &to) a_.jmp(labels_[&to]);
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
  if (!has_phis(yes)) {
    if (here.getNextNode() == &yes && !has_phis(no)) return void(a_.j(fails, labels_[&no]));
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

void Selector::visitSwitchInst(llvm::SwitchInst& i) {
  const llvm::BasicBlock& here = *i.getParent();
  const unsigned bits = shape(i.getCondition()).element_bits == 64 ? 64 : 32;
  const x86::Gp value = extended(i.getCondition(), bits, false);
  for (const auto& way : i.cases()) {
    const std::uint64_t number = way.getCaseValue()->getZExtValue();
    if (bits == 32 || number <= 0x7fffffff) {
      a_.cmp(value, static_cast<std::int32_t>(number));
    } else {
      a_.mov(kScratch, number);
      a_.cmp(value, kScratch);
    }
    if (!has_phis(*way.getCaseSuccessor())) {
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
