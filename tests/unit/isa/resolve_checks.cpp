// resolve(): every spelling that real code has, free order of modifiers, and what the messages say of the
// others.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "isa/op.h"
#include "isa/row.h"
#include "unit/source_directory.h"

namespace raddle::isa {
namespace {

const Opcode& resolved(std::string_view text) {
  const auto result = resolve(text);
  static const Opcode kNothing;
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result.value() : kNothing;
}

Error error_of(std::string_view text) {
  auto result = resolve(text);
  EXPECT_FALSE(result.ok()) << text << " resolved to " << result.value()->row->id;
  return result.ok() ? Error{} : result.error();
}

std::vector<std::string> census() {
  std::ifstream file(source_directory() + "/tests/unit/isa/census_opcodes.txt");
  std::vector<std::string> opcodes;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') opcodes.push_back(line);
  return opcodes;
}

// proves: K-17a
TEST(Resolve, KnowsEveryOpcodeOfTheCensus) {
  const auto opcodes = census();
  ASSERT_GE(opcodes.size(), 1262u);
  for (const std::string& text : opcodes) {
    const auto result = resolve(text);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.value()->text, text);
  }
}

TEST(Resolve, TakesModifiersInAnyOrder) {
  for (const std::string& text : census()) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('.', begin), text.size());
      words.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    // Flags to the end: they have no order among anything.
    std::string reordered = words[0], flags;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const Mod mod = mod_from_name(words[i]);
      (mod != Mod::none && mod_kind(mod) == ModKind::flag ? flags : reordered) += "." + words[i];
    }
    reordered += flags;
    const Opcode &original = resolved(text), &other = resolved(reordered);
    EXPECT_EQ(original.op, other.op) << reordered;
    EXPECT_EQ(original.mods, other.mods) << reordered;
    EXPECT_EQ(original.types, other.types) << reordered;
  }
}

TEST(Resolve, KeepsTheOrderOfTypes) {
  EXPECT_EQ(resolved("cvt.rn.f32.s16").type(0), Type::f32);
  EXPECT_EQ(resolved("cvt.rn.f32.s16").type(1), Type::s16);
  EXPECT_EQ(resolved("cvt.rzi.s16.f32").type(0), Type::s16);
  EXPECT_FALSE(resolve("cvt.rn.s16.f32").ok());
  EXPECT_EQ(resolved("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32").get(ModKind::layout), Mod::row);
  EXPECT_EQ(resolved("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").get(ModKind::layout), Mod::col);
}

TEST(Resolve, FillsTheOpcode) {
  const Opcode& load = resolved("ld.global.relaxed.gpu.v4.f32");
  EXPECT_EQ(load.op, Op::ld);
  EXPECT_EQ(load.row, &row(Op::ld));
  EXPECT_EQ(load.get(ModKind::space), Mod::global);
  EXPECT_EQ(load.get(ModKind::semantics), Mod::relaxed);
  EXPECT_EQ(load.get(ModKind::scope), Mod::gpu);
  EXPECT_EQ(load.get(ModKind::cache), Mod::none);
  EXPECT_TRUE(load.has(Mod::v4));
  EXPECT_EQ(load.vector_length(), 4u);
  EXPECT_EQ(load.type(), Type::f32);
  EXPECT_EQ(load.type_count, 1u);
  EXPECT_TRUE(load.is(Effects::reads));
}

TEST(Resolve, PicksTheRowByItsForms) {
  EXPECT_EQ(resolved("add.s32").op, Op::add);
  EXPECT_EQ(resolved("add.ftz.f32").op, Op::add_f);
  EXPECT_EQ(resolved("add.bf16x2").op, Op::add_half);
  EXPECT_EQ(resolved("add.cc.u32").op, Op::add_cc);
  EXPECT_EQ(resolved("setp.lo.u32").op, Op::setp);
  EXPECT_EQ(resolved("setp.lt.f16").op, Op::setp_half);
  EXPECT_EQ(resolved("setp.lt.and.f16x2").op, Op::setp_half2);
  EXPECT_EQ(resolved("set.eq.u32.f16x2").op, Op::set_half2);
  EXPECT_EQ(resolved("rcp.approx.ftz.f64").op, Op::rcp_approx_f64);
  EXPECT_EQ(resolved("bar.red.popc.u32").op, Op::bar_red_popc);
  EXPECT_EQ(resolved("bar.warp.sync").op, Op::bar_warp_sync);
  EXPECT_EQ(resolved("atom.add.noftz.bf16x2").op, Op::atom_half);
  EXPECT_EQ(resolved("atom.global.cas.b128").op, Op::atom_b128);
  EXPECT_EQ(resolved("fence.proxy.async.shared::cta").op, Op::fence_proxy);
}

TEST(Resolve, GivesOperandsTheirTypes) {
  const Opcode& wide = resolved("mul.wide.s16");
  EXPECT_EQ(wide.operand_type(wide.row->operands[0]), Type::s32);
  EXPECT_EQ(wide.operand_type(wide.row->operands[1]), Type::s16);
  const Opcode& low = resolved("mul.lo.s16");
  EXPECT_EQ(low.operand_type(low.row->operands[0]), Type::s16);
  const Opcode& shift = resolved("shl.b64");
  EXPECT_EQ(shift.operand_type(shift.row->operands[0]), Type::b64);
  EXPECT_EQ(shift.operand_type(shift.row->operands[2]), Type::u32);
}

TEST(Resolve, ReturnsTheSameOpcodeAgainAndInOtherThreads) {
  const Opcode* first = &resolved("fma.rn.f32");
  EXPECT_EQ(first, &resolved("fma.rn.f32"));
  std::vector<std::thread> threads;
  std::vector<const Opcode*> seen(4, nullptr);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const std::string& text : census()) (void)resolve(text).ok();
      seen[i] = resolve("fma.rn.f32").value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Opcode* opcode : seen) EXPECT_EQ(opcode, first);
}

// proves: K-17g
TEST(Resolve, NamesAnUnknownInstruction) {
  const Error error = error_of("mulx.lo.s32");
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message.find("unknown instruction 'mulx.lo.s32'"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("did you mean 'mul'"), std::string::npos) << error.message;
  EXPECT_EQ(error_of("frobnicate.u32").message, "unknown instruction 'frobnicate.u32'");
}

TEST(Resolve, QuotesTheFormsOfAnIllegalCombination) {
  const Error error = error_of("add.sat.u32");
  EXPECT_EQ(error.code, ErrorCode::invalid);
  EXPECT_NE(error.message.find("add.sat.s32 d, a, b"), std::string::npos) << error.message;
  EXPECT_NE(error_of("bfe.ftz.u32").message.find("bfe has no modifier '.ftz'"), std::string::npos);
  EXPECT_NE(error_of("ld.global.v4.f64x").message.find("modifier '.f64x' is in no instruction"),
            std::string::npos);
  EXPECT_EQ(error_of("add.f64x").code, ErrorCode::unsupported);
  const Error wide = error_of("ld.shared.v8.b32");
  EXPECT_EQ(wide.code, ErrorCode::invalid);
  EXPECT_NE(wide.message.find("more than 128 bits only in global memory"), std::string::npos) << wide.message;
}

TEST(Resolve, RejectsWhatTheManualDoesNotAllow) {
  for (const char* text : {"add",
                           "add.",
                           "add..s32",
                           "add.s32.s32",
                           "add.b32",
                           "mul.s32",
                           "mul.wide.s64",
                           "mad.lo.sat.s32",
                           "min.relu.u32",
                           "setp.lt.b32",
                           "setp.lo.s32",
                           "setp.lt.ftz.f64",
                           "setp.and.s32",
                           "and.s32",
                           "shl.s32",
                           "popc.u32",
                           "fma.f32",
                           "fma.rn.sat.f64",
                           "add.ftz.f64",
                           "div.f32",
                           "sqrt.f32",
                           "sin.f32",
                           "cvt.f32.s32",
                           "cvt.s32.f32",
                           "cvt.rn.f64.f32",
                           "cvt.rni.f32.s32",
                           "cvt.rm.relu.bf16.f32",
                           "mov.s8",
                           "ld.relaxed.global.u32",
                           "ld.acquire.gpu.cg.u32",
                           "st.acquire.gpu.u32",
                           "st.const.u32",
                           "atom.add.b32",
                           "atom.inc.s32",
                           "atom.and.u32",
                           "atom.local.add.u32",
                           "red.exch.b32",
                           "red.cas.b32",
                           "shfl.sync.up.b64",
                           "vote.sync.ballot.pred",
                           "redux.sync.add.b32",
                           "membar.gpu",
                           "fence.gl",
                           "bar.sync.aligned",
                           "bra.u32",
                           "exit.uni",
                           "lop3.xor.b32",
                           "prmt.b32.f4e.b4e",
                           "cvta.to.global",
                           "ld.sat.u32",
                           ".u32",
                           ""})
    EXPECT_FALSE(resolve(text).ok()) << text;
}

TEST(Resolve, SurvivesHostileText) {
  std::string many = "add";
  for (int i = 0; i < 1000; ++i) many += ".sat";
  EXPECT_FALSE(resolve(many).ok());
  EXPECT_FALSE(resolve(std::string(100'000, 'a')).ok());
  EXPECT_FALSE(resolve(std::string(100, '.')).ok());
  EXPECT_FALSE(resolve(std::string_view("\0\xff.\x80", 4)).ok());
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(resolve("add.x" + std::to_string(i)).ok());
}

}  // namespace
}  // namespace raddle::isa
