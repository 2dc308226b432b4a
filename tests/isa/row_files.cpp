// Turns the lines of a test file into cases: instructions by their own text, kernels by their `kernel:` line.
// Long, as one class reads, spreads, runs and compares all kinds of test comments.
#include "isa/row_files.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "ptx/parser.h"

namespace raddle::testing {
namespace {

std::string at_line(const TestFile& file, unsigned line) {
  return fmt::format("{}/{}.ptx:{}", file.chapter, file.row, line);
}

/// Elements of one operand's text: "{1, 2}" for vectors, else the text itself.
std::vector<std::string> element_texts(const std::string& text) {
  if (!text.starts_with('{')) return {text};
  return split_list(std::string_view(text).substr(1, text.size() - 2));
}

/// Expands a warp line's operands into one row of literals per lane. Returns what is wrong with them, "" if
/// nothing.
std::string spread(const std::vector<std::string>& items, unsigned lanes,
                   std::vector<std::vector<std::string>>& table) {
  for (const std::string& item : items) {
    auto values = expand_lanes(item, lanes);
    if (!values.ok()) return item + ": " + values.error().message;
    for (unsigned lane = 0; lane < lanes; ++lane) table[lane].push_back((*values)[lane]);
  }
  return {};
}

/// Memory or a texture, which the harness provides.
bool is_place(const isa::OperandSpec& operand) {
  return operand.kind == isa::OperandKind::address || operand.kind == isa::OperandKind::handle ||
         operand.kind == isa::OperandKind::sampler;
}

/// Counts that a spec gives and takes when all its values are listed in a run line.
void count_ports(const CaseSpec& spec, unsigned& sources, unsigned& results) {
  const isa::Row& row = *spec.opcode->row;
  sources = results = 0;
  for (std::size_t i = 0; i < spec.form->operands.size(); ++i) {
    if (spec.form->operands[i].optional && !spec.present[i]) continue;
    const isa::OperandSpec* operand = find_operand(row, spec.form->operands[i].name);
    if (!operand || is_place(*operand)) continue;
    ++(operand->is_destination ? results : sources);
  }
  if (row.text->scope == isa::Scope::lane && spec.opcode->is(isa::Effects::state) && results)
    ++sources, ++results;
}

/// A sampler beside the texture is for random operands and for hand-written kernels.
bool has_sampler(const CaseSpec& spec) {
  for (std::size_t i = 0; i < spec.form->operands.size(); ++i) {
    const isa::OperandSpec* operand = find_operand(*spec.opcode->row, spec.form->operands[i].name);
    if (spec.present[i] && operand != nullptr && operand->kind == isa::OperandKind::sampler) return true;
  }
  return false;
}

/// The form and optional operands that fit the numbers of operands of a run line.
Result<CaseSpec> find_spec(const isa::Opcode& opcode, std::size_t sources, std::size_t results) {
  for (const isa::Form* form : matching_forms(opcode))
    for (const auto& present : operand_choices(*form)) {
      CaseSpec spec{&opcode, form, present};
      spec.member_mask_from_launch = false;
      unsigned s = 0, r = 0;
      count_ports(spec, s, r);
      if (s == sources && (r == results || results == 0) && !has_sampler(spec)) return spec;
    }
  return Error::invalid("{} has no form with {} sources and {} results", opcode.text, sources, results);
}

/// Moves the literals of immediate-only operands from a line's arguments into the spec.
void take_immediates(CaseSpec& spec, std::vector<std::string>& arguments) {
  spec.immediates.assign(spec.form->operands.size(), "");
  std::size_t next = 0;
  for (std::size_t i = 0; i < spec.form->operands.size(); ++i) {
    if (spec.form->operands[i].optional && !spec.present[i]) continue;
    const isa::OperandSpec* operand = find_operand(*spec.opcode->row, spec.form->operands[i].name);
    if (operand->is_destination || is_place(*operand)) continue;
    if (next < arguments.size() && (is_immediate_only(*operand) || arguments[next].starts_with('#'))) {
      std::string text = arguments[next].starts_with('#') ? arguments[next].substr(1) : arguments[next];
      spec.immediates[i] = text;
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(next));
    } else {
      ++next;
    }
  }
}

/// Takes a `.b1`, `.h10` or `.minus` off the end of an operand's text. @returns it, as CaseSpec::marks has it
std::string take_mark(std::string& text) {
  std::string mark;
  for (;;) {
    auto dot = text.rfind('.');
    if (dot == std::string::npos) return mark;
    std::string_view last = std::string_view(text).substr(dot + 1);
    if (last == "minus")
      mark = "-" + mark;
    else if (isa::selector_from_text(last) != 0)
      mark += text.substr(dot);
    else
      return mark;
    text.resize(dot);
  }
}

/// Moves selectors and minus signs from a line's operands into the spec.
void take_marks(CaseSpec& spec, std::vector<std::string>& arguments, std::vector<std::string>& results) {
  spec.marks.assign(spec.form->operands.size(), "");
  std::size_t next_argument = 0, next_result = 0;
  for (std::size_t i = 0; i < spec.form->operands.size(); ++i) {
    if (spec.form->operands[i].optional && !spec.present[i]) continue;
    const isa::OperandSpec* operand = find_operand(*spec.opcode->row, spec.form->operands[i].name);
    if (is_place(*operand)) continue;
    auto& texts = operand->is_destination ? results : arguments;
    std::size_t& next = operand->is_destination ? next_result : next_argument;
    if (next >= texts.size()) continue;
    if (operand->selector != isa::SelectorKind::none || operand->may_be_minus)
      spec.marks[i] = take_mark(texts[next]);
    ++next;
  }
}

constexpr unsigned kMostDerived = 2;  ///< lines with constants per opcode and kind: each compiles by itself

/// Whether PTX lets a constant stand for the operand, at its opcode's type.
bool takes_constants(const isa::OperandSpec& operand, isa::Type type) {
  if (operand.kind != isa::OperandKind::value || operand.is_destination || operand.vector || operand.packed ||
      operand.may_be_wider || operand.may_be_minus || operand.selector != isa::SelectorKind::none ||
      operand.names_members || is_immediate_only(operand) || type == isa::Type::pred ||
      type == isa::Type::none)
    return false;
  const isa::TypeClass cls = isa::type_class(type);
  return (isa::is_integer(type) || cls == isa::TypeClass::bits || type == isa::Type::f32 ||
          type == isa::Type::f64) &&
         isa::bit_size(type) <= 64;
}

/// The line once more with operands written into the instruction: the first alone, or all others. The same
/// result is expected. @returns whether there are such operands
bool write_constants(const CaseSpec& spec, bool first, RunLine& line) {
  unsigned next = 0;
  bool any = false;
  for (std::size_t i = 0; i < spec.form->operands.size(); ++i) {
    if (spec.form->operands[i].optional && !spec.present[i]) continue;
    const isa::OperandSpec* operand = find_operand(*spec.opcode->row, spec.form->operands[i].name);
    if (operand->is_destination || is_place(*operand)) continue;
    const unsigned k = next++;
    const isa::Type type = case_operand_type(*spec.opcode, *operand);
    if (k >= line.arguments.size() || (k == 0) != first || !takes_constants(*operand, type)) continue;
    auto value = parse_literal(line.arguments[k], type);  // fails for a list of lanes
    if (!value.ok()) continue;
    line.arguments[k] = "#" + immediate_text(*value, type);
    any = true;
  }
  return any;
}

/// Literals of one run line by lane, port and element, parsed when first used; the first bad literal is kept.
struct Values {
  std::vector<std::vector<std::string>> sources, results;  ///< [lane][port]
  std::string bad;

  Bits parse(const std::vector<std::vector<std::string>>& table, unsigned port, unsigned element,
             unsigned lane, isa::Type type) {
    const std::string& text = table[lane][port];
    auto elements = element_texts(text);
    auto value = element < elements.size() ? parse_literal(elements[element], type)
                                           : Result<Bits>(Error::invalid("too few elements in '{}'", text));
    if (value.ok()) return *value;
    if (bad.empty()) bad = value.error().message;
    return {};
  }
};

/// One instruction's run lines with the same immediates, or one warp line.
struct Group {
  Case test;
  std::vector<const RunLine*> lines;
  std::vector<std::vector<std::string>> arguments;  ///< of each line, without immediates and selectors
  std::vector<std::vector<std::string>> results;
  std::shared_ptr<Values> values = std::make_shared<Values>();
};

struct PortType {
  isa::Type type;
  unsigned elements;
};

Result<std::vector<PortType>> port_types(const std::vector<std::string>& names) {
  std::vector<PortType> types;
  for (std::string name : names) {
    unsigned elements = 1;
    if (name.starts_with('v') && name.size() > 3 && name[2] == '.')
      elements = static_cast<unsigned>(name[1] - '0'), name = name.substr(3);
    isa::Type type = isa::type_from_name(name);
    if (type == isa::Type::none) return Error::invalid("'{}' is no type", name);
    types.push_back({type, elements});
  }
  return types;
}

class FileTest {
 public:
  FileTest(const TestFile& file, const std::vector<NamedEngine>& engines, Report& report,
           const isa::Row* only)
      : file_(file), only_(only), engines_(engines), report_(report) {}
  void run();

 private:
  void collect(const RunLine& line, bool derived = false);
  bool fill(Group& group);
  void run_groups();
  void run_in_batches(const std::vector<Case>& cases, const std::vector<std::uint32_t>& masks);
  void run_kernel_lines(const KernelLine& kernel);
  void run_kernel_warp(const KernelLine& kernel, const std::vector<std::vector<std::string>>& arguments,
                       const std::vector<std::vector<std::string>>& results, unsigned line);
  const Result<CompiledKernel>& compiled_kernel(const KernelLine& kernel);
  void compare_kernel(const KernelLine& kernel, const std::vector<PortType>& types,
                      const std::vector<std::uint64_t>& out, const std::vector<std::uint64_t>& reference,
                      const std::vector<std::vector<std::string>>& results, const std::string& engine,
                      unsigned line);
  void check_rejects();
  void bad(unsigned line, const std::string& why) { report_.fail(at_line(file_, line) + ": " + why); }

  const TestFile& file_;
  const isa::Row* only_;                            ///< of a file of several rows; null: all
  std::optional<Result<CompiledKernel>> compiled_;  ///< the last one of the file's kernels
  const KernelLine* compiled_for_ = nullptr;
  const std::vector<NamedEngine>& engines_;
  Report& report_;
  std::vector<Group> groups_;
  std::map<std::pair<const isa::Opcode*, bool>, unsigned> derived_count_;
  std::deque<RunLine> derived_;  ///< lines with constants for registers; groups point to them
};

void FileTest::collect(const RunLine& line, bool derived) {
  auto opcode = isa::resolve(line.callee);
  if (!opcode.ok()) return bad(line.line, opcode.error().message);
  if (only_ && !file_.rows.empty() && (*opcode)->row != only_) return;
  if (!derived) ++report_.run_lines;
  auto spec = find_spec(**opcode, line.arguments.size(), line.results.size());
  if (!spec.ok()) return bad(line.line, spec.error().message);
  for (bool first : {true, false}) {
    unsigned& made = derived_count_[{*opcode, first}];
    if (derived || made == kMostDerived) continue;
    RunLine constant = line;
    if (!write_constants(*spec, first, constant)) continue;
    ++made;
    collect(derived_.emplace_back(std::move(constant)), true);
  }
  std::vector<std::string> arguments = line.arguments, results = line.results;
  take_marks(*spec, arguments, results);
  take_immediates(*spec, arguments);
  if (!line.is_warp)
    for (Group& g : groups_)
      if (!g.lines[0]->is_warp && g.test.spec.opcode == spec->opcode && g.test.spec.form == spec->form &&
          g.test.spec.present == spec->present && g.test.spec.immediates == spec->immediates &&
          g.test.spec.marks == spec->marks && g.lines.size() < kLanes) {
        g.lines.push_back(&line);
        g.arguments.push_back(arguments);
        g.results.push_back(results);
        return;
      }
  Group group;
  group.test.spec = *spec;
  group.test.text = line.callee;
  group.test.where = at_line(file_, line.line);
  group.lines.push_back(&line);
  group.arguments.push_back(arguments);
  group.results.push_back(results);
  groups_.push_back(std::move(group));
}

/// Lays a group's literals out by lane. Types are known only when the case is written, so parsing waits until
/// then.
bool FileTest::fill(Group& g) {
  Values& v = *g.values;
  v.sources.assign(kLanes, {});
  v.results.assign(kLanes, {});
  for (unsigned lane = 0; lane < kLanes && !g.lines[0]->is_warp; ++lane) {
    v.sources[lane] = g.arguments[lane % g.lines.size()];
    v.results[lane] = g.results[lane % g.lines.size()];
  }
  if (g.lines[0]->is_warp) {
    std::string why = spread(g.arguments[0], kLanes, v.sources) + spread(g.results[0], kLanes, v.results);
    if (!why.empty()) return bad(g.lines[0]->line, why), false;
  }
  return true;
}

void FileTest::run_groups() {
  std::map<std::uint32_t, std::vector<Case>> warp_cases;
  std::vector<Case> lane_cases;
  for (Group& g : groups_) {
    if (!fill(g)) continue;
    KernelWriter probe;  // finds the ports' types, so that literals can be parsed
    auto layout = probe.add(g.test.spec);
    if (!layout.ok()) {
      bad(g.lines[0]->line, layout.error().message);
      continue;
    }
    auto values = g.values;
    g.test.input = [values, sources = layout->sources](unsigned p, unsigned e, unsigned lane) {
      return values->parse(values->sources, p, e, lane, sources[p].type);
    };
    g.test.expected = [values, results = layout->results](unsigned p, unsigned e, unsigned lane, Bits& out) {
      if (p >= values->results[lane].size() || values->results[lane][p] == "_") return false;
      isa::Type type = results[p].type;
      out = values->parse(values->results, p, e, lane, type);
      if (isa::is_signed(type) && results[p].bits > isa::bit_size(type) &&
          out.lo >> (isa::bit_size(type) - 1) & 1)
        out.lo |= ((1ull << (results[p].bits - 1) << 1) - 1) &
                  ~((1ull << isa::bit_size(type)) - 1);  // sign-extended register
      return true;
    };
    for (unsigned p = 0; p < layout->sources.size(); ++p)
      for (unsigned lane = 0; lane < kLanes; ++lane) g.test.input(p, 0, lane);
    Bits ignored;
    for (unsigned p = 0; p < layout->results.size(); ++p)
      for (unsigned lane = 0; lane < kLanes; ++lane) g.test.expected(p, 0, lane, ignored);
    if (!values->bad.empty()) {
      bad(g.lines[0]->line, g.test.text + ": " + values->bad);
      continue;
    }
    if (g.lines[0]->is_warp)
      warp_cases[g.lines[0]->mask].push_back(g.test);
    else
      lane_cases.push_back(g.test);
  }
  run_in_batches(lane_cases, {~0u, 0xaaaaaaaau, 0x55555555u, 0x00010000u});
  for (auto& [mask, cases] : warp_cases) run_in_batches(cases, {mask});
}

void FileTest::run_in_batches(const std::vector<Case>& cases, const std::vector<std::uint32_t>& masks) {
  for (std::size_t begin = 0; begin < cases.size(); begin += kBatch) {
    const auto from = cases.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kBatch, cases.size() - begin));
    std::vector<Case> batch(from, from + count);
    run_cases(batch, engines_, {masks}, report_);
  }
}

/// Appends the slots of all operands: operand by operand, element by element, 8 bytes per thread (two for
/// b128).
std::string place_operands(std::vector<std::uint64_t>& slots, const std::vector<PortType>& types,
                           const std::vector<std::vector<std::string>>& values, unsigned threads) {
  for (std::size_t p = 0; p < types.size(); ++p)
    for (unsigned e = 0; e < types[p].elements; ++e) {
      std::size_t base = slots.size();
      bool wide = isa::bit_size(types[p].type) > 64;
      slots.resize(base + threads * (wide ? 2 : 1));
      for (unsigned t = 0; t < threads; ++t) {
        if (values[t][p] == "_") continue;
        auto elements = element_texts(values[t][p]);
        if (e >= elements.size()) return "too few elements in " + values[t][p];
        auto bits = parse_literal(elements[e], types[p].type);
        if (!bits.ok()) return bits.error().message;
        slots[base + t] = bits->lo;
        if (wide) slots[base + threads + t] = bits->hi;
      }
    }
  return {};
}

/// Compiled once for all lines that run it.
const Result<CompiledKernel>& FileTest::compiled_kernel(const KernelLine& kernel) {
  if (compiled_for_ != &kernel) {
    compiled_.emplace(
        CompiledKernel::create(file_.text, kernel.name, engines_, {kernel.block, 1, 1}, kernel.cluster));
    compiled_for_ = &kernel;
  }
  return *compiled_;
}

void FileTest::run_kernel_warp(const KernelLine& kernel,
                               const std::vector<std::vector<std::string>>& arguments,
                               const std::vector<std::vector<std::string>>& results, unsigned line) {
  auto in_types = port_types(kernel.arguments), out_types = port_types(kernel.results);
  if (!in_types.ok() || !out_types.ok()) return bad(kernel.line, "an unknown type");
  std::vector<std::uint64_t> in, reference;
  std::string why = place_operands(in, *in_types, arguments, kernel.threads());
  if (why.empty() && !results.empty()) why = place_operands(reference, *out_types, results, kernel.threads());
  if (!why.empty()) return bad(line, why);
  const Result<CompiledKernel>& compiled = compiled_kernel(kernel);
  if (!compiled.ok()) return bad(kernel.line, compiled.error().to_string());
  in.resize(in.size() + 1);
  std::string wanted = kernel.expected_fault;
  std::replace(wanted.begin(), wanted.end(), '_', ' ');
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    if (!kernel.only.empty() && kernel.only != engines_[e].name) continue;
    if (!compiled->compile_error(e).empty()) {
      bad(kernel.line, engines_[e].name + ": " + compiled->compile_error(e));
      continue;
    }
    std::vector<std::uint64_t> out(reference.size() + 16 * kernel.threads(), 0);
    std::vector<std::byte> memory(1u << 16);
    if (Device* device = engines_[e].device.get()) {
      const std::string where = fmt::format("{}:{}: {}", file_.path, line, kernel.name);
      const std::string problem =
          device->run({file_.text,
                       kernel.name,
                       kernel.block,
                       {DeviceRun::buffer(out, true), DeviceRun::buffer(in), DeviceRun::buffer(memory)},
                       where,
                       kernel.cluster});
      ++report_.checks;
      if (problem.empty() != wanted.empty())
        bad(line, fmt::format("{}: {}: ended with '{}'", engines_[e].name, kernel.name, problem));
      else if (!results.empty())
        compare_kernel(kernel, *out_types, out, reference, results, engines_[e].name, line);
      continue;
    }
    Outcome outcome = compiled->run(e, {argument(reinterpret_cast<std::uintptr_t>(out.data())),
                                        argument(reinterpret_cast<std::uintptr_t>(in.data())),
                                        argument(reinterpret_cast<std::uintptr_t>(memory.data()))});
    std::string fault =
        outcome.fault == exec::FaultKind::none ? "" : std::string(exec::fault_name(outcome.fault));
    ++report_.checks;
    if (fault != wanted || (wanted.empty() && !outcome.ok()))
      bad(line, fmt::format("{}: {}: ended with '{}'{}", engines_[e].name, kernel.name, outcome.problem,
                            wanted.empty() ? "" : ", expected fault " + wanted));
    else if (!results.empty())
      compare_kernel(kernel, *out_types, out, reference, results, engines_[e].name, line);
  }
}

void FileTest::compare_kernel(const KernelLine& kernel, const std::vector<PortType>& types,
                              const std::vector<std::uint64_t>& out,
                              const std::vector<std::uint64_t>& reference,
                              const std::vector<std::vector<std::string>>& results, const std::string& engine,
                              unsigned line) {
  std::size_t base = 0;
  for (std::size_t p = 0; p < types.size(); ++p) {
    unsigned bits = isa::bit_size(types[p].type);
    for (unsigned n = 0; n < types[p].elements * (bits > 64 ? 2 : 1); ++n, base += kernel.threads())
      for (unsigned t = 0; t < kernel.threads(); ++t) {
        ++report_.checks;
        if (results[t][p] == "_") continue;
        Bits actual{bits < 64 ? out[base + t] & ((1ull << bits) - 1) : out[base + t]},
            expected{reference[base + t]};
        if (same_value(expected, actual, types[p].type)) continue;
        bad(line, fmt::format("{}: {}: result {} of thread {} is {}, expected {}", engine, kernel.name, p, t,
                              format_value(actual, types[p].type), format_value(expected, types[p].type)));
        break;
      }
  }
}

void FileTest::run_kernel_lines(const KernelLine& kernel) {
  std::vector<const RunLine*> lines;
  for (const RunLine& line : file_.runs) {
    if (line.callee != kernel.name) continue;
    ++report_.run_lines;
    if (line.arguments.size() != kernel.arguments.size() ||
        (line.results.size() != kernel.results.size() && !line.results.empty())) {
      bad(line.line, fmt::format("{} takes {} operands and gives {}", kernel.name, kernel.arguments.size(),
                                 kernel.results.size()));
      continue;
    }
    if (!line.is_warp) {
      lines.push_back(&line);
      continue;
    }
    std::vector<std::vector<std::string>> arguments(kernel.threads()), results(kernel.threads());
    std::string why =
        spread(line.arguments, kernel.threads(), arguments) + spread(line.results, kernel.threads(), results);
    if (!why.empty()) bad(line.line, why);
    if (line.results.empty()) results.clear();
    if (why.empty()) run_kernel_warp(kernel, arguments, results, line.line);
  }
  if (lines.empty()) return;
  std::vector<std::vector<std::string>> arguments, results;
  for (unsigned t = 0; t < kernel.threads(); ++t) {
    arguments.push_back(lines[t % lines.size()]->arguments);
    results.push_back(lines[t % lines.size()]->results);
  }
  if (lines[0]->results.empty()) results.clear();  // a run that ends in a fault
  run_kernel_warp(kernel, arguments, results, lines[0]->line);
}

void FileTest::check_rejects() {
  for (const RejectLine& r : file_.rejects) {
    ++report_.rejects;
    if (isa::resolve(r.opcode).ok()) bad(r.line, r.opcode + " is accepted, but no PTX instruction");
  }
}

void FileTest::run() {
  auto parsed = ptx::parse(file_.text, file_.path);
  if (!parsed.ok()) return report_.fail(parsed.error().to_string());
  for (const RunLine& line : file_.runs) {
    bool is_kernel = std::any_of(file_.kernels.begin(), file_.kernels.end(),
                                 [&](const KernelLine& k) { return k.name == line.callee; });
    if (!is_kernel) collect(line);
  }
  run_groups();
  for (const KernelLine& kernel : file_.kernels) run_kernel_lines(kernel);
  check_rejects();
  if (report_.run_lines == 0) report_.fail(at_line(file_, 1) + ": no run line");
}

}  // namespace

void test_row_file(const TestFile& file, const std::vector<NamedEngine>& engines, Report& report,
                   const isa::Row* only) {
  FileTest(file, engines, report, only).run();
}

namespace {
/// Instructions that no row has keep only their functions from running: the module has no error.
void add_unknown(const ptx::Module& module, std::vector<Error>& diagnostics) {
  for (const ptx::Function& function : module.functions)
    for (const ptx::Unsupported& part : function.unsupported) {
      if (!part.unknown) continue;
      diagnostics.push_back(Error::unsupported("{}", part.reason));
      diagnostics.back().where = {module.name, part.first_line, 1};
    }
}
}  // namespace

void test_error_file(const TestFile& file, Report& report) {
  std::vector<Error> diagnostics;
  std::string first;
  std::string crash = guarded([&] {
    auto parsed = ptx::parse(file.text, file.path, &diagnostics);
    if (parsed.ok()) return add_unknown(*parsed, diagnostics);
    first = parsed.error().to_string();
    if (diagnostics.empty()) diagnostics.push_back(parsed.error());
  });
  if (!crash.empty()) return report.fail(fmt::format("{}: the parser crashed: {}", file.path, crash));
  for (const ErrorLine& e : file.errors) {
    ++report.errors;
    bool found = std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Error& d) {
      return d.where.line == e.line && d.where.column > 0 && d.message.find(e.text) != std::string::npos;
    });
    if (found) continue;
    std::string got;
    for (const Error& d : diagnostics) got += "\n    " + d.to_string();
    report.fail(fmt::format("{}/{}.ptx:{}: expected an error here with '{}'; got:{}", file.chapter, file.row,
                            e.line, e.text, got.empty() ? " none" : got));
  }
  for (const Error& d : diagnostics)
    if (std::none_of(file.errors.begin(), file.errors.end(),
                     [&](const ErrorLine& e) { return e.line == d.where.line; }))
      report.fail(fmt::format("unexpected: {}", d.to_string()));
}

}  // namespace raddle::testing
