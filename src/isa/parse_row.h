// Turns the text of a row (RowText) into forms, modifier slots and operand specs (Row). Runs once per row at
// start-up; the unit tests call it with rows of their own and require that our rows parse without a
// complaint.
#pragma once

#include <string>
#include <vector>

#include "isa/row.h"
#include "isa/texts.h"

namespace raddle::isa {

/// Parses one row.
/// @param problems  receives one line per mistake in the row: undefined or unused set, operand without a
///                  type, ...
Row parse_row(Op op, const NamedText& source, std::vector<std::string>& problems);

}  // namespace raddle::isa
