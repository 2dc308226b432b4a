// Statements in which threads work together, race-free by construction: what one thread writes another reads
// only across a barrier, and what several change at once commutes. Register names are those of program.cpp.
#include <array>

#include "diff/instructions.h"

namespace raddle::diff {
namespace {

using isa::Mod;
using isa::ModKind;
using isa::Type;

const char* own_cell = "shl.b32 %t0, %thread, 3; add.u32 %t0, %t0, %exchange;";

}  // namespace

/// Puts a small integer into a scratch register of the type: exact in every float type, and so are the sums
/// of one per thread, whatever the order.
std::string InstructionSource::summand(Type type, std::vector<std::string>& lines) {
  if (!is_fractional(type)) return source_register(type);
  const bool half = type != Type::f32 && type != Type::f64;
  lines.push_back(fmt::format("and.b32 %t0, {}, {}; sub.s32 %t0, %t0, {};", source_register(Type::b32),
                              half ? 3 : 255, half ? 1 : 100));
  if (type == Type::f64) return lines.push_back("cvt.rn.f64.s32 %sum64, %t0;"), "%sum64";
  lines.push_back("cvt.rn.f32.s32 %sum32, %t0;");
  if (type == Type::f32) return "%sum32";
  const bool brain = type == Type::bf16 || type == Type::bf16x2;
  lines.push_back(fmt::format("cvt.rn.{}.f32 %n0, %sum32;", brain ? "bf16" : "f16"));
  if (isa::bit_size(type) == 16) return "%n0";
  lines.push_back(fmt::format("neg.{} %n1, %n0; mov.b32 %t0, {{%n0, %n1}};", brain ? "bf16" : "f16"));
  return "%t0";
}

/// All threads set the cell to zero, relaxed, so that it does not matter which threads are left.
std::vector<std::string> InstructionSource::sum() {
  const auto& rows = catalogue().sums;
  const Opcodes& opcodes = rows[random_.below(static_cast<unsigned>(rows.size()))];
  const isa::Opcode& opcode = *opcodes[random_.below(static_cast<unsigned>(opcodes.size()))];
  const Type type = opcode.type();
  const Mod space = opcode.get(ModKind::space);
  const unsigned length = opcode.vector_length();
  const bool generic = space == Mod::none;
  const bool global = space == Mod::global || (generic && (length > 1 || random_.chance(50)));
  const char* cell = global ? "totals" : "sums";
  const char* name = global ? "global" : "shared";
  std::vector<std::string> lines = {fmt::format(
      "st.relaxed.cta.{0}.b64 [{1}], 0; st.relaxed.cta.{0}.b64 [{1}+8], 0;\nbar.sync 0;", name, cell)};
  if (generic) lines.push_back(fmt::format("mov.u64 %at64, {1}; cvta.{0}.u64 %at64, %at64;", name, cell));
  const std::string value = summand(type, lines);
  const unsigned bits = isa::bit_size(type);
  std::string values = value, olds = "%old0";
  for (unsigned i = 1; i < length; ++i) values += ", " + value, olds += fmt::format(", %old{}", i);
  if (length > 1) values = "{" + values + "}", olds = "{" + olds + "}";
  const char* letter = is_fractional(type) && (type == Type::f32 || type == Type::f64) ? "f" : "b";
  lines.push_back(fmt::format("{{\n.reg .{}{} %old<{}>;\n{}{} {}[{}], {};\n}}", letter, bits, length,
                              random_.chance(20) ? "@" + predicate() + " " : "", opcode.text,
                              has_destination(*opcode.row) ? olds + ", " : "", generic ? "%at64" : cell,
                              values));
  lines.push_back(fmt::format("bar.sync 0;\nld.{0}.b64 {2}, [{1}]; ld.{0}.b64 {3}, [{1}+8];\nbar.sync 0;",
                              name, cell, source_register(Type::b64), source_register(Type::b64)));
  return lines;
}

std::vector<std::string> InstructionSource::write_exchanged() {
  const Type type = random_.chance(40) ? Type::b64 : Type::b32;
  return {fmt::format("{} st.shared.{} [%t0], {};", own_cell, type_name(type), source_register(type))};
}

std::vector<std::string> InstructionSource::read_exchanged() {
  const Type type = random_.chance(40) ? Type::b64 : Type::b32;
  const unsigned threads = thread_count(block_);
  return {fmt::format("add.u32 %t1, %thread, {}; rem.u32 %t1, %t1, {}; mad.lo.u32 %t1, %t1, 8, %exchange;",
                      random_.below(threads), threads),
          fmt::format("ld.shared.{} {}, [%t1];", type_name(type), source_register(type))};
}

std::vector<std::string> InstructionSource::exchange() {
  std::vector<std::string> lines = write_exchanged();
  lines.push_back("bar.sync 0;");
  for (std::string& line : read_exchanged()) lines.push_back(std::move(line));
  lines.push_back("bar.sync 0;");
  return lines;
}

std::vector<std::string> InstructionSource::hand_over() {
  const unsigned threads = thread_count(block_), producers = 32 * (1 + random_.below(threads / 32 - 1));
  const unsigned barrier = 2 + random_.below(14);
  const char* name = random_.chance(50) ? "bar" : "barrier";
  return {
      write_exchanged().front(),
      fmt::format("setp.lt.u32 %q0, %thread, {};\n@%q0 {}.arrive {}, {};", producers, name, barrier, threads),
      fmt::format("@!%q0 {}.sync {}, {};", name, barrier, threads),
      fmt::format(
          "rem.u32 %t1, %thread, {}; mad.lo.u32 %t1, %t1, 8, %exchange;\n@!%q0 ld.shared.b32 {}, [%t1];",
          producers, source_register(Type::b32)),
      "bar.sync 0;"};
}

std::vector<std::string> InstructionSource::place_in_grid() {
  constexpr std::array kNames = {"%laneid",      "%lanemask_lt", "%lanemask_le", "%lanemask_gt",
                                 "%lanemask_ge", "%lanemask_eq", "%tid.x",       "%tid.y",
                                 "%ntid.y",      "%ctaid.x",     "%nctaid.z"};
  if (random_.chance(60))
    return {fmt::format("mov.u32 {}, {};", source_register(Type::u32),
                        kNames[random_.below(static_cast<unsigned>(kNames.size()))])};
  constexpr std::array kSpaces = {"global", "shared", "local", "const", "shared::cta"};
  constexpr std::array kAddresses = {"%global", "%generic_shared", "%generic_local", "%readonly"};
  return {fmt::format("isspacep.{} {}, {};", kSpaces[random_.below(5)], source_register(Type::pred),
                      kAddresses[random_.below(4)])};
}

std::vector<std::string> InstructionSource::stack_memory() {
  const bool wide = random_.chance(50);
  return {fmt::format("stacksave.u64 %wide0; alloca.u64 %at64, {}{};\nst.local.b{} [%at64{}], {};",
                      16 << random_.below(3), random_.chance(50) ? ", 32" : "", wide ? 64 : 32,
                      wide ? "+8" : "+4", source_register(wide ? Type::b64 : Type::b32)),
          fmt::format("ld.local.b{} {}, [%at64{}]; stackrestore.u64 %wide0;", wide ? 64 : 32,
                      source_register(wide ? Type::b64 : Type::b32), wide ? "+8" : "+4")};
}

}  // namespace raddle::diff
