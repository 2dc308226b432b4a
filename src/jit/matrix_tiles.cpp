#include "jit/matrix_tiles.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "jit/carried_loop.h"

namespace raddle::jit {
namespace {

namespace x86 = llvm::Intrinsic;

constexpr unsigned kTilesOfD = 4;  // tile registers 0 to 3
constexpr unsigned kTileOfA = 4, kTileOfB = 5;
constexpr unsigned kTileRows = 16, kBlocksOfTile = 2, kColumnsOfBlock = 8;
constexpr unsigned kRegistersOfTile = 4;  // of a half of the rows: even and odd columns, by block
constexpr unsigned kRowsOfVector = 4, kVectorWords = 16;

/// What `ldtilecfg` reads (Intel's manual of the instruction set, volume 2).
struct TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

TileShapes tile_shapes() {
  TileShapes shapes;
  const auto set = [&](unsigned tile, unsigned rows, unsigned words) {
    shapes.rows[tile] = static_cast<std::uint8_t>(rows);
    shapes.row_bytes[tile] = static_cast<std::uint16_t>(words * 4);
  };
  for (unsigned tile = 0; tile < kTilesOfD; ++tile) set(tile, kTileRows, kTileColumns);
  set(kTileOfA, kTileRows, kTileWords);
  set(kTileOfB, kTileWords, kTileColumns);
  return shapes;
}

class TileWriter {
 public:
  TileWriter(Builder& ir, const WarpgroupProductForm& form, const TileProduct& product)
      : ir_(ir), form_(form), product_(product) {}

  void write() {
    ir_.CreateIntrinsic(x86::x86_ldtilecfg, {}, {shapes()});
    const unsigned blocks = form_.n / kColumnsOfBlock, together = kTilesOfD * kBlocksOfTile;
    const unsigned turns = blocks / together, rest = blocks % together;
    sums_ = place_of_sums();
    if (turns != 0)
      carried_loop(ir_, ir_.getInt32(0), turns, {}, [&](llvm::Value* turn, const Values&) {
        multiply(ir_.CreateMul(turn, ir_.getInt32(kTilesOfD)), together);
        return Values{};
      });
    if (rest != 0) multiply(ir_.getInt32(turns * kTilesOfD), rest);
    ir_.CreateIntrinsic(x86::x86_tilerelease, {}, {});
  }

 private:
  using Values = TileProduct::Values;

  llvm::Value* shapes() {
    const TileShapes shapes = tile_shapes();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&shapes);
    auto* words = llvm::ConstantDataArray::get(ir_.getContext(), llvm::ArrayRef(bytes, sizeof(shapes)));
    auto* global = new llvm::GlobalVariable(*ir_.GetInsertBlock()->getModule(), words->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, words, "tile_shapes");
    global->setAlignment(llvm::Align(64));
    return global;
  }
  llvm::Value* place_of_sums() {
    auto& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
    auto* type = llvm::ArrayType::get(ir_.getInt32Ty(), kTilesOfD * kTileRows * kTileColumns);
    auto* place = Builder(&entry, entry.begin()).CreateAlloca(type, nullptr, "tiles_of_d");
    place->setAlignment(llvm::Align(64));
    return place;
  }
  llvm::Value* at(llvm::Value* words, llvm::Value* index) {
    return ir_.CreateInBoundsGEP(ir_.getInt32Ty(), words, index);
  }

  void load_tile(unsigned tile, llvm::Value* from, unsigned row_words) {
    ir_.CreateIntrinsic(x86::x86_tileloadd64, {}, {ir_.getInt8(tile), from, ir_.getInt64(row_words * 4)});
  }
  void store_tile(unsigned tile, llvm::Value* to) {
    ir_.CreateIntrinsic(x86::x86_tilestored64, {}, {ir_.getInt8(tile), to, ir_.getInt64(kTileColumns * 4)});
  }
  void multiply_tiles(unsigned d) {
    ir_.CreateIntrinsic(instruction(), {}, {ir_.getInt8(d), ir_.getInt8(kTileOfA), ir_.getInt8(kTileOfB)});
  }
  x86::ID instruction() const {
    if (form_.a == Type::bf16) return x86::x86_tdpbf16ps;
    const bool a = isa::is_signed(form_.a), b = isa::is_signed(form_.b);
    if (a) return b ? x86::x86_tdpbssd : x86::x86_tdpbsud;
    return b ? x86::x86_tdpbusd : x86::x86_tdpbuud;
  }

  /// As many tiles from `first` on as so many blocks of columns fill.
  void multiply(llvm::Value* first, unsigned blocks) {
    const unsigned tiles = (blocks + 1) / kBlocksOfTile;
    for (unsigned d = 0; d < tiles; ++d) {
      put(d, block_of(first, d), blocks - d * kBlocksOfTile);
      load_tile(d, sums_of(d, 0), kTileColumns);
    }
    carried_loop(ir_, product_.first_step, form_.steps, {}, [&](llvm::Value* step, const Values&) {
      load_tile(kTileOfA, at(product_.a, ir_.CreateMul(step, ir_.getInt32(kTileRows * kTileWords))),
                kTileWords);
      for (unsigned d = 0; d < tiles; ++d) {
        auto* tile = ir_.CreateAdd(first, ir_.getInt32(d));
        auto* number = ir_.CreateAdd(ir_.CreateMul(tile, ir_.getInt32(form_.steps)), step);
        load_tile(kTileOfB, at(product_.b, ir_.CreateMul(number, ir_.getInt32(kTileWords * kTileColumns))),
                  kTileColumns);
        multiply_tiles(d);
      }
      return Values{};
    });
    for (unsigned d = 0; d < tiles; ++d) {
      store_tile(d, sums_of(d, 0));
      take(d, block_of(first, d), blocks - d * kBlocksOfTile);
    }
  }
  llvm::Value* block_of(llvm::Value* first_tile, unsigned d) {
    return ir_.CreateMul(ir_.CreateAdd(first_tile, ir_.getInt32(d)), ir_.getInt32(kBlocksOfTile));
  }

  // ---- between registers of D and tiles ----
  llvm::Value* sums_of(unsigned d, unsigned row) {
    return at(sums_, ir_.getInt32((d * kTileRows + row) * kTileColumns));
  }
  static unsigned row_of(unsigned half, unsigned part, unsigned row) {
    return half * kTileRows / 2 + part * kRowsOfVector + row;
  }
  /// The parts of a half of the rows that a tile has; of its second block where it has one.
  static constexpr unsigned kParts = kTileRows / 2 / kRowsOfVector;

  void put(unsigned d, llvm::Value* block, unsigned blocks) {
    for (unsigned half = 0; half < 2; ++half) {
      Values sums = product_.begin(block, half);
      if (blocks > 1) {
        const Values second = product_.begin(ir_.CreateAdd(block, ir_.getInt32(1)), half);
        sums.insert(sums.end(), second.begin(), second.end());
      }
      auto* none = llvm::Constant::getNullValue(sums[0]->getType());
      for (unsigned part = 0; part < kParts; ++part) {
        std::array<llvm::Value*, kRegistersOfTile> rows;
        for (unsigned r = 0; r < rows.size(); ++r)
          rows[r] = r * kParts + part < sums.size() ? sums[r * kParts + part] : none;
        rows = transposed(rows);
        for (unsigned r = 0; r < rows.size(); ++r)
          ir_.CreateAlignedStore(rows[r], sums_of(d, row_of(half, part, r)), llvm::Align(64));
      }
    }
  }

  void take(unsigned d, llvm::Value* block, unsigned blocks) {
    for (unsigned half = 0; half < 2; ++half) {
      Values sums(std::size_t{kRegistersOfTile} * kParts);
      auto* type = llvm::FixedVectorType::get(
          form_.a == Type::bf16 ? ir_.getFloatTy() : static_cast<llvm::Type*>(ir_.getInt32Ty()),
          kVectorWords);
      for (unsigned part = 0; part < kParts; ++part) {
        std::array<llvm::Value*, kRegistersOfTile> rows;
        for (unsigned r = 0; r < rows.size(); ++r)
          rows[r] = ir_.CreateAlignedLoad(type, sums_of(d, row_of(half, part, r)), llvm::Align(64));
        rows = transposed(rows);
        for (unsigned r = 0; r < rows.size(); ++r) sums[r * kParts + part] = rows[r];
      }
      const auto middle = sums.begin() + sums.size() / 2;
      product_.finish(block, half, Values(sums.begin(), middle));
      if (blocks > 1)
        product_.finish(ir_.CreateAdd(block, ir_.getInt32(1)), half, Values(middle, sums.end()));
    }
  }

  /// Of four vectors of four times four words: the first four of each, their second four, and so on. It is
  /// its own way back.
  std::array<llvm::Value*, kRegistersOfTile> transposed(
      const std::array<llvm::Value*, kRegistersOfTile>& rows) {
    std::vector<int> all;
    for (unsigned i = 0; i < 2 * kVectorWords; ++i) all.push_back(static_cast<int>(i));
    auto* first = ir_.CreateShuffleVector(rows[0], rows[1], all);
    auto* second = ir_.CreateShuffleVector(rows[2], rows[3], all);
    std::array<llvm::Value*, kRegistersOfTile> columns;
    for (unsigned c = 0; c < columns.size(); ++c) {
      std::vector<int> mask;
      for (unsigned i = 0; i < kVectorWords; ++i)
        mask.push_back(static_cast<int>(i / 4 * kVectorWords + c * 4 + i % 4));
      columns[c] = ir_.CreateShuffleVector(first, second, mask);
    }
    return columns;
  }

  Builder& ir_;
  const WarpgroupProductForm& form_;
  const TileProduct& product_;
  llvm::Value* sums_ = nullptr;
};

}  // namespace

bool takes_tiles(SimdForm simd, const WarpgroupProductForm& form) {
  const MatrixStep step = step_of(simd, form);
  return simd.tiles && (step == MatrixStep::bytes || step == MatrixStep::pairs_of_bf16);
}

void multiply_in_tiles(Builder& ir, const WarpgroupProductForm& form, const TileProduct& product) {
  TileWriter(ir, form, product).write();
}

}  // namespace raddle::jit
