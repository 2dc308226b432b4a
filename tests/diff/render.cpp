// Programs as PTX text, and the shrinker.
#include <functional>

#include "diff/program.h"
#include "isa/harness/kernel_writer.h"

namespace raddle::testing {
namespace {

void render(std::string& out, const Statements& statements);

void render_loop(std::string& out, const Statement& s) {
  out += fmt::format("and.b32 %n{0}, {1}, 7; mov.b32 %i{0}, 0;\nLOOP{0}:\nsetp.ge.u32 %q{0}, %i{0}, %n{0};\n@%q{0} bra OUT{0};\n", s.id, s.count);
  out += fmt::format("add.u32 %i{0}, %i{0}, 1;\n", s.id);
  if (!s.continue_if.empty()) out += fmt::format("@{} bra LOOP{};\n", s.continue_if, s.id);
  render(out, s.first);
  if (!s.break_if.empty()) out += fmt::format("@{} bra OUT{};\n", s.break_if, s.id);
  out += fmt::format("bra LOOP{0};\nOUT{0}:\n", s.id);
}

void render_branch(std::string& out, const Statement& s) {
  out += fmt::format("@!{} bra ELSE{};\n", s.condition, s.id);
  render(out, s.first);
  if (!s.second.empty()) out += fmt::format("bra JOIN{};\n", s.id);
  out += fmt::format("ELSE{}:\n", s.id);
  render(out, s.second);
  if (!s.second.empty()) out += fmt::format("JOIN{}:\n", s.id);
}

void render(std::string& out, const Statements& statements) {
  for (const auto& s : statements) {
    if (s->dropped) continue;
    if (s->flattened) {
      render(out, s->first);
      render(out, s->second);
      continue;
    }
    switch (s->kind) {
      case Statement::Kind::plain:
        for (const auto& line : s->lines) out += line + "\n";
        break;
      case Statement::Kind::branch: render_branch(out, *s); break;
      case Statement::Kind::loop: render_loop(out, *s); break;
      case Statement::Kind::finish: out += fmt::format("@{} bra FINISH;\n", s->condition); break;
      case Statement::Kind::leave: out += fmt::format("@{} exit;\n", s->condition); break;
    }
  }
}

void declare_loops(std::string& out, const Statements& statements) {
  for (const auto& s : statements) {
    if (s->dropped) continue;
    if (s->kind == Statement::Kind::loop && !s->flattened) out += fmt::format(".reg .b32 %n{0}, %i{0};\n.reg .pred %q{0};\n", s->id);
    declare_loops(out, s->first);
    declare_loops(out, s->second);
  }
}

/// Calls each(register, its slot number, load or store suffix) for the pools.
void each_register(const std::function<void(const std::string&, unsigned, unsigned)>& each) {
  unsigned slot = 0;
  for (auto [letter, count, bits] : {std::tuple{'p', kPredicates, 1u}, {'h', kShorts, 16u}, {'r', kWords, 32u}, {'d', kLongs, 64u}})
    for (unsigned i = 0; i < count; ++i) each(fmt::format("%{}{}", letter, i), slot++, bits);
}

void collect(Statements& statements, std::vector<Statement*>& all) {
  for (auto& s : statements) {
    if (s->dropped) continue;
    all.push_back(s.get());
    collect(s->first, all);
    collect(s->second, all);
  }
}

}  // namespace

std::string render(const Program& program) {
  std::string out = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry test(.param .u64 out, .param .u64 in, .param .u64 memory)
{{
.reg .pred %p<{}>, %pn;
.reg .b16 %h<{}>;
.reg .b32 %r<{}>, %lane, %sh, %bit;
.reg .b64 %d<{}>, %out, %in, %mem;
.shared .align 8 .b8 cells[{}];
.local .align 8 .b8 frame[{}];
)", kPredicates, kShorts, kWords, kLongs, kPrivateBytes * kLanes, kPrivateBytes);
  declare_loops(out, program.statements);
  out += fmt::format(R"(ld.param.u64 %out, [out];
ld.param.u64 %in, [in];
ld.param.u64 %mem, [memory];
mov.u32 %lane, %tid.x;
mad.wide.u32 %out, %lane, 8, %out;
mad.wide.u32 %in, %lane, 8, %in;
mad.wide.u32 %mem, %lane, {0}, %mem;
mov.u32 %sh, cells;
mad.lo.u32 %sh, %lane, {0}, %sh;
)", kPrivateBytes);
  each_register([&](const std::string& reg, unsigned slot, unsigned bits) {
    if (bits == 1) out += fmt::format("ld.global.b32 %bit, [%in+{}]; and.b32 %bit, %bit, 1; setp.ne.u32 {}, %bit, 0;\n", slot * kSlotBytes, reg);
    else out += fmt::format("ld.global.b{} {}, [%in+{}];\n", bits, reg, slot * kSlotBytes);
  });
  render(out, program.statements);
  out += "FINISH:\n";
  each_register([&](const std::string& reg, unsigned slot, unsigned bits) {
    if (bits == 1) out += fmt::format("selp.b32 %bit, 1, 0, {}; st.global.b32 [%out+{}], %bit;\n", reg, slot * kSlotBytes);
    else out += fmt::format("st.global.b{} [%out+{}], {};\n", bits, slot * kSlotBytes, reg);
  });
  return out + "ret;\n}\n";
}

unsigned size_of(const Program& program) {
  std::vector<Statement*> all;
  collect(const_cast<Program&>(program).statements, all);
  return static_cast<unsigned>(all.size());
}

void shrink(Program& program, unsigned attempts, const std::function<bool(const Program&)>& fails) {
  for (bool progress = true; progress && attempts > 0;) {
    progress = false;
    std::vector<Statement*> all;
    collect(program.statements, all);
    for (Statement* s : all) {
      for (bool Statement::*change : {&Statement::dropped, &Statement::flattened}) {
        if (attempts == 0 || s->*change || (change == &Statement::flattened && s->first.empty())) continue;
        --attempts;
        s->*change = true;
        if (fails(program)) {
          progress = true;
          break;
        }
        s->*change = false;
      }
    }
  }
}

}  // namespace raddle::testing
