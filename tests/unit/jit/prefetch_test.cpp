// Which loads are prefetched.
#include "jit/prefetch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "unit/jit/dump.h"
#include "unit/jit/ir.h"

namespace raddle::jit {
namespace {

enum class Memory { device, stream, other };

bool is_of(const llvm::Instruction& i, Memory memory) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
  return memory != Memory::other && (load == nullptr || load->getPointerAddressSpace() == 0);
}

/// Prefetches that the pass puts into the function @f of a module, whose loads are of such memory, but for
/// those by a pointer of another address space.
/// @param first  passes that run before
/// @param pass  what is asked for
/// @param look  (const llvm::Function&), at what the passes leave
template <class Pass = PrefetchLoads>
int prefetches_of(const std::string& text, Memory memory, const char* first = nullptr, Pass pass = Pass(),
                  const std::function<void(const llvm::Function&)>& look = {}) {
  llvm::LLVMContext context;
  auto module = parsed(text, context);
  Analyses analyses;
  llvm::Function& function = *module->getFunction("f");
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (llvm::isa<llvm::LoadInst, llvm::IntrinsicInst>(i) && is_of(i, memory))
        mark_device_load(i, memory == Memory::stream ? DeviceRow::stream : DeviceRow::narrow);
  if (first != nullptr) {
    llvm::FunctionPassManager pipeline;
    llvm::cantFail(analyses.passes.parsePassPipeline(pipeline, first));
    pipeline.run(function, analyses.functions);
  }
  pass.run(function, analyses.functions);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  int count = 0;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
        count += call->getIntrinsicID() == llvm::Intrinsic::prefetch;
  if (look) look(function);
  return count;
}

/// In a loop over a 32-bit counter that steps by `step`, around a load.
int prefetches(const char* step, Memory memory = Memory::device, const char* type = "<16 x i32>",
               bool streams = false) {
  return prefetches_of(fmt::format(R"(
define void @f(i64 %base, i32 %n, i32 %stride) {{
entry:
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %next, %turn ]
  %wide = sext i32 %i to i64
  %bytes = shl nsw i64 %wide, 2
  %address = add i64 %base, %bytes
  %pointer = inttoptr i64 %address to ptr
  %value = load volatile {1}, ptr %pointer, align 4
  %next = add i32 %i, {0}
  %more = icmp slt i32 %next, %n
  br i1 %more, label %turn, label %done
done:
  ret void
}}
)",
                                   step, type),
                       memory, nullptr, PrefetchLoads(streams));
}

TEST(Prefetch, TakesLoadsThatStepFarOrByAnUnknownDistance) {
  EXPECT_EQ(prefetches("%stride"), 1);
  EXPECT_EQ(prefetches("262144"), 1);
  EXPECT_EQ(prefetches("-262144"), 1);
}

/// How far ahead is the same for all loads that step alike: each distance would keep a register of its own.
TEST(Prefetch, LoadsThatStepAlikeShareTheDistance) {
  int products = 0;
  EXPECT_EQ(prefetches_of(R"(
define void @f(i64 %base, i64 %other, i32 %n, i32 %stride) {
entry:
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %next, %turn ]
  %wide = sext i32 %i to i64
  %bytes = shl nsw i64 %wide, 2
  %address = add i64 %base, %bytes
  %pointer = inttoptr i64 %address to ptr
  %value = load volatile <16 x i32>, ptr %pointer, align 4
  %second = add i64 %other, %bytes
  %place = inttoptr i64 %second to ptr
  %more = load volatile <16 x i32>, ptr %place, align 4
  %next = add i32 %i, %stride
  %again = icmp slt i32 %next, %n
  br i1 %again, label %turn, label %done
done:
  ret void
}
)",
                          Memory::device, nullptr, PrefetchLoads(),
                          [&](const llvm::Function& function) {
                            for (const llvm::Instruction& i : llvm::instructions(function))
                              products += i.getOpcode() == llvm::Instruction::Mul;
                          }),
            2);
  EXPECT_LE(products, 1);
}

TEST(Prefetch, TakesEveryLineOfALongLoad) {
  EXPECT_EQ(prefetches("%stride", Memory::device, "<64 x i32>"), 4);
}

TEST(Prefetch, LeavesNearStepsToTheProcessor) { EXPECT_EQ(prefetches("16"), 0); }

TEST(Prefetch, LeavesLoadsOfOtherMemory) { EXPECT_EQ(prefetches("%stride", Memory::other), 0); }

/// In a loop that steps far, around a loop over lanes, with a load in the outer and in the inner one.
int prefetches_around(Memory inner) {
  return prefetches_of(fmt::format(R"(
define void @f(i64 %base, i32 %n, i32 %stride, ptr{0} %table) {{
entry:
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %next, %lanes ]
  %wide = sext i32 %i to i64
  %bytes = shl nsw i64 %wide, 2
  %address = add i64 %base, %bytes
  %pointer = inttoptr i64 %address to ptr
  %value = load volatile <16 x i32>, ptr %pointer, align 4
  br label %lane
lane:
  %k = phi i32 [ 0, %turn ], [ %after, %lane ]
  %place = getelementptr i32, ptr{0} %table, i32 %k
  %count = load volatile i32, ptr{0} %place, align 4
  %after = add i32 %k, 1
  %again = icmp slt i32 %after, 32
  br i1 %again, label %lane, label %lanes
lanes:
  %next = add i32 %i, %stride
  %more = icmp slt i32 %next, %n
  br i1 %more, label %turn, label %done
done:
  ret void
}}
)",
                                   inner == Memory::other ? " addrspace(3)" : ""),
                       Memory::device);
}

TEST(Prefetch, TakesLoadsAroundLoopsThatLoadNone) {
  EXPECT_EQ(prefetches_around(Memory::other), 1);
  EXPECT_EQ(prefetches_around(Memory::device), 0) << "the inner loop would push them out";
}

TEST(Prefetch, TakesStreamsWhereTheHostWantsThem) {
  EXPECT_EQ(prefetches("16", Memory::stream, "<16 x i32>", true), 1);
  EXPECT_EQ(prefetches("16", Memory::stream, "<64 x i32>", true), 4);
  EXPECT_EQ(prefetches("16", Memory::stream, "i32", true), 0) << "of all lanes one word";
  EXPECT_EQ(prefetches("16", Memory::stream), 0) << "another host";
  EXPECT_EQ(prefetches("16", Memory::device, "<16 x i32>", true), 0) << "a loop of the kernel's own";
}

/// @param body  %at is an address that steps by 4 bytes
bool loads_a_stream(const std::string& body) {
  const std::string text = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data) {{
 .reg .b64 %at; .reg .b32 %t, %x; .reg .pred %p;
 .shared .align 16 .b8 tile[1024];
 ld.param.u64 %at, [data];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %at, %t, 4, %at;
 {}
 st.global.u32 [%at], %x;
 ret;
}})",
                                       body);
  const EngineOptions options{.tier = Tier::optimised};
  return dump_of("ir", text, options, {.block = {64}}).find("raddle.device.stream") != std::string::npos;
}

TEST(Prefetch, StreamsAreOfKernelsWithoutLoops) {
  EXPECT_TRUE(loads_a_stream("ld.global.u32 %x, [%at];"));
  EXPECT_TRUE(loads_a_stream("ld.u32 %x, [%at];"));
  EXPECT_FALSE(loads_a_stream("st.shared.u32 [tile], %t; ld.shared.u32 %x, [tile];"));
  EXPECT_FALSE(loads_a_stream("again: ld.global.u32 %x, [%at]; setp.lt.u32 %p, %x, 9; @%p bra again;"));
  EXPECT_FALSE(loads_a_stream("ld.global.u32 %x, [%at]; bar.sync 0;")) << "warps wait for one another";
}

/// In straight code, of a row of 128 bytes by parts: its second part lies `apart` bytes behind the first.
int prefetches_in_line(int apart, const char* type, Memory memory = Memory::device) {
  return prefetches_of(fmt::format(R"(
define void @f(ptr %row) {{
  %first = load volatile {1}, ptr %row, align 4
  %second = getelementptr i8, ptr %row, i64 {0}
  %rest = load volatile {1}, ptr %second, align 4
  ret void
}}
)",
                                   apart, type),
                       memory);
}

TEST(Prefetch, TakesEachLineOfARowOutsideOfLoops) {
  EXPECT_EQ(prefetches_in_line(64, "<16 x i32>"), 2);
  EXPECT_EQ(prefetches_in_line(32, "<8 x i32>"), 1) << "two parts of a line";
  EXPECT_EQ(prefetches_in_line(64, "<16 x i32>", Memory::other), 0) << "of other memory";
  EXPECT_EQ(prefetches_in_line(64, "i32"), 0) << "of all lanes one word";
  EXPECT_EQ(prefetches_in_line(256, "<64 x i32>"), 8) << "four words a lane";
}

// A register has no type of its own: what is loaded is a vector of integers, until LLVM sees it added.
TEST(Prefetch, TakesLoadsThatLlvmMakesOnesOfFloats) {
  EXPECT_EQ(prefetches_of(R"(
define <16 x float> @f(ptr %row) {
  %loaded = load <16 x i32>, ptr %row, align 4
  %value = bitcast <16 x i32> %loaded to <16 x float>
  %sum = fadd <16 x float> %value, %value
  ret <16 x float> %sum
}
)",
                          Memory::device, "instcombine"),
            1);
}

/// How scatters of eight words each are fetched first.
struct Fetched {
  int calls = 0;      ///< of functions that fetch
  int in_a_turn = 0;  ///< prefetches of all these functions
  std::uint64_t lanes = 0;
  int functions = 0;
  std::set<std::int64_t> pieces;  ///< places, in bytes, where addresses are put down
};

void add_fetcher(const llvm::Function& fetcher, Fetched& fetched) {
  ++fetched.functions;
  EXPECT_FALSE(llvm::verifyFunction(fetcher, &llvm::errs()));
  for (const llvm::Instruction& i : llvm::instructions(fetcher)) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      fetched.in_a_turn += call->getIntrinsicID() == llvm::Intrinsic::prefetch;
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
      llvm::APInt offset(64, 0);
      store->getPointerOperand()->stripAndAccumulateConstantOffsets(fetcher.getDataLayout(), offset, true);
      fetched.pieces.insert(offset.getSExtValue());
    }
    if (const auto* end = llvm::dyn_cast<llvm::ICmpInst>(&i))
      fetched.lanes += llvm::cast<llvm::ConstantInt>(end->getOperand(1))->getZExtValue();
  }
}

/// @param count  scatters behind one another; then one apart from them
Fetched scattered(const char* mask, int count = 2, Memory memory = Memory::device) {
  Fetched fetched;
  const std::string scatter = fmt::format(
      "  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %words, <8 x ptr> %one, i32 4, <8 x i1> {})\n",
      mask);
  std::string body;
  for (int n = 0; n < count; ++n) body += scatter;
  prefetches_of<PrefetchScattered>(
      fmt::format(R"(
define void @f(<8 x i32> %words, <8 x ptr> %one, <8 x i1> %some) {{
{0}  fence acquire
{0}  ret void
}}
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, i32, <8 x i1>)
)",
                  body),
      memory, nullptr, PrefetchScattered(), [&](const llvm::Function& function) {
        for (const llvm::Function& other : *function.getParent())
          if (other.getName().starts_with("raddle.fetch_lines")) add_fetcher(other, fetched);
        for (const llvm::Instruction& i : llvm::instructions(function))
          if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i))
            fetched.calls += call->getCalledFunction()->getName().starts_with("raddle.fetch_lines");
      });
  return fetched;
}

TEST(Prefetch, TakesEveryLaneOfScattersByAFunctionThatTheyShare) {
  for (const char* mask : {"splat (i1 true)", "%some"}) {
    const Fetched fetched = scattered(mask);
    EXPECT_EQ(fetched.calls, 2) << mask;
    EXPECT_EQ(fetched.functions, 1) << mask;
    EXPECT_EQ(fetched.in_a_turn, 8) << mask;
    EXPECT_EQ(fetched.lanes, 16u) << mask;
    EXPECT_EQ(fetched.pieces, (std::set<std::int64_t>{0, 32, 64, 96})) << mask;
  }
  EXPECT_EQ(scattered("splat (i1 true)", 2, Memory::other).calls, 0);
}

TEST(Prefetch, TakesFourVectorsOfScattersAtATime) {
  const Fetched fetched = scattered("%some", 6);
  EXPECT_EQ(fetched.calls, 4);
  EXPECT_EQ(fetched.functions, 2);
  EXPECT_EQ(fetched.lanes, 48u);
}

/// Scatters of a kernel that may be fetched first, of all its scatters. @param body  stores into %data
std::pair<int, int> scatters_of(const std::string& body) {
  const std::string text = dump_of("ir",
                                   fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data) {{
 .reg .b64 %data, %at; .reg .b32 %t, %x; .reg .pred %p;
 ld.param.u64 %data, [data];
 mov.u32 %t, %tid.x;
 {}
 ret;
}})",
                                               body),
                                   {.simd = SimdLevel::avx512, .tier = Tier::optimised}, {.block = {64}});
  std::pair<int, int> count;
  for (std::size_t at = 0; (at = text.find("call void @llvm.masked.scatter", at)) != std::string::npos;
       ++at) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    count.first += line.find("!alias.scope") != std::string::npos;
    ++count.second;
  }
  return count;
}

TEST(Prefetch, TakesScattersByUnknownAddressesOnly) {
  const std::string unknown = "mul.lo.u32 %x, %t, %t; mad.wide.u32 %at, %x, 32, %data; ";
  const auto all = scatters_of(unknown + "st.global.u32 [%at], %t;");
  EXPECT_EQ(all.first, all.second);
  EXPECT_GT(all.first, 0);
  const auto firsts =
      scatters_of(unknown + "setp.lt.u32 %p, %x, 99; @%p st.global.v4.u32 [%at], {%t, %t, %t, %t};");
  EXPECT_GT(firsts.first, 0);
  EXPECT_EQ(firsts.second, 2 * firsts.first) << "16 bytes, of which 8 at a time";
  const auto wrapped = scatters_of(
      "sub.u32 %x, %t, 7; cvt.u64.u32 %at, %x; shl.b64 %at, %at, 2; add.s64 %at, %at, %data; "
      "st.global.u32 [%at], %t;");
  EXPECT_EQ(wrapped.first, 0) << "where an address that steps has wrapped, which hardly ever happens";
  EXPECT_GT(wrapped.second, 0);
}

}  // namespace
}  // namespace raddle::jit
