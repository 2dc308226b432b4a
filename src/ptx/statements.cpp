// The statement loop of a function body. After an error it goes back to the statement's start, skips it whole
// and goes on, so that one mistake hides no other.
#include "ptx/statements.h"

#include "ptx/checks.h"
#include "ptx/declarations.h"

namespace raddle::ptx {
namespace {

/// Counts an instruction nothing executes yet and skips it.
bool note_unsupported(Parser& parser, const OpcodePlan& plan, std::uint32_t line) {
  FunctionState& f = *parser.current;
  const auto [known, added] =
      f.unsupported.try_emplace(plan.text, static_cast<std::uint32_t>(f.function.unsupported.size()));
  if (added) f.function.unsupported.push_back({std::string(plan.text), plan.reason, line, 0, plan.unknown});
  ++f.function.unsupported[known->second].count;
  parser.in.skip_statement();
  return true;
}

bool parse_instruction(Parser& parser) {
  Instruction instruction;
  if (parser.in.token().is('@') && !parse_guard(parser, instruction.guard, instruction.guard_negated))
    return false;
  if (parser.in.token().kind != TokenKind::identifier) return parser.in.expected("an instruction");
  parser.in.join_opcode(parser.spaced_opcode);
  const Token opcode = parser.in.token();
  const OpcodePlan& plan =
      plan_of(parser, parser.spaced_opcode.empty() ? opcode.text : std::string_view(parser.spaced_opcode));
  parser.in.advance();
  if (!plan.supported) return note_unsupported(parser, plan, opcode.at.line);
  instruction.opcode = plan.opcode;
  instruction.line = opcode.at.line;
  instruction.column = opcode.at.column;
  instruction.location = parser.current->location;
  if (plan.is_call) {
    if (!parse_call(parser, plan, instruction)) return false;
  } else if (!parse_operands(parser) || !bind_operands(parser, plan, instruction)) {
    return false;
  }
  if (!parser.in.expect(';', "after an instruction")) return false;
  parser.function().instructions.push_back(instruction);
  return true;
}

bool define_label(Parser& parser, const Token& name) {
  parser.in.advance();  // the ':'
  if (parser.in.token().is_directive("branchtargets") || parser.in.token().is_directive("calltargets") ||
      parser.in.token().is_directive("callprototype"))
    return parse_label_directive(parser, name);
  FunctionState& f = *parser.current;
  const NameId id = parser.names.intern(name.text);
  const auto index = static_cast<std::uint32_t>(f.labels.size());
  if (!parser.scopes.bind_label(id, index))
    return parser.in.error(name.at, "label '{}' is defined twice in this scope", name.text);
  f.labels.push_back({id, static_cast<std::uint32_t>(f.function.instructions.size()), false, kNone});
  return true;
}

bool parse_directive(Parser& parser) {
  const std::string_view name = parser.in.token().text;
  if (name == "loc") return parse_location(parser);
  if (name == "pragma") return parse_pragma(parser);
  if (name == "file") return parse_file(parser);
  if (name == "section") return parse_section(parser);
  if (name == "extern" || name == "visible" || name == "weak") {
    const Linkage linkage = name == "extern" ? Linkage::extern_
                            : name == "weak" ? Linkage::weak
                                             : Linkage::visible;
    parser.in.advance();
    return parse_declaration(parser, linkage);
  }
  if (is_state_space(name) || name == "align" || name == "attribute")
    return parse_declaration(parser, Linkage::none);
  return parser.in.error(parser.in.token().at, "'.{}' is no directive of a function body", name);
}

bool open_scope(Parser& parser) {
  if (parser.scopes.depth() >= kMaxNesting)
    return parser.in.error(parser.in.token().at, "'{{' nested too deeply");
  parser.scopes.open();
  parser.current->pending_marks.push_back(parser.current->pending.size());
  parser.in.advance();
  return true;
}

void close_scope(Parser& parser) {
  resolve_pending(parser, parser.current->pending_marks.back());
  parser.current->pending_marks.pop_back();
  parser.in.advance();
  // The function's own scope is closed by its owner, after the calls were checked.
  if (!parser.current->pending_marks.empty()) parser.scopes.close();
}

bool parse_statement(Parser& parser) {
  const Token& token = parser.in.token();
  if (token.kind == TokenKind::directive) return parse_directive(parser);
  if (token.is('@')) return parse_instruction(parser);
  if (token.kind != TokenKind::identifier)
    return parser.in.expected("an instruction, a label or a directive");
  if (parser.in.lexer().next_character() != '.' && parser.in.lexer().colon_follows()) {
    const Token label = token;
    parser.in.advance();
    return define_label(parser, label);
  }
  return parse_instruction(parser);
}

}  // namespace

bool parse_body(Parser& parser) {
  parser.current->pending_marks.push_back(0);
  parser.in.advance();
  while (!parser.current->pending_marks.empty()) {
    if (parser.in.too_many_errors()) return false;
    if (parser.in.at_end()) return parser.in.expected("'}' to close the function's body");
    if (parser.in.token().is('}')) {
      close_scope(parser);
    } else if (parser.in.token().is('{')) {
      if (!open_scope(parser)) return false;
    } else if (!parser.in.accept(';')) {
      const Cursor::Mark start = parser.in.mark();
      if (parse_statement(parser)) continue;
      parser.in.rewind(start);
      parser.in.skip_statement();
    }
  }
  return true;
}

}  // namespace raddle::ptx
