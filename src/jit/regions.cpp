#include "jit/regions.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "jit/executable.h"

namespace raddle::jit {

Regions::Regions(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, Masks& masks,
                 Context& context, Registers& registers)
    : code_(code),
      ir_(code.ir),
      module_(module),
      cursor_(cursor),
      plan_(cursor.plan),
      f_(cursor.function),
      masks_(masks),
      context_(context),
      registers_(registers) {}

void Regions::begin() {
  frame_ = code_.argument(1);
  resume_ = ir_.CreateSwitch(code_.argument(2), code_.exit());
}

void Regions::enter_at(llvm::BasicBlock* begin) {
  auto* first = code_.new_block("first");
  resume_->setDefaultDest(first);
  resume_->moveBefore(*code_.body(), code_.body()->end());
  ir_.SetInsertPoint(first);
  std::set<const Registers::Fragment*> done;
  for (ptx::RegisterId r : in_frame_) {
    const Registers::Fragment* fragment = registers_.fragment_of(r);
    if (done.insert(fragment).second && registers_.is_read_first(*fragment))
      ir_.CreateMemSet(fragment->words, ir_.getInt8(0), fragment->bytes(), llvm::Align(64));
  }
  ir_.CreateBr(begin);
}

void Regions::suspend() {
  for (BlockId x : plan_.pending(cursor_.block))
    code_.if_then(masks_.any(masks_.waiting_at(x)), [&] {
      context_.fault(exec::FaultKind::illegal_barrier, ir_.getInt64(0),
                     masks_.first_lane(masks_.bits(masks_.active())));
    });
  const FrameUse& use = uses_.at(static_cast<std::uint32_t>(cursor_.instruction - f_.instructions.data()));
  const bool all = module_.kernel.runs_all(plan_, cursor_.block);
  if (!all) ir_.CreateStore(masks_.bits(masks_.active()), frame_);
  transfer(use.saved, Transfer::save);
  const std::uint32_t state = resume_->getNumCases() + 1;
  const bool of_cluster = cursor_.opcode().row->text->scope == isa::Scope::cluster;
  if (of_cluster) context_.note_line();
  ir_.CreateRet(ir_.getInt32(state | (of_cluster ? kAtCluster : 0)));
  auto* resumed = code_.new_block("resumed");
  resume_->addCase(ir_.getInt32(state), resumed);
  ir_.SetInsertPoint(resumed);
  masks_.forget_elsewhere();
  llvm::Value* bits = ir_.getInt32(0xffffffff);
  if (!all) bits = ir_.CreateLoad(ir_.getInt32Ty(), frame_);
  masks_.set_inside(bits);
  if (!all) masks_.set_active(masks_.from_bits(bits));
  transfer(use.loaded, Transfer::load);
}

/// Between registers and frame. Vectors of checked registers only where one of these has wrapped.
void Regions::transfer(const std::vector<ptx::RegisterId>& registers, Transfer direction) {
  std::vector<Registers::Variable> always, wrapped, flags;
  for (ptx::RegisterId r : registers) {
    if (!plan_.shape(r).known || in_frame_.contains(r)) continue;
    const Registers::Slot& s = registers_.slot(r);
    always.insert(always.end(), s.bases.begin(), s.bases.end());
    auto& vectors = s.ok ? wrapped : always;
    vectors.insert(vectors.end(), s.parts.begin(), s.parts.end());
    if (s.ok) flags.push_back(*s.ok);
  }
  always.insert(always.end(), flags.begin(), flags.end());
  auto move = [&](const Registers::Variable& a) {
    auto* place = ir_.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), frame_, offsets_.at(a));
    const llvm::Align align(FrameLayout::alignment(stored_size(a)));
    if (direction == Transfer::load)
      ir_.CreateStore(ir_.CreateAlignedLoad(a.type, place, align), a.at);
    else
      ir_.CreateAlignedStore(ir_.CreateLoad(a.type, a.at), place, align);
  };
  for (const auto& a : always) move(a);
  if (wrapped.empty()) return;
  llvm::Value* ok = ir_.getTrue();
  for (const auto& a : flags) ok = ir_.CreateAnd(ok, ir_.CreateLoad(ir_.getInt1Ty(), a.at));
  if (direction == Transfer::load)
    for (const auto& a : wrapped) ir_.CreateStore(llvm::PoisonValue::get(a.type), a.at);
  code_.if_then(ir_.CreateNot(ok), [&] {
    for (const auto& a : wrapped) move(a);
  });
}

/// Where a register lives in the function, all its parts.
std::vector<Registers::Variable> Regions::variables_of(ptx::RegisterId r) {
  if (!plan_.shape(r).known) return {};
  const Registers::Slot& s = registers_.slot(r);
  std::vector<Registers::Variable> all = s.bases;
  all.insert(all.end(), s.parts.begin(), s.parts.end());
  if (s.ok) all.push_back(*s.ok);
  return all;
}

std::uint32_t Regions::stored_size(const Registers::Variable& a) const {
  return static_cast<std::uint32_t>(module_.llvm.getDataLayout().getTypeStoreSize(a.type));
}

/// Matrices that a barrier holds live in the frame, so that none moves them.
void Regions::lay_out_fragments(Holding& holding, FrameLayout& frame) {
  std::vector<std::uint32_t> all(uses_.size());
  std::iota(all.begin(), all.end(), 0);
  for (const auto& [held, barriers] : Holding(holding)) {
    Registers::Fragment* fragment = registers_.fragment_of(held);
    if (fragment == nullptr || in_frame_.contains(held)) continue;
    RADDLE_ASSERT(fragment->words == nullptr, "its place is not yet used");
    Builder entry(code_.entry(), code_.entry()->begin());
    auto* at = entry.CreateConstInBoundsGEP1_32(ir_.getInt8Ty(), frame_, frame.place(fragment->bytes(), all));
    fragment->words = llvm::cast<llvm::Instruction>(at);
    for (ptx::RegisterId r : fragment->registers) in_frame_.insert(r), holding.erase(r);
  }
}

void Regions::lay_out() {
  uses_ = frame_uses(f_, plan_.cfg, plan_.live);
  Holding holding;
  std::uint32_t barrier = 0;
  for (const auto& [n, use] : uses_) {
    for (ptx::RegisterId r : use.held) holding[r].push_back(barrier);
    ++barrier;
  }
  FrameLayout frame;
  lay_out_fragments(holding, frame);
  for (const auto& [r, barriers] : holding)
    for (const auto& a : variables_of(r)) offsets_[a] = frame.place(stored_size(a), barriers);
  module_.frame_bytes = std::max(module_.frame_bytes, (frame.bytes() + 63) / 64 * 64);
}

}  // namespace raddle::jit
