// JIT: matrices of 8x8 16-bit elements that a warp holds together. A matrix's rows, one behind the other, are
// the words of its 32 threads. Where all threads are sure to take part, loaded rows are joined to vectors;
// elsewhere rows are copied to a place of the warp's and read from there as its values.
#include <llvm/Analysis/VectorUtils.h>

#include "isa/op.h"
#include "jit/matrix_memory.h"
#include "jit/transposes.h"

namespace raddle::jit {
namespace {

constexpr unsigned kRows = 8, kRowBytes = 16, kMatrixBytes = kRows * kRowBytes;

/// Rows of several matrices.
class Rows {
 public:
  Rows(WarpEmitter& e, unsigned matrices) : e_(e), lanes_((std::uint64_t{1} << kRows * matrices) - 1) {
    auto* bytes = llvm::ArrayType::get(e.ir.getInt8Ty(), kMatrixBytes * matrices);
    place_ = e.code.entry_alloca(bytes, "rows", 64);
    e.code.begin_as_zero(place_, bytes);
  }
  /// Calls `body(address, row)` for the executing lanes that name rows.
  void each(const LaneValue& addresses, const std::function<void(llvm::Value* at, llvm::Value* row)>& body) {
    auto& ir = e_.ir;
    auto* naming = ir.CreateAnd(e_.bits(e_.executing()).v, ir.getInt32(static_cast<std::uint32_t>(lanes_)));
    e_.loops.for_each_unrolled(naming, [&](llvm::Value* lane) {
      auto* row = ir.CreateInBoundsGEP(ir.getInt8Ty(), place_, ir.CreateMul(lane, ir.getInt32(kRowBytes)));
      body(e_.code.pointer(addresses[lane]), row);
    });
  }
  /// A matrix as words of threads.
  WarpValue words(unsigned matrix) {
    WarpValue value;
    value.shape = Shape::varying();
    value.type = Type::b32;
    for (unsigned p = 0; p < e_.parts(); ++p) {
      auto* vector = e_.code.vector_of(e_.ir.getInt32Ty());
      value.parts.push_back(e_.ir.CreateAlignedLoad(vector, part(matrix, p), llvm::Align(4)));
    }
    return value;
  }
  void put(unsigned matrix, const WarpValue& words) {
    for (unsigned p = 0; p < e_.parts(); ++p)
      e_.ir.CreateAlignedStore(e_.part(words, p, Type::b32).v, part(matrix, p), llvm::Align(4));
  }
  void transpose(unsigned matrix) {
    auto* elements = llvm::FixedVectorType::get(e_.ir.getInt16Ty(), kRows * kRows);
    auto* at = part(matrix, 0);
    auto* all = e_.ir.CreateAlignedLoad(elements, at, llvm::Align(kRowBytes));
    e_.ir.CreateAlignedStore(transposed(e_.ir, all, e_.code.has_mask_registers()), at,
                             llvm::Align(kRowBytes));
  }

 private:
  llvm::Value* part(unsigned matrix, unsigned p) {
    const unsigned lanes = exec::kWarpSize / e_.parts();
    return e_.ir.CreateConstInBoundsGEP1_32(e_.ir.getInt8Ty(), place_, matrix * kMatrixBytes + p * lanes * 4);
  }

  WarpEmitter& e_;
  std::uint64_t lanes_;  ///< that name rows
  llvm::Value* place_;
};

llvm::Value* load_row(WarpEmitter& e, llvm::Value* from) {
  return e.ir.CreateAlignedLoad(llvm::FixedVectorType::get(e.ir.getInt64Ty(), 2), from,
                                llvm::Align(kRowBytes));
}

/// Generic addresses of rows have to be of shared memory.
void fault_outside(WarpEmitter& e, const WarpValue& addresses, unsigned matrices) {
  const Mask executing = e.executing();
  Mask outside;
  for (unsigned p = 0; p < e.parts(); ++p) {
    llvm::SmallVector<llvm::Constant*> naming;
    for (unsigned lane = p * e.lanes(); lane < (p + 1) * e.lanes(); ++lane)
      naming.push_back(e.ir.getInt1(lane < kRows * matrices));
    auto* there = e.ir.CreateAnd(executing[p], llvm::ConstantVector::get(naming));
    auto* shared = e.spaces.in_cluster(e.part(addresses, p, Type::u64).v);
    outside.push_back(e.ir.CreateAnd(there, e.ir.CreateNot(shared)));
  }
  e.context.note_line();
  e.context.fault_lanes(exec::FaultKind::illegal_instruction, outside);
}

WarpValue address_of(WarpEmitter& e, unsigned k, unsigned matrices) {
  ++e.statistics.memory_operations;
  ++e.statistics.not_vectorised;
  const Mod space = e.get(ModKind::space);
  const WarpValue addresses = e.addresses.begin(e.operand(k), space, kRowBytes).address;
  if (ptx::space_of(space) == ptx::Space::generic) fault_outside(e, addresses, matrices);
  return addresses;
}

LaneValue addresses_of(WarpEmitter& e, unsigned k, unsigned matrices) {
  const LaneValue addresses = e.lane_value(address_of(e, k, matrices));
  e.context.note_line();
  return addresses;
}

using Parts = std::vector<llvm::Value*>;
using PlaceOfRow = std::function<llvm::Value*(unsigned lane)>;

/// The elements of a matrix's rows as words of threads.
Parts words_of_rows(WarpEmitter& e, const std::vector<llvm::Value*>& rows) {
  if (e.has(Mod::trans))
    return words_of_lanes(
        e, transposed(e.ir, llvm::concatenateVectors(e.ir, rows), e.code.has_mask_registers()));
  const std::size_t in_part = rows.size() / e.parts();
  Parts words;
  for (unsigned p = 0; p < e.parts(); ++p) {
    const auto of_part = llvm::ArrayRef(rows).slice(p * in_part, in_part);
    auto* elements = in_part == 1 ? of_part[0] : llvm::concatenateVectors(e.ir, of_part);
    words.push_back(e.ir.CreateBitCast(elements, e.words()));
  }
  return words;
}

/// A matrix as words of threads, its rows where eight lanes say. The loads are volatile: each is an
/// instruction of its own, which tells its lane.
Parts join_rows(WarpEmitter& e, const PlaceOfRow& place, unsigned matrix) {
  auto* row = llvm::FixedVectorType::get(e.ir.getInt16Ty(), kRows);
  std::vector<llvm::Value*> rows;
  for (unsigned lane = matrix * kRows; lane < (matrix + 1) * kRows; ++lane) {
    auto* at = place(lane);
    rows.push_back(e.code.for_lanes(
        {lane, 1}, [&] { return e.ir.CreateAlignedLoad(row, at, llvm::Align(kRowBytes), true); }));
  }
  return words_of_rows(e, rows);
}

std::vector<Parts> join_rows_of_all(WarpEmitter& e, const PlaceOfRow& place, unsigned matrices) {
  std::vector<Parts> all;
  e.context.mark_lane(e.ir.getInt32(0));  // from which loads count theirs
  for (unsigned m = 0; m < matrices; ++m) all.push_back(join_rows(e, place, m));
  e.context.mark_lane(nullptr);
  return all;
}

/// From addresses in memory.
std::vector<Parts> load_rows_anywhere(WarpEmitter& e, const std::vector<llvm::Value*>& vectors,
                                      unsigned matrices) {
  const LaneArray addresses = e.spill(vectors);
  keep_in_memory(e.ir, addresses.pointer());
  return join_rows_of_all(
      e, [&](unsigned lane) { return e.code.pointer(addresses[e.ir.getInt32(lane)]); }, matrices);
}

/// At constant distances from one address.
std::vector<Parts> load_rows_near(WarpEmitter& e, const WarpValue& addresses, unsigned matrices) {
  auto* base = e.code.pointer(addresses.bases[0]);
  const auto at = [&](unsigned lane) {
    const auto offset = static_cast<std::uint64_t>(addresses.shape.offset(lane));
    return e.ir.CreateConstGEP1_64(e.ir.getInt8Ty(), base, offset);
  };
  return join_rows_of_all(e, at, matrices);
}

/// What one of two ways loads.
std::vector<Parts> load_rows_checked(WarpEmitter& e, const WarpValue& addresses, unsigned matrices) {
  std::vector<Parts> slots(matrices), loaded(matrices);
  for (Parts& parts : slots)
    for (unsigned p = 0; p < e.parts(); ++p) parts.push_back(e.code.entry_alloca(e.words(), "loaded"));
  const auto keep = [&](const std::vector<Parts>& made) {
    for (unsigned m = 0; m < matrices; ++m)
      for (unsigned p = 0; p < e.parts(); ++p) e.ir.CreateStore(made[m][p], slots[m][p]);
  };
  e.code.two_ways(
      addresses.ok, [&] { keep(load_rows_near(e, addresses, matrices)); },
      [&] { keep(load_rows_anywhere(e, e.values.wrapped(addresses), matrices)); });
  for (unsigned m = 0; m < matrices; ++m)
    for (auto* slot : slots[m]) loaded[m].push_back(e.ir.CreateLoad(e.words(), slot));
  return loaded;
}

/// For all lanes of the warp.
void load_matrices(WarpEmitter& e) {
  const auto destinations = e.elements(0);
  const auto matrices = static_cast<unsigned>(destinations.size());
  const WarpValue addresses = address_of(e, 1, matrices);
  const bool is_near = addresses.shape.affine && !addresses.shape.per_part && !e.cursor.plan.together;
  std::vector<Parts> rows = !is_near ? load_rows_anywhere(e, e.values.vectors(addresses), matrices)
                            : addresses.shape.checked ? load_rows_checked(e, addresses, matrices)
                                                      : load_rows_near(e, addresses, matrices);
  for (unsigned m = 0; m < matrices; ++m)
    e.registers.write_parts(destinations[m], Type::b32, std::move(rows[m]));
}

}  // namespace

template <>
void emit<Op::ldmatrix>(WarpEmitter& e) {
  if (e.runs_whole_warp()) return load_matrices(e);
  const auto destinations = e.elements(0);
  const auto matrices = static_cast<unsigned>(destinations.size());
  const LaneValue addresses = addresses_of(e, 1, matrices);
  Rows rows(e, matrices);
  rows.each(addresses, [&](llvm::Value* at, llvm::Value* row) {
    e.ir.CreateAlignedStore(load_row(e, at), row, llvm::Align(kRowBytes));
  });
  for (unsigned m = 0; m < destinations.size(); ++m) {
    if (e.has(Mod::trans)) rows.transpose(m);
    e.registers.write(destinations[m], rows.words(m));
  }
}

template <>
void emit<Op::stmatrix>(WarpEmitter& e) {
  const auto sources = e.elements(1);
  Rows rows(e, static_cast<unsigned>(sources.size()));
  for (unsigned m = 0; m < sources.size(); ++m) {
    rows.put(m, e.registers.read(sources[m]));
    if (e.has(Mod::trans)) rows.transpose(m);
  }
  rows.each(addresses_of(e, 0, static_cast<unsigned>(sources.size())),
            [&](llvm::Value* at, llvm::Value* row) {
              e.ir.CreateAlignedStore(load_row(e, row), at, llvm::Align(kRowBytes));
            });
}

template <>
void emit<Op::movmatrix>(WarpEmitter& e) {
  Rows rows(e, 1);
  rows.put(0, e.in(1));
  rows.transpose(0);
  e.out(0, rows.words(0));
}

}  // namespace raddle::jit
