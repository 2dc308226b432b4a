// Draws statements: an instruction row, a spelling, operands of the right width; or control flow around more statements.
#include <algorithm>

#include "diff/program.h"
#include "isa/enumerate.h"
#include "isa/harness/exclusions.h"
#include "isa/harness/kernel_writer.h"

namespace raddle::testing {
namespace {

using isa::Type;

/// Rows whose instructions may stand anywhere (lane) or where all lanes run together (warp).
struct Choices {
  std::vector<const isa::Row*> lane, warp;
};

bool has_plain_operands(const isa::Row& row) {
  for (const isa::OperandSpec& o : row.operands) {
    if (o.kind != isa::OperandKind::value || o.fixed == Type::none) {
      if (o.kind != isa::OperandKind::value || o.type_slot < 0) return false;
    }
  }
  return !row.operands.empty();
}

const Choices& choices() {
  static const Choices all = [] {
    Choices c;
    for (const isa::Row& row : isa::rows()) {
      const isa::RowText& text = *row.text;
      bool unordered = text.effects == isa::Effects::pure;
      bool waits = text.effects == isa::Effects::sync;
      if (text.status != isa::Status::done || text.numerics != isa::Numerics::exact || !has_plain_operands(row)) continue;
      if (find_exclusion(row, "programs")) continue;
      if (text.scope == isa::Scope::lane && unordered) c.lane.push_back(&row);
      if (text.scope == isa::Scope::warp && waits) c.warp.push_back(&row);
    }
    return c;
  }();
  return all;
}

const std::vector<std::string>& spellings_of(const isa::Row& row) {
  static std::vector<std::vector<std::string>> cache(isa::kOpCount);
  auto& entry = cache[static_cast<std::size_t>(row.op)];
  if (entry.empty()) entry = isa::all_spellings(row, 2000);
  return entry;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Statements body(unsigned count, unsigned depth, bool converged) {
    Statements statements;
    for (unsigned i = 0; i < count; ++i) statements.push_back(statement(depth, converged));
    return statements;
  }
  bool control = false;

 private:
  std::unique_ptr<Statement> make(Statement::Kind kind) {
    auto s = std::make_unique<Statement>();
    s->kind = kind;
    s->id = ++next_id_;
    return s;
  }
  std::string predicate() { return fmt::format("%p{}", random_.below(kPredicates)); }
  std::string reg(unsigned bits) {
    if (bits <= 1) return predicate();
    if (bits <= 16) return fmt::format("%h{}", random_.below(kShorts));
    if (bits <= 32) return fmt::format("%r{}", random_.below(kWords));
    return fmt::format("%d{}", random_.below(kLongs));
  }

  std::unique_ptr<Statement> statement(unsigned depth, bool converged) {
    unsigned choice = random_.below(100);
    if (control && depth < 3 && choice < 14) return branch(depth);
    if (control && depth < 2 && choice < 22) return loop(depth);
    if (control && choice < 24 && depth > 0) return lane_exit();
    if (choice < 34) return memory();
    if (converged && !lanes_left_ && choice < 46) return instruction(choices().warp);
    return instruction(choices().lane);
  }

  std::unique_ptr<Statement> branch(unsigned depth) {
    auto s = make(Statement::Kind::branch);
    s->condition = predicate();
    s->first = body(1 + random_.below(4), depth + 1, false);
    if (random_.chance(60)) s->second = body(1 + random_.below(4), depth + 1, false);
    return s;
  }

  std::unique_ptr<Statement> loop(unsigned depth) {
    auto s = make(Statement::Kind::loop);
    s->count = reg(32);
    s->first = body(1 + random_.below(5), depth + 1, false);
    if (random_.chance(30)) s->break_if = predicate();
    if (random_.chance(30)) s->continue_if = predicate();
    return s;
  }

  std::unique_ptr<Statement> lane_exit() {
    auto s = make(random_.chance(70) ? Statement::Kind::finish : Statement::Kind::leave);
    s->condition = predicate();
    lanes_left_ = true;  // from here on no place is sure to have all lanes
    return s;
  }

  /// A store to, or a load from, the lane's own bytes.
  std::unique_ptr<Statement> memory() {
    auto s = make(Statement::Kind::plain);
    static constexpr const char* kSpaces[] = {"global", "shared", "local"};
    unsigned space = random_.below(3), bits = 16u << random_.below(3);
    const char* base = space == 0 ? "%mem" : space == 1 ? "%sh" : "frame";
    unsigned offset = random_.below(kPrivateBytes / (bits / 8)) * (bits / 8);
    std::string guard = random_.chance(20) ? "@" + predicate() + " " : "";
    if (random_.chance(50)) s->lines.push_back(fmt::format("{}st.{}.b{} [{}+{}], {};", guard, kSpaces[space], bits, base, offset, reg(bits)));
    else s->lines.push_back(fmt::format("{}ld.{}.b{} {}, [{}+{}];", guard, kSpaces[space], bits, reg(bits), base, offset));
    return s;
  }

  std::string source(const isa::Opcode& opcode, const isa::OperandSpec& spec) {
    if (spec.name == "membermask") return "-1";
    Type type = opcode.operand_type(spec);
    unsigned bits = isa::bit_size(type);
    bool plain_number = isa::is_integer(type) || isa::type_class(type) == isa::TypeClass::bits || type == Type::f32 || type == Type::f64;
    if (is_immediate_only(spec)) return fmt::format("{}", random_.below(256));
    if (plain_number && bits >= 16 && bits <= 64 && random_.chance(12)) return immediate_text(random_operand(random_, type, bits), type);
    return reg(bits);
  }

  /// NaNs that arithmetic makes have any bits: fixed ones before they reach integer instructions.
  static void settle_nan(Statement& s, Type type, const std::string& d) {
    if (type == Type::f32) s.lines.push_back(fmt::format("setp.nan.f32 %pn, {0}, {0}; selp.b32 {0}, 0x7fffffff, {0}, %pn;", d));
    if (type == Type::f64) s.lines.push_back(fmt::format("setp.nan.f64 %pn, {0}, {0}; selp.b64 {0}, 0x7fffffffffffffff, {0}, %pn;", d));
    if (type == Type::f16 || type == Type::bf16)
      s.lines.push_back(fmt::format("setp.nan.{1} %pn, {0}, {0}; selp.b16 {0}, 0x7fff, {0}, %pn;", d, type_name(type)));
  }

  bool usable(const isa::Opcode& opcode) {
    for (const isa::OperandSpec& o : opcode.row->operands) {
      Type type = opcode.operand_type(o);
      if (type == Type::none || isa::bit_size(type) > 64 || o.vector) return false;
      if (o.is_destination && isa::type_class(type) == isa::TypeClass::packed_float) return false;
      if (o.is_destination && type == Type::tf32) return false;
    }
    return true;
  }

  std::unique_ptr<Statement> instruction(const std::vector<const isa::Row*>& rows) {
    for (;;) {
      const isa::Row& row = *rows[random_.below(static_cast<unsigned>(rows.size()))];
      const auto& texts = spellings_of(row);
      auto resolved = isa::resolve(texts[random_.below(static_cast<unsigned>(texts.size()))]);
      if (!resolved.ok() || !usable(**resolved)) continue;
      const isa::Opcode& opcode = **resolved;
      auto s = make(Statement::Kind::plain);
      auto present = operand_choices(*opcode.form);
      const auto& chosen = present[random_.below(static_cast<unsigned>(present.size()))];
      std::string operands, guard;
      std::vector<std::pair<Type, std::string>> results;
      for (std::size_t i = 0; i < opcode.form->operands.size(); ++i) {
        const isa::OperandSlot& slot = opcode.form->operands[i];
        if (slot.optional && !chosen[i]) continue;
        const isa::OperandSpec& spec = *find_operand(row, slot.name);
        std::string text = spec.is_destination ? reg(isa::bit_size(opcode.operand_type(spec))) : source(opcode, spec);
        if (spec.is_destination) {
          for (const auto& [type, taken] : results)
            if (taken == text) text = "_";  // one register cannot take two results
          if (text != "_") results.push_back({opcode.operand_type(spec), text});
          else if (!slot.joined) text = reg(isa::bit_size(opcode.operand_type(spec)));
        }
        operands += operands.empty() ? " " : slot.joined ? "|" : ", ";
        operands += text;
      }
      if (row.text->scope == isa::Scope::lane && random_.chance(15)) guard = (random_.chance(50) ? "@" : "@!") + predicate() + " ";
      s->lines.push_back(guard + opcode.text + operands + ";");
      for (const auto& [type, d] : results) settle_nan(*s, type, d);
      return s;
    }
  }

  Random random_;
  unsigned next_id_ = 0;
  bool lanes_left_ = false;
};

}  // namespace

Program random_program(std::uint64_t seed) {
  Generator generator(seed);
  generator.control = seed % 2 == 1;
  Program program;
  program.seed = seed;
  program.statements = generator.body(generator.control ? 14 : 30, 0, true);
  return program;
}

}  // namespace raddle::testing
