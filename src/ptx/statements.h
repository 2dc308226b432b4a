// Statements of a function body: instructions, labels, declarations, directives, nested blocks.
#pragma once

#include "ptx/opcode_plan.h"
#include "ptx/state.h"

namespace raddle::ptx {

/// Reads a body from its '{' to the matching '}'. False if it is not closed or there are too many errors.
bool parse_body(Parser& parser);

/// The operands of a call, up to the ';': `(returns), callee, (arguments), prototype`.
bool parse_call(Parser& parser, const OpcodePlan& plan, Instruction& instruction);
/// Checks every call of the finished function against the function that it calls.
void check_calls(Parser& parser);

/// `.branchtargets`, `.calltargets`, `.callprototype` behind `label:`; the directive is the current token.
bool parse_label_directive(Parser& parser, const Token& label);
/// `.loc`, `.pragma`, `.file`, `.section`: also at module level.
bool parse_location(Parser& parser);
bool parse_file(Parser& parser);
bool parse_section(Parser& parser);
bool parse_pragma(Parser& parser);

/// Names used in the closing scope that belong to it are resolved; the rest moves outward. At depth 1 it is
/// an error.
void resolve_pending(Parser& parser, std::size_t mark);

/// Cuts the instructions into blocks and points label operands at them.
void build_blocks(Parser& parser);

}  // namespace raddle::ptx
