#include "jit/baseline/analysis.h"

#include <fmt/format.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "jit/baseline/patterns.h"

namespace raddle::jit::baseline {
namespace {

std::string text_of(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.getType()->print(stream);
  if (const auto* i = llvm::dyn_cast<llvm::Instruction>(&value)) stream << " of " << i->getOpcodeName();
  return text;
}

bool is_splat(const llvm::User* user) {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(user);
  return shuffle && llvm::isa<llvm::UndefValue>(shuffle->getOperand(1)) &&
         std::all_of(shuffle->getShuffleMask().begin(), shuffle->getShuffleMask().end(),
                     [](int from) { return from <= 0; });
}

/// What a store puts back to where its operand was loaded, with nothing written between: one instruction.
bool is_update_of_memory(const llvm::Value* value) {
  const auto* update = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!update || !update->hasOneUse() ||
      !(update->getType()->isIntegerTy(32) || update->getType()->isIntegerTy(64)))
    return false;
  const unsigned opcode = update->getOpcode();
  if (opcode != llvm::Instruction::Add && opcode != llvm::Instruction::Sub && !update->isBitwiseLogicOp())
    return false;
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(update->getOperand(0));
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(*update->user_begin());
  if (!load || !store || !load->hasOneUse() || !load->isSimple() || !store->isSimple() ||
      store->getValueOperand() != update || store->getPointerOperand() != load->getPointerOperand() ||
      load->getParent() != store->getParent() || update->getParent() != store->getParent())
    return false;
  constexpr unsigned kNear = 8;
  const llvm::Instruction* i = load->getNextNode();
  for (unsigned n = 0; n < kNear && i != store; ++n, i = i->getNextNode())
    if (!i || i->mayWriteToMemory()) return false;
  return i == store;
}

/// The upper half of each lane, as a high product takes it.
bool is_upper_half(const llvm::Instruction& i) {
  if (i.getOpcode() != llvm::Instruction::LShr || !i.getType()->isVectorTy() || !i.hasOneUse()) return false;
  const auto* user = llvm::dyn_cast<llvm::TruncInst>(*i.user_begin());
  const auto* by = same_in_all_lanes(i.getOperand(1));
  return user && user->getParent() == i.getParent() && i.getType()->getScalarSizeInBits() == 64 &&
         user->getType()->getScalarSizeInBits() == 32 && by && by->getZExtValue() == 32;
}

}  // namespace

const llvm::ConstantInt* same_in_all_lanes(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  return constant ? llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue()) : nullptr;
}

bool compares_all_bits(const llvm::ICmpInst& i) {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(i.getOperand(1));
  const auto* bits = llvm::dyn_cast<llvm::BitCastInst>(i.getOperand(0));
  if (!number || !bits || !i.isEquality() || !(number->isZero() || number->isMinusOne())) return false;
  const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(bits->getSrcTy());
  return lanes && lanes->getElementType()->isIntegerTy(1) && lanes->getNumElements() >= 8;
}

Analysis::Analysis(const llvm::Function& function, Code& code, const Form& form)
    : function_(function), code_(code), form_(form) {
  number_blocks();
  for (const llvm::BasicBlock& block : function) {
    fold_addresses(block, code.module.getDataLayout(), folded_);
    for (const llvm::Instruction& i : block) defer(i);
  }
  count_uses();
}

void Analysis::number_blocks() {
  std::uint32_t number = 0;
  for (const llvm::BasicBlock& block : function_) blocks_[&block] = number++;
}

/// Comparisons that a branch or a choice behind them reads, splats' first steps, places near others and, with
/// AVX2, shifts to the lower half that is all that is taken of them.
void Analysis::defer(const llvm::Instruction& i) {
  auto all_users = [&](auto condition) {
    return !i.use_empty() && std::all_of(i.user_begin(), i.user_end(), condition);
  };
  auto in_block = [&](const llvm::User* user) {
    const auto* at = llvm::dyn_cast<llvm::Instruction>(user);
    return at && at->getParent() == i.getParent() && !llvm::isa<llvm::PHINode>(at);
  };
  bool waits = false;
  if (llvm::isa<llvm::ICmpInst>(i) && !i.getType()->isVectorTy()) {
    waits = i.hasOneUse() && in_block(*i.user_begin()) &&
            (llvm::isa<llvm::BranchInst>(*i.user_begin()) ||
             (llvm::isa<llvm::SelectInst>(*i.user_begin()) && i.user_begin()->getOperand(0) == &i &&
              i.user_begin()->getOperand(1) != &i && i.user_begin()->getType()->isIntegerTy()));
  } else if (const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&i)) {
    const auto* at = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
    waits = at && at->isZero() && llvm::isa<llvm::UndefValue>(insert->getOperand(0)) &&
            all_users([&](const llvm::User* user) { return in_block(user) && is_splat(user); });
  } else if (form_.mask_registers && is_of_high_product(i)) {
    waits = true;
  } else if (!form_.mask_registers && is_upper_half(i)) {
    waits = true;
  } else if (folded_.contains(&i) || is_update_of_memory(&i)) {
    waits = true;
  } else if (llvm::isa<llvm::LoadInst>(i)) {
    waits = (i.hasOneUse() && is_update_of_memory(*i.user_begin()) && i.user_begin()->getOperand(0) == &i) ||
            is_repeated_load(llvm::cast<llvm::LoadInst>(i), form_);
  } else if (form_.mask_registers && llvm::isa<llvm::BitCastInst>(i)) {
    waits = all_users([&](const llvm::User* user) {
      const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user);
      return compare && in_block(user) && compares_all_bits(*compare);
    });
  } else if (constant_gep(&i)) {
    const Place place = place_of(&i, code_.module.getDataLayout());
    waits = place.distance == static_cast<std::int32_t>(place.distance) &&
            llvm::isa<llvm::AllocaInst>(place.base);
  }
  if (waits) deferred_.insert(&i);
}

bool Analysis::is_of_high_product(const llvm::Instruction& i) const {
  if (const auto* words = llvm::dyn_cast<llvm::ZExtInst>(&i)) return is_factor_of_high_products(*words);
  const bool is_product = i.getOpcode() == llvm::Instruction::Mul;
  if (!is_product && i.getOpcode() != llvm::Instruction::LShr) return false;
  const auto* before = llvm::dyn_cast<llvm::Instruction>(i.getOperand(0));
  if (!before || !is_deferred(*before)) return false;
  return is_product ? llvm::isa<llvm::ZExtInst>(before) : before->getOpcode() == llvm::Instruction::Mul;
}

bool Analysis::has_no_code(const llvm::Instruction& i) const {
  return is_alias(i) || is_deferred(i) || llvm::isa<llvm::PHINode, llvm::AllocaInst>(i);
}

bool Analysis::is_alias(const llvm::Instruction& i) const {
  switch (i.getOpcode()) {
    case llvm::Instruction::BitCast: {
      const auto from = shape_of(i.getOperand(0)->getType()), to = shape_of(i.getType());
      return from && to && from->kind == to->kind && from->is_mask == to->is_mask;
    }
    case llvm::Instruction::SExt: {  // of a mask that is a vector
      const auto from = shape_of(i.getOperand(0)->getType()), to = shape_of(i.getType());
      return from && to && from->is_mask && from->kind == Class::vector &&
             to->element_bits == from->element_bits;
    }
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::PtrToInt: {
      const auto from = shape_of(i.getOperand(0)->getType()), to = shape_of(i.getType());
      return from && to && from->element_bits == to->element_bits &&
             !llvm::isa<llvm::Constant>(i.getOperand(0)) &&
             !llvm::isa<llvm::AllocaInst>(place_of(i.getOperand(0), code_.module.getDataLayout()).base);
    }
    case llvm::Instruction::Freeze:
      return !llvm::isa<llvm::AllocaInst>(i.getOperand(0));
    case llvm::Instruction::ExtractValue:
      return llvm::cast<llvm::ExtractValueInst>(i).getNumIndices() == 1;
    case llvm::Instruction::ShuffleVector: {
      const auto from = shape_of(i.getOperand(0)->getType()), to = shape_of(i.getType());
      if (!from || !to || from->kind != Class::vector) return false;
      const auto mask = llvm::cast<llvm::ShuffleVectorInst>(i).getShuffleMask();
      const int in_piece = static_cast<int>(to->lanes_in_piece());
      for (std::size_t lane = 0; lane < mask.size(); ++lane) {
        const int inside = static_cast<int>(lane) % in_piece, first = static_cast<int>(lane) - inside;
        if (mask[lane] < 0) continue;
        // An operand that is no whole number of pieces ends in one that is not full.
        const int of_operand = mask[lane] % static_cast<int>(from->lanes);
        if (of_operand % in_piece != inside) return false;
        for (std::size_t other = static_cast<std::size_t>(first); other < lane; ++other)
          if (mask[other] >= 0 && mask[lane] - mask[other] != static_cast<int>(lane - other)) return false;
      }
      return true;
    }
    default:
      break;
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  if (call && call->getIntrinsicID() == llvm::Intrinsic::arithmetic_fence) return true;
  if (!call || call->getIntrinsicID() != llvm::Intrinsic::vector_extract) return false;
  const auto shape = shape_of(i.getType());
  const auto first = llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue();
  return shape && shape->kind == Class::vector && first % shape->lanes_in_piece() == 0;
}

const Analysis::Run& Analysis::run_of(const llvm::Value* value) {
  const auto found = runs_.find(value);
  if (found != runs_.end()) return found->second;
  std::vector<PieceId> made = make_pieces(value);  // may ask for others
  const Run run{static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(made.size())};
  ids_.insert(ids_.end(), made.begin(), made.end());
  return runs_[value] = run;
}

PieceId Analysis::piece(const llvm::Value* value, unsigned n) {
  const Run& run = run_of(value);
  if (n < run.count) return ids_[run.first + n];
  if (unknown_.empty()) unknown_ = text_of(*value);
  return constant_piece(Class::general, "", false);
}

unsigned Analysis::pieces_of(const llvm::Value* value) { return run_of(value).count; }

/// All of its pieces are alike.
bool Analysis::repeats_pieces(const llvm::Instruction& i) const {
  const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i);
  return shuffle && (is_splat(shuffle) ||
                     (llvm::isa<llvm::UndefValue>(shuffle->getOperand(1)) && repeats_part(*shuffle, form_)));
}

std::vector<PieceId> Analysis::make_pieces(const llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return constant_pieces(constant);
  const auto* i = llvm::dyn_cast<llvm::Instruction>(value);
  if (i && is_alias(*i)) return pieces_of_alias(*i);
  const std::uint32_t block = i ? number_of(i->getParent()) : 0;
  if (i && repeats_pieces(*i)) return same_pieces(i->getType(), block);
  const auto* structure = llvm::dyn_cast<llvm::StructType>(value->getType());
  if (!structure) return new_pieces(value->getType(), block);
  std::vector<PieceId> all;
  for (const llvm::Type* field : structure->elements()) {
    const auto pieces = new_pieces(field, block);
    if (pieces.size() != 1) return {};
    all.push_back(pieces.front());
  }
  return all;
}

std::vector<PieceId> Analysis::pieces_of_alias(const llvm::Instruction& i) {
  if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) return pieces_of_shuffle(*shuffle);
  const auto* operand = i.getOperand(0);
  if (const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&i))
    return {piece(operand, extract->getIndices().front())};
  unsigned first = 0, count = pieces_of(operand);
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i); call && call->arg_size() == 2) {
    const auto shape = *shape_of(i.getType());
    first = llvm::cast<llvm::ConstantInt>(call->getArgOperand(1))->getZExtValue() / shape.lanes_in_piece();
    count = shape.count;
  }
  std::vector<PieceId> all;
  for (unsigned n = 0; n < count; ++n) {
    const PieceId id = piece(operand, first + n);
    // What is undefined may be another value each time, what is frozen not.
    const bool settles = llvm::isa<llvm::FreezeInst>(i) && pieces[id].origin == Origin::undefined;
    all.push_back(settles ? constant_piece(pieces[id].kind, llvm::StringRef("\0\0\0\0\0\0\0\0", 8), true)
                          : id);
  }
  return all;
}

std::vector<PieceId> Analysis::pieces_of_shuffle(const llvm::ShuffleVectorInst& shuffle) {
  const auto from = *shape_of(shuffle.getOperand(0)->getType()), to = *shape_of(shuffle.getType());
  const auto mask = shuffle.getShuffleMask();
  std::vector<PieceId> all;
  for (unsigned n = 0; n < to.count; ++n) {
    const auto* begin = mask.begin() + to.lanes_before(n);
    const auto* known = std::find_if(begin, begin + to.lanes_of(n), [](int lane) { return lane >= 0; });
    if (known == begin + to.lanes_of(n)) {
      all.push_back(constant_piece(Class::vector, "", false));
      continue;
    }
    const auto lane = static_cast<unsigned>(*known);
    const auto* operand = shuffle.getOperand(lane / from.lanes);
    all.push_back(piece(operand, lane % from.lanes / from.lanes_in_piece()));
  }
  return all;
}

std::vector<PieceId> Analysis::new_pieces(const llvm::Type* type, std::uint32_t block) {
  const auto shape = shape_of(type);
  std::vector<PieceId> all;
  for (unsigned n = 0; shape && n < shape->count; ++n) {
    all.push_back(static_cast<PieceId>(pieces.size()));
    pieces.push_back(
        {.kind = shape->kind, .bytes = static_cast<std::uint8_t>(shape->bytes_of(n)), .block = block});
  }
  return all;
}

/// All pieces of a splat are one.
std::vector<PieceId> Analysis::same_pieces(const llvm::Type* type, std::uint32_t block) {
  const auto shape = shape_of(type);
  std::vector<PieceId> all = new_pieces(type, block);
  for (unsigned n = 1; n < all.size(); ++n)
    if (shape->bytes_of(n) == shape->piece_bytes) all[n] = all[0];
  return all;
}

PieceId Analysis::constant_piece(Class kind, llvm::StringRef bytes, bool is_defined) {
  auto [found, is_new] =
      constants_.try_emplace({kind, is_defined ? bytes.str() : ""}, static_cast<PieceId>(pieces.size()));
  if (!is_new) return found->second;
  Piece piece{.kind = kind, .bytes = static_cast<std::uint8_t>(bytes.size()), .is_global = true};
  auto repeats = [&](std::size_t period) {
    if (bytes.size() < period) return false;
    for (std::size_t at = period; at < bytes.size(); ++at)
      if (bytes[at] != bytes[at - period]) return false;
    return true;
  };
  if (!is_defined) {
    piece.origin = Origin::undefined;
  } else if (llvm::all_of(bytes, [](char byte) { return byte == 0; })) {
    piece.origin = Origin::zero;
  } else if (kind != Class::vector) {
    piece.origin = Origin::bits;
    std::copy_n(bytes.data(), std::min<std::size_t>(bytes.size(), 8),
                reinterpret_cast<char*>(&piece.constant));
  } else if (llvm::all_of(bytes, [](char byte) { return byte == '\xff'; })) {
    piece.origin = Origin::ones;
  } else if (form_.mask_registers && bytes.size() >= 16 && repeats(8)) {  // instructions repeat it
    piece.origin = Origin::repeated;
    piece.constant = code_.constant(bytes.take_front(8));
  } else {
    piece.origin = Origin::pool;
    piece.constant = code_.constant(bytes);
  }
  pieces.push_back(piece);
  return found->second;
}

std::vector<PieceId> Analysis::mask_constant_pieces(const llvm::Constant* constant, const Shape& shape) {
  std::uint64_t bits = 0;
  bool is_defined = false;
  for (unsigned lane = 0; lane < shape.lanes; ++lane) {
    const auto* element = constant->getAggregateElement(lane);
    if (!element || llvm::isa<llvm::UndefValue>(element)) continue;
    if (!llvm::isa<llvm::ConstantInt>(element)) return {};
    is_defined = true;
    if (llvm::cast<llvm::ConstantInt>(element)->isOne()) bits |= std::uint64_t{1} << lane;
  }
  if (shape.kind == Class::mask)
    return {constant_piece(Class::mask, {reinterpret_cast<const char*>(&bits), 8}, is_defined)};
  std::vector<PieceId> all;
  for (unsigned n = 0; n < shape.count; ++n) {
    std::string lanes;
    for (unsigned lane = 0; lane < shape.lanes_of(n); ++lane)
      lanes.append(4, bits >> (shape.lanes_before(n) + lane) & 1 ? '\xff' : '\0');
    all.push_back(constant_piece(Class::vector, lanes, is_defined));
  }
  return all;
}

std::vector<PieceId> Analysis::constant_pieces(const llvm::Constant* constant) {
  const auto shape = shape_of(constant->getType());
  if (!shape) return {};
  std::vector<PieceId> all;
  if (shape->is_mask) return mask_constant_pieces(constant, *shape);
  std::string bytes;
  bool is_defined = false;
  if (!code_.bytes_of(constant, bytes, is_defined)) {
    const auto* folded = llvm::ConstantFoldConstant(constant, code_.module.getDataLayout());
    bytes.clear();
    if (folded == constant || !code_.bytes_of(folded, bytes, is_defined)) return {};
  }
  for (unsigned n = 0; n < shape->count; ++n)
    all.push_back(constant_piece(
        shape->kind, llvm::StringRef(bytes).substr(std::size_t{form_.bytes} * n, form_.bytes), is_defined));
  return all;
}

void Analysis::source(const llvm::Value* value, llvm::function_ref<void(PieceId)> use) {
  if (llvm::isa<llvm::Constant, llvm::AllocaInst, llvm::BasicBlock, llvm::MetadataAsValue, llvm::InlineAsm>(
          value))
    return;
  const auto* i = llvm::dyn_cast<llvm::Instruction>(value);
  if (i && is_deferred(*i)) return for_each_source(*i, use);
  const unsigned count = pieces_of(value);
  if (count == 0 && unknown_.empty()) unknown_ = text_of(*value);
  for (unsigned n = 0; n < count; ++n) use(piece(value, n));
}

void Analysis::for_each_source(const llvm::Instruction& i, llvm::function_ref<void(PieceId)> use) {
  if (llvm::isa<llvm::PHINode>(i)) return;
  for (const llvm::Use& operand : i.operands()) source(operand, use);
  if (!i.isTerminator()) return;
  for (const llvm::BasicBlock* successor : llvm::successors(i.getParent()))
    for (const llvm::PHINode& phi : successor->phis())
      source(phi.getIncomingValueForBlock(i.getParent()), use);
}

void Analysis::count_uses() {
  for (const llvm::BasicBlock& block : function_) {
    const std::uint32_t here = number_of(&block);
    for (const llvm::Instruction& i : block) {
      if (!i.getType()->isVoidTy() && !llvm::isa<llvm::AllocaInst>(i) && !is_deferred(i) &&
          pieces_of(&i) == 0 && unknown_.empty() && !i.use_empty())
        unknown_ = text_of(i);
      if (llvm::isa<llvm::PHINode>(i))
        for (unsigned n = 0; n < pieces_of(&i); ++n) {
          Piece& phi = pieces[piece(&i, n)];
          phi.is_global = phi.is_stored = true;
        }
      if (is_alias(i) || is_deferred(i)) continue;
      for_each_source(i, [&](PieceId id) {
        ++pieces[id].uses;
        if (pieces[id].block != here) pieces[id].is_global = true;
      });
    }
  }
}

}  // namespace raddle::jit::baseline
