// Linking in three steps: find the definition of every name, give what stays its number in the linked module,
// move it there with its references renumbered.
#include "ptx/link.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "ptx/declarations.h"
#include "ptx/device_services.h"
#include "ptx/parser.h"

namespace raddle::ptx {
namespace {

/// A function or module-scope variable of one of the modules.
struct Symbol {
  std::size_t module = 0;
  std::uint32_t id = 0;
};

enum class Strength { declaration, replaceable, definition };

bool is_defined(const Function& f) { return !f.is_declaration || f.alias_of != kNone; }

/// Seen by other modules. A kernel is, even without `.visible`: launches name it.
bool is_shared_name(const Function& f) { return f.is_entry || f.linkage != Linkage::none || !is_defined(f); }
bool is_shared_name(const Variable& v) { return v.function == kNone && v.linkage != Linkage::none; }

Strength strength_of(const Function& f) {
  if (!is_defined(f)) return Strength::declaration;
  return f.linkage == Linkage::weak ? Strength::replaceable : Strength::definition;
}
Strength strength_of(const Variable& v) {
  if (v.linkage == Linkage::extern_) return Strength::declaration;
  return v.linkage == Linkage::visible ? Strength::definition : Strength::replaceable;
}

/// The numbers of one module's functions and variables in the linked one; kNone: variables of functions that
/// do not move there.
struct Renumbering {
  std::vector<FunctionId> functions;
  std::vector<VariableId> variables;
  std::vector<bool> function_moves, variable_moves;   ///< else another module's stands in its place
  std::uint32_t files = 0, locations = 0, lines = 0;  // to be added
};

using Symbols = std::map<std::string, Symbol, std::less<>>;

class Linker {
 public:
  Linker(std::vector<Module>& modules, std::string_view name) : modules_(modules) { out_.name = name; }

  Result<Module> run() {
    for (std::size_t m = 0; m < modules_.size(); ++m) collect(m);
    if (!errors_.empty())
      return Error::invalid("{}: modules cannot be linked:\n  {}", out_.name, fmt::join(errors_, "\n  "));
    merge_heads();
    for (std::size_t m = 0; m < modules_.size(); ++m) number(m);
    for (std::size_t m = 0; m < modules_.size(); ++m) bind(m);
    for (std::size_t m = 0; m < modules_.size(); ++m) move(m);
    for (Function& f : out_.functions)
      for (Call& call : f.calls) fit_results(call);
    place_constants();
    return std::move(out_);
  }

 private:
  const Function& function(Symbol s) const { return modules_[s.module].functions[s.id]; }
  const Variable& variable(Symbol s) const { return modules_[s.module].variables[s.id]; }
  const std::string& file(Symbol s) const { return modules_[s.module].name; }

  void collect(std::size_t m) {
    const Module& module = modules_[m];
    if (module.address_size != modules_[0].address_size)
      errors_.push_back(fmt::format("{} has addresses of {} bits, {} of {}", modules_[0].name,
                                    modules_[0].address_size, module.name, module.address_size));
    if (module.independent_samplers != modules_[0].independent_samplers)
      errors_.push_back(
          fmt::format("{} and {} have different texturing modes", modules_[0].name, module.name));
    for (FunctionId id = 0; id < module.functions.size(); ++id)
      if (is_shared_name(module.functions[id])) offer_function({m, id});
    for (VariableId id = 0; id < module.variables.size(); ++id)
      if (is_shared_name(module.variables[id])) offer_variable({m, id});
  }

  bool twice(const std::string& name, Symbol before, Symbol now) {
    errors_.push_back(fmt::format("'{}' is defined in {} and in {}", name, file(before), file(now)));
    return false;
  }
  bool differs(const std::string& name, std::string_view what, Symbol before, Symbol now) {
    errors_.push_back(fmt::format("'{}' has {} in {} than in {}", name, what, file(now), file(before)));
    return false;
  }

  void offer_function(Symbol now) {
    const Function& f = function(now);
    if (const auto other = variables_.find(f.name); other != variables_.end())
      differs(f.name, "another kind", other->second, now);
    const auto [known, is_new] = functions_.try_emplace(f.name, now);
    if (is_new || !agree(function(known->second), f, known->second, now)) return;
    const Strength old = strength_of(function(known->second));
    if (strength_of(f) > old)
      known->second = now;
    else if (old == Strength::definition && strength_of(f) == old)
      twice(f.name, known->second, now);
  }

  void offer_variable(Symbol now) {
    const Variable& v = variable(now);
    if (const auto other = functions_.find(v.name); other != functions_.end())
      differs(v.name, "another kind", other->second, now);
    const auto [known, is_new] = variables_.try_emplace(v.name, now);
    if (is_new) return;
    const Variable& before = variable(known->second);
    const bool both_common = before.linkage == Linkage::common && v.linkage == Linkage::common;
    if (!agree(before, v, known->second, now)) return;
    const Strength old = strength_of(before);
    if (strength_of(v) > old || (both_common && v.size > before.size))
      known->second = now;
    else if (old == Strength::definition && strength_of(v) == old)
      twice(v.name, known->second, now);
  }

  bool agree(const Function& before, const Function& now, Symbol at, Symbol here) {
    if (before.is_entry != now.is_entry) return differs(now.name, "another kind", at, here);
    const auto same = [&](const std::vector<VariableId>& a, const std::vector<VariableId>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](VariableId x, VariableId y) {
        return variable({at.module, x}).size == variable({here.module, y}).size;
      });
    };
    if (!same(before.parameters, now.parameters)) return differs(now.name, "other parameters", at, here);
    // Who declares a result where there is none, or none where there is one, does not look at it: compilers
    // of other languages have one form for all functions.
    if (before.returns.empty() || now.returns.empty()) return true;
    return same(before.returns, now.returns) || differs(now.name, "another result", at, here);
  }

  bool agree(const Variable& before, const Variable& now, Symbol at, Symbol here) {
    if (before.space != now.space) return differs(now.name, "another state space", at, here);
    // `extern int x[];` leaves the size open, and `.common` variables grow.
    const bool sized = before.size != 0 && now.size != 0 && before.linkage != Linkage::common &&
                       now.linkage != Linkage::common;
    return !sized || before.size == now.size || differs(now.name, "another size", at, here);
  }

  void merge_heads() {
    out_.address_size = modules_.front().address_size;
    out_.independent_samplers = modules_.front().independent_samplers;
    for (const Module& module : modules_) {
      out_.version = std::max(out_.version, module.version);
      if (out_.target.empty() || target_capability(out_) < target_capability(module))
        out_.target = module.target;
      out_.source_hash = out_.source_hash * 0x9e3779b97f4a7c15u + module.source_hash;
      out_.parts.push_back({module.name, out_.lines});
      out_.lines += module.lines;
    }
  }

  static bool is_chosen(Symbol s, const Symbols& symbols, const std::string& name) {
    const Symbol& chosen = symbols.find(name)->second;
    return chosen.module == s.module && chosen.id == s.id;
  }

  /// Numbers for all that moves: chosen definitions, what is the module's own, and the variables of
  /// functions.
  void number(std::size_t m) {
    const Module& module = modules_[m];
    Renumbering& to = numbers_.emplace_back();
    to.files = files_, to.locations = locations_, to.lines = out_.parts[m].lines_before;
    files_ += static_cast<std::uint32_t>(module.files.size());
    locations_ += static_cast<std::uint32_t>(module.locations.size());
    for (FunctionId id = 0; id < module.functions.size(); ++id) {
      const Function& f = module.functions[id];
      const bool moves = !is_shared_name(f) || is_chosen({m, id}, functions_, f.name);
      to.functions.push_back(moves ? next_function_++ : kNone);
      to.function_moves.push_back(moves);
    }
    for (VariableId id = 0; id < module.variables.size(); ++id) {
      const Variable& v = module.variables[id];
      const bool moves = v.function != kNone ? to.function_moves[v.function]
                                             : !is_shared_name(v) || is_chosen({m, id}, variables_, v.name);
      to.variables.push_back(moves ? next_variable_++ : kNone);
      to.variable_moves.push_back(moves);
    }
  }

  /// A definition that does not move stands for the one chosen in its place.
  void bind(std::size_t m) {
    const Module& module = modules_[m];
    Renumbering& to = numbers_[m];
    for (FunctionId id = 0; id < module.functions.size(); ++id) {
      if (to.function_moves[id]) continue;
      const Symbol chosen = functions_.find(module.functions[id].name)->second;
      to.functions[id] = numbers_[chosen.module].functions[chosen.id];
    }
    for (VariableId id = 0; id < module.variables.size(); ++id) {
      const Variable& v = module.variables[id];
      if (to.variable_moves[id] || v.function != kNone) continue;
      const Symbol chosen = variables_.find(v.name)->second;
      to.variables[id] = numbers_[chosen.module].variables[chosen.id];
    }
  }

  /// A module's own names must not meet others: `print` and look-ups go by name.
  std::string own_name(const std::string& name) {
    std::string unique = name;
    for (unsigned k = 2;
         functions_.contains(unique) || variables_.contains(unique) || !own_.insert(unique).second; ++k)
      unique = fmt::format("{}${}", name, k);
    return unique;
  }

  void move(std::size_t m) {
    Module& module = modules_[m];
    const Renumbering& to = numbers_[m];
    for (FunctionId id = 0; id < module.functions.size(); ++id) {
      if (!to.function_moves[id]) continue;
      if (!is_shared_name(module.functions[id]))
        module.functions[id].name = own_name(module.functions[id].name);
      renumber(module.functions[id], to);
      out_.functions.push_back(std::move(module.functions[id]));
    }
    for (VariableId id = 0; id < module.variables.size(); ++id) {
      if (!to.variable_moves[id]) continue;
      Variable& v = module.variables[id];
      if (v.function == kNone && !is_shared_name(v)) v.name = own_name(v.name);
      renumber(v, to);
      out_.variables.push_back(std::move(v));
    }
    for (Location& location : module.locations) {
      location.file += to.files;
      if (location.inlined_at != kNone) location.inlined_at += to.locations;
      out_.locations.push_back(std::move(location));
    }
    std::move(module.files.begin(), module.files.end(), std::back_inserter(out_.files));
  }

  /// Of a call that was declared with a result where there is none, or the other way round.
  void fit_results(Call& call) const {
    if (call.callee.kind != Operand::Kind::function) return;
    const std::size_t results = out_.functions[call.callee.index].returns.size();
    if (results != 0 && !call.returns.empty()) return;
    Operand nobody;
    nobody.kind = Operand::Kind::sink;
    call.returns.resize(results, nobody);
  }

  static void renumber(Operand& o, const Renumbering& to) {
    const bool names_variable = o.kind == Operand::Kind::variable ||
                                (o.kind == Operand::Kind::address && o.base == Operand::Base::variable);
    if (names_variable) o.index = to.variables[o.index];
    if (o.kind == Operand::Kind::function) o.index = to.functions[o.index];
  }

  static void renumber(Function& f, const Renumbering& to) {
    for (auto* list : {&f.returns, &f.parameters, &f.variables})
      for (VariableId& id : *list) id = to.variables[id];
    for (auto* list : {&f.operands, &f.elements})
      for (Operand& o : *list) renumber(o, to);
    for (Call& call : f.calls) {
      for (auto* list : {&call.returns, &call.arguments})
        for (Operand& o : *list) renumber(o, to);
      renumber(call.callee, to);
      for (FunctionId& id : call.targets) id = to.functions[id];
    }
    for (Instruction& i : f.instructions) {
      i.line += to.lines;
      if (i.location != kNone) i.location += to.locations;
    }
    for (Unsupported& u : f.unsupported) u.first_line += to.lines;
    if (f.alias_of != kNone) f.alias_of = to.functions[f.alias_of];
    f.line += to.lines;
  }

  static void renumber(Variable& v, const Renumbering& to) {
    if (v.function != kNone) v.function = to.functions[v.function];
    for (Relocation& r : v.relocations)
      r.index = r.is_function ? to.functions[r.index] : to.variables[r.index];
    v.line += to.lines;
  }

  /// Offsets count in the module's constants (Variable::offset).
  void place_constants() {
    std::uint32_t bytes = 0;
    for (Variable& v : out_.variables)
      if (v.space == Space::const_ && v.function == kNone && v.linkage != Linkage::extern_)
        v.offset = place(v.size, v.align, bytes);
  }

  std::vector<Module>& modules_;
  Module out_;
  std::vector<std::string> errors_;
  Symbols functions_, variables_;  // the best of the definitions that other modules see
  std::vector<Renumbering> numbers_;
  std::set<std::string> own_;
  std::uint32_t files_ = 0, locations_ = 0, next_function_ = 0, next_variable_ = 0;
};

using Names = std::set<std::string, std::less<>>;

/// Adds the names that a module defines, and those that it needs and the machine lacks.
void note_names(const Module& module, Names& defined, Names& needed) {
  for (const Function& f : module.functions)
    if (is_shared_name(f) && (is_defined(f) || !find_device_service(module, f)))
      (is_defined(f) ? defined : needed).insert(f.name);
  for (const Variable& v : module.variables)
    if (is_shared_name(v) && v.space != Space::shared)
      (v.linkage == Linkage::extern_ ? needed : defined).insert(v.name);
}

/// Moves the modules of `library` to `modules` that define a needed name, of moved modules too.
void take_needed(std::vector<Module>& modules, std::vector<Module>& library) {
  Names defined, needed;
  for (const Module& module : modules) note_names(module, defined, needed);
  while (true) {
    const auto is_needed = [&](const Module& module) {
      Names its, unused;
      note_names(module, its, unused);
      return std::any_of(its.begin(), its.end(), [&](const std::string& name) {
        return needed.contains(name) && !defined.contains(name);
      });
    };
    const auto next = std::find_if(library.begin(), library.end(), is_needed);
    if (next == library.end()) return;
    note_names(*next, defined, needed);
    modules.push_back(std::move(*next));
    library.erase(next);
  }
}

}  // namespace

Result<Module> link(std::vector<Module> modules, std::vector<Module> library, std::string_view name) {
  take_needed(modules, library);
  if (modules.empty()) return Error::invalid("{}: nothing to link", name);
  if (modules.size() == 1) return std::move(modules.front());
  return Linker(modules, name).run();
}

std::uint32_t target_capability(const Module& module) {
  const std::size_t digits = std::min<std::size_t>(3, module.target.size());
  const unsigned long number = std::strtoul(module.target.c_str() + digits, nullptr, 10);
  return static_cast<std::uint32_t>(std::min<unsigned long>(number, ~std::uint32_t{0}));
}

std::string line_name(const Module& module, std::uint32_t line) {
  const Part* part = nullptr;
  for (const Part& each : module.parts)
    if (each.lines_before < line) part = &each;
  return part == nullptr ? fmt::format("{}", line)
                         : fmt::format("{}:{}", part->name, line - part->lines_before);
}

}  // namespace raddle::ptx
