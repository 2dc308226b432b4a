// Rows and columns that change places within 16 bytes.
#include "jit/transposes.h"

#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <numeric>
#include <regex>
#include <vector>

#include "unit/jit/dump.h"
#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

/// What a function finds in memory: no two halves are the same.
int word_read(unsigned i) { return static_cast<int>(2 * i + (2 * i + 1) * 0x10000); }

struct Made {
  std::vector<int> words;      ///< what it wrote
  unsigned shuffles = 0;       ///< but those that lay whole vectors side by side
  unsigned long_shuffles = 0;  ///< of these, to more than the lanes' vector
};

bool joins_whole_vectors(const llvm::ShuffleVectorInst& shuffle) {
  return shuffle.isConcat() || shuffle.isIdentityWithPadding();
}

/// @param write  with the builder and what was read: what is to be written
Made make(unsigned lanes, const std::function<std::vector<llvm::Value*>(Builder&, llvm::Value*)>& write) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("quads", *context);
  auto* pointer = llvm::PointerType::getUnqual(*context);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(*context), {pointer, pointer}, false),
      llvm::Function::ExternalLinkage, "f", *module);
  Builder ir(llvm::BasicBlock::Create(*context, "entry", function));
  const unsigned count = lanes * kQuad;
  llvm::Value* place = function->getArg(1);
  auto* read = ir.CreateAlignedLoad(llvm::FixedVectorType::get(ir.getInt32Ty(), count), function->getArg(0),
                                    llvm::Align(4));
  for (llvm::Value* vector : write(ir, read)) {
    auto* store = ir.CreateAlignedStore(vector, place, llvm::Align(4));
    const auto bytes = module->getDataLayout().getTypeStoreSize(store->getValueOperand()->getType());
    place = ir.CreateConstGEP1_64(ir.getInt8Ty(), place, bytes);
  }
  ir.CreateRetVoid();
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  Made made;
  for (const llvm::Instruction& i : llvm::instructions(*function))
    if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) {
      if (joins_whole_vectors(*shuffle)) continue;
      ++made.shuffles;
      made.long_shuffles += shuffle->getShuffleMask().size() > lanes;
    }
  const auto jit = compiled(std::move(module), std::move(context));
  std::vector<int> in(count);
  for (unsigned i = 0; i < count; ++i) in[i] = word_read(i);
  made.words.resize(count);
  llvm::cantFail(jit->lookup("f")).toPtr<void(const int*, int*)>()(in.data(), made.words.data());
  return made;
}

TEST(Transposes, WordsOfEachNumberComeTogether) {
  for (const unsigned lanes : {4u, 8u}) {
    const Made made = make(lanes, [](Builder& ir, llvm::Value* quads) {
      const auto words = words_of_quads(ir, quads);
      return std::vector<llvm::Value*>(words.begin(), words.end());
    });
    for (unsigned word = 0; word < kQuad; ++word)
      for (unsigned lane = 0; lane < lanes; ++lane)
        EXPECT_EQ(made.words[word * lanes + lane], word_read(lane * kQuad + word)) << lanes;
    EXPECT_EQ(made.shuffles, 12u) << lanes;
    EXPECT_EQ(made.long_shuffles, 0u) << lanes;
  }
}

TEST(Transposes, AndGoBack) {
  for (const unsigned lanes : {4u, 8u}) {
    const Made made = make(lanes, [lanes](Builder& ir, llvm::Value* words) {
      std::array<llvm::Value*, kQuad> rows;
      for (unsigned word = 0; word < kQuad; ++word) {
        std::vector<int> mask(lanes);
        std::iota(mask.begin(), mask.end(), static_cast<int>(word * lanes));
        rows[word] = ir.CreateShuffleVector(words, mask);
      }
      return std::vector{quads_of_words(ir, rows)};
    });
    for (unsigned lane = 0; lane < lanes; ++lane)
      for (unsigned word = 0; word < kQuad; ++word)
        EXPECT_EQ(made.words[lane * kQuad + word], word_read(word * lanes + lane)) << lanes;
    EXPECT_EQ(made.long_shuffles, 0u) << "LLVM would take them one by one";
  }
}

TEST(Transposes, MatricesOfHalves) {
  for (const bool across : {false, true}) {
    const Made made = make(8, [across](Builder& ir, llvm::Value* words) {
      auto* elements = ir.CreateBitCast(words, llvm::FixedVectorType::get(ir.getInt16Ty(), 64));
      return std::vector{ir.CreateBitCast(transposed(ir, elements, across), words->getType())};
    });
    const auto half = [](const std::vector<int>& words, unsigned i) {
      return static_cast<unsigned>(words[i / 2]) >> i % 2 * 16 & 0xffff;
    };
    std::vector<int> in;
    for (unsigned i = 0; i < 32; ++i) in.push_back(word_read(i));
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column)
        EXPECT_EQ(half(made.words, column * 8 + row), half(in, row * 8 + column)) << across;
    EXPECT_EQ(made.shuffles, across ? 1u : 4u + 8 + 4);
  }
}

/// Shuffles of a kernel's code in which words of two vectors take turns within 16 bytes.
unsigned turns_in(SimdLevel level, const std::string& body) {
  const std::string ptx = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data) {{
 .reg .b64 %at, %to; .reg .b32 %t, %x, %y, %z, %w;
 ld.param.u64 %at, [data];
 mov.u32 %t, %tid.x;
 {}
 ret;
}})",
                                      body);
  const std::string text =
      dump_of("optimised", ptx, {.simd = level, .tier = Tier::optimised}, {.block = {32, 1, 1}});
  const std::regex turn(level == SimdLevel::sse42
                            ? "<i32 0, i32 4, i32 1, i32 5>"
                            : "<i32 0, i32 8, i32 1, i32 9, i32 4, i32 12, i32 5, i32 13>");
  return static_cast<unsigned>(std::distance(std::sregex_iterator(text.begin(), text.end(), turn), {}));
}

constexpr const char* kWords =
    "st.global.u32 [%to], %x; st.global.u32 [%to+128], %y; st.global.u32 [%to+256], %z;"
    "st.global.u32 [%to+384], %w;";

TEST(Transposes, AreWhatAccessesOfFourWordsAreMadeOf) {
  const std::string own = "mad.wide.u32 %to, %t, 4, %at; mad.wide.u32 %at, %t, 16, %at;";
  const std::string load = own + "ld.global.v4.u32 {%x, %y, %z, %w}, [%at+4096];" + kWords;
  const std::string store =
      own +
      "ld.global.u32 %x, [%to]; ld.global.u32 %y, [%to+128]; ld.global.u32 %z, [%to+256];"
      "ld.global.u32 %w, [%to+384]; st.global.v4.u32 [%at+4096], {%x, %y, %z, %w};";
  for (const std::string& body : {load, store}) {
    EXPECT_GE(turns_in(SimdLevel::avx2, body), 2u * 4) << body;
    EXPECT_GE(turns_in(SimdLevel::sse42, body), 2u * 8) << body;
    EXPECT_EQ(turns_in(SimdLevel::avx512, body), 0u) << body;
  }
}

TEST(Transposes, NotWordsInAnotherOrder) {
  const std::string back = "mad.wide.u32 %to, %t, 4, %at; mad.wide.s32 %at, %t, -16, %at;";
  EXPECT_EQ(turns_in(SimdLevel::avx2, back + "ld.global.v4.u32 {%x, %y, %z, %w}, [%at+4096];" + kWords), 0u);
}

TEST(Transposes, AlsoWhereLanesLieAnywhere) {
  const std::string far =
      "mad.wide.u32 %to, %t, 4, %at; mul.lo.u32 %x, %t, %t; mad.wide.u32 %at, %x, 16, %at;";
  EXPECT_GE(turns_in(SimdLevel::avx2, far + "ld.global.v4.u32 {%x, %y, %z, %w}, [%at+4096];" + kWords),
            2u * 4);
  EXPECT_GE(turns_in(SimdLevel::avx2, far + "st.global.v4.u32 [%at+4096], {%t, %x, %x, %t};"), 2u * 4);
}

}  // namespace
}  // namespace raddle::jit
