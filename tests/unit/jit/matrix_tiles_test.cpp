// wgmmas in the host's tile registers (AMX). The compiled form is read for a processor that has them; what
// the tiles compute is compared with the form without tiles on any AVX-512 host: each of their instructions
// becomes a call of a function here that does what Intel's manual says.
#include "jit/matrix_tiles.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace raddle::jit {
namespace {

using isa::Type;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// ---- the tiles ----

class Tiles {
 public:
  void configure(const std::uint8_t* shapes) {
    EXPECT_EQ(shapes[0], 1) << "the palette";
    EXPECT_EQ(shapes[1], 0) << "the first row";
    for (unsigned t = 0; t < 8; ++t) {
      std::memcpy(&tiles_[t].row_bytes, shapes + 16 + 2 * t, 2);
      tiles_[t].rows = shapes[48 + t];
      EXPECT_LE(tiles_[t].row_bytes, 64);
      EXPECT_LE(tiles_[t].rows, 16);
    }
    is_configured_ = true;
  }
  void release() { is_configured_ = false; }
  bool is_configured() const { return is_configured_; }
  void load(unsigned t, const std::uint8_t* from, std::int64_t pitch) {
    EXPECT_TRUE(is_configured_);
    for (unsigned row = 0; row < tiles_[t].rows; ++row)
      std::memcpy(tiles_[t].bytes[row], from + row * pitch, tiles_[t].row_bytes);
  }
  void store(unsigned t, std::uint8_t* to, std::int64_t pitch) const {
    for (unsigned row = 0; row < tiles_[t].rows; ++row)
      std::memcpy(to + row * pitch, tiles_[t].bytes[row], tiles_[t].row_bytes);
  }
  /// `add(sum, word of A, word of B)`, for all words along K of each sum.
  template <class Sum, class Add>
  void multiply(unsigned d, unsigned a, unsigned b, Add add) {
    EXPECT_EQ(tiles_[d].rows, tiles_[a].rows);
    EXPECT_EQ(tiles_[d].row_bytes, tiles_[b].row_bytes);
    EXPECT_EQ(tiles_[a].row_bytes, tiles_[b].rows * 4);
    for (unsigned row = 0; row < tiles_[d].rows; ++row)
      for (unsigned column = 0; column < tiles_[d].row_bytes / 4U; ++column) {
        Sum sum = word<Sum>(d, row, column);
        for (unsigned k = 0; k < tiles_[b].rows; ++k)
          sum = add(sum, word<std::uint32_t>(a, row, k), word<std::uint32_t>(b, k, column));
        std::memcpy(tiles_[d].bytes[row] + 4 * column, &sum, 4);
      }
  }

 private:
  struct Tile {
    std::uint8_t bytes[16][64] = {};
    std::uint16_t row_bytes = 0;
    std::uint8_t rows = 0;
  };
  template <class Word>
  Word word(unsigned t, unsigned row, unsigned column) const {
    Word value;
    std::memcpy(&value, tiles_[t].bytes[row] + 4 * column, 4);
    return value;
  }
  Tile tiles_[8];
  bool is_configured_ = false;
};
Tiles tiles;

float of_bf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }
template <class A, class B>
void multiply_bytes(std::uint8_t d, std::uint8_t a, std::uint8_t b) {
  tiles.multiply<std::uint32_t>(d, a, b, [](std::uint32_t sum, std::uint32_t x, std::uint32_t y) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      sum += static_cast<std::uint32_t>(static_cast<A>(x >> shift) * static_cast<B>(y >> shift));
    return sum;
  });
}
void multiply_bf16(std::uint8_t d, std::uint8_t a, std::uint8_t b) {
  tiles.multiply<float>(d, a, b, [](float sum, std::uint32_t x, std::uint32_t y) {
    return sum + of_bf16(x & 0xffff) * of_bf16(y & 0xffff) + of_bf16(x >> 16) * of_bf16(y >> 16);
  });
}

/// What stands for an intrinsic.
const std::map<llvm::Intrinsic::ID, std::pair<const char*, void*>>& stand_ins() {
  using namespace llvm::Intrinsic;
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  static const std::map<ID, std::pair<const char*, void*>> all = {
      {x86_ldtilecfg, {"configure", address(+[](const std::uint8_t* shapes) { tiles.configure(shapes); })}},
      {x86_tilerelease, {"release", address(+[] { tiles.release(); })}},
      {x86_tileloadd64, {"load", address(+[](std::uint8_t t, const std::uint8_t* from, std::int64_t pitch) {
                           tiles.load(t, from, pitch);
                         })}},
      {x86_tilestored64, {"store", address(+[](std::uint8_t t, std::uint8_t* to, std::int64_t pitch) {
                            tiles.store(t, to, pitch);
                          })}},
      {x86_tdpbf16ps, {"bf16", address(&multiply_bf16)}},
      {x86_tdpbssd, {"ss", address(&multiply_bytes<std::int8_t, std::int8_t>)}},
      {x86_tdpbsud, {"su", address(&multiply_bytes<std::int8_t, std::uint8_t>)}},
      {x86_tdpbusd, {"us", address(&multiply_bytes<std::uint8_t, std::int8_t>)}},
      {x86_tdpbuud, {"uu", address(&multiply_bytes<std::uint8_t, std::uint8_t>)}},
  };
  return all;
}

void replace_intrinsics(llvm::Module& module) {
  for (auto& function : module)
    for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call == nullptr || !stand_ins().contains(call->getIntrinsicID())) continue;
      auto other =
          module.getOrInsertFunction(stand_ins().at(call->getIntrinsicID()).first, call->getFunctionType());
      const std::vector<llvm::Value*> arguments(call->arg_begin(), call->arg_end());
      llvm::CallInst::Create(other, arguments, "", call);
      call->eraseFromParent();
    }
}

// ---- the function of a form ----

using Product = void (*)(void* d, const void* a, const void* metadata, const void* shared,
                         const WarpgroupStep*, int warp);

constexpr SimdForm kWithoutTiles = {.lanes = 16};
constexpr SimdForm kInTiles = {.lanes = 16, .dots_of_bytes = true, .dots_of_bf16 = true, .tiles = true};

llvm::orc::ThreadSafeModule module_of(SimdForm simd, const WarpgroupProductForm& form,
                                      const llvm::DataLayout& layout) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("tiles", *context);
  module->setDataLayout(layout);
  llvm::Function* function = warpgroup_product(*module, simd, form);
  function->setLinkage(llvm::GlobalValue::ExternalLinkage);
  function->setName("product");
  return {std::move(module), std::move(context)};
}

std::unique_ptr<llvm::orc::LLJIT> make_jit() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::orc::SymbolMap symbols;
  for (const auto& [id, stand_in] : stand_ins())
    symbols[jit->mangleAndIntern(stand_in.first)] = {llvm::orc::ExecutorAddr::fromPtr(stand_in.second),
                                                     llvm::JITSymbolFlags::Exported};
  llvm::cantFail(jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)));
  return jit;
}

/// The function, and what keeps it.
struct Compiled {
  Compiled(SimdForm simd, const WarpgroupProductForm& form) : jit(make_jit()) {
    auto module = module_of(simd, form, jit->getDataLayout());
    module.withModuleDo([](llvm::Module& m) {
      replace_intrinsics(m);
      EXPECT_FALSE(llvm::verifyModule(m, &llvm::errs()));
    });
    llvm::cantFail(jit->addIRModule(std::move(module)));
    product = llvm::cantFail(jit->lookup("product")).toPtr<Product>();
  }
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Product product = nullptr;
};

// ---- matrices ----

constexpr unsigned kSharedBytes = 1 << 17, kRegisters = 128, kLanes = 32;

struct alignas(64) Matrices {
  std::uint8_t shared[kSharedBytes];
  std::uint32_t a[kMostSteps * 4 * kLanes];
  std::uint32_t d[kRegisters * kLanes];
  WarpgroupStep steps[kMostSteps];
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  /// Sums of products of such numbers are exact in f32.
  std::uint32_t pair_of_bf16() { return bf16() | bf16() << 16; }
  std::uint32_t whole_float() {
    return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(below(200)) - 100));
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  /// Of a matrix in the first 96 KiB; any swizzle.
  std::uint64_t descriptor() {
    const std::uint64_t start = below(64), leading = below(32), stride = below(64), mode = below(4);
    return start | leading << 16 | stride << 32 | mode << 62;
  }

 private:
  std::uint32_t bf16() {
    return std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(below(17)) - 8)) >> 16;
  }
  std::mt19937_64 engine_;
};

std::unique_ptr<Matrices> draw(const WarpgroupProductForm& form, Random& random) {
  auto m = std::make_unique<Matrices>();
  const bool is_float = form.a == Type::bf16;
  const auto element_words = [&] { return is_float ? random.pair_of_bf16() : random.word(); };
  for (std::size_t at = 0; at < kSharedBytes; at += 4) {
    const std::uint32_t word = element_words();
    std::memcpy(m->shared + at, &word, 4);
  }
  for (std::uint32_t& word : m->a) word = element_words();
  for (std::uint32_t& word : m->d) word = is_float ? random.whole_float() : random.word();
  for (WarpgroupStep& step : m->steps)
    step = {random.descriptor(), random.descriptor(), random.below(3) != 0};
  return m;
}

void expect_same(const WarpgroupProductForm& form, Random& random) {
  SCOPED_TRACE(form.name());
  const Compiled without(kWithoutTiles, form), with(kInTiles, form);
  for (int round = 0; round < 5; ++round) {
    const auto expected = draw(form, random);
    const auto got = std::make_unique<Matrices>(*expected);
    const int warp = static_cast<int>(random.below(4));
    without.product(expected->d, expected->a, nullptr, expected->shared, expected->steps, warp);
    with.product(got->d, got->a, nullptr, got->shared, got->steps, warp);
    EXPECT_FALSE(tiles.is_configured()) << "left behind";
    ASSERT_EQ(std::memcmp(expected->d, got->d, sizeof(got->d)), 0) << "round " << round;
  }
}

TEST(MatrixTiles, MultiplyAsRegistersDo) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "the rows of tiles are vectors of AVX-512";
  Random random(7);
  for (const unsigned n : {8U, 16U, 24U, 64U, 72U, 256U})
    for (const unsigned steps : {1U, 2U, 4U}) {
      WarpgroupProductForm form{.d = Type::f32, .a = Type::bf16, .b = Type::bf16, .n = n, .steps = steps};
      form.a_in_registers = random.below(2) != 0;
      form.a_transposed = !form.a_in_registers && random.below(2) != 0;
      form.b_transposed = random.below(2) != 0;
      form.negates = random.below(2) != 0;
      expect_same(form, random);
      const auto byte = [&] { return random.below(2) != 0 ? Type::s8 : Type::u8; };
      WarpgroupProductForm bytes{.d = Type::s32, .a = byte(), .b = byte(), .n = n, .steps = steps};
      bytes.a_in_registers = random.below(2) != 0;
      expect_same(bytes, random);
    }
}

TEST(MatrixTiles, MultiplyBytesOfEachKindAndClampTheirSums) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "the rows of tiles are vectors of AVX-512";
  Random random(8);
  for (const Type a : {Type::s8, Type::u8})
    for (const Type b : {Type::s8, Type::u8})
      for (const bool saturates : {false, true})
        expect_same({.d = Type::s32, .a = a, .b = b, .n = 40, .saturates = saturates}, random);
}

/// Of the tile form, for a processor that has tiles.
std::string assembly_of(const WarpgroupProductForm& form, llvm::CodeGenOptLevel level) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::string error;
  const std::string triple = llvm::sys::getProcessTriple();
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, error);
  const std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "sapphirerapids", "", {}, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, true));
  auto module = module_of(kInTiles, form, machine->createDataLayout());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  module.withModuleDo([&](llvm::Module& m) {
    for (auto& function : m) {
      function.addFnAttr("target-cpu", "sapphirerapids");
      function.addFnAttr("prefer-vector-width", "512");
      function.addFnAttr("min-legal-vector-width", "512");
    }
    llvm::legacy::PassManager passes;
    machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
    passes.run(m);
  });
  return text.str().str();
}

TEST(MatrixTiles, AreInstructionsOfAProcessorThatHasThem) {
  for (const auto level : {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Default}) {
    const auto frame = AllOf(HasSubstr("ldtilecfg"), HasSubstr("tileloadd"), HasSubstr("tilestored"),
                             HasSubstr("tilerelease"));
    const std::string floats =
        assembly_of({.d = Type::f32, .a = Type::bf16, .b = Type::bf16, .n = 128, .steps = 4}, level);
    EXPECT_THAT(floats, AllOf(frame, HasSubstr("tdpbf16ps"), Not(HasSubstr("vdpbf16ps"))));
    const std::string bytes = assembly_of({.d = Type::s32, .a = Type::u8, .b = Type::s8, .n = 128}, level);
    EXPECT_THAT(bytes, AllOf(frame, HasSubstr("tdpbusd"), Not(HasSubstr("vpdpbusd"))));
  }
}

TEST(MatrixTiles, TakeDenseBytesAndBf16) {
  const auto taken = [](Type d, Type a, bool sparse) {
    return takes_tiles(kInTiles, {.d = d, .a = a, .b = a, .sparse = sparse});
  };
  EXPECT_TRUE(taken(Type::f32, Type::bf16, false));
  EXPECT_TRUE(taken(Type::s32, Type::u8, false));
  EXPECT_FALSE(taken(Type::f32, Type::bf16, true));
  EXPECT_FALSE(taken(Type::f32, Type::f16, false));
  EXPECT_FALSE(taken(Type::s32, Type::b1, false));
  EXPECT_FALSE(takes_tiles(kWithoutTiles, {.d = Type::f32, .a = Type::bf16, .b = Type::bf16}));
}

}  // namespace
}  // namespace raddle::jit
