// Every legal spelling of a row's opcodes, in canonical modifier order: for the coverage page and for
// generators of random programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "isa/row.h"

namespace raddle::isa {

/// Legal opcode texts of a row, each once, form by form.
/// @param limit  most spellings wanted. A form with more than its share is sampled: first every
///               alternative of every modifier at least once where legal, then spellings spread evenly; the
///               same ones in every run
std::vector<std::string> all_spellings(const Row& row, std::size_t limit = 10'000);

}  // namespace raddle::isa
