// What a kernel needs before it is launched, callees included (K-17). Everything comes from rows and
// declarations.
#include <algorithm>
#include <bit>

#include "ptx/call_depth.h"
#include "ptx/cfg.h"
#include "ptx/control.h"
#include "ptx/device_services.h"
#include "ptx/layout.h"
#include "ptx/parser.h"
#include "ptx/waits.h"

namespace raddle::ptx {
namespace {

constexpr std::uint32_t kNamedBarriers = 16;

/// 32-bit units of a register; predicates have a file of their own.
std::uint32_t register_units(Type type) { return type == Type::pred ? 0 : (isa::bit_size(type) + 31) / 32; }

/// Registers that an assembler makes anew where they are read, instead of keeping them: written once, with a
/// constant, an address, a special register, a kernel's parameter, or a move of such.
class Renewable {
 public:
  Renewable(const Module& module, const Function& function) : module_(module), function_(function) {
    std::vector<std::uint8_t> written(function.registers.size(), 0);
    for (const Instruction& i : function.instructions) {
      register_uses(function, i, uses_);
      for (const RegisterId r : uses_.definitions)
        written[r] = static_cast<std::uint8_t>(std::min(written[r] + 1, 2));
    }
    is_.assign(function.registers.size(), false);
    for (const Instruction& i : function.instructions) add(i, written);
  }

  bool operator[](RegisterId r) const { return is_[r]; }

 private:
  void add(const Instruction& i, const std::vector<std::uint8_t>& written) {
    if (i.guard != kNone) return;
    const bool moves = i.opcode->row->text->affine == isa::Affine::move;
    if (!moves && !reads_parameter(i)) return;
    register_uses(function_, i, uses_);
    if (!std::all_of(uses_.uses.begin(), uses_.uses.end(), [this](RegisterId r) { return is_[r]; })) return;
    for (const RegisterId r : uses_.definitions) is_[r] = written[r] == 1;
  }

  bool reads_parameter(const Instruction& i) const {
    if (!function_.is_entry || !i.opcode->is(isa::Effects::reads)) return false;
    const auto operands = function_.operands_of(i);
    return std::any_of(operands.begin(), operands.end(), [this](const Operand& o) {
      return o.kind == Operand::Kind::address && o.base == Operand::Base::variable &&
             module_.variables[o.index].space == Space::param;
    });
  }

  const Module& module_;
  const Function& function_;
  RegisterUses uses_;
  std::vector<bool> is_;
};

/// Walks a block backwards and keeps the largest sum of live registers.
class Pressure {
 public:
  Pressure(const Module& module, const Function& function, const Cfg& cfg)
      : function_(function), cfg_(cfg), live_(liveness(function, cfg)), renewable_(module, function) {}

  std::uint32_t run() {
    std::uint32_t most = 0;
    for (BlockId b = 0; b < cfg_.nodes.size(); ++b) most = std::max(most, block(b));
    return most;
  }

 private:
  std::uint32_t block(BlockId b) {
    row_.assign(live_.words, 0);
    for (const BlockId s : cfg_.nodes[b].successors)
      for (std::size_t w = 0; w < live_.words; ++w) row_[w] |= live_.live_in[s * live_.words + w];
    units_ = 0;
    for (std::size_t w = 0; w < live_.words; ++w)
      for (std::uint64_t bits = row_[w]; bits != 0; bits &= bits - 1)
        units_ += units_of(static_cast<RegisterId>(w * 64 + static_cast<unsigned>(std::countr_zero(bits))));
    std::uint32_t most = units_;
    for (std::uint32_t i = function_.blocks[b].end; i-- > function_.blocks[b].begin;) {
      step(function_.instructions[i]);
      most = std::max(most, units_);
    }
    return most;
  }

  void step(const Instruction& instruction) {
    register_uses(function_, instruction, uses_);
    if (instruction.guard == kNone)
      for (const RegisterId r : uses_.definitions) set(r, false);
    for (const RegisterId r : uses_.uses) set(r, true);
  }

  void set(RegisterId r, bool live) {
    std::uint64_t& word = row_[r / 64];
    const std::uint64_t bit = 1ull << (r % 64);
    if (((word & bit) != 0) == live) return;
    word ^= bit;
    const std::uint32_t units = units_of(r);
    units_ = live ? units_ + units : units_ - units;
  }

  std::uint32_t units_of(RegisterId r) const {
    return renewable_[r] ? 0 : register_units(function_.registers[r].type);
  }

  const Function& function_;
  const Cfg& cfg_;
  Liveness live_;
  Renewable renewable_;
  std::vector<std::uint64_t> row_;
  std::uint32_t units_ = 0;
  RegisterUses uses_;
};

/// Number of barriers an instruction of CTA scope makes necessary: its first source names one.
std::uint32_t barriers_of(const Function& function, const Instruction& instruction) {
  const auto operands = function.operands_of(instruction);
  const auto& slots = instruction.opcode->form->operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& specs = instruction.opcode->row->operands;
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == slots[i].name; });
    if (spec == specs.end() || spec->is_destination) continue;
    if (operands[i].kind != Operand::Kind::immediate) return kNamedBarriers;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(operands[i].value + 1, 0, kNamedBarriers));
  }
  return 1;
}

void add_instruction(const Function& function, const Instruction& i, KernelNeeds& needs) {
  const isa::RowText& row = *i.opcode->row->text;
  const bool call = i.extra != kNone && !ends_block(i);
  if (row.scope == isa::Scope::cta) {
    needs.has_barrier = true;
    needs.barriers = std::max(needs.barriers, barriers_of(function, i));
  }
  needs.lets_dependents_begin |= i.opcode->has(isa::Mod::launch_dependents);
  needs.has_atomics |= !call && i.opcode->is(isa::Effects::reads) && i.opcode->is(isa::Effects::writes);
}

void add_unsupported(const std::vector<Unsupported>& from, KernelNeeds& needs) {
  for (const Unsupported& u : from) {
    const auto known = std::find_if(needs.unsupported.begin(), needs.unsupported.end(),
                                    [&](const Unsupported& n) { return n.what == u.what; });
    if (known == needs.unsupported.end()) {
      needs.unsupported.push_back(u);
    } else {
      known->count += u.count;
      known->first_line = std::min(known->first_line, u.first_line);
    }
    const auto resolved = isa::resolve(u.what);
    needs.uses_textures |=
        resolved.ok() && ((*resolved)->row->chapter == "texture" || (*resolved)->row->chapter == "surface");
  }
}

/// What machine code has beside a program's values: the stack's pointer, and values under way.
constexpr std::uint32_t kHiddenRegisters = 8;

/// Above this many words of liveness rows only hostile text lies; every register then counts as live.
constexpr std::uint64_t kMaxLivenessWords = 1u << 25;

std::uint32_t pressure_of(const Module& module, const Function& f, const Cfg& cfg) {
  if ((f.registers.size() / 64 + 1) * f.blocks.size() <= kMaxLivenessWords)
    return Pressure(module, f, cfg).run() + kHiddenRegisters;
  std::uint32_t units = 0;
  for (const Register& r : f.registers) units += register_units(r.type);
  return units;
}

void add_function(const Module& module, const Function& f, KernelNeeds& needs) {
  for (const Instruction& i : f.instructions) {
    add_instruction(f, i, needs);
    needs.has_dynamic_stack |= i.opcode->is(isa::Effects::stack);
  }
  add_unsupported(f.unsupported, needs);
  for (const Call& call : f.calls) needs.has_indirect_calls |= call.callee.kind != Operand::Kind::function;
  if (f.blocks.empty()) return;
  const Cfg cfg = build_cfg(f);
  needs.registers = std::max(needs.registers, pressure_of(module, f, cfg));
  if (!needs.may_wait_on_memory) needs.may_wait_on_memory = Waits(module, f, cfg).any();
}

}  // namespace

std::uint64_t constant_bytes(const Module& module) {
  std::uint64_t bytes = 0;
  for (const Variable& v : module.variables)
    if (v.space == Space::const_ && v.linkage != Linkage::extern_) bytes = std::max(bytes, v.offset + v.size);
  return bytes;
}

std::uint64_t global_bytes(const Module& module) {
  std::uint64_t bytes = 0;  // fits: a variable has at most 2^40, and the text names each
  for (const Variable& v : module.variables)
    if (v.space == Space::global) bytes += v.size;
  return bytes;
}

namespace {
/// Needs beyond any machine's stay beyond.
std::uint32_t saturated(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, ~std::uint32_t{0}));
}
}  // namespace

KernelNeeds analyze(const Module& module, FunctionId kernel) {
  KernelNeeds needs;
  const std::vector<FunctionId> closure = call_closure(module, kernel);
  for (const FunctionId id : closure) {
    const Function& f = module.functions[id];
    if (id != closure.front()) needs.callees.push_back(id);
    const auto service = f.is_declaration ? find_device_service(module, f) : std::nullopt;
    needs.calls_device_runtime |= service == DeviceService::device_runtime;
    if (f.is_declaration && !service)
      needs.unresolved.push_back(names_device_service(f.name) ? f.name + " with these parameters" : f.name);
    add_function(module, f, needs);
  }
  needs.parameter_bytes = module.functions[kernel].parameter_bytes;
  const CallDepth depth = call_depth(module, closure.front(), [&](FunctionId id) -> std::uint64_t {
    return module.functions[id].local_bytes;
  });
  needs.local_bytes = saturated(depth.bytes);
  needs.is_recursive = depth.is_recursive;
  const SharedLayout shared = shared_layout(module, kernel);
  needs.static_shared = shared.static_bytes;
  needs.has_extern_shared = shared.has_dynamic;
  needs.const_bytes = saturated(constant_bytes(module));
  return needs;
}

}  // namespace raddle::ptx
