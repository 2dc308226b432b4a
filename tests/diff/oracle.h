// Runs a program's text on all engines and judges: the same bits everywhere, and a printer that loses
// nothing.
#pragma once

#include <string>
#include <vector>

#include "isa/harness/engines.h"

namespace raddle::diff {

/// "" if all oracles agree; else what differs, in one line. Oracles: the interpreter's output and memory
/// against each other engine's, bit for bit; print(parse(x)) is a fixpoint; the interpreter runs the printed
/// text to the same bits.
/// @param text     a program with the head comment that render() writes: block shape, seed of the inputs,
/// slot types
/// @param engines  interpreter first
std::string judge(const std::string& text, const std::vector<testing::NamedEngine>& engines);

}  // namespace raddle::diff
