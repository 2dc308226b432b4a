// ptx::Module: the only representation of a program between PTX text and the engines. Typed, symbols
// resolved, source lines kept. Built by ptx/parser.h, checked while built; engines read it and never change
// it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/row.h"
#include "isa/special_registers/special_registers.h"
#include "isa/type.h"

namespace raddle::ptx {

using isa::Op;
using isa::Opcode;
using isa::Type;

using RegisterId = std::uint32_t;  ///< index into Function::registers
using BlockId = std::uint32_t;     ///< index into Function::blocks
using VariableId = std::uint32_t;  ///< index into Module::variables
using FunctionId = std::uint32_t;  ///< index into Module::functions
inline constexpr std::uint32_t kNone = 0xffffffffu;

using isa::SpecialRegister;

enum class Space : std::uint8_t { generic, reg, global, shared, local, const_, param, tex };
std::string_view space_name(Space space);  ///< PTX spelling without the dot
/// The space that an opcode's ModKind::space modifier names, sub-spaces (.shared::cta, .param::entry, ...)
/// included; Space::generic for Mod::none.
Space space_of(isa::Mod mod);
enum class Linkage : std::uint8_t { none, extern_, visible, weak, common };

struct Operand {
  enum class Kind : std::uint8_t {
    none,
    reg,        ///< index: RegisterId
    immediate,  ///< value: bits of `type` (sign- or zero-extended to 64; floats as their bit pattern in the
                ///< operand's type)
    special,    ///< index: SpecialRegister, component: 0..3 for .x .y .z .w, number for envreg/pm
    variable,   ///< index: VariableId; value: constant byte offset; its address in its own space
    function,   ///< index: FunctionId (address of a function)
    label,      ///< index: BlockId (a branch target)
    address,    ///< [base + value]; base below
    vector,     ///< {a, b, ...}: elements index .. index+count-1 of Function::elements
    sink,       ///< `_`
  };
  enum class Base : std::uint8_t { reg, variable, absolute };

  Kind kind = Kind::none;
  Base base = Base::absolute;  ///< of an address
  bool negated = false;        ///< `!p`
  bool minus = false;          ///< `-a`, where the row allows it: the value itself is read without it
  std::uint8_t component = 0;
  Type type = Type::none;  ///< type at which the instruction uses it (from the row), register type if open
  std::uint16_t count = 0;
  std::uint32_t index = kNone;
  std::int64_t value = 0;
  std::uint16_t selector = 0;  ///< isa/selector.h; 0: none written

  bool is_register() const { return kind == Kind::reg; }
};

/// `call (ret...), callee, (args...), prototype;` Arguments are .param variables of the caller, registers or
/// immediates.
struct Call {
  std::vector<Operand> returns, arguments;
  Operand callee;                   ///< function, or reg for an indirect call
  std::uint32_t prototype = kNone;  ///< index into Function::prototypes; indirect calls
  std::vector<FunctionId> targets;  ///< from .calltargets, empty if open
};

struct Instruction {
  const Opcode* opcode = nullptr;
  RegisterId guard = kNone;  ///< predicate register of `@p`
  bool guard_negated = false;
  std::uint8_t operand_count = 0;
  std::uint32_t operands =
      0;  ///< first operand in Function::operands, in the form's order; an absent optional one has Kind::none
  std::uint32_t line = 0, column = 0;  ///< in the PTX text
  std::uint32_t location = kNone;      ///< index into Module::locations (.loc)
  std::uint32_t extra = kNone;  ///< call: index into Function::calls; brx.idx: into Function::branch_targets

  Op op() const { return opcode->op; }
};

struct Register {
  Type type;
  std::string name;  ///< with %, as in the text; unique within the function after scope resolution
};

/// Straight-line run of instructions; only the last may transfer control. Block i falls through to i + 1.
struct Block {
  std::uint32_t begin = 0, end = 0;  ///< instructions [begin, end)
  std::string label;                 ///< empty if none
  bool no_unroll = false;
};

/// An address to be written into an initialised variable: at `offset`, the address of a variable or function
/// + addend.
struct Relocation {
  std::uint64_t offset;
  bool is_function,
      generic;          ///< generic: `generic(name)`, a generic address; else the address in its own space
  std::uint32_t index;  ///< VariableId or FunctionId
  std::int64_t addend;
  std::uint8_t size = 8, mask_shift = 0;  ///< writes the low `size` bytes of address >> mask_shift;
                                          ///< 0xff00(name) is size 1, shift 8
};

/// What a .samplerref says (PTX ISA "Texture Sampler and Surface Types").
struct SamplerSettings {
  enum class AddressMode : std::uint8_t { wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border };
  std::array<AddressMode, 3> address{};
  bool linear = false;  ///< filter_mode, else nearest
  bool force_unnormalized_coordinates = false;
};

struct Variable {
  std::string name;
  Space space = Space::global;
  Linkage linkage = Linkage::none;
  Type type = Type::none;
  unsigned vector = 1;                    ///< .v2 / .v4
  std::vector<std::uint64_t> dimensions;  ///< empty for a scalar; a leading 0 for `[]` (extern shared)
  std::uint64_t size = 0;                 ///< bytes; 0 for `[]`
  std::uint32_t align = 1;                ///< bytes
  FunctionId function = kNone;            ///< kNone: module scope
  std::uint32_t offset = 0;   ///< byte offset in its frame (ptx/layout.h): the function's local, formal or
                              ///< call-slot frame, the module's .const; of a .reg formal its RegisterId.
                              ///< Shared memory is laid out per kernel: ask shared_layout().
  bool is_parameter = false;  ///< formal parameter of `function`
  bool is_return = false;
  bool managed = false;
  bool is_pointer = false;         ///< .ptr
  std::vector<std::byte> initial;  ///< at most `size` bytes; missing ones are zero
  std::vector<Relocation> relocations;
  SamplerSettings sampler;  ///< of a .samplerref, whose address is a handle
  std::uint32_t line = 0;
};

struct Prototype {
  std::string name;
  std::vector<Variable> returns, parameters;
  bool noreturn = false;
};

struct PerformanceDirectives {
  std::uint32_t maxnreg = 0, minnctapersm = 0, maxnctapersm = 0;
  std::uint32_t maxntid[3] = {0, 0, 0};  ///< 0: not given
  std::uint32_t reqntid[3] = {0, 0, 0};
  std::uint32_t reqnctapercluster[3] = {0, 0, 0};
  std::uint32_t maxclusterrank = 0;
  bool explicitcluster = false, blocksareclusters = false, noreturn = false;
};

/// Parts of a function that nothing in Raddle executes yet, merged by instruction.
struct Unsupported {
  std::string what;  ///< opcode text, or a construct
  std::string reason;
  std::uint32_t first_line = 0, count = 0;
  bool unknown = false;  ///< not a PTX instruction at all (to our knowledge), as opposed to not there yet
};

struct Function {
  std::string name;
  bool is_entry = false;
  Linkage linkage = Linkage::none;
  bool is_declaration = false;  ///< no body: to be linked, or a device service (vprintf, malloc, ...)
  FunctionId alias_of = kNone;  ///< .alias
  std::vector<VariableId> returns, parameters;
  std::vector<RegisterId> return_registers;  ///< of the .reg formals among `returns`: read where it returns
  std::vector<VariableId> variables;         ///< all .shared/.local/.param/... declared inside
  PerformanceDirectives directives;
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;  ///< pool
  std::vector<Operand> elements;  ///< pool of vector elements
  std::vector<Block> blocks;
  std::vector<Call> calls;
  std::vector<std::vector<BlockId>> branch_targets;
  std::vector<Prototype> prototypes;
  std::vector<Unsupported> unsupported;  ///< empty: every instruction is supported (callees not counted)
  std::uint32_t parameter_bytes = 0;     ///< entry: size of the parameter block
  std::uint32_t local_bytes = 0;         ///< .local frame per thread, own variables only
  std::uint32_t line = 0;

  std::span<const Operand> operands_of(const Instruction& i) const {
    return {operands.data() + i.operands, i.operand_count};
  }
  std::span<const Operand> elements_of(const Operand& o) const {
    return {elements.data() + o.index, o.count};
  }
};

/// A .loc: source position, with the chain of inlining.
struct Location {
  std::uint32_t file = 0, line = 0, column = 0;
  std::uint32_t inlined_at = kNone;  ///< index into Module::locations
  std::string function;              ///< inlined function's name, when given
};

/// A text that a linked module was made of.
struct Part {
  std::string name;
  std::uint32_t lines_before = 0;  ///< lines of the module that belong to earlier parts
};

struct Module {
  std::string name;                   ///< file name or "<memory>"
  unsigned version = 0;               ///< PTX ISA version * 10
  std::string target;                 ///< "sm_90a"
  bool independent_samplers = false;  ///< .target texmode_independent: texture fetches name their sampler
  unsigned address_size = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Location> locations;
  std::vector<std::string> files;  ///< by .file index
  std::uint64_t source_hash = 0;
  std::uint32_t lines = 0;  ///< of the text; of a linked module all parts' together, in which its lines count
  std::vector<Part> parts;  ///< of a linked module; else empty

  const Function* find_function(std::string_view name) const;
  /// A constant that kernels share; kNone without any. All of a module lie in one piece of up to 64 KiB.
  VariableId first_constant() const;
  const Variable* find_variable(std::string_view name) const;  ///< module scope
};

/// Static needs of a kernel, callees included.
struct KernelNeeds {
  std::uint32_t registers = 0;  ///< virtual, 32-bit units, at the point of greatest pressure
  std::uint32_t static_shared = 0, parameter_bytes = 0, const_bytes = 0;
  std::uint32_t local_bytes = 0;  ///< per thread; own frame plus the deepest chain of non-recursive calls
  bool has_extern_shared = false, has_barrier = false, has_atomics = false, is_recursive = false,
       has_indirect_calls = false,
       has_dynamic_stack = false;   ///< alloca
  bool may_wait_on_memory = false;  ///< some loop may wait for another thread (ptx/waits.h)
  bool uses_textures = false;
  bool lets_dependents_begin = false;  ///< griddepcontrol.launch_dependents
  bool calls_device_runtime = false;   ///< may launch grids itself
  std::uint32_t barriers = 0;          ///< number of named barriers, 16 if dynamic
  std::vector<Unsupported> unsupported;
  std::vector<FunctionId> callees;  ///< transitive, direct (indirect: every function whose address is taken)
  std::vector<std::string> unresolved;  ///< declarations without body, device services excepted
};

}  // namespace raddle::ptx
