// Directives other than declarations: .loc, .file, .section, .pragma and the labelled lists of calls and
// branches.
#include "ptx/declarations.h"
#include "ptx/expressions.h"
#include "ptx/statements.h"

namespace raddle::ptx {
namespace {

constexpr std::uint64_t kMaxLine = 0xffffffffu;
constexpr std::uint64_t kMaxFiles = 1u << 20;

bool parse_triple(Parser& parser, Location& location) {
  std::uint64_t file = 0, line = 0, column = 0;
  if (!parse_count(parser, "a file number", kMaxFiles, file) ||
      !parse_count(parser, "a line number", kMaxLine, line) ||
      !parse_count(parser, "a column number", kMaxLine, column))
    return false;
  location.file = static_cast<std::uint32_t>(file);
  location.line = static_cast<std::uint32_t>(line);
  location.column = static_cast<std::uint32_t>(column);
  return true;
}

/// `, function_name label + 4` or `, inlined_at 1 2 3`; the ',' is passed. The name's text comes from
/// .debug_str later.
bool parse_inlining(Parser& parser, std::uint32_t location) {
  Token word;
  if (!parser.in.expect_identifier("'function_name' or 'inlined_at'", word)) return false;
  auto& locations = parser.module.locations;
  if (word.text == "inlined_at") {
    Location caller;
    if (!parse_triple(parser, caller)) return false;
    locations.push_back(caller);
    locations[location].inlined_at = static_cast<std::uint32_t>(locations.size() - 1);
    return true;
  }
  if (word.text != "function_name")
    return parser.in.error(word.at, "expected 'function_name' or 'inlined_at', found '{}'", word.text);
  Token label;
  std::uint64_t offset = 0;
  if (!parser.in.expect_identifier("a label of .debug_str", label)) return false;
  if (parser.in.accept('+') && !parse_integer(parser, "an offset", offset)) return false;
  parser.pending_locations.push_back({location, parser.names.intern(label.text), offset});
  return true;
}

bool parse_targets(Parser& parser, std::vector<Token>& names) {
  parser.in.advance();
  do {
    Token name;
    if (!parser.in.expect_identifier("a name", name)) return false;
    names.push_back(name);
  } while (parser.in.accept(','));
  return true;
}

bool parse_branch_targets(Parser& parser, const Token& label, Binding& binding) {
  std::vector<Token> names;
  if (!parse_targets(parser, names)) return false;
  FunctionState& f = *parser.current;
  const auto list = static_cast<std::uint32_t>(f.function.branch_targets.size());
  f.function.branch_targets.emplace_back(names.size(), kNone);
  for (std::uint32_t i = 0; i < names.size(); ++i)
    f.pending.push_back(
        {PendingName::Use::branch_list_item, parser.names.intern(names[i].text), names[i].at, list, i});
  binding = {Binding::Kind::branch_list, 0, 0, list};
  return parser.in.token().is(';') ||
         parser.in.error(label.at, "the list '{}' must end with ';'", label.text);
}

bool parse_call_targets(Parser& parser, Binding& binding) {
  std::vector<Token> names;
  if (!parse_targets(parser, names)) return false;
  std::vector<FunctionId> targets;
  for (const Token& name : names) {
    NameId id = 0;
    const Binding target = look_up(parser, name, id);
    if (target.kind != Binding::Kind::function)
      return parser.in.error(name.at, "'{}' is not a function", name.text);
    targets.push_back(target.index);
  }
  binding = {Binding::Kind::call_targets, 0, 0,
             static_cast<std::uint32_t>(parser.current->call_targets.size())};
  parser.current->call_targets.push_back(std::move(targets));
  return true;
}

/// `.callprototype (.param .b32 _) _ (.param .b64 _) .noreturn`
bool parse_prototype(Parser& parser, const Token& label, Binding& binding) {
  parser.in.advance();
  Prototype prototype;
  prototype.name = label.text;
  if (parser.in.token().is('(') && !parse_formals(parser, prototype.returns)) return false;
  Token blank;
  if (!parser.in.expect_identifier("'_'", blank)) return false;
  if (parser.in.token().is('(') && !parse_formals(parser, prototype.parameters)) return false;
  prototype.noreturn = parser.in.accept_directive("noreturn");
  while (parser.in.token().kind == TokenKind::directive) {  // .abi_preserve 8 and the like
    std::uint64_t ignored = 0;
    parser.in.advance();
    if (starts_constant(parser) && !parse_integer(parser, "a number", ignored)) return false;
  }
  binding = {Binding::Kind::prototype, 0, 0, static_cast<std::uint32_t>(parser.function().prototypes.size())};
  parser.function().prototypes.push_back(std::move(prototype));
  return true;
}

/// Strings of `.section .debug_str`: `label:` and the bytes behind it. The '{' is passed; the '}' ends it.
void read_debug_strings(Parser& parser) {
  std::string* text = nullptr;
  while (!parser.in.at_end() && !parser.in.token().is('}')) {
    const Token token = parser.in.token();
    parser.in.advance();
    if (token.kind == TokenKind::identifier) text = &parser.debug_strings[parser.names.intern(token.text)];
    const bool byte = token.kind == TokenKind::number && !token.value.is_float() && text != nullptr;
    if (byte) text->push_back(static_cast<char>(token.value.bits));
  }
}

}  // namespace

bool parse_label_directive(Parser& parser, const Token& label) {
  Binding binding;
  const std::string_view kind = parser.in.token().text;
  const bool parsed = kind == "branchtargets" ? parse_branch_targets(parser, label, binding)
                      : kind == "calltargets" ? parse_call_targets(parser, binding)
                                              : parse_prototype(parser, label, binding);
  if (!parsed) return false;
  if (!parser.scopes.bind(parser.names.intern(label.text), binding))
    return parser.in.error(label.at, "'{}' is already declared in this scope", label.text);
  return parser.in.expect(';', "after a list");
}

bool parse_location(Parser& parser) {
  parser.in.advance();
  Location location;
  if (!parse_triple(parser, location)) return false;
  const auto index = static_cast<std::uint32_t>(parser.module.locations.size());
  parser.module.locations.push_back(std::move(location));
  while (parser.in.accept(','))
    if (!parse_inlining(parser, index)) return false;
  if (parser.in_function()) parser.current->location = index;
  return true;
}

bool parse_file(Parser& parser) {
  parser.in.advance();
  std::uint64_t index = 0, ignored = 0;
  if (!parse_count(parser, "a file number", kMaxFiles, index)) return false;
  const Token name = parser.in.token();
  if (name.kind != TokenKind::string) return parser.in.expected("a file name in quotes");
  parser.in.advance();
  while (parser.in.accept(','))  // time stamp, size
    if (!parse_integer(parser, "a number", ignored)) return false;
  auto& files = parser.module.files;
  if (files.size() <= index) files.resize(index + 1);
  files[index] = name.text;
  return true;
}

bool parse_section(Parser& parser) {
  parser.in.advance();
  const Token name = parser.in.token();
  while (!parser.in.token().is('{')) {
    if (parser.in.at_end() || parser.in.token().is(';') || parser.in.token().is('}'))
      return parser.in.expected("'{' after '.section'");
    parser.in.advance();
  }
  if (name.is_directive("debug_str")) {
    parser.in.advance();
    read_debug_strings(parser);
    return parser.in.expect('}', "to close the section");
  }
  return parser.in.skip_block() || parser.in.error(name.at, "the section '.{}' is never closed", name.text);
}

bool parse_pragma(Parser& parser) {
  parser.in.advance();
  do {
    const Token text = parser.in.token();
    if (text.kind != TokenKind::string) return parser.in.expected("a pragma in quotes");
    parser.in.advance();
    // Others, such as "used_bytes_mask N", only advise; PTX asks to ignore unknown ones.
    if (text.text == "nounroll" && parser.in_function())
      parser.current->no_unroll.push_back(static_cast<std::uint32_t>(parser.function().instructions.size()));
  } while (parser.in.accept(','));
  return parser.in.expect(';', "after a pragma");
}

}  // namespace raddle::ptx
