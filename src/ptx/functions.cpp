// `.entry` and `.func`: header, performance directives, body; and `.alias`.
#include "ptx/functions.h"

#include "ptx/declarations.h"
#include "ptx/expressions.h"
#include "ptx/statements.h"

namespace raddle::ptx {
namespace {

struct Header {
  Token name;
  bool is_entry = false;
  Linkage linkage = Linkage::none;
  std::vector<Variable> returns, parameters;
  PerformanceDirectives directives;
};

constexpr std::uint64_t kMaxCount = 0xffffffffu;

bool parse_one(Parser& parser, std::uint32_t& out) {
  std::uint64_t value = 0;
  if (!parse_count(parser, "a number", kMaxCount, value)) return false;
  out = static_cast<std::uint32_t>(value);
  return true;
}

/// `256`, `256, 1` or `256, 1, 1`; sizes not given are 1.
bool parse_extent(Parser& parser, std::uint32_t (&extent)[3]) {
  extent[0] = extent[1] = extent[2] = 1;
  if (!parse_one(parser, extent[0])) return false;
  for (int i = 1; i < 3 && parser.in.accept(','); ++i)
    if (!parse_one(parser, extent[i])) return false;
  return true;
}

/// `.attribute(...)` and directives like `.abi_preserve 8` say nothing that matters here.
bool skip_unread(Parser& parser) {
  if (parser.in.token().is('(')) {
    for (unsigned depth = 0; !parser.in.at_end() && !parser.in.token().is(';') && !parser.in.token().is('{');
         parser.in.advance()) {
      if (parser.in.token().is('(')) ++depth;
      if (!parser.in.token().is(')') || --depth > 0) continue;
      parser.in.advance();
      return true;
    }
    return parser.in.expected("')'");
  }
  std::uint64_t ignored = 0;
  return !starts_constant(parser) || parse_integer(parser, "a number", ignored);
}

bool parse_performance_directive(Parser& parser, PerformanceDirectives& d) {
  const Token token = parser.in.token();
  if (token.text == "pragma") return parse_pragma(parser);
  parser.in.advance();
  if (token.text == "maxntid") return parse_extent(parser, d.maxntid);
  if (token.text == "reqntid") return parse_extent(parser, d.reqntid);
  if (token.text == "reqnctapercluster") return parse_extent(parser, d.reqnctapercluster);
  if (token.text == "maxnreg") return parse_one(parser, d.maxnreg);
  if (token.text == "minnctapersm") return parse_one(parser, d.minnctapersm);
  if (token.text == "maxnctapersm") return parse_one(parser, d.maxnctapersm);
  if (token.text == "maxclusterrank") return parse_one(parser, d.maxclusterrank);
  if (token.text == "explicitcluster") return d.explicitcluster = true;
  if (token.text == "blocksareclusters") return d.blocksareclusters = true;
  if (token.text == "noreturn") return d.noreturn = true;
  if (token.text == "attribute" || token.text.starts_with("abi_preserve")) return skip_unread(parser);
  return parser.in.error(token.at, "'.{}' is no directive of a function", token.text);
}

bool parse_header(Parser& parser, Header& header) {
  header.is_entry = parser.in.token().text == "entry";
  parser.in.advance();
  if (parser.in.accept_directive("attribute") && !skip_unread(parser)) return false;
  if (!header.is_entry && parser.in.token().is('(') && !parse_formals(parser, header.returns)) return false;
  if (!parser.in.expect_identifier("the function's name", header.name)) return false;
  if (parser.in.token().is('(') && !parse_formals(parser, header.parameters)) return false;
  while (parser.in.token().kind == TokenKind::directive)
    if (!parse_performance_directive(parser, header.directives)) return false;
  return true;
}

bool same_formals(const Parser& parser, const std::vector<VariableId>& old,
                  const std::vector<Variable>& now) {
  if (old.size() != now.size()) return false;
  for (std::size_t i = 0; i < old.size(); ++i)
    if (parser.module.variables[old[i]].size != now[i].size) return false;
  return true;
}

/// The function's number; new, or that of an earlier declaration. kNone (reported) if the name is taken
/// otherwise.
FunctionId declare(Parser& parser, const Header& header) {
  const NameId name = parser.names.intern(header.name.text);
  const auto fresh = static_cast<FunctionId>(parser.module.functions.size());
  if (parser.scopes.bind(name, {Binding::Kind::function, 0, 0, fresh})) {
    Function& f = parser.module.functions.emplace_back();
    f.name = header.name.text;
    f.is_entry = header.is_entry;
    f.is_declaration = true;
    f.line = header.name.at.line;
    return fresh;
  }
  const Binding before = parser.scopes.symbol(name);
  if (before.kind != Binding::Kind::function) {
    parser.in.error(header.name.at, "'{}' is already the name of a variable", header.name.text);
    return kNone;
  }
  const Function& old = parser.module.functions[before.index];
  if (old.is_entry != header.is_entry || !same_formals(parser, old.returns, header.returns) ||
      !same_formals(parser, old.parameters, header.parameters)) {
    parser.in.error(header.name.at, "'{}' differs from its declaration in line {}", header.name.text,
                    old.line);
    return kNone;
  }
  return before.index;
}

/// Makes the formals variables of the function; those of an earlier declaration are overwritten.
void add_formals(Parser& parser, FunctionId id, std::vector<Variable>& formals, std::vector<VariableId>& ids,
                 bool returns, std::uint32_t& bytes) {
  const bool known = ids.size() == formals.size();
  for (std::size_t i = 0; i < formals.size(); ++i) {
    Variable& v = formals[i];
    v.function = id;
    v.is_parameter = !returns;
    v.is_return = returns;
    if (v.space == Space::param) v.offset = place(v.size, v.align, bytes);
    if (!known) {
      ids.push_back(static_cast<VariableId>(parser.module.variables.size()));
      parser.module.variables.push_back(v);
    } else {
      parser.module.variables[ids[i]] = v;
    }
  }
}

void apply_header(Parser& parser, FunctionId id, Header& header) {
  Function& f = parser.module.functions[id];
  std::uint32_t bytes = 0;
  add_formals(parser, id, header.parameters, f.parameters, false, bytes);
  f.parameter_bytes = bytes;
  add_formals(parser, id, header.returns, f.returns, true, bytes);
  if (header.linkage != Linkage::none) f.linkage = header.linkage;
  f.directives = header.directives;
}

/// Makes a formal's name known in the body; a .reg formal gets its register, to which Variable::offset
/// points.
void bind_formal(Parser& parser, VariableId id, Position at) {
  Variable& v = parser.module.variables[id];
  if (v.name == "_") return;
  const NameId name = parser.names.intern(parser.names.keep(v.name));
  Binding binding{Binding::Kind::variable, 0, 0, id};
  if (v.space == Space::reg) {
    v.offset = make_register(parser, name, v.type, at);
    binding = {Binding::Kind::reg, 0, 0, v.offset};
    if (v.is_return) parser.function().return_registers.push_back(v.offset);
  } else {
    unique_name(parser, name);  // nothing in the body may take the spelling
  }
  if (!parser.scopes.bind(name, binding)) parser.in.error(at, "two parameters are named '{}'", v.name);
}

bool parse_definition(Parser& parser, FunctionId id, Position at) {
  parser.current = std::make_unique<FunctionState>();
  ++parser.function_serial;
  parser.current->id = id;
  parser.current->function = parser.module.functions[id];
  Function& f = parser.function();
  f.is_declaration = false;
  f.line = at.line;
  parser.scopes.open();
  for (const VariableId v : f.parameters) bind_formal(parser, v, at);
  for (const VariableId v : f.returns) bind_formal(parser, v, at);
  const bool closed = parse_body(parser);
  if (closed) {
    check_calls(parser);
    if (parser.in.errors().empty()) build_blocks(parser);
  }
  while (parser.scopes.depth() > 0) parser.scopes.close();
  parser.module.functions[id] = std::move(f);
  parser.current.reset();
  return closed;
}

}  // namespace

bool parse_function(Parser& parser, Linkage linkage) {
  Header header;
  header.linkage = linkage;
  if (!parse_header(parser, header)) return false;
  const FunctionId id = declare(parser, header);
  if (id == kNone) return false;
  const bool defines = parser.in.token().is('{');
  if (defines && !parser.module.functions[id].is_declaration)
    return parser.in.error(header.name.at, "'{}' is already defined in line {}", header.name.text,
                           parser.module.functions[id].line);
  const Position at = header.name.at;
  if (defines || parser.module.functions[id].is_declaration) apply_header(parser, id, header);
  if (defines) return parse_definition(parser, id, at);
  return parser.in.accept(';') || parser.in.expected("'{' or ';' after a function's header");
}

bool parse_alias(Parser& parser) {
  parser.in.advance();
  Token alias, target;
  if (!parser.in.expect_identifier("a function's name", alias) || !parser.in.expect(',', "in '.alias'") ||
      !parser.in.expect_identifier("a function's name", target))
    return false;
  NameId id = 0;
  const Binding a = look_up(parser, alias, id), t = look_up(parser, target, id);
  if (a.kind != Binding::Kind::function)
    return parser.in.error(alias.at, "'{}' is not a declared function", alias.text);
  if (t.kind != Binding::Kind::function)
    return parser.in.error(target.at, "'{}' is not a declared function", target.text);
  if (!parser.module.functions[a.index].is_declaration)
    return parser.in.error(alias.at, "'{}' has a body of its own", alias.text);
  if (parser.module.functions[t.index].alias_of != kNone || a.index == t.index)
    return parser.in.error(target.at, "'{}' must be a function with a body, not an alias", target.text);
  parser.module.functions[a.index].alias_of = t.index;
  return parser.in.expect(';', "after '.alias'");
}

}  // namespace raddle::ptx
