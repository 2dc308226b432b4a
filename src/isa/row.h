// One row per PTX instruction: what the manual's syntax box says, once. Parser, verifier, printer, analyses,
// `raddle isa`, the coverage page and the random-program generator all derive from it (docs/adr/0007).
// Rows live in src/isa/<chapter>/rows.def, all included by isa/rows.def.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/selector.h"
#include "isa/type.h"

namespace raddle::isa {

/// The number of a row. Code that names single rows includes isa/op.h, and only that is compiled again when a
/// row is added.
enum class Op : std::uint16_t;

enum class ModKind : std::uint8_t {
  flag,
  rounding,
  half,
  shift_mode,
  direction,
  compare,
  test,
  operation,
  space,
  semantics,
  scope,
  cache,
  evict1,
  evict2,
  cache_hint,
  prefetch,
  level,
  vector,
  shuffle,
  vote,
  permute,
  barrier,
  shape,
  layout,
  geometry,
  other,
  count
};

enum class Mod : std::uint16_t {
  none,
#define PTX_MOD(kind, id, name) id,
#include "isa/modifiers.def"
#undef PTX_MOD
  count
};
std::string_view mod_name(Mod m);  ///< spelling without the dot
ModKind mod_kind(Mod m);
Mod mod_from_name(std::string_view name);  ///< Mod::none if unknown

/// Who takes part in one execution of the instruction. (warpgroup: four warps in a row; grid: the grids
/// before this one; async: one thread, and a unit of the SM that goes on by itself.)
enum class Scope : std::uint8_t { lane, warp, warpgroup, cta, cluster, grid, async };
/// Lanes of a warp execute it together; each warp of a warpgroup comes for itself.
constexpr bool is_of_warps(Scope scope) { return scope == Scope::warp || scope == Scope::warpgroup; }

/// Bit set of what an instruction does beside computing its destinations.
enum class Effects : std::uint16_t {
  pure = 0,
  reads = 1,    ///< reads memory
  writes = 2,   ///< writes memory
  control = 4,  ///< transfers or ends control
  sync = 8,     ///< waits for other threads
  may_fault = 16,
  orders = 32,   ///< memory fence
  state = 64,    ///< reads or writes hidden state (carry flag, clocks, warp mask): not to be moved or merged
  layout = 128,  ///< depends on where state spaces lie: cvta, isspacep (the executor's own knowledge)
  stack = 256,   ///< moves or reads the thread's stack pointer: alloca
};
constexpr Effects operator|(Effects a, Effects b) { return Effects(std::uint16_t(a) | std::uint16_t(b)); }
constexpr bool has(Effects set, Effects bit) { return (std::uint16_t(set) & std::uint16_t(bit)) != 0; }

/// Whether an instruction's result may be another thread's answer, so that a loop can wait for it.
enum class Observes : std::uint8_t {
  never,
  strong,  ///< where its modifiers say so: volatile, relaxed, acquire, mmio, or past the first-level cache
  always,
};

/// How results compare between engines and with hardware.
enum class Numerics : std::uint8_t {
  exact,   ///< bit for bit (any NaN equals any NaN where arithmetic makes it)
  approx,  ///< within Row::error of the true value
  sums,    ///< bit for bit, by MatrixArithmetic
};

/// Whether operands of the form base + lane * stride give such a result, and how (address-shape analysis of
/// the JIT).
enum class Affine : std::uint8_t {
  none,
  move,          ///< d = a
  add,           ///< d = a + b
  subtract,      ///< d = a - b
  multiply,      ///< d = a * b, low half or wide
  multiply_add,  ///< d = a * b + c, low half or wide
  shift_left,    ///< d = a << b
  shift_right,   ///< d = a >> b
  mask,          ///< d = a & b
  join,          ///< d = a | b
  flip,          ///< d = a ^ b
  convert,       ///< d = a, integer width changed
  compare,       ///< p: how a compares with b
  choose,        ///< d = a or b
};

enum class Status : std::uint8_t {
  done,         ///< interpreter, JIT and a test for every form and type
  unsupported,  ///< parsed and reported; Row::note says which chapter brings it
};

/// A row as written in rows.def (designated initialisers; all text is static).
struct RowText {
  std::string_view section;  ///< anchor in the PTX manual
  unsigned ptx = 10;         ///< PTX ISA version * 10
  unsigned sm = 10;          ///< lowest target, sm_XX
  /// Forms and modifier sets, in the manual's notation, `;` after each:
  ///   mnemonic.mod{.optional}.set  d{|p}, a, [b]{, c};     .set = { .x, .y };
  std::string_view syntax;
  /// "destinations = sources", each `name:type`; see OperandSpec. Empty for unsupported rows: operands
  /// unchecked.
  std::string_view operands;
  Scope scope = Scope::lane;
  Effects effects = Effects::pure;
  Observes observes = Observes::never;
  Numerics numerics = Numerics::exact;
  double error = 0;  ///< for approx: largest relative error, or absolute where `note` says so
  Status status = Status::done;
  std::string_view note{};  ///< reason when unsupported; domain of `error`
  /// Legality beyond the grammar ("ftz only with f32"): null, or returns an empty string when legal, else the
  /// rule broken.
  std::string_view (*where)(const struct Opcode&) = nullptr;
  Affine affine = Affine::none;
  bool uniform_result = false;  ///< warp scope: all lanes that a member mask names get the same result
};

/// What an operand position accepts.
enum class OperandKind : std::uint8_t { value, address, label, call, vector_list, handle, sampler };

/// Vectors whose length other modifiers give: coordinates (with the layer, which is .u32, before them), or a
/// value per coordinate. A block of a tensor has exactly as many as the tensor has dimensions, or as im2col
/// has offsets: two less. A fragment is a thread's registers of matrices that its warp holds together.
enum class GeometricKind : std::uint8_t { none, coordinates, steps, block, im2col, fragment };

/// One operand of a row. The type text is one of:
///   a type (`u32`, `pred`) | a modifier set of the syntax (`type`, `dtype`) | `type0`, `type1`, ...: the
///   form's first, second, ... type modifier, set or literal | `wide(x)` of these: twice its width where the
///   opcode says .wide
/// followed by `.vec` (a vector of as many elements as the .v2/.v4/.v8 modifier says; scalar without one),
/// `.pack` (a scalar of the type, or a vector `{a, b, ...}` that has its width in all: mov) and `+` (the
/// register may be wider than the type: ld, st, cvt), `.part`, `.halves`, `.bytes`, `.half_mask`,
/// `.byte_mask` (it may carry such a selector: isa/selector.h), `.minus` (it may be written `-a`), `.power`
/// (a constant power of two up to 2^23), `.0-4` (a constant in that range), `.or_pred` (a predicate register
/// may stand there, with another meaning), `.members` (the lanes of the warp that take part); or `addr`,
/// `addr.mbarrier` (an mbarrier lies there), `label`, `call`,
/// `list(type)` for `{a, b, ...}`, `handle` (of a texture or surface, written `[a]` or `[a, ...]`),
/// `sampler` (its handle, in these brackets), or `any` (unchecked). A type with `.coords`, `.steps`,
/// `.block`, `.im2col` or `.fragment` is a vector whose length other modifiers give: GeometricKind.
/// `.updated`: a destination that is read first. `.or_fragment`: instead of this description of a matrix in
/// memory its fragment may stand, in .b32 registers; optional operands of the form are about memory, and
/// stand exactly where it does not. `.sign`: the constant 1 or -1.
struct OperandSpec {
  std::string name;
  std::string type;         ///< base of the type text: set name or type name
  Type fixed = Type::none;  ///< when `type` names a type
  int type_slot = -1;       ///< else: index among the form's type slots (Opcode::types), -1 if fixed
  bool is_destination = false;
  bool widened = false, vector = false, may_be_wider = false, packed = false, may_be_minus = false,
       power_of_two = false, may_be_predicate = false, names_members = false, names_mbarrier = false,
       is_updated = false, may_be_fragment = false, is_sign = false;
  bool is_constant = false;  ///< in this range:
  std::uint32_t least = 0, greatest = 0;
  SelectorKind selector = SelectorKind::none;
  OperandKind kind = OperandKind::value;
  GeometricKind geometric = GeometricKind::none;
};

struct ModSlot {
  std::string set;          ///< set name, or empty for a literal modifier
  std::vector<Mod> mods;    ///< alternatives that are modifiers
  std::vector<Type> types;  ///< alternatives that are types
  bool optional = false;
};

struct OperandSlot {
  std::string name;  ///< refers to Row::operands
  bool optional = false;
  bool joined = false;     ///< written `|name` after the one before it
  bool bracketed = false;  ///< in the brackets of the one before it: `[a, name]`
};

struct Form {
  std::vector<ModSlot> slots;
  std::vector<OperandSlot> operands;
  int members = -1;  ///< index of the operand that names the lanes taking part, -1: none does
  std::string text;  ///< as in the row, for messages

  /// Position of the operand of that name; forms differ in which they have.
  std::optional<unsigned> operand(std::string_view name) const;
};

/// A row after its texts were parsed; all rows are parsed once at start-up by the code that unit tests check.
struct Row {
  Op op{};
  std::string_view id;   ///< enumerator spelling
  std::string mnemonic;  ///< up to the first modifier: "add", "bar", "ld"
  std::string chapter;   ///< folder under src/isa
  const RowText* text = nullptr;
  std::vector<Form> forms;
  std::vector<OperandSpec> operands;

  bool uses_mbarrier() const;  ///< an operand names one
};

const Row& row(Op op);
std::span<const Row> rows();
std::span<const Op> rows_of_mnemonic(std::string_view mnemonic);

/// A full opcode ("add.sat.s32") matched against its row: interned, one per distinct spelling, alive for the
/// process.
struct Opcode {
  Op op{};
  const Row* row = nullptr;
  const Form* form = nullptr;
  std::bitset<static_cast<std::size_t>(Mod::count)> mods;  ///< every modifier present
  std::array<Mod, static_cast<std::size_t>(ModKind::count)>
      by_kind{};                ///< last modifier of each kind, Mod::none if absent
  std::array<Type, 5> types{};  ///< type modifiers in order of the form's type slots
  unsigned type_count = 0;
  std::string text;  ///< as spelled in the source

  bool has(Mod m) const { return mods.test(static_cast<std::size_t>(m)); }
  Mod get(ModKind k) const { return by_kind[static_cast<std::size_t>(k)]; }
  Type type(unsigned i = 0) const { return types[i]; }
  unsigned vector_length() const { return has(Mod::v2) ? 2 : has(Mod::v4) ? 4 : has(Mod::v8) ? 8 : 1; }
  bool is(Effects bit) const { return isa::has(row->text->effects, bit); }
  /// Of an access: nothing orders it. Threads of old programs talk by volatile ones, which are not weak.
  bool is_weak() const {
    return get(ModKind::semantics) == Mod::none || get(ModKind::semantics) == Mod::weak;
  }
  /// More than one state space: copies.
  bool names_several_spaces() const;
  /// Other threads may decide its result, as Row::observes and the modifiers say.
  bool observes() const;
  /// Type of an operand of this opcode; Type::none where the spec leaves it open.
  Type operand_type(const OperandSpec& spec) const;
};

/// Matches an opcode's full text. Modifiers are a set: order matters only between types. Thread-safe,
/// memoised.
/// @errors invalid: unknown instruction, illegal modifier or combination; the message quotes the row's forms.
/// An `unsupported` row resolves normally: look at row->text->status.
Result<const Opcode*> resolve(std::string_view text);

}  // namespace raddle::isa
