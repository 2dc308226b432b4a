// Whether the arguments of a call fit a function: checked when a program is read for calls by name, and when
// it runs for calls through pointers.
#pragma once

#include "ptx/module.h"

namespace raddle::ptx {

/// @param actual  a register, constant, .param variable or sink of `caller`
bool argument_fits(const Module& module, const Function& caller, const Variable& formal,
                   const Operand& actual);

/// As many arguments and results as `callee` has, each of which fits.
bool signature_fits(const Module& module, const Function& caller, const Call& call, const Function& callee);

}  // namespace raddle::ptx
