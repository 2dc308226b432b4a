// test_exhaustive: all values of every instruction that computes its result from one operand of 8 or 16 bits,
// or a pair of them. A batch of them runs on the interpreter, the host's engine and one other in turn, which
// RADDLE_TEST_SEED shifts; on every engine with RADDLE_TEST_EXHAUSTIVE. Rows are found by their columns: a
// new one that expected.cpp does not know fails.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "exhaustive/expected.h"
#include "isa/enumerate.h"
#include "isa/harness/engines.h"
#include "isa/harness/kernel_writer.h"

namespace raddle::testing {
namespace {

using isa::Type;

constexpr unsigned kValues = 65536, kThreads = 256, kSpellings = 12;
constexpr const char* kHead = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry test(.param .u64 out, .param .u64 in)
{
  .reg .b64 %out, %in;
  .reg .b32 %i, %pair, %wide;
  .reg .b16 %value;
  .reg .pred %more;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mov.u32 %i, %tid.x;
  mad.wide.u32 %in, %i, 4, %in;
  mad.wide.u32 %out, %i, 8, %out;
MORE:
  ld.global.b32 %pair, [%in];
  cvt.u16.u32 %value, %pair;
)";

/// One spelling: its only source and destination.
struct Unary {
  const isa::Opcode* opcode = nullptr;
  Type from = Type::none, to = Type::none;
  unsigned from_bits() const { return std::max(16u, isa::bit_size(from)); }
  unsigned to_bits() const { return std::max(16u, isa::bit_size(to)); }
};

/// The spelling as a function of one narrow value, if it is one.
bool as_unary(const isa::Opcode& opcode, Unary& unary) {
  const isa::Row& row = *opcode.row;
  if (row.text->status != isa::Status::done || row.text->scope != isa::Scope::lane) return false;
  if (row.text->effects != isa::Effects::pure) return false;
  const isa::Form* form = nullptr;
  for (const isa::Form* f : matching_forms(opcode))
    if (f->operands.size() == 2) form = f;
  if (!form) return false;
  const isa::OperandSpec *d = find_operand(row, form->operands[0].name),
                         *a = find_operand(row, form->operands[1].name);
  if (!d || !a || !d->is_destination || a->is_destination || a->kind != isa::OperandKind::value) return false;
  unary = {&opcode, opcode.operand_type(*a), opcode.operand_type(*d)};
  if (unary.from == Type::none || unary.to == Type::none || unary.from == Type::pred) return false;
  const Elements elements = elements_of(unary.from);
  return isa::bit_size(elements.type) <= 16 && isa::bit_size(unary.from) <= 32;
}

/// What the registers of all values hold: the value below, a pair's other half (or what must not matter)
/// above.
std::vector<std::uint32_t> inputs() {
  std::vector<std::uint32_t> all(kValues);
  for (std::uint32_t i = 0; i < kValues; ++i) {
    const std::uint32_t value =
        (i * 40503u + 12345u) & 0xffff;  // no order that a vector could have by itself
    all[i] = value | ((value * 27277u + 4711u) & 0xffff) << 16;
  }
  return all;
}

std::uint64_t element(std::uint64_t value, Elements elements, unsigned k) {
  const unsigned bits = isa::bit_size(elements.type);
  return value >> (k * bits) & (~std::uint64_t{0} >> (64 - bits));
}

/// What is wrong with the register that an input gave; "" if nothing.
std::string judge(const Unary& unary, std::uint64_t input, std::uint64_t result) {
  const Elements from = elements_of(unary.from), to = elements_of(unary.to);
  const unsigned width = isa::bit_size(unary.to);
  std::uint64_t want = 0;
  for (unsigned k = 0; k < from.count; ++k) {
    const std::uint64_t bits = element(input, from, k);
    if (unary.opcode->row->text->numerics == isa::Numerics::approx) {
      if (!is_near(*unary.opcode, from.type, bits, element(result, to, k)))
        return fmt::format("element {} of {:#x} gives {}", k, input, format_value({result}, unary.to));
      continue;
    }
    const auto one = expected_element(*unary.opcode, from.type, to.type, bits);
    if (!one) return "the test does not know this instruction";
    want |= *one << (k * isa::bit_size(to.type));
  }
  if (unary.opcode->row->text->numerics == isa::Numerics::approx) return {};
  // The register is wider than 8 bits: extended by the result's sign.
  if (isa::is_signed(unary.to) && width < 16 && (want >> (width - 1) & 1)) want |= 0xffffu & (~0ull << width);
  if (same_value({result}, {want}, unary.to)) return {};
  return fmt::format("{:#x} gives {}, not {}", input, format_value({result}, unary.to),
                     format_value({want}, unary.to));
}

class Sweep {
 public:
  explicit Sweep(const std::vector<NamedEngine>& engines)
      : all_(engines), turn_(seed()), takes_all_(std::getenv("RADDLE_TEST_EXHAUSTIVE")), in_(inputs()) {}

  void run(const std::vector<Unary>& batch);
  unsigned failures() const { return failures_; }
  std::uint64_t checks() const { return checks_; }

 private:
  void fail(const std::string& why) {
    if (++failures_ < 20) fmt::print("FAIL {}\n", why);
  }
  static std::size_t seed() {
    const char* number = std::getenv("RADDLE_TEST_SEED");
    return number ? std::strtoull(number, nullptr, 0) : 1;
  }
  void check(const Unary& unary, const NamedEngine& engine, const std::uint64_t* out,
             const std::uint64_t* judged);

  const std::vector<NamedEngine>& all_;
  std::size_t turn_;
  const bool takes_all_;
  std::vector<std::uint32_t> in_;
  unsigned failures_ = 0;
  std::uint64_t checks_ = 0;
};

std::string kernel_text(const std::vector<Unary>& batch) {
  std::string text = kHead;
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const Unary& u = batch[k];
    text += fmt::format("  {{ .reg .b{} %d; {} %d, {}; ", u.to_bits(), u.opcode->text,
                        u.from_bits() == 32 ? "%pair" : "%value");
    text += u.to_bits() == 64
                ? fmt::format("st.global.b64 [%out+{}], %d; }}\n", k * kValues * 8)
                : fmt::format(".reg .b64 %w; cvt.u64.u{} %w, %d; st.global.b64 [%out+{}], %w; }}\n",
                              u.to_bits(), k * kValues * 8);
  }
  return text + fmt::format(R"(  add.u64 %in, %in, {0};
  add.u64 %out, %out, {1};
  add.u32 %i, %i, {2};
  setp.lt.u32 %more, %i, {3};
  @%more bra MORE;
  ret;
}}
)",
                            kThreads * 4, kThreads * 8, kThreads, kValues);
}

/// @param judged  another engine's results that were right; null for none
void Sweep::check(const Unary& unary, const NamedEngine& engine, const std::uint64_t* out,
                  const std::uint64_t* judged) {
  for (unsigned i = 0; i < kValues; ++i) {
    ++checks_;
    if (judged && out[i] == judged[i]) continue;
    if (std::string wrong = judge(unary, in_[i], out[i]); !wrong.empty())
      return fail(fmt::format("{} on {}: {}", unary.opcode->text, engine.name, wrong));
  }
}

void Sweep::run(const std::vector<Unary>& batch) {
  const std::vector<NamedEngine> engines = takes_all_ ? all_ : engines_in_turn(all_, turn_++);
  auto kernel = CompiledKernel::create(kernel_text(batch), "test", engines, {kThreads, 1, 1});
  if (!kernel.ok()) return fail(batch[0].opcode->text + " and others: " + kernel.error().to_string());
  std::vector<std::uint64_t> out(batch.size() * kValues), first;
  for (std::size_t e = 0; e < engines.size(); ++e) {
    if (!kernel->compile_error(e).empty()) return fail(kernel->compile_error(e));
    std::fill(out.begin(), out.end(), 0xa5a5a5a5a5a5a5a5ull);
    Outcome outcome = kernel->run(e, {argument(reinterpret_cast<std::uintptr_t>(out.data())),
                                      argument(reinterpret_cast<std::uintptr_t>(in_.data()))});
    if (!outcome.ok()) return fail(engines[e].name + ": " + outcome.problem);
    const unsigned before = failures_;
    for (std::size_t k = 0; k < batch.size(); ++k)
      check(batch[k], engines[e], out.data() + k * kValues,
            first.empty() ? nullptr : first.data() + k * kValues);
    if (e == 0 && failures_ == before) first = out;
  }
}

int run(const std::string& engine_names, const std::string& only) {
  auto engines = make_engines(engine_names);
  if (!engines.ok()) return fmt::print("{}\n", engines.error().message), 2;
  Sweep sweep(*engines);
  unsigned spellings = 0, rows = 0;
  for (const isa::Row& row : isa::rows()) {
    if (!only.empty() && row.id != only) continue;
    std::vector<Unary> batch;
    unsigned here = 0, failed = sweep.failures();
    for (const std::string& text : isa::all_spellings(row)) {
      auto opcode = isa::resolve(text);
      Unary unary;
      if (!opcode.ok() || (*opcode)->row != &row || !as_unary(**opcode, unary)) continue;
      batch.push_back(unary), ++here;
      if (batch.size() == kSpellings) sweep.run(batch), batch.clear();
    }
    if (!batch.empty()) sweep.run(batch);
    if (here == 0) continue;
    ++rows, spellings += here;
    fmt::print("{} - {}: {} spellings\n", sweep.failures() == failed ? "ok" : "not ok", row.id, here);
  }
  fmt::print("exhaustive: {} rows, {} spellings, {} results, {} failures\n", rows, spellings, sweep.checks(),
             sweep.failures());
  return sweep.failures() != 0 || rows == 0;
}

}  // namespace
}  // namespace raddle::testing

int main(int argc, char** argv) {
  std::string engines = "all", row;
  for (int k = 1; k + 1 < argc; k += 2) {
    if (std::strcmp(argv[k], "--engines") == 0) engines = argv[k + 1];
    if (std::strcmp(argv[k], "--row") == 0) row = argv[k + 1];
  }
  if (argc % 2 == 0) return fmt::print("test_exhaustive [--engines LIST] [--row ID]\n"), 2;
  return raddle::testing::run(engines, row);
}
