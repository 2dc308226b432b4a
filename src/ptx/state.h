// What the parts of the parser share: the cursor, the names, the module so far and the function in the
// making.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "ptx/cursor.h"
#include "ptx/module.h"
#include "ptx/names.h"
#include "ptx/scopes.h"

namespace raddle::ptx {

struct OpcodePlan;

/// `.reg .b32 %r<100>;`: registers come into being when first used.
struct RegisterRange {
  std::uint32_t count = 0;
  Type type = Type::none;
  unsigned vector = 1;
};

struct LabelRecord {
  NameId name = 0;
  std::uint32_t instruction = 0;  ///< it stands in front of this one
  bool used = false;
  BlockId block = kNone;
};

/// A name used before its declaration: resolved when its scope closes.
struct PendingName {
  enum class Use : std::uint8_t { label_operand, branch_list_item, branch_list, call_selector };
  Use use;
  NameId name;
  Position at;
  std::uint32_t index = 0, item = 0;  ///< operand | list, item | instruction | call
};

/// The function whose body is being read.
struct FunctionState {
  FunctionId id = kNone;
  Function function;
  std::vector<RegisterRange> ranges;
  std::vector<LabelRecord> labels;  // in order of position
  std::vector<PendingName> pending;
  std::vector<std::uint32_t> label_operands;  // resolved: index is a LabelRecord until the blocks are known
  std::vector<std::vector<FunctionId>> call_targets;
  std::vector<std::uint32_t> no_unroll;                   // instruction indices of `.pragma "nounroll"`
  std::vector<Position> call_positions;                   // by index into Function::calls
  std::unordered_map<NameId, std::uint32_t> next_suffix;  // of names that had to be made unique
  std::vector<std::size_t> pending_marks;                 // pending.size() when each scope was opened
  std::unordered_map<std::string_view, std::uint32_t>
      unsupported;  // text -> index into Function::unsupported
  std::uint32_t location = kNone;
  std::uint32_t call_slot_bytes = 0;  // of .param variables declared in the body
  std::uint32_t shared_bytes = 0;     // of .shared variables declared in the body
};

/// An address in an initialiser whose name comes later in the text.
struct PendingRelocation {
  VariableId variable;
  std::uint32_t relocation;
  NameId name;
  Position at;
};

struct PendingLocation {
  std::uint32_t location;
  NameId label;  ///< of the function's name in .debug_str
  std::uint64_t offset;
};

struct RawOperand;

struct Parser {
  Parser(std::string_view text, std::string_view file);
  ~Parser();

  Cursor in;
  NameTable names;
  Scopes scopes;
  Module module;
  std::unique_ptr<FunctionState> current;  ///< null at module level
  std::uint32_t function_serial = 0;       ///< of `current`; counts up
  std::vector<std::uint32_t>
      taken_by;                   ///< by NameId: function_serial of the last function that used the spelling
  std::uint64_t const_bytes = 0;  ///< of module-scope .const variables
  std::uint64_t registers_made = 0;  ///< of the whole module, bounded by kMaxRegisters
  bool has_version = false, has_target = false;

  NameTable opcode_names;
  std::deque<OpcodePlan> plans;  ///< by NameId of the opcode
  std::string spaced_opcode;
  std::vector<RawOperand> operands, elements;  ///< of the statement being read

  std::vector<PendingRelocation> pending_relocations;
  std::vector<PendingLocation> pending_locations;
  std::unordered_map<NameId, std::string> debug_strings;

  bool in_function() const { return current != nullptr; }
  Function& function() { return current->function; }
};

inline constexpr std::uint64_t kMaxRegisters = 1u << 22;  ///< per module
inline constexpr unsigned kMaxNesting = 200;              ///< of `{ }`, parentheses, initialiser braces
inline constexpr std::uint64_t kMaxVariableBytes = 1ull << 40;

/// A spelling that nothing else in the current function has: the name itself if it is still free.
std::string unique_name(Parser& parser, NameId name);

/// Binds the special registers and WARP_SZ.
void bind_predefined(Parser& parser);

}  // namespace raddle::ptx
