// JIT: loads and stores of wmma's matrices, lane by lane: where a lane's elements lie follows from two
// tables, and what a register holds of a row or column in memory is one access.
#include "isa/op.h"
#include "jit/matrix_layout.h"
#include "jit/matrix_memory.h"

namespace raddle::jit {
namespace {

/// The accesses of one instruction.
class WmmaAccess {
 public:
  WmmaAccess(WarpEmitter& e, unsigned address)
      : e_(e),
        layout_(e.opcode(), "r"),
        shape_(isa::matrix_shape(e.opcode())),
        is_whole_(layout_.in_register() == 1 || layout_.by_columns() == (layout_.matrix() == isa::Matrix::b)),
        bits_(is_whole_ ? layout_.register_bits() : layout_.element_bits()),
        slots_(layout_.registers() * layout_.register_bits() / bits_),
        address_(address) {}

  const MatrixLayout& layout() const { return layout_; }

  /// Calls `body(host memory, place of the same bits in a register's memory)` for every lane's accesses.
  void each(FragmentMemory& registers,
            const std::function<void(llvm::Value* host, llvm::Value* place)>& body) {
    ++e_.statistics.memory_operations;
    ++e_.statistics.not_vectorised;
    auto& ir = e_.ir;
    const WarpAccess access = e_.addresses.begin(e_.operand(address_), e_.get(ModKind::space), bits_ / 8);
    const LaneValue addresses = e_.lane_value(access.generic);
    const LaneValue strides =
        e_.present(2) ? e_.lane_value(e_.in(2)) : LaneValue(ir.getInt32(dense_stride()));
    llvm::Constant *lines = line_numbers(), *places = line_places();
    e_.context.note_line();
    e_.loops.for_each_marked(e_.bits(e_.executing()).v, [&](llvm::Value* lane) {
      auto* stride = ir.CreateZExt(strides[lane], ir.getInt64Ty());
      for (unsigned slot = 0; slot < slots_; ++slot) {
        auto* index = ir.CreateAdd(ir.CreateMul(entry(lines, lane, slot), stride), entry(places, lane, slot));
        auto* offset = ir.CreateLShr(ir.CreateMul(index, ir.getInt64(layout_.element_bits())), 3);
        const unsigned bit = slot * bits_;
        auto* address = e_.addresses.reached(ir.CreateAdd(addresses[lane], offset), lane, access.access);
        body(e_.code.pointer(address),
             registers.of_lane(lane, bit / layout_.register_bits(), bit % layout_.register_bits() / 8));
      }
    });
  }
  llvm::Type* word() const { return e_.ir.getIntNTy(bits_); }
  llvm::Align align() const { return llvm::Align(bits_ / 8); }

 private:
  unsigned dense_stride() const {
    if (layout_.matrix() == isa::Matrix::a) return layout_.by_columns() ? shape_.m : shape_.k;
    if (layout_.matrix() == isa::Matrix::b) return layout_.by_columns() ? shape_.k : shape_.n;
    return layout_.by_columns() ? shape_.m : shape_.n;
  }

  /// Number of the row or column in memory that holds a lane's slot; its place in there.
  llvm::Constant* line_numbers() {
    return table([&](const MatrixCell& cell) { return layout_.by_columns() ? cell.column : cell.row; });
  }
  llvm::Constant* line_places() {
    return table([&](const MatrixCell& cell) { return layout_.by_columns() ? cell.row : cell.column; });
  }
  /// By lane and slot.
  llvm::Constant* table(const std::function<unsigned(const MatrixCell&)>& value) {
    std::vector<std::uint8_t> numbers;
    for (unsigned lane = 0; lane < exec::kWarpSize; ++lane)
      for (unsigned slot = 0; slot < slots_; ++slot) {
        const unsigned bit = slot * bits_, reg = bit / layout_.register_bits();
        const unsigned element = bit % layout_.register_bits() / layout_.element_bits();
        numbers.push_back(static_cast<std::uint8_t>(value(layout_.cell({lane, reg, element}))));
      }
    auto* constant = llvm::ConstantDataArray::get(e_.ir.getContext(), numbers);
    auto* module = e_.code.function()->getParent();
    return new llvm::GlobalVariable(*module, constant->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                    constant);
  }
  llvm::Value* entry(llvm::Constant* table, llvm::Value* lane, unsigned slot) {
    auto* at = e_.ir.CreateAdd(e_.ir.CreateMul(lane, e_.ir.getInt32(slots_)), e_.ir.getInt32(slot));
    auto* number = e_.ir.CreateLoad(e_.ir.getInt8Ty(), e_.ir.CreateInBoundsGEP(e_.ir.getInt8Ty(), table, at));
    return e_.ir.CreateZExt(number, e_.ir.getInt64Ty());
  }

  WarpEmitter& e_;
  MatrixLayout layout_;
  isa::MatrixShape shape_;
  bool is_whole_;
  unsigned bits_, slots_;  ///< of an access; accesses of a lane
  unsigned address_;
};

/// The registers that hold each element once, and those that repeat them.
std::vector<ptx::Operand> some_registers(const std::vector<ptx::Operand>& all, unsigned first,
                                         unsigned count) {
  return {all.begin() + first, all.begin() + first + count};
}

}  // namespace

template <>
void emit<Op::wmma_load>(WarpEmitter& e) {
  WmmaAccess access(e, 1);
  FragmentMemory memory(e, "matrix_d", access.layout().register_bits());
  access.each(memory, [&](llvm::Value* host, llvm::Value* place) {
    e.ir.CreateAlignedStore(e.ir.CreateAlignedLoad(access.word(), host, access.align()), place,
                            access.align());
  });
  const auto all = e.elements(0);
  const unsigned count = access.layout().registers();
  for (unsigned first = 0; first < all.size(); first += count) memory.load(some_registers(all, first, count));
}

template <>
void emit<Op::wmma_store>(WarpEmitter& e) {
  WmmaAccess access(e, 0);
  FragmentMemory memory(e, "matrix_c", access.layout().register_bits());
  memory.store(e.elements(1));
  access.each(memory, [&](llvm::Value* host, llvm::Value* place) {
    e.ir.CreateAlignedStore(e.ir.CreateAlignedLoad(access.word(), place, access.align()), host,
                            access.align());
  });
}

}  // namespace raddle::jit
