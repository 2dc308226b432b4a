// Kernels without one of the lines that order what they do: each wait, fence, expected count, arrival,
// commit, barrier and change of phase taken out by itself. On a device where copies land late the machine
// must show that something is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "raddle/asynchrony.h"

namespace lost_lines {

/// A PTX text's kernel alone, line by line as it was: those of other kernels are empty.
std::string only(const std::string& text, const std::string& kernel);

/// @returns what goes wrong with the module of this text: a wrong result or a fault; empty: nothing does. On
/// stderr it may be told what was forgotten
using Try = std::function<std::string(const std::string& text, raddle::Asynchrony)>;

/// Tries the kernel as it is, which must do right, and then without each line: something must go wrong, when
/// copies land as late as they may or under one of the seeds. Prints a table of what does. Lines that may go
/// stand in it with the reason. There are a thousand seeds. Without RADDLE_TEST_ALL the kernel as it is is
/// tried under ten, and some of the lines, other ones by RADDLE_TEST_SEED; with it, at least a
/// fourth of the lines; with RADDLE_TEST_EXHAUSTIVE all.
/// @param text   of one kernel
/// @param least  lines that it has of that kind
/// @param every  of so many lines, one is tried
/// @param names  whether a word must be said of each lost wait, too, and none of the kernel as it is
void check(const std::string& text, std::size_t least, std::size_t every, bool names, const Try& problem);

}  // namespace lost_lines
