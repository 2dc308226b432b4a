// A module as PTX text: head, prototypes, variables, definitions. Prototypes come first, so that every name
// is declared before it is used and function numbers stay in one order however often text is parsed and
// printed.
#include "ptx/printer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/parser.h"
#include "ptx/samplers.h"

namespace raddle::ptx {
namespace {

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

std::string_view linkage_text(Linkage linkage) {
  switch (linkage) {
    case Linkage::none:
      return "";
    case Linkage::extern_:
      return ".extern ";
    case Linkage::visible:
      return ".visible ";
    case Linkage::weak:
      return ".weak ";
    case Linkage::common:
      return ".common ";
  }
  return "";
}

void print_relocation(std::string& out, const Module& module, const Relocation& r) {
  const std::string& name = r.is_function ? module.functions[r.index].name : module.variables[r.index].name;
  if (r.size == 1) append(out, "{:#x}(", 0xffull << r.mask_shift);
  if (r.generic) out += "generic(";
  out += name;
  if (r.generic) out += ")";
  if (r.addend != 0) append(out, "+{}", r.addend);
  if (r.size == 1) out += ")";
}

std::uint64_t element_bits(const Variable& v, std::uint64_t offset, unsigned size) {
  std::uint64_t bits = 0;
  if (offset < v.initial.size())
    std::memcpy(&bits, v.initial.data() + offset, std::min<std::uint64_t>(size, v.initial.size() - offset));
  return bits;
}

void print_element(std::string& out, const Variable& v, std::uint64_t offset, unsigned size) {
  const std::uint64_t bits = element_bits(v, offset, size);
  if (v.type == Type::f32)
    append(out, "0f{:08x}", bits);
  else if (v.type == Type::f64)
    append(out, "0d{:016x}", bits);
  else if (bits >> 63)
    append(out, "{:#x}U", bits);
  else
    append(out, "{}", bits);
}

void print_initialiser(std::string& out, const Module& module, const Variable& v) {
  if (v.type == Type::samplerref) {
    out += " = " + sampler_settings_text(v.sampler);
    return;
  }
  const unsigned size = isa::byte_size(v.type);
  std::uint64_t end = v.initial.size();
  for (const Relocation& r : v.relocations) end = std::max(end, r.offset + size);
  if (end == 0 || size == 0) return;
  const auto& relocations = v.relocations;  // ascending: the parser meets them in order
  const bool braces = !v.dimensions.empty() || v.vector > 1;
  out += braces ? " = {" : " = ";
  std::size_t next = 0;
  for (std::uint64_t offset = 0; offset < end; offset += size) {
    if (offset > 0) out += ", ";
    if (next < relocations.size() && relocations[next].offset == offset)
      print_relocation(out, module, relocations[next++]);
    else
      print_element(out, v, offset, size);
  }
  if (braces) out += "}";
}

void print_variable(std::string& out, const Module& module, const Variable& v) {
  out += linkage_text(v.linkage);
  print_declarator(out, v, v.name);
  print_initialiser(out, module, v);
  out += ";\n";
}

std::vector<const Variable*> formals_of(const Module& module, const std::vector<VariableId>& ids) {
  std::vector<const Variable*> out;
  for (const VariableId id : ids) out.push_back(&module.variables[id]);
  return out;
}

void print_extent(std::string& out, std::string_view name, const std::uint32_t (&extent)[3]) {
  if (extent[0] | extent[1] | extent[2])
    append(out, ".{} {}, {}, {}\n", name, extent[0], extent[1], extent[2]);
}

void print_directives(std::string& out, const PerformanceDirectives& d) {
  print_extent(out, "maxntid", d.maxntid);
  print_extent(out, "reqntid", d.reqntid);
  print_extent(out, "reqnctapercluster", d.reqnctapercluster);
  if (d.maxnreg) append(out, ".maxnreg {}\n", d.maxnreg);
  if (d.minnctapersm) append(out, ".minnctapersm {}\n", d.minnctapersm);
  if (d.maxnctapersm) append(out, ".maxnctapersm {}\n", d.maxnctapersm);
  if (d.maxclusterrank) append(out, ".maxclusterrank {}\n", d.maxclusterrank);
  if (d.explicitcluster) out += ".explicitcluster\n";
  if (d.blocksareclusters) out += ".blocksareclusters\n";
  if (d.noreturn) out += ".noreturn\n";
}

void print_header(std::string& out, const Module& module, const Function& f) {
  out += linkage_text(f.linkage);
  out += f.is_entry ? ".entry " : ".func ";
  print_formals(out, formals_of(module, f.returns), false);
  if (!f.returns.empty()) out += " ";
  out += f.name;
  if (f.parameters.empty()) out += "()";
  print_formals(out, formals_of(module, f.parameters), false);
  out += "\n";
  print_directives(out, f.directives);
}

/// Kernels whose address some code or initialiser takes: they need a prototype like functions do.
std::vector<bool> named_functions(const Module& module) {
  std::vector<bool> named(module.functions.size(), false);
  const auto mark = [&](const Operand& o) {
    if (o.kind == Operand::Kind::function) named[o.index] = true;
  };
  for (const Function& f : module.functions) {
    std::for_each(f.operands.begin(), f.operands.end(), mark);
    std::for_each(f.elements.begin(), f.elements.end(), mark);
  }
  for (const Variable& v : module.variables)
    for (const Relocation& r : v.relocations)
      if (r.is_function) named[r.index] = true;
  return named;
}

void print_head(std::string& out, const Module& module) {
  append(out, ".version {}.{}\n.target {}{}\n.address_size {}\n", module.version / 10, module.version % 10,
         module.target, module.independent_samplers ? ", texmode_independent" : "", module.address_size);
  for (std::size_t i = 0; i < module.files.size(); ++i)
    if (!module.files[i].empty()) append(out, ".file {} \"{}\"\n", i, module.files[i]);
}

}  // namespace

void print_declarator(std::string& out, const Variable& v, std::string_view name) {
  append(out, ".{} ", space_name(v.space));
  if (v.managed) out += ".attribute(.managed) ";
  if (v.space != Space::reg && v.align != isa::byte_size(v.type) * v.vector)
    append(out, ".align {} ", v.align);
  if (v.vector > 1) append(out, ".v{} ", v.vector);
  append(out, ".{} ", isa::type_name(v.type));
  if (v.is_pointer) out += ".ptr ";
  out += name;
  for (const std::uint64_t count : v.dimensions) count == 0 ? append(out, "[]") : append(out, "[{}]", count);
}

void print_formals(std::string& out, const std::vector<const Variable*>& formals, bool unnamed) {
  if (formals.empty()) return;
  out += "(";
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (i > 0) out += ", ";
    print_declarator(out, *formals[i], unnamed ? "_" : formals[i]->name);
  }
  out += ")";
}

std::string print(const Module& module) {
  std::string out;
  print_head(out, module);
  const std::vector<bool> named = named_functions(module);
  const auto has_prototype = [&](FunctionId id) { return !module.functions[id].is_entry || named[id]; };
  // First functions, then named kernels, then the other kernels: the order in which a parser would number
  // them.
  std::vector<FunctionId> order;
  for (int group = 0; group < 3; ++group)
    for (FunctionId id = 0; id < module.functions.size(); ++id)
      if (group == (!module.functions[id].is_entry ? 0 : named[id] ? 1 : 2)) order.push_back(id);
  for (const FunctionId id : order) {
    if (!has_prototype(id) && !module.functions[id].is_declaration) continue;
    print_header(out, module, module.functions[id]);
    out += ";\n";
  }
  for (const Variable& v : module.variables)
    if (v.function == kNone) print_variable(out, module, v);
  for (const FunctionId id : order) {
    if (module.functions[id].is_declaration) continue;
    out += "\n";
    print_header(out, module, module.functions[id]);
    print_body(out, module, module.functions[id]);
  }
  for (const Function& f : module.functions)
    if (f.alias_of != kNone) append(out, ".alias {}, {};\n", f.name, module.functions[f.alias_of].name);
  return out;
}

}  // namespace raddle::ptx
