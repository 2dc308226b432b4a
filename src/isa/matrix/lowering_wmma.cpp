// JIT: loads and stores of wmma's matrices. Where a lane's elements lie follows from the layout. Lane by
// lane, what a register holds of a row or column in memory is one access; a load by a whole warp of one
// address joins pieces of the rows or columns to vectors.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isa/op.h"
#include "jit/matrix_layout.h"
#include "jit/matrix_memory.h"
#include "jit/matrix_words.h"
#include "jit/transposes.h"

namespace raddle::jit {
namespace {

/// Elements from one row or column in memory to the next, where the instruction does not say.
unsigned dense_stride(const MatrixLayout& layout, const isa::MatrixShape& shape) {
  if (layout.matrix() == isa::Matrix::a) return layout.by_columns() ? shape.m : shape.k;
  if (layout.matrix() == isa::Matrix::b) return layout.by_columns() ? shape.k : shape.n;
  return layout.by_columns() ? shape.m : shape.n;
}
/// Number of the row or column in memory that an element lies in; its place in there.
unsigned line_of(const MatrixLayout& layout, const MatrixCell& cell) {
  return layout.by_columns() ? cell.column : cell.row;
}
unsigned place_of(const MatrixLayout& layout, const MatrixCell& cell) {
  return layout.by_columns() ? cell.row : cell.column;
}
/// What a register holds lies side by side in memory.
bool lies_whole(const MatrixLayout& layout) {
  return layout.in_register() == 1 || layout.by_columns() == (layout.matrix() == isa::Matrix::b);
}
/// Bits that a lane has of a line at a time: of which an address is a multiple.
unsigned access_bits(const MatrixLayout& layout) {
  return lies_whole(layout) ? layout.register_bits() : layout.element_bits();
}

/// The accesses of one instruction, lane by lane.
class WmmaAccess {
 public:
  WmmaAccess(WarpEmitter& e, unsigned address)
      : e_(e),
        layout_(e.opcode(), "r"),
        shape_(isa::matrix_shape(e.opcode())),
        bits_(access_bits(layout_)),
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
        e_.present(2) ? e_.lane_value(e_.in(2)) : LaneValue(ir.getInt32(dense_stride(layout_, shape_)));
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
  llvm::Constant* line_numbers() {
    return table([&](const MatrixCell& cell) { return line_of(layout_, cell); });
  }
  llvm::Constant* line_places() {
    return table([&](const MatrixCell& cell) { return place_of(layout_, cell); });
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
  unsigned bits_, slots_;  ///< of an access; accesses of a lane
  unsigned address_;
};

/// A load by the whole warp of a matrix at one address. Four lanes that follow one another hold words of one
/// row or column in memory, which are one load. Where registers of two elements of 16 bits hold neighbours in
/// the other direction, a register of all lanes is eight rows or columns of eight elements, transposed.
class JoinedLoad {
 public:
  explicit JoinedLoad(WarpEmitter& e)
      : e_(e), layout_(e.opcode(), "r"), word_(layout_.register_bits() / 8), vectors_(layout_.registers()) {}

  bool is_possible() {
    if (!e_.runs_whole_warp() || e_.code.thread() != nullptr) return false;
    if (e_.kernel.windowed || e_.kernel.modelled) return false;  // each address is looked at
    return has_pieces() && e_.addresses.generic(e_.operand(1), e_.get(ModKind::space)).shape.uniform() &&
           (!e_.present(2) || e_.in(2).shape.uniform());
  }

  void load(const std::vector<ptx::Operand>& registers) {
    ++e_.statistics.memory_operations;
    const WarpAccess access =
        e_.addresses.begin(e_.operand(1), e_.get(ModKind::space), access_bits(layout_) / 8);
    base_ = e_.scalar(access.address).v;
    stride_ = bytes_of_stride();
    e_.context.note_line();
    e_.context.mark_lane(e_.ir.getInt32(0));  // from which loads count theirs
    if (lies_whole(layout_))
      join_words();
    else
      for (unsigned reg = 0; reg < layout_.registers(); ++reg) vectors_[reg] = transposed_rows(reg);
    e_.context.mark_lane(nullptr);
    for (unsigned i = 0; i < registers.size(); ++i)
      e_.registers.write_parts(registers[i], isa::bits_type(layout_.register_bits()),
                               vectors_[i % layout_.registers()]);
  }

 private:
  static constexpr unsigned kLanes = 4, kRows = 8;
  using Parts = std::vector<llvm::Value*>;
  /// Of a line in memory, as many as are loaded at once, and which of them the four lanes hold.
  struct Words {
    unsigned line, first, count;
    std::array<int, kLanes> held;
  };

  /// For each four lanes their registers, as lanes come first where loads fault.
  bool each_piece(const std::function<bool(unsigned first_lane, unsigned reg)>& body) {
    for (unsigned first = 0; first < exec::kWarpSize; first += kLanes)
      for (unsigned reg = 0; reg < layout_.registers(); ++reg)
        if (!body(first, reg)) return false;
    return true;
  }

  bool has_pieces() {
    return layout_.element_bits() >= 8 && each_piece([this](unsigned first, unsigned reg) {
             return lies_whole(layout_) ? words_of(first, reg).has_value() : first != 0 || is_transposed(reg);
           });
  }

  /// Four or eight words that hold those of four lanes, if there are such. They end where the line does, as
  /// lines have a power of two of words.
  std::optional<Words> words_of(unsigned first_lane, unsigned reg) const {
    std::array<unsigned, kLanes> at;
    Words words{
        .line = line_of(layout_, layout_.cell({first_lane, reg, 0})), .first = 0, .count = 0, .held = {}};
    for (unsigned i = 0; i < kLanes; ++i) {
      const MatrixCell cell = layout_.cell({first_lane + i, reg, 0});
      if (line_of(layout_, cell) != words.line) return std::nullopt;
      at[i] = place_of(layout_, cell) / layout_.in_register();
    }
    const auto [lowest, highest] = std::ranges::minmax(at);
    words.count = lowest / 4 == highest / 4 ? 4 : 8;
    words.first = lowest / words.count * words.count;
    if (highest >= words.first + words.count) return std::nullopt;
    for (unsigned i = 0; i < kLanes; ++i) words.held[i] = static_cast<int>(at[i] - words.first);
    const bool in_order = std::ranges::is_sorted(at) && words.held[0] == 0;
    return words.count == kLanes && !in_order ? std::nullopt : std::optional(words);
  }

  void join_words() {
    std::vector<Parts> pieces(layout_.registers());
    each_piece([&](unsigned first, unsigned reg) {
      const Words words = *words_of(first, reg);
      auto* type = llvm::FixedVectorType::get(e_.ir.getIntNTy(word_ * 8), words.count);
      auto* loaded = row(words.line, words.first * word_, type, first);
      if (words.count != kLanes) loaded = e_.ir.CreateShuffleVector(loaded, words.held);
      pieces[reg].push_back(loaded);
      return true;
    });
    const unsigned in_part = e_.lanes() / kLanes;
    for (unsigned reg = 0; reg < layout_.registers(); ++reg)
      for (unsigned p = 0; p < e_.parts(); ++p)
        vectors_[reg].push_back(
            llvm::concatenateVectors(e_.ir, llvm::ArrayRef(pieces[reg]).slice(p * in_part, in_part)));
  }

  /// A register's elements are neighbours across lines; the lanes' from four to four along them.
  bool is_transposed(unsigned reg) const {
    if (layout_.element_bits() != 16 || layout_.in_register() != 2) return false;
    const MatrixCell origin = layout_.cell({0, reg, 0});
    for (unsigned lane = 0; lane < exec::kWarpSize; ++lane)
      for (unsigned element = 0; element < 2; ++element) {
        const MatrixCell cell = layout_.cell({lane, reg, element});
        if (line_of(layout_, cell) != line_of(layout_, origin) + lane % kLanes * 2 + element ||
            place_of(layout_, cell) != place_of(layout_, origin) + lane / kLanes)
          return false;
      }
    return true;
  }

  Parts transposed_rows(unsigned reg) {
    const MatrixCell origin = layout_.cell({0, reg, 0});
    auto* type = llvm::FixedVectorType::get(e_.ir.getInt16Ty(), kRows);
    Parts rows;
    for (unsigned i = 0; i < kRows; ++i)
      rows.push_back(row(line_of(layout_, origin) + i, place_of(layout_, origin) * 2, type, i / 2));
    return words_of_lanes(
        e_, transposed(e_.ir, llvm::concatenateVectors(e_.ir, rows), e_.code.has_mask_registers()));
  }

  /// Volatile: each load is an instruction of its own, which tells its lane.
  llvm::Value* row(unsigned line, unsigned byte, llvm::Type* type, unsigned lane) {
    auto* at = e_.ir.CreateAdd(base_, e_.ir.CreateMul(stride_, e_.ir.getInt64(line)));
    auto* from = e_.code.pointer(e_.ir.CreateAdd(at, e_.ir.getInt64(byte)));
    return e_.code.for_lanes({lane, 1}, [&] {
      return e_.ir.CreateAlignedLoad(type, from, llvm::Align(layout_.element_bits() / 8), true);
    });
  }

  llvm::Value* bytes_of_stride() {
    auto& ir = e_.ir;
    auto* elements = e_.present(2) ? ir.CreateZExt(e_.scalar(e_.in(2)).v, ir.getInt64Ty())
                                   : ir.getInt64(dense_stride(layout_, isa::matrix_shape(e_.opcode())));
    return ir.CreateMul(elements, ir.getInt64(layout_.element_bits() / 8));
  }

  WarpEmitter& e_;
  const MatrixLayout layout_;
  const unsigned word_;         ///< bytes of a lane's register
  std::vector<Parts> vectors_;  ///< of each register
  llvm::Value *base_ = nullptr, *stride_ = nullptr;
};

/// The registers that hold each element once, and those that repeat them.
std::vector<ptx::Operand> some_registers(const std::vector<ptx::Operand>& all, unsigned first,
                                         unsigned count) {
  return {all.begin() + first, all.begin() + first + count};
}

}  // namespace

template <>
void emit<Op::wmma_load>(WarpEmitter& e) {
  if (JoinedLoad joined(e); joined.is_possible()) return joined.load(e.elements(0));
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
