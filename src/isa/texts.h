// Access to the unparsed rows, for row.cpp and the self-check of rows.
#pragma once

#include <span>
#include <string_view>

#include "isa/row.h"

namespace raddle::isa {

struct NamedText {
  std::string_view id;    ///< enumerator spelling
  std::string_view file;  ///< path of the rows.def it stands in
  const RowText* text;
};

/// One per Op, in the order of the enumerators.
std::span<const NamedText> row_texts();

/// Mistakes found while parsing the rows, one line each; a unit test requires none.
std::span<const std::string> row_problems();

}  // namespace raddle::isa
