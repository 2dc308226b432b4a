// Branches through a table of labels (brx.idx): lanes of one index together, or each lane by its own.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <map>

#include "jit/function.h"

namespace raddle::jit {

/// brx.idx. An index that no target has is a fault, as in the interpreter.
void FunctionCompiler::emit_indexed(const ptx::Instruction& last) {
  if (!plan.divergent(block)) return emit_uniform_index(last);
  const auto& targets = f.branch_targets[last.extra];
  const auto& successors = plan.cfg.nodes[block].successors;
  WarpValue index = read(f.operands_of(last)[0]);
  Mask branching = executing(), astray = branching, staying = branching;
  std::vector<BlockId> set = plan.pending(block);
  for (BlockId s : successors)
    if (auto at = std::lower_bound(set.begin(), set.end(), s); at == set.end() || *at != s) set.insert(at, s);
  std::vector<BlockId> distinct = targets;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const bool by_table = distinct.size() < targets.size();
  if (by_table) index = look_up_target(index, targets, distinct);
  const auto& numbered = by_table ? distinct : targets;
  for (std::size_t n = 0; n < numbered.size(); ++n) {
    Mask chosen = branching;
    for (unsigned p = 0; p < parts(); ++p) {
      Val i = part(index, p).as(Type::u32);
      chosen[p] = ir.CreateAnd(branching[p], eq(i, i.like(static_cast<std::int64_t>(n))).v);
      astray[p] = ir.CreateAnd(astray[p], ir.CreateNot(chosen[p]));
    }
    add_lanes(numbered[n], chosen);
  }
  fault_lanes(exec::FaultKind::illegal_instruction, astray);
  if (last.guard != ptx::kNone) {
    for (unsigned p = 0; p < parts(); ++p) staying[p] = ir.CreateAnd(active_[p], ir.CreateNot(branching[p]));
    add_lanes(successors.back(), staying);
  }
  go(set);
}

/// Many indices may name few targets: which of the distinct ones each lane's names, their number if none.
WarpValue FunctionCompiler::look_up_target(const WarpValue& index, const std::vector<BlockId>& targets,
                                           const std::vector<BlockId>& distinct) {
  std::vector<std::uint32_t> places;
  for (BlockId target : targets)
    places.push_back(static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), target) -
                                                distinct.begin()));
  places.push_back(static_cast<std::uint32_t>(distinct.size()));
  auto* data = llvm::ConstantDataArray::get(ir.getContext(), places);
  auto* table = new llvm::GlobalVariable(context.llvm, data->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, data, "targets");
  auto* i32 = ir.getInt32Ty();
  WarpValue result{.shape = {}, .type = Type::u32, .bases = {}, .ok = nullptr, .parts = {}};
  for (unsigned p = 0; p < parts(); ++p) {
    Val i = part(index, p).as(Type::u32);
    auto* at = min(i, i.like(static_cast<std::int64_t>(targets.size()))).v;
    llvm::Value* places_of = llvm::PoisonValue::get(llvm::FixedVectorType::get(i32, lanes()));
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      auto* from =
          ir.CreateInBoundsGEP(i32, table, ir.CreateZExt(ir.CreateExtractElement(at, lane), ir.getInt64Ty()));
      places_of = ir.CreateInsertElement(places_of, ir.CreateLoad(i32, from), lane);
    }
    result.parts.push_back(places_of);
  }
  return result;
}

void FunctionCompiler::emit_uniform_index(const ptx::Instruction& last) {
  const auto& targets = f.branch_targets[last.extra];
  auto go_to = [&](BlockId s) {
    add_lanes(s, active_);
    go(plan.with(block, {s}));
  };
  auto new_block = [&](const char* name) {
    return llvm::BasicBlock::Create(ir.getContext(), name, function_);
  };
  if (last.guard != ptx::kNone) {
    auto *branching = new_block("branching"), *staying = new_block("staying");
    ir.CreateCondBr(guard_scalar(last), branching, staying);
    ir.SetInsertPoint(staying);
    go_to(plan.cfg.nodes[block].successors.back());
    ir.SetInsertPoint(branching);
  }
  auto* astray = new_block("astray");
  auto* choice = ir.CreateSwitch(scalar(read(f.operands_of(last)[0])).as(Type::u32).v, astray);
  std::map<BlockId, llvm::BasicBlock*> ways;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    auto& way = ways[targets[n]];
    if (!way) {
      way = new_block("target");
      ir.SetInsertPoint(way);
      go_to(targets[n]);
    }
    choice->addCase(ir.getInt32(static_cast<std::uint32_t>(n)), way);
  }
  ir.SetInsertPoint(astray);
  fault_lanes(exec::FaultKind::illegal_instruction, active_);
  ir.CreateBr(exit_);
}

}  // namespace raddle::jit
