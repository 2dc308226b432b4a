#include "jit/baseline/selector.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Support/raw_ostream.h>

namespace raddle::jit::baseline {

Selector::Selector(const llvm::Function& function, Code& code, const Form& form)
    : function_(function),
      code_(code),
      a_(code.assembler),
      form_(form),
      analysis_(function, code, form),
      flow_(function),
      homes_(function, analysis_, flow_, form),
      places_(code, analysis_.pieces, form) {}

void Selector::cannot(const llvm::Instruction& i) {
  if (!unknown_.empty()) return;
  llvm::raw_string_ostream stream(unknown_);
  stream << i;
}

bool Selector::write() {
  unknown_ =
      function_.getCallingConv() == llvm::CallingConv::C ? analysis_.unknown() : "its calling convention";
  if (!unknown_.empty()) return false;
  for (const llvm::BasicBlock& block : function_) labels_[&block] = a_.newLabel();
  const std::uint32_t begin = code_.offset();
  a_.bind(code_.label_of(function_));
  prologue();
  const llvm::BasicBlock* before = nullptr;
  for (const std::uint32_t n : flow_.order) {
    if (before) next_[before] = flow_.blocks[n].block;
    before = flow_.blocks[n].block;
  }
  for (const std::uint32_t n : flow_.order)
    write_block(const_cast<llvm::BasicBlock&>(*flow_.blocks[n].block));
  code_.at_line(0, 0);
  if (unknown_.empty()) unknown_ = analysis_.unknown();
  if (unknown_.empty()) unknown_ = code_.error.message;
  if (!unknown_.empty()) return false;
  constexpr std::uint32_t kBase = 8,
                          kAligning = 64;  // what it saves first, and what the frame's end leaves free
  code_.functions.push_back({&function_, begin, code_.offset(), finish_frame() + kBase + kAligning});
  return true;
}

void Selector::write_block(llvm::BasicBlock& block) {
  a_.bind(labels_[&block]);
  const auto known = contents_.extract(&block);
  const std::uint32_t number = analysis_.number_of(&block);
  places_.begin_block(known.empty() ? Places::Contents() : known.mapped(), homes_.entering(number),
                      {homes_.reserved(number, Class::general), homes_.reserved(number, Class::vector),
                       homes_.reserved(number, Class::mask)});
  std::vector<std::vector<PieceId>> sources;
  for (const llvm::Instruction& i : block) {
    if (analysis_.has_no_code(i)) continue;
    auto& all = sources.emplace_back();
    analysis_.for_each_source(i, [&](PieceId id) { all.push_back(id); });
  }
  places_.read_ahead(sources);
  auto read = sources.begin();
  for (llvm::Instruction& i : block) {
    if (!unknown_.empty() || !code_.error.message.empty()) {
      if (unknown_.empty()) {
        cannot(i);
        unknown_ += " (before it: " + code_.error.message + ")";
      }
      return;
    }
    if (analysis_.has_no_code(i)) continue;
    const bool is_needed = !i.use_empty() || i.mayHaveSideEffects() || i.isTerminator();
    if (const llvm::DebugLoc& place = i.getDebugLoc())
      code_.at_line(place.getLine(), place.getCol());
    else
      code_.at_line(0, 0);
    places_.begin_instruction(wants_scratch_masks(i));
    if (is_needed) visit(i);
    if (is_needed && !i.getType()->isVoidTy())
      for (unsigned n = 0; n < analysis_.pieces_of(&i); ++n) places_.made(piece(&i, n));
    for (const PieceId id : *read++) places_.release(id);
  }
}

/// All but those of which it is known that they do not.
bool Selector::wants_scratch_masks(const llvm::Instruction& i) {
  auto is_one_register = [&](const llvm::Value* value) {
    const auto kind = shape_of(value->getType());
    return kind && kind->count == 1 &&
           (kind->is_mask ? kind->lanes == 8 || kind->lanes == 16
                          : kind->bytes == 16 || kind->bytes == 32 || kind->bytes == 64);
  };
  switch (i.getOpcode()) {
    case llvm::Instruction::ICmp:
      return i.getOperand(0)->getType()->isVectorTy() && !is_one_register(i.getOperand(0));
    case llvm::Instruction::FCmp:
      return !i.getType()->isVectorTy() || !is_one_register(i.getOperand(0));
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      return shape(&i).is_mask && !is_one_register(&i);
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::GetElementPtr:
      return false;
    case llvm::Instruction::BitCast:
      return shape(&i).is_mask && !is_one_register(&i);
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
      return shape(&i).kind == Class::mask;
    case llvm::Instruction::Select:
      return !i.getOperand(0)->getType()->isVectorTy() || shape(&i).is_mask || !is_one_register(&i) ||
             !places_.is_for_accesses(piece(i.getOperand(0)));
    case llvm::Instruction::Load:
      return shape(&i).kind != Class::general && !is_one_register(&i) &&
             (shape(&i).is_mask || shape(&i).bytes % form_.bytes != 0);
    case llvm::Instruction::Call: {
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      return !call || call->getIntrinsicID() != llvm::Intrinsic::fma;
    }
    default:
      return true;
  }
}

// ---- operands ----

void Selector::load_general(const x86::Gp& to, const llvm::Value* value) {
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    const std::uint64_t bits = integer->getZExtValue();
    if (bits == 0)
      a_.xor_(to.r32(), to.r32());
    else if (bits >> 32 == 0)
      a_.mov(to.r32(), bits);
    else
      a_.mov(to.r64(), bits);
    return;
  }
  const Place place = place_of(value, code_.module.getDataLayout());
  if (const auto found = variables_.find(place.base); found != variables_.end()) {
    a_.lea(to.r64(), x86::ptr(x86::rsp, found->second + static_cast<std::int32_t>(place.distance)));
    return;
  }
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(place.base)) {
    const asmjit::Label label = code_.label_of(*global);
    if (!label.isValid()) {
      unknown_ = fmt::format("variable {}", global->getName().str());
      return;
    }
    a_.lea(to.r64(), x86::ptr(label, static_cast<std::int32_t>(place.distance)));
    return;
  }
  if (const auto* function = llvm::dyn_cast<llvm::Function>(value)) {
    if (function->isDeclaration())
      a_.mov(to.r64(), code_.address_of(function->getName()));
    else
      a_.lea(to.r64(), x86::ptr(code_.label_of(*function)));
    return;
  }
  const auto* cast = llvm::dyn_cast<llvm::ConstantExpr>(value);
  if (cast &&
      (cast->getOpcode() == llvm::Instruction::PtrToInt || cast->getOpcode() == llvm::Instruction::IntToPtr))
    return load_general(to, cast->getOperand(0));
  const PieceId id = piece(value);
  if (places_.is_in_register(id))
    a_.mov(to.r64(), x86::gpq(places_.in_register(id)));
  else
    places_.load(to.id(), id);
}

bool Selector::is_made_where_used(const llvm::Value* value) const {
  const auto* i = llvm::dyn_cast<llvm::Instruction>(value);
  return llvm::isa<llvm::Constant, llvm::AllocaInst>(value) || (i && analysis_.is_deferred(*i));
}

bool Selector::is_at_home_of(const llvm::Instruction& i, const llvm::Value* operand, unsigned n) {
  if (is_made_where_used(operand)) return false;
  const std::int8_t home = analysis_.pieces[piece(&i, n)].home;
  return home >= 0 && analysis_.pieces[piece(operand, n)].place == home;
}

x86::Gp Selector::general(const llvm::Value* value, unsigned bits) {
  if (is_made_where_used(value)) {
    const x86::Gp to = general_register(places_.temporary(Class::general), 64);
    load_general(to, value);
    return general_register(to.id(), bits);
  }
  return general_register(places_.in_register(piece(value)), bits);
}

x86::Gp Selector::extended(const llvm::Value* value, unsigned bits, bool is_signed) {
  const unsigned own = shape(value).element_bits;
  const x86::Gp from = general(value, 32);
  if (own >= 32) return general_register(from.id(), bits);
  return extend(general_register(places_.temporary(Class::general), bits), from, own, is_signed);
}

x86::Gp Selector::extend(const x86::Gp& to, const x86::Gp& from, unsigned own, bool is_signed) {
  if (own == 1) {
    a_.mov(to.r32(), from.r32());
    if (is_signed) a_.neg(to);
  } else if (own == 8) {
    is_signed ? a_.movsx(to, from.r8()) : a_.movzx(to.r32(), from.r8());
  } else {
    is_signed ? a_.movsx(to, from.r16()) : a_.movzx(to.r32(), from.r16());
  }
  return to;
}

asmjit::Operand Selector::general_or_constant(const llvm::Value* value, unsigned bits) {
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    const std::int64_t number =
        bits == 64 ? integer->getSExtValue() : static_cast<std::int32_t>(integer->getZExtValue());
    if (number == static_cast<std::int32_t>(number)) return asmjit::Imm(number);
  }
  return general(value, bits);
}

x86::Vec Selector::vector(const llvm::Value* value, unsigned n) {
  return vector_register(places_.in_register(piece(value, n)), shape(value).bytes_of(n));
}

asmjit::Operand Selector::vector_or_memory(const llvm::Value* value, unsigned n, unsigned element_bits,
                                           bool broadcasts) {
  return places_.operand(piece(value, n), element_bits, shape(value).bytes_of(n), broadcasts);
}

x86::KReg Selector::mask(const llvm::Value* value) { return x86::k(places_.in_register(piece(value))); }

x86::KReg Selector::lanes_of_piece(const llvm::Value* mask_value, const Shape& vector, unsigned n,
                                   unsigned scratch) {
  const x86::KReg all = mask(mask_value);
  const unsigned before = vector.lanes_before(n);
  if (before == 0 && all.id() != 0) return all;
  a_.kshiftrq(x86::k(scratch), all, before);
  return x86::k(scratch);
}

x86::Vec Selector::define_vector(const llvm::Value* value, unsigned n) {
  return vector_register(places_.define(piece(value, n)), shape(value).bytes_of(n));
}

x86::Gp Selector::define_general(const llvm::Value* value, unsigned bits) {
  return general_register(places_.define(piece(value)), bits);
}

x86::KReg Selector::define_mask(const llvm::Value* value) { return x86::k(places_.define(piece(value))); }

x86::Mem Selector::address(const llvm::Value* pointer, std::int64_t distance) {
  const AddressParts parts(pointer, analysis_.folded(), code_.module.getDataLayout());
  const Place place = place_of(parts.base, code_.module.getDataLayout());  // of variables it is not folded
  const auto found = variables_.find(place.base);
  distance += parts.distance;
  if (found != variables_.end()) distance += place.distance + found->second;
  const auto near = static_cast<std::int32_t>(distance);
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(parts.base);
  if (global && !parts.index) {
    const asmjit::Label label = code_.label_of(*global);
    if (label.isValid()) return x86::ptr(label, near);
    unknown_ = fmt::format("variable {}", global->getName().str());
  }
  const x86::Gp base = found != variables_.end() ? x86::Gp(x86::rsp) : general(parts.base, 64);
  return parts.index ? x86::ptr(base, general(parts.index, 64), parts.shift, near) : x86::ptr(base, near);
}

void Selector::mask_constant(unsigned reg, std::uint64_t bits) {
  a_.mov(kScratch, bits);
  a_.kmovq(x86::k(reg), kScratch);
}

void Selector::repeat(unsigned reg, std::uint64_t bits) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(&bits), sizeof bits);
  a_.emit(Inst::kIdVpbroadcastq, whole(reg), code_.constant_at(code_.constant(bytes)));
}

void Selector::in_all_lanes(const x86::KReg& reg, const llvm::Value* truth) {
  const x86::Gp from = general(truth, 32);
  a_.mov(kScratch.r32(), from);
  a_.neg(kScratch);
  a_.kmovq(reg, kScratch);
}

x86::KReg Selector::first_lanes(unsigned count, unsigned scratch) {
  mask_constant(scratch, count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
  return x86::k(scratch);
}

void Selector::trim(const x86::KReg& reg, unsigned lanes) {
  if (lanes == 64) return;
  if (lanes == 8) return void(a_.kmovb(reg, reg));
  if (lanes == 16) return void(a_.kmovw(reg, reg));
  if (lanes == 32) return void(a_.kmovd(reg, reg));
  a_.kandq(reg, reg, first_lanes(lanes, kScratchMask2));
}

void Selector::load_bits(const x86::Gp& to, const llvm::Value* value) { a_.kmovq(to, mask(value)); }

void Selector::define_from_bits(const llvm::Value* value) {
  const x86::KReg to = define_mask(value);
  a_.kmovq(to, kScratch);
  trim(to, shape(value).lanes);
}

// ---- vector registers ----

asmjit::InstId Selector::logic(unsigned opcode, unsigned bits) const {
  const bool is_wide = bits == 64;
  if (opcode == llvm::Instruction::And)
    return !form_.mask_registers ? Inst::kIdVpand : is_wide ? Inst::kIdVpandq : Inst::kIdVpandd;
  if (opcode == llvm::Instruction::Or)
    return !form_.mask_registers ? Inst::kIdVpor : is_wide ? Inst::kIdVporq : Inst::kIdVpord;
  return !form_.mask_registers ? Inst::kIdVpxor : is_wide ? Inst::kIdVpxorq : Inst::kIdVpxord;
}

void Selector::upper_half(unsigned to, unsigned from) {
  if (form_.bytes == 64)
    a_.vextracti64x4(x86::ymm(to), x86::zmm(from), 1);
  else
    a_.vextracti128(x86::xmm(to), x86::ymm(from), 1);
}

void Selector::join_halves(unsigned to, unsigned low, unsigned high) {
  if (form_.bytes == 64)
    a_.vinserti64x4(x86::zmm(to), x86::zmm(low), x86::ymm(high), 1);
  else
    a_.vinserti128(x86::ymm(to), x86::ymm(low), x86::xmm(high), 1);
}

void Selector::broadcast(const x86::Vec& to, const asmjit::Operand& element, unsigned bits) {
  constexpr BySize kRepeat{Inst::kIdVpbroadcastb, Inst::kIdVpbroadcastw, Inst::kIdVpbroadcastd,
                           Inst::kIdVpbroadcastq};
  a_.emit(kRepeat[bits], to, element);
}

}  // namespace raddle::jit::baseline
