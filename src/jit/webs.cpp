#include "jit/webs.h"

#include <algorithm>
#include <bit>

#include "ptx/cfg.h"

namespace raddle::jit {
namespace {

using ptx::BlockId;
using ptx::RegisterId;

/// Registers that are defined more than once, and may be renamed.
std::vector<bool> separable_registers(const ptx::Module& module, const ptx::Function& f) {
  std::vector<std::uint8_t> definitions(f.registers.size());
  ptx::RegisterUses uses;
  for (const ptx::Instruction& i : f.instructions) {
    ptx::register_uses(f, i, uses);
    for (const RegisterId r : uses.definitions) definitions[r] = definitions[r] == 0 ? 1 : 2;
  }
  std::vector<bool> separable(f.registers.size());
  for (RegisterId r = 0; r < separable.size(); ++r) separable[r] = definitions[r] == 2;
  for (const ptx::VariableId id : f.parameters)
    if (module.variables[id].space == ptx::Space::reg) separable[module.variables[id].offset] = false;
  for (const RegisterId r : f.return_registers) separable[r] = false;
  const auto is_fragment = [](const isa::OperandSpec& spec) {
    return spec.geometric == isa::GeometricKind::fragment;
  };
  for (const ptx::Instruction& i : f.instructions) {
    if (std::ranges::none_of(i.opcode->row->operands, is_fragment)) continue;
    ptx::register_uses(f, i, uses);
    for (const RegisterId r : uses.definitions) separable[r] = false;
    for (const RegisterId r : uses.uses) separable[r] = false;
  }
  return separable;
}

/// A node is what a register holds from a definition, or from a block's begin, to the next definition. Where
/// values flow from node to node, the two are of one web.
class Webs {
 public:
  Webs(const ptx::Function& function, std::vector<bool> separable)
      : function_(function),
        separable_(std::move(separable)),
        cfg_(ptx::build_cfg(function)),
        live_(ptx::liveness(function, cfg_)),
        now_(function.registers.size(), ptx::kNone) {
    for (BlockId b = 0; b < function.blocks.size(); ++b) {
      at_begin_.push_back(static_cast<std::uint32_t>(joined_.size()));
      each_live(b, [&](RegisterId r) { add_node(r); });
    }
    for (BlockId b = 0; b < function.blocks.size(); ++b) walk(b);
  }

  std::optional<ptx::Function> separated() {
    const auto given = function_.registers.size();
    std::vector<RegisterId> names(joined_.size(), ptx::kNone);  // by the node that stands for its web
    std::vector<bool> is_taken(given);
    for (const auto& [place, node] : places_) {
      RegisterId& name = names[find(node)];
      if (name == ptx::kNone) {
        name = registers_[node];
        if (is_taken[name]) {
          function_.registers.push_back(ptx::Register(function_.registers[name]));
          name = static_cast<RegisterId>(function_.registers.size() - 1);
        } else {
          is_taken[name] = true;
        }
      }
      *place = name;
    }
    if (function_.registers.size() == given) return std::nullopt;
    return std::move(function_);
  }

 private:
  std::uint32_t add_node(RegisterId r) {
    const auto node = static_cast<std::uint32_t>(joined_.size());
    joined_.push_back(node);
    registers_.push_back(r);
    return node;
  }

  std::uint32_t find(std::uint32_t node) {
    for (; joined_[node] != node; node = joined_[node]) joined_[node] = joined_[joined_[node]];
    return node;
  }

  template <class Visit>
  void each_live(BlockId b, Visit visit) const {
    for (std::size_t w = 0; w < live_.words; ++w)
      for (std::uint64_t bits = live_.live_in[b * live_.words + w]; bits != 0; bits &= bits - 1)
        if (const auto r = static_cast<RegisterId>(w * 64 + static_cast<unsigned>(std::countr_zero(bits)));
            separable_[r])
          visit(r);
  }

  void walk(BlockId b) {
    std::uint32_t node = at_begin_[b];
    each_live(b, [&](RegisterId r) { set(r, node++); });
    for (std::uint32_t n = function_.blocks[b].begin; n < function_.blocks[b].end; ++n)
      step(function_.instructions[n]);
    for (const BlockId s : cfg_.nodes[b].successors) {
      node = at_begin_[s];
      each_live(s, [&](RegisterId r) { joined_[find(now_[r])] = find(node++); });
    }
    for (const RegisterId r : known_) now_[r] = ptx::kNone;
    known_.clear();
  }

  void set(RegisterId r, std::uint32_t node) {
    now_[r] = node;
    known_.push_back(r);
  }

  /// Where its guard is false, the old value goes on. Of two destinations in one register, nobody asks which
  /// is written last.
  void step(ptx::Instruction& instruction) {
    ptx::register_places(function_, instruction, in_instruction_);
    written_.clear();
    for (const ptx::RegisterPlace& place : in_instruction_) {
      const RegisterId r = *place.name;
      if (!separable_[r]) continue;
      const bool goes_on = place.is_read || instruction.guard != ptx::kNone ||
                           std::ranges::find(written_, r) != written_.end();
      if (!goes_on || now_[r] == ptx::kNone) set(r, add_node(r));
      if (place.is_written) written_.push_back(r);
      places_.emplace_back(place.name, now_[r]);
    }
  }

  ptx::Function function_;
  const std::vector<bool> separable_;
  const ptx::Cfg cfg_;
  const ptx::Liveness live_;
  std::vector<std::uint32_t> joined_;    // by node: another of its web, or itself
  std::vector<RegisterId> registers_;    // by node
  std::vector<std::uint32_t> at_begin_;  // by block: node of its first live register; the next ones' follow
  std::vector<std::pair<RegisterId*, std::uint32_t>> places_;  // of separable registers, with their nodes
  // Where the walk is:
  std::vector<std::uint32_t> now_;  // by register: its node
  std::vector<RegisterId> known_;   // those that have one
  std::vector<ptx::RegisterPlace> in_instruction_;
  std::vector<RegisterId> written_;
};

}  // namespace

std::optional<ptx::Function> separate_webs(const ptx::Module& module, const ptx::Function& function) {
  std::vector<bool> separable = separable_registers(module, function);
  if (std::ranges::find(separable, true) == separable.end()) return std::nullopt;
  return Webs(function, std::move(separable)).separated();
}

}  // namespace raddle::jit
