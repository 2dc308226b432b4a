// Fills inputs, runs, compares lane by lane; inactive lanes must leave their outputs untouched.
#include "isa/harness/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace raddle::testing {
namespace {

constexpr std::uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5ull;
constexpr std::size_t kMemoryBytes = 64 * kLanes;

using Slots = std::vector<std::uint64_t>;  ///< slot-major: [slot * kLanes + lane]

/// One kernel of cases, compiled, with the runs it makes.
class Batch {
 public:
  Batch(std::vector<Case*> cases, const std::vector<NamedEngine>& engines, const RunOptions& options,
        Report& report)
      : cases_(std::move(cases)), engines_(engines), options_(options), report_(report) {}

  /// "" or why the batch as a whole cannot run. With `blame`, such failures are reported as the first case's.
  std::string run(bool blame);

 private:
  Slots make_inputs(Random& random) const;
  std::string run_engine(std::size_t engine, const Slots& in, std::uint32_t mask, Slots& out);
  void compare(std::size_t engine, const Slots& in, const Slots& out, const Slots& reference,
               std::uint32_t mask);
  void compare_port(const Case& c, unsigned port, std::size_t engine, const Slots& in, const Slots& out,
                    const Slots& reference, std::uint32_t mask);
  void compare_area(const Case& c, std::size_t engine, const Slots& in, const Slots& out,
                    const Slots& reference);
  std::string describe_inputs(const Case& c, const Slots& in, unsigned lane) const;
  Bits read(const Slots& slots, const Port& port, unsigned element, unsigned lane) const;

  std::vector<Case*> cases_;
  const std::vector<NamedEngine>& engines_;
  const RunOptions& options_;
  Report& report_;
  unsigned in_slots_ = 0, out_slots_ = 0;
  std::unique_ptr<CompiledKernel> kernel_;
};

Bits Batch::read(const Slots& slots, const Port& port, unsigned element, unsigned lane) const {
  unsigned wide = port.bits > 64 ? 2 : 1;
  unsigned slot = port.slot + element * wide;
  Bits value{slots[slot * kLanes + lane]};
  unsigned bits = port.type == isa::Type::pred ? 32 : port.bits;
  if (bits < 64) value.lo &= (1ull << bits) - 1;
  if (wide == 2) value.hi = slots[(slot + 1) * kLanes + lane];
  return value;
}

Slots Batch::make_inputs(Random& random) const {
  Slots in(std::max(1u, in_slots_) * kLanes);
  for (const Case* c : cases_) {
    for (unsigned p = 0; p < c->layout.sources.size(); ++p) {
      const Port& port = c->layout.sources[p];
      unsigned wide = port.bits > 64 ? 2 : 1;
      for (unsigned e = 0; e < port.elements; ++e)
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          Bits value = c->input           ? c->input(p, e, lane)
                       : port.is_fragment ? random_fragment(random, port.type)
                                          : random_operand(random, port.type, port.bits);
          in[(port.slot + e * wide) * kLanes + lane] = value.lo;
          if (wide == 2) in[(port.slot + e * wide + 1) * kLanes + lane] = value.hi;
        }
    }
    if (c->layout.has_area && c->layout.area_is_written)
      for (unsigned i = 0; i < kAreaSlots * kLanes; ++i) in[c->layout.area_in * kLanes + i] = random.next();
  }
  return in;
}

std::string Batch::run_engine(std::size_t engine, const Slots& in, std::uint32_t mask, Slots& out) {
  out.assign(std::max(1u, out_slots_) * kLanes, kUntouched);
  static std::vector<std::byte> memory(kMemoryBytes + 64);
  std::memset(memory.data(), 0x5a, memory.size());
  auto memory_at = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) & ~std::uintptr_t{63};
  std::vector<std::byte> block(64);
  for (unsigned i = 0; i < 64; ++i) block[i] = static_cast<std::byte>(i * 37 + 11);
  if (Device* device = engines_[engine].device.get()) {
    auto* input = const_cast<std::uint64_t*>(in.data());
    return device->run({kernel_->text(),
                        "test",
                        kLanes,
                        {{out.data(), out.size() * sizeof out[0], true, true},
                         {input, in.size() * sizeof in[0], true},
                         {reinterpret_cast<void*>(memory_at), kMemoryBytes, true},
                         {&mask, sizeof mask},
                         {block.data(), block.size()}},
                        cases_[0]->where + ": " + cases_[0]->text});
  }
  Outcome outcome = kernel_->run(engine, {argument(reinterpret_cast<std::uintptr_t>(out.data())),
                                          argument(reinterpret_cast<std::uintptr_t>(in.data())),
                                          argument(memory_at), argument(mask), block});
  if (outcome.ok()) return {};
  return fmt::format("{} (line {}, address {:#x})", outcome.problem, outcome.line, outcome.address);
}

std::string Batch::describe_inputs(const Case& c, const Slots& in, unsigned lane) const {
  std::string text;
  for (const Port& port : c.layout.sources)
    for (unsigned e = 0; e < port.elements; ++e)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", port.name,
                          format_value(read(in, port, e, lane), port.type));
  if (c.layout.has_area && c.layout.area_is_written)
    text += fmt::format("; memory={:#018x} {:#018x}", in[c.layout.area_in * kLanes + lane],
                        in[(c.layout.area_in + 1) * kLanes + lane]);
  return text;
}

bool acceptable(const isa::RowText& row, const Port& port, Bits expected, Bits actual, bool between_engines) {
  unsigned width = isa::bit_size(port.type);
  if (port.bits > width && expected != actual && port.type != isa::Type::pred) return false;
  if (same_value(expected, actual, port.type)) return true;
  if (row.numerics != isa::Numerics::approx) return false;
  double error = row.error * (between_engines ? 2 : 1);
  if (near_value(expected, actual, port.type, error)) return true;
  Elements elements = elements_of(port.type);
  if (!row.note.starts_with("absolute") || !isa::is_float(elements.type)) return false;
  unsigned part = isa::bit_size(elements.type);
  for (unsigned i = 0; i < elements.count; ++i) {
    std::uint64_t mask = part == 64 ? ~0ull : (1ull << part) - 1;
    double difference = to_double(expected.lo >> (i * part) & mask, elements.type) -
                        to_double(actual.lo >> (i * part) & mask, elements.type);
    if (!(difference <= error && -difference <= error)) return false;
  }
  return true;
}

/// A number in a row's note: "2 pi", "-2 pi", "2^-126", "0.5".
double note_number(std::string_view text) {
  std::string copy(text);
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (copy.find("pi") != std::string::npos) value *= M_PI;
  if (*end == '^') value = std::pow(value, std::strtod(end + 1, nullptr));
  return value;
}

/// Approximations have their stated error in a domain only: the row's note says "for a in [x, y]" or "|b| in
/// [x, y]".
bool outside_domain(const isa::RowText& row, std::string_view port, double value) {
  if (row.numerics != isa::Numerics::approx) return false;
  for (bool magnitude : {false, true}) {
    std::string mark = magnitude ? fmt::format("|{}| in [", port) : fmt::format(" {} in [", port);
    auto at = row.note.find(mark);
    if (at == std::string_view::npos) continue;
    std::string_view range = row.note.substr(at + mark.size());
    auto comma = range.find(','), close = range.find(']');
    double v = magnitude ? std::fabs(value) : value;
    if (v != 0 && (v < note_number(range.substr(0, comma)) ||
                   v > note_number(range.substr(comma + 1, close - comma - 1))))
      return true;
  }
  return false;
}

void Batch::compare_port(const Case& c, unsigned p, std::size_t engine, const Slots& in, const Slots& out,
                         const Slots& reference, std::uint32_t mask) {
  const Port& port = c.layout.results[p];
  for (unsigned e = 0; e < port.elements; ++e)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      ++report_.checks;
      Bits actual = read(out, port, e, lane), expected;
      bool active = mask >> lane & 1;
      bool against_engine = !active || !c.expected;
      if (!active)
        expected = read(Slots(out.size(), kUntouched), port, e, lane);
      else if (!c.expected)
        expected = read(reference, port, e, lane);
      else if (!c.expected(p, e, lane, expected))
        continue;
      bool undefined =
          active && std::any_of(c.layout.sources.begin(), c.layout.sources.end(), [&](const Port& source) {
            return isa::is_float(source.type) &&
                   outside_domain(*c.spec.opcode->row->text, source.name,
                                  to_double(read(in, source, 0, lane).lo, source.type));
          });
      if (undefined) continue;
      bool good = active ? acceptable(*c.spec.opcode->row->text, port, expected, actual, against_engine)
                         : expected == actual;
      if (good) continue;
      report_.fail(fmt::format("{}: {}: {}: {} is {}, expected {} (lane {}{}, mask {:#x}; {})", c.where,
                               engines_[engine].name, c.text, port.name, format_value(actual, port.type),
                               format_value(expected, port.type), lane, active ? "" : ", inactive", mask,
                               describe_inputs(c, in, lane)));
      return;
    }
}

/// Memory words are equal, or their elements of a float type are: arithmetic may leave any NaN.
bool same_word(std::uint64_t a, std::uint64_t b, isa::Type type) {
  unsigned width = isa::bit_size(type);
  if (a == b || width < 16 || width > 64) return a == b;
  for (unsigned at = 0; at < 64; at += width) {
    std::uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
    if (!same_value({a >> at & mask}, {b >> at & mask}, type)) return false;
  }
  return true;
}

void Batch::compare_area(const Case& c, std::size_t engine, const Slots& in, const Slots& out,
                         const Slots& reference) {
  for (unsigned i = 0; i < kAreaSlots * kLanes; ++i) {
    std::size_t at = c.layout.area_out * kLanes + i;
    ++report_.checks;
    if (same_word(out[at], reference[at], c.spec.opcode->type(0))) continue;
    report_.fail(fmt::format("{}: {}: {}: memory word {} is {:#x}, expected {:#x} (lane {}; {})", c.where,
                             engines_[engine].name, c.text, i / kLanes, out[at], reference[at], i % kLanes,
                             describe_inputs(c, in, i % kLanes)));
    return;
  }
}

void Batch::compare(std::size_t engine, const Slots& in, const Slots& out, const Slots& reference,
                    std::uint32_t mask) {
  for (const Case* c : cases_) {
    for (unsigned p = 0; p < c->layout.results.size(); ++p)
      if (engine > 0 || c->expected) compare_port(*c, p, engine, in, out, reference, mask);
    if (engine > 0 && c->layout.has_area && c->layout.area_is_written)
      compare_area(*c, engine, in, out, reference);
  }
}

std::string Batch::run(bool blame) {
  KernelWriter writer;
  auto blamed = [&](const std::string& why) {
    if (blame) report_.fail(fmt::format("{}: {}: {}", cases_[0]->where, cases_[0]->text, why));
    return why;
  };
  for (Case* c : cases_) {
    auto layout = writer.add(c->spec);
    if (!layout.ok()) return blamed(layout.error().message);
    c->layout = *layout;
  }
  in_slots_ = writer.in_slots();
  out_slots_ = writer.out_slots();
  auto compiled = CompiledKernel::create(writer.finish(), "test", engines_, {kLanes, 1, 1});
  if (!compiled.ok()) return blamed(compiled.error().message);
  kernel_ = std::make_unique<CompiledKernel>(std::move(*compiled));
  std::string problem;
  for (std::size_t e = 0; e < engines_.size(); ++e)
    if (!kernel_->compile_error(e).empty()) {
      problem = blamed(engines_[e].name + ": " + kernel_->compile_error(e));
      if (!blame) return problem;
    }
  Random random(options_.seed);
  for (unsigned round = 0; round < options_.rounds; ++round)
    for (std::uint32_t mask : options_.masks) {
      Slots in = make_inputs(random), reference, out;
      for (std::size_t e = 0; e < engines_.size(); ++e) {
        if (!kernel_->compile_error(e).empty()) continue;
        std::string failure = run_engine(e, in, mask, e == 0 ? reference : out);
        if (!failure.empty()) {
          problem = blamed(engines_[e].name + ": " + failure);
          if (!blame || e == 0) return problem;
          continue;
        }
        compare(e, in, e == 0 ? reference : out, reference, mask);
      }
    }
  return problem;
}

}  // namespace

void run_cases(std::vector<Case>& cases, const std::vector<NamedEngine>& engines, const RunOptions& options,
               Report& report) {
  if (cases.empty()) return;
  std::vector<Case*> all;
  for (Case& c : cases) all.push_back(&c);
  Report attempt;
  std::string problem = Batch(all, engines, options, attempt).run(cases.size() == 1);
  if (problem.empty() || cases.size() == 1) {
    report.checks += attempt.checks;
    report.failures += attempt.failures;
    for (auto& message : attempt.messages) report.messages.push_back(std::move(message));
    return;
  }
  // Halving keeps good cases in large kernels: only the culprits end up alone.
  std::vector<Case> left(cases.begin(), cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2));
  std::vector<Case> right(cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2), cases.end());
  unsigned before = report.failures;
  run_cases(left, engines, options, report);
  run_cases(right, engines, options, report);
  if (report.failures == before)
    report.fail(fmt::format("{}: {} and {} more fail together, none alone: {}", cases[0].where, cases[0].text,
                            cases.size() - 1, problem));
}

}  // namespace raddle::testing
