// Addresses that step from lane to lane but where a limit holds lanes back: neighbours in an image, whose
// columns end. What is at the limit is often computed by no lane that runs, so loads look at run time.
#include "jit/memory_access.h"
#include "jit/shape_operations.h"

namespace raddle::jit {

using isa::Affine;
using isa::Mod;
using ptx::Operand;

namespace {

/// From a register back to the limit.
class WalkToLimit {
 public:
  explicit WalkToLimit(const FunctionPlan& plan) : plan_(plan) {}

  std::optional<std::int64_t> step(const Operand& o, const std::vector<const ptx::Instruction*>& writers) {
    constexpr unsigned kLongest = 16;  // instructions from an address to its limit
    if (o.kind != Operand::Kind::reg || o.negated || writers[o.index] == nullptr || ++walked_ > kLongest)
      return {};
    const ptx::Instruction& i = *writers[o.index];
    const auto operands = plan_.function.operands_of(i);
    if (i.guard != ptx::kNone || operands[0].kind != Operand::Kind::reg || !is_address_width(o.type) ||
        i.opcode->has(Mod::sat) || i.opcode->has(Mod::hi))
      return {};
    const auto of = [&](unsigned k) { return step(operands[k], writers); };
    const auto shares = [&](unsigned k) { return plan_.operand_shape(operands[k]).equal_lanes(); };
    const auto beside = [&](unsigned k, unsigned other) { return shares(other) ? of(k) : std::nullopt; };
    const auto either = [&](unsigned a, unsigned b) {
      const auto found = beside(a, b);
      return found ? found : beside(b, a);
    };
    const auto times = [](std::optional<std::int64_t> step, const Operand* factor) {
      return step && factor ? std::optional(*step * factor->value) : std::nullopt;
    };
    switch (i.opcode->row->text->affine) {
      case Affine::choose:
        return limited(operands[1], operands[2], writers);
      case Affine::move:
      case Affine::convert:
        return operands.size() == 2 ? of(1) : std::nullopt;
      case Affine::add:
        return either(1, 2);
      case Affine::subtract:
        return beside(1, 2);
      case Affine::multiply:
        return times(of(1), plan_.constant(operands[2]));
      case Affine::multiply_add:
        if (shares(1) && shares(2)) return of(3);
        return shares(3) ? times(of(1), plan_.constant(operands[2])) : std::nullopt;
      case Affine::shift_left: {
        const Operand* by = plan_.constant(operands[2]);
        if (by == nullptr || by->value < 0 || by->value > 4) return {};
        const auto found = of(1);
        return found ? std::optional(*found << by->value) : std::nullopt;
      }
      default:
        return {};
    }
  }

 private:
  /// One of the two is the limit, which lanes of a part share.
  std::optional<std::int64_t> limited(const Operand& a, const Operand& b,
                                      const std::vector<const ptx::Instruction*>& writers) {
    const Shape x = plan_.operand_shape(a), y = plan_.operand_shape(b);
    if (x.equal_lanes() == y.equal_lanes()) return {};
    const Shape& lanes = x.equal_lanes() ? y : x;
    if (lanes.affine) return step_in_parts(lanes, plan_.part_lanes);
    return step(x.equal_lanes() ? b : a, writers);
  }

  const FunctionPlan& plan_;
  unsigned walked_ = 0;
};

}  // namespace

std::optional<std::int64_t> FunctionPlan::step_within_limits(const Operand& o) const {
  return WalkToLimit(*this).step(o, writers_);
}

/// A load whose lanes lie side by side but for those at a limit.
bool MemoryAccess::may_lie_within_limits(const Access& a, const Operand& address) const {
  if (!a.is_plain() || a.count != 1 || a.address.shape.affine || code_.lanes() < 8 ||
      address.base != Operand::Base::reg)
    return false;
  Operand base = address;
  base.kind = Operand::Kind::reg;
  base.negated = false;
  base.type = cursor_.function.registers[address.index].type;
  return cursor_.plan.step_within_limits(base) == a.bytes;
}

/// If no lane that runs is at the limit, a vector for each part; else a gather.
MemoryAccess::Parts MemoryAccess::load_within_limits(const Access& a) {
  Access near = a;
  near.address = {.shape = Shape::strided(a.bytes, true), .type = a.address.type};
  llvm::Value* apart = nullptr;
  for (unsigned p = 0; p < code_.parts(); ++p) {
    std::vector<llvm::Constant*> steps;
    for (unsigned l = 0; l < code_.lanes(); ++l) steps.push_back(ir_.getInt64(l * a.bytes));
    auto* begins = ir_.CreateSub(values_.part(a.address, p).v, llvm::ConstantVector::get(steps));
    // One in the middle is within the limits if any is.
    near.address.bases.push_back(ir_.CreateExtractElement(begins, code_.lanes() / 2));
    auto* other = ir_.CreateAnd(ir_.CreateICmpNE(begins, code_.splat(near.address.bases[p])), a.mask[p]);
    apart = apart == nullptr ? other : ir_.CreateOr(apart, other);
  }
  auto* bits = ir_.CreateBitCast(apart, ir_.getIntNTy(code_.lanes()));
  return load_either(a, [&](const auto& keep) {
    code_.if_else(
        ir_.CreateICmpEQ(bits, llvm::Constant::getNullValue(bits->getType())), [&] { keep(load_near(near)); },
        [&] { keep(load_gather(a)); });
  });
}

}  // namespace raddle::jit
