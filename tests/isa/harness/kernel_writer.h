// Turns spellings of rows into PTX kernels: loads each operand from a lane's input slot, executes the
// instruction and stores its results. Everything follows from the row: operand kinds, types, effects and
// scope; no opcode is named.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "isa/harness/operands.h"
#include "isa/row.h"

namespace raddle::testing {

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kAreaSlots =
    4;  ///< of 64 bytes per lane for instructions with an address operand, these are filled and compared
inline constexpr unsigned kSlotBytes = 8 * kLanes;

/// One way to write an instruction: an opcode, one of its forms and the optional operands present.
struct CaseSpec {
  const isa::Opcode* opcode = nullptr;
  const isa::Form* form = nullptr;
  std::vector<bool> present;   ///< by form operand
  unsigned register_bits = 0;  ///< where the row lets a register be wider than its type: this width
  std::vector<std::string>
      immediates;                  ///< by form operand: text to write instead of a register, empty for none
  std::vector<std::string> marks;  ///< by form operand: "-", a selector ".b1", both "-.b1", or empty
  bool random = false;  ///< operands are drawn, not given: coordinates of surfaces are kept in their bounds
  bool member_mask_from_launch = true;  ///< the member mask is the mask of active lanes
};

/// A value that a case reads or writes: one slot per vector element (two for 128 bits), a slot being 8 bytes
/// per lane.
struct Port {
  std::string name;
  isa::Type type = isa::Type::none;
  unsigned bits = 0;  ///< width of the register
  unsigned elements = 1;
  unsigned slot = 0;         ///< in the input or output area
  bool mixed = false;        ///< elements of several types, `type` being one: registers have none
  bool is_fragment = false;  ///< registers of a matrix
  unsigned slots() const { return elements * (bits > 64 ? 2 : 1); }
};

/// Where a case's values lie, and its lines in the text.
struct CaseLayout {
  std::vector<Port> sources, results;
  bool has_area = false, area_is_written = false;
  unsigned area_in = 0, area_out = 0;  ///< first of kAreaSlots slots
  unsigned first_line = 0, last_line = 0;
};

/// Collects cases into one kernel `test(out, in, memory, mask, block)`; lanes outside `mask` skip all cases.
class KernelWriter {
 public:
  KernelWriter();
  /// @errors unsupported: the form has operands (labels, callees, lists) that only a hand-written kernel can
  /// give
  Result<CaseLayout> add(const CaseSpec& spec);
  std::string finish();
  unsigned in_slots() const { return in_slots_; }
  unsigned out_slots() const { return out_slots_; }

 private:
  struct Writing;
  void line(const std::string& text);
  Port take_input(Port port);
  Port take_output(Port port);
  std::vector<std::string> declare(char prefix, const Port& port);
  void load(const Port& port, const std::string& reg);
  void store(const Port& port, const std::string& reg);
  std::string source(Writing& w, const isa::OperandSpec& spec, const CaseSpec& c);
  std::string destination(Writing& w, const isa::OperandSpec& spec, const CaseSpec& c);
  std::string address(Writing& w, const isa::Opcode& opcode);
  std::string source_of_copy(const Writing& w);
  void dump_area(Writing& w, const isa::Opcode& opcode);
  std::string handle(const isa::Opcode& opcode, const isa::OperandSpec& spec);
  void dump_surface(Writing& w);
  void carry_in(Writing& w);
  void carry_out(Writing& w);

  std::string body_;
  unsigned lines_ = 0, in_slots_ = 0, out_slots_ = 0;
};

/// The types an operand has in a case: Type::none where the row leaves it open.
isa::Type case_operand_type(const isa::Opcode& opcode, const isa::OperandSpec& spec);
const isa::OperandSpec* find_operand(const isa::Row& row, std::string_view name);

/// The row's forms that an opcode's modifiers match: more than one where forms differ in operands only.
std::vector<const isa::Form*> matching_forms(const isa::Opcode& opcode);

/// Whether PTX wants an immediate there (the table of lop3, a constant of a range, ...): operands named `lut`
/// or `imm...` in the rows, or with a range.
bool is_immediate_only(const isa::OperandSpec& spec);

/// A selector (and a minus) that the operand position allows, drawn at random; empty for most positions.
std::string random_mark(Random& random, const isa::OperandSpec& spec);

/// Every combination of optional operands of a form (at most 8 of them).
std::vector<std::vector<bool>> operand_choices(const isa::Form& form);

}  // namespace raddle::testing
