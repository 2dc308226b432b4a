// The two halves of the printer: declarations here and in printer.cpp, statements in print_body.cpp.
#pragma once

#include <string>

#include "ptx/module.h"

namespace raddle::ptx {

/// `.param .align 8 .b8 name[16]`: without linkage, initialiser and ';'.
void print_declarator(std::string& out, const Variable& variable, std::string_view name);
/// `(.param .b32 a, .param .b64 b)`, nothing when empty.
void print_formals(std::string& out, const std::vector<const Variable*>& formals, bool unnamed);
void print_body(std::string& out, const Module& module, const Function& function);

}  // namespace raddle::ptx
