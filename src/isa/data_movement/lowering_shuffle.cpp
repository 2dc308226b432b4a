// JIT: shfl. Constant distances become vector permutations; others read a spilled copy of the warp's values.
#include <llvm/Analysis/VectorUtils.h>

#include <optional>
#include <vector>

#include "isa/op.h"
#include "jit/warp_emitter.h"

namespace raddle::jit {
namespace {

struct Source {
  unsigned lane;
  bool in_range;
};

/// The manual's rule: `c` holds the clamp in bits 0-4 and the segment mask in bits 8-12.
Source source_of(Mod mode, unsigned lane, unsigned b, unsigned c) {
  b &= 31;
  unsigned clamp = c & 31, segment = c >> 8 & 31;
  unsigned highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
  int j = 0;
  bool in_range = false;
  switch (mode) {
    case Mod::up:
      j = static_cast<int>(lane) - static_cast<int>(b), in_range = j >= static_cast<int>(highest);
      break;
    case Mod::down:
      j = static_cast<int>(lane + b), in_range = j <= static_cast<int>(highest);
      break;
    case Mod::bfly:
      j = static_cast<int>(lane ^ b), in_range = j <= static_cast<int>(highest);
      break;
    default:
      j = static_cast<int>(lowest | (b & ~segment)), in_range = j <= static_cast<int>(highest);
      break;
  }
  return {in_range ? static_cast<unsigned>(j) : lane, in_range};
}

using Lanes = std::vector<int>;

/// Of each part, in which lane each of its lanes finds what it gets, if that is one part for all of them.
/// Then LLVM sees which parts of a sum over the warp are the same: of a butterfly all, once the distances of
/// whole parts are behind it (docs/adr/0163).
std::optional<std::vector<Lanes>> within_parts(const std::vector<Lanes>& sources) {
  std::vector<Lanes> within = sources;
  for (Lanes& lanes : within) {
    const auto count = static_cast<int>(lanes.size());
    const int first = lanes[0] / count * count;
    for (int& lane : lanes) {
      lane -= first;
      if (lane < 0 || lane >= count) return {};
    }
  }
  return within;
}

llvm::Value* permuted(llvm::IRBuilderBase& ir, llvm::Value* part, const Lanes& lanes) {
  const bool stays = llvm::ShuffleVectorInst::isIdentityMask(lanes, static_cast<int>(lanes.size()));
  return stays ? part : ir.CreateShuffleVector(part, lanes);
}

void shuffle_constant(WarpEmitter& e, Mod mode, const WarpValue& a, unsigned b, unsigned c) {
  auto& ir = e.ir;
  const std::vector<llvm::Value*> parts = e.by_part([&](unsigned p) { return e.part(a, p, Type::b32); });
  std::vector<Lanes> sources(e.parts());
  std::vector<llvm::Value*> moved, valid;
  for (unsigned p = 0; p < e.parts(); ++p) {
    std::vector<llvm::Constant*> in_range;
    for (unsigned l = 0; l < e.lanes(); ++l) {
      Source s = source_of(mode, p * e.lanes() + l, b, c);
      sources[p].push_back(static_cast<int>(s.lane));
      in_range.push_back(ir.getInt1(s.in_range));
    }
    valid.push_back(llvm::ConstantVector::get(in_range));
  }
  if (const auto within = within_parts(sources)) {
    for (unsigned p = 0; p < e.parts(); ++p) {
      const auto from = static_cast<unsigned>(sources[p][0]) / e.lanes();
      moved.push_back(permuted(ir, parts[from], (*within)[p]));
    }
  } else {
    llvm::Value* const whole = llvm::concatenateVectors(ir, parts);
    for (const Lanes& lanes : sources) moved.push_back(ir.CreateShuffleVector(whole, lanes));
  }
  e.out(0, Type::b32, moved);
  if (e.wants(1)) e.out(1, Type::pred, valid);
}

void shuffle_dynamic(WarpEmitter& e, Mod mode, const WarpValue& a, const WarpValue& b, const WarpValue& c) {
  auto& ir = e.ir;
  auto* array = e.values.spill_parts(e.by_part([&](unsigned p) { return e.part(a, p, Type::b32); }));
  std::vector<llvm::Value*> moved, valid;
  for (unsigned p = 0; p < e.parts(); ++p) {
    Val distance = e.part(b, p, Type::s32), control = e.part(c, p, Type::s32);
    distance = distance & distance.like(31);
    Val lane = e.lane_numbers(p);
    Val clamp = control & control.like(31),
        segment = shift_right(control, control.like(8)) & control.like(31);
    Val lowest = lane & segment, highest = lowest | (clamp & ~segment);
    Val j = mode == Mod::up     ? lane - distance
            : mode == Mod::down ? lane + distance
            : mode == Mod::bfly ? lane ^ distance
                                : lowest | (distance & ~segment);
    Val in_range = mode == Mod::up ? ge(j, highest) : le(j, highest);
    Val source = select(in_range, j, lane) & lane.like(31);
    auto* i32 = ir.getInt32Ty();
    auto* pointers = ir.CreateGEP(i32, array, source.v);
    moved.push_back(ir.CreateMaskedGather(e.words(), pointers, llvm::Align(4)));
    valid.push_back(in_range.v);
  }
  e.out(0, Type::b32, moved);
  if (e.wants(1)) e.out(1, Type::pred, valid);
}

void shuffle(WarpEmitter& e) {
  Mod mode = e.get(ModKind::shuffle);
  WarpValue a = e.collective(2), b = e.in(3), c = e.in(4);
  auto constant = [](const WarpValue& v) {
    return v.shape.uniform() ? llvm::dyn_cast<llvm::ConstantInt>(v.bases[0]) : nullptr;
  };
  auto *distance = constant(b), *control = constant(c);
  if (distance && control)
    shuffle_constant(e, mode, a, static_cast<unsigned>(distance->getZExtValue()),
                     static_cast<unsigned>(control->getZExtValue()));
  else
    shuffle_dynamic(e, mode, a, b, c);
}

}  // namespace

template <>
void emit<Op::shfl_sync>(WarpEmitter& e) {
  shuffle(e);
}
template <>
void emit<Op::shfl>(WarpEmitter& e) {
  shuffle(e);
}

}  // namespace raddle::jit
