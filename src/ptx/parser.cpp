// The module level: directives, variables, functions; and the checks that need the whole text.
#include "ptx/parser.h"

#include "ptx/declarations.h"
#include "ptx/expressions.h"
#include "ptx/functions.h"
#include "ptx/opcode_plan.h"
#include "ptx/operands.h"
#include "ptx/statements.h"

namespace raddle::ptx {

Parser::Parser(std::string_view text, std::string_view file) : in(text, file) {
  module.name = file;
  module.source_hash = hash_text(text);
  bind_predefined(*this);
}

Parser::~Parser() = default;

void bind_predefined(Parser& parser) {
  const auto bind = [&](std::string name, std::uint32_t index, std::uint8_t component) {
    parser.scopes.bind(parser.names.intern(parser.names.keep(std::move(name))),
                       {Binding::Kind::special, component, 0, index});
  };
  for (std::uint32_t index = 0; index < isa::kSpecialRegisters.size(); ++index) {
    const isa::SpecialRegisterRow& row = isa::kSpecialRegisters[index];
    if (row.components == 4) {  // as a vector; .x and so on are picked from it
      bind(fmt::format("%{}", row.name), index, Binding::kPickComponent);
      continue;
    }
    for (unsigned i = 0; i < row.components; ++i)
      bind(isa::spelling(static_cast<SpecialRegister>(index), i), index, static_cast<std::uint8_t>(i));
  }
  parser.scopes.bind(parser.names.intern("WARP_SZ"), {Binding::Kind::warp_size, 0, 0, 0});
}

namespace {

bool parse_version(Parser& parser) {
  parser.in.advance();
  const Token version = parser.in.token();
  if (version.kind != TokenKind::number) return parser.in.expected("a version such as 9.0");
  parser.in.advance();
  unsigned major = 0, minor = 0;
  std::size_t i = 0;
  for (; i < version.text.size() && version.text[i] >= '0' && version.text[i] <= '9' && major < 1000; ++i)
    major = major * 10 + static_cast<unsigned>(version.text[i] - '0');
  if (i + 2 == version.text.size() && version.text[i] == '.')
    minor = static_cast<unsigned>(version.text[i + 1] - '0');
  if (i + (version.text.find('.') == std::string_view::npos ? 0 : 2) != version.text.size() || minor > 9)
    return parser.in.error(version.at, "'{}' is not a version such as 9.0", version.text);
  parser.module.version = major * 10 + minor;
  parser.has_version = true;
  return true;
}

/// Any target is accepted; its instructions decide. Of the options behind it only the texturing mode matters.
bool parse_target(Parser& parser) {
  parser.in.advance();
  Token name;
  if (!parser.in.expect_identifier("a target such as sm_90", name)) return false;
  parser.module.target = name.text;
  parser.has_target = true;
  while (parser.in.accept(',')) {
    if (!parser.in.expect_identifier("a target option", name)) return false;
    if (name.text == "texmode_independent") parser.module.independent_samplers = true;
  }
  return true;
}

bool parse_address_size(Parser& parser) {
  parser.in.advance();
  const Position at = parser.in.token().at;
  std::uint64_t bits = 0;
  if (!parse_count(parser, "an address size", 64, bits)) return false;
  if (bits != 32 && bits != 64) return parser.in.error(at, "an address size is 32 or 64, not {}", bits);
  parser.module.address_size = static_cast<unsigned>(bits);
  return true;
}

bool parse_linked(Parser& parser, Linkage linkage) {
  if (parser.in.token().is_directive("entry") || parser.in.token().is_directive("func"))
    return parse_function(parser, linkage);
  return parse_declaration(parser, linkage);
}

bool parse_module_statement(Parser& parser) {
  const Token token = parser.in.token();
  if (token.kind != TokenKind::directive) return parser.in.expected("a directive or a declaration");
  const std::string_view name = token.text;
  if (name == "version") return parse_version(parser);
  if (name == "target") return parse_target(parser);
  if (name == "address_size") return parse_address_size(parser);
  if (name == "entry" || name == "func") return parse_function(parser, Linkage::none);
  if (name == "alias") return parse_alias(parser);
  if (name == "file") return parse_file(parser);
  if (name == "section") return parse_section(parser);
  if (name == "pragma") return parse_pragma(parser);
  if (name == "loc") return parse_location(parser);
  if (is_state_space(name) || name == "align" || name == "attribute")
    return parse_declaration(parser, Linkage::none);
  Linkage linkage = Linkage::none;
  if (name == "visible") linkage = Linkage::visible;
  if (name == "extern") linkage = Linkage::extern_;
  if (name == "weak") linkage = Linkage::weak;
  if (name == "common") linkage = Linkage::common;
  if (linkage == Linkage::none) return parser.in.error(token.at, "'.{}' is no directive of a module", name);
  parser.in.advance();
  return parse_linked(parser, linkage);
}

/// Behind the statement that went wrong: its ';', or its body.
void skip_module_statement(Parser& parser) {
  while (!parser.in.at_end()) {
    if (parser.in.token().is('{')) {
      parser.in.skip_block();
      return;
    }
    const bool done = parser.in.token().is(';');
    parser.in.advance();
    if (done) return;
  }
}

void parse_statements(Parser& parser) {
  while (!parser.in.at_end() && !parser.in.too_many_errors()) {
    if (parser.in.accept(';')) continue;
    const Cursor::Mark start = parser.in.mark();
    if (parse_module_statement(parser)) continue;
    if (parser.in.at_end()) return;
    parser.in.rewind(start);
    skip_module_statement(parser);
  }
}

/// Initialisers may name variables and functions declared further down.
void resolve_relocations(Parser& parser) {
  for (const PendingRelocation& pending : parser.pending_relocations) {
    const Binding binding = parser.scopes.symbol(pending.name);
    Relocation& relocation = parser.module.variables[pending.variable].relocations[pending.relocation];
    relocation.index = binding.index;
    relocation.is_function = binding.kind == Binding::Kind::function;
    if (binding.kind != Binding::Kind::function && binding.kind != Binding::Kind::variable)
      parser.in.error(pending.at, "'{}' is not declared", parser.names.text(pending.name));
  }
}

void resolve_locations(Parser& parser) {
  for (const PendingLocation& pending : parser.pending_locations) {
    const auto found = parser.debug_strings.find(pending.label);
    if (found == parser.debug_strings.end() || pending.offset >= found->second.size()) continue;
    parser.module.locations[pending.location].function =
        found->second.c_str() + pending.offset;  // up to its NUL
  }
}

void check_head(Parser& parser) {
  if (!parser.has_version)
    parser.in.error({1, 1}, "the module does not say its '.version'");
  else if (!parser.has_target)
    parser.in.error({1, 1}, "the module does not say its '.target'");
}

}  // namespace

Result<Module> parse(std::string_view text, std::string_view name, std::vector<Error>* diagnostics) {
  Parser parser(text, name);
  parse_statements(parser);
  resolve_relocations(parser);
  resolve_locations(parser);
  if (parser.in.errors().empty()) check_head(parser);
  parser.module.lines = parser.in.token().at.line;
  if (diagnostics) *diagnostics = parser.in.errors();
  if (parser.in.errors().empty()) return std::move(parser.module);
  return parser.in.errors().front();
}

}  // namespace raddle::ptx
