// test_diff: random programs, interpreter against JIT at each SIMD level; the printer's fixpoint too. A failing program
// is shrunk and saved to tests/regress, whose files run first, for ever.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "diff/program.h"
#include "isa/harness/engines.h"
#include "isa/harness/kernel_writer.h"
#include "ptx/parser.h"

namespace raddle::testing {
namespace {

struct Options {
  std::uint64_t seed = 1;
  unsigned count = 100;
  std::string engines = "all", regress = RADDLE_REGRESS_TESTS;
  bool print = false, save = true;
};

std::vector<std::uint64_t> inputs_for(std::uint64_t seed) {
  Random random(seed ^ 0xabcdef);
  std::vector<std::uint64_t> in;
  for (unsigned slot = 0; slot < kProgramSlots; ++slot)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      isa::Type type = slot < kPredicates + kShorts ? isa::Type::b16 : slot < kPredicates + kShorts + kWords ? isa::Type::b32 : isa::Type::b64;
      if (random.chance(25)) type = slot < kPredicates + kShorts ? isa::Type::f16 : type == isa::Type::b32 ? isa::Type::f32 : isa::Type::f64;
      in.push_back(random_operand(random, type, isa::bit_size(type)).lo);
    }
  return in;
}

/// What a program leaves behind: outputs, private global memory, and how it ended.
struct Result {
  std::vector<std::uint64_t> out;
  std::vector<std::byte> memory;
  std::string end;
  bool operator==(const Result&) const = default;
};

Result run(const CompiledKernel& kernel, std::size_t engine, const std::vector<std::uint64_t>& in) {
  Result r;
  r.out.assign(kProgramSlots * kLanes, 0xa5a5a5a5a5a5a5a5ull);
  // The same addresses for every engine: programs may not depend on them, but a wrong one would.
  static std::vector<std::byte> memory(kPrivateBytes * kLanes + 64);
  std::fill(memory.begin(), memory.end(), std::byte{0x5a});
  auto at = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) & ~std::uintptr_t{63};
  Outcome outcome = kernel.run(engine, {argument(reinterpret_cast<std::uintptr_t>(r.out.data())),
                                        argument(reinterpret_cast<std::uintptr_t>(in.data())), argument(at)});
  r.memory = memory;
  r.end = outcome.problem;
  return r;
}

/// "" if all engines agree on the text and the printer keeps it; else what is wrong.
std::string check(const std::string& text, std::uint64_t seed, const std::vector<NamedEngine>& engines) {
  auto kernel = CompiledKernel::create(text, "test", engines, {kLanes, 1, 1});
  if (!kernel.ok()) return kernel.error().to_string();
  std::string printed = ptx::print(kernel->module());
  auto again = ptx::parse(printed, "printed");
  if (!again.ok()) return "the printed program does not parse: " + again.error().to_string();
  if (ptx::print(*again) != printed) return "print(parse(print)) differs from print";
  auto in = inputs_for(seed);
  Result expected;
  for (std::size_t e = 0; e < engines.size(); ++e) {
    if (!kernel->compile_error(e).empty()) return engines[e].name + ": " + kernel->compile_error(e);
    Result result = run(*kernel, e, in);
    if (e == 0) {
      expected = result;
      continue;
    }
    if (result.end != expected.end) return fmt::format("{} ends with '{}', {} with '{}'", engines[e].name, result.end, engines[0].name, expected.end);
    for (std::size_t i = 0; i < result.out.size(); ++i)
      if (result.out[i] != expected.out[i])
        return fmt::format("{}: slot {} lane {} is {:#x}, expected {:#x}", engines[e].name, i / kLanes, i % kLanes, result.out[i], expected.out[i]);
    if (result.memory != expected.memory) return engines[e].name + ": memory differs";
  }
  return {};
}

/// Engines that fail alone are enough to shrink with: the oracle and the first engine that differs.
void save_shrunk(Program& program, const Options& o, const std::vector<NamedEngine>& engines, const std::string& why) {
  unsigned before = size_of(program);
  shrink(program, 300, [&](const Program& p) { return !check(render(p), p.seed, engines).empty(); });
  std::string left = check(render(program), program.seed, engines);
  fmt::print("  shrunk from {} to {} statements: {}\n", before, size_of(program), left);
  if (!o.save) {
    fmt::print("{}\n", render(program));
    return;
  }
  std::string path = fmt::format("{}/program_{}.ptx", o.regress, program.seed);
  std::ofstream(path) << fmt::format("// seed: {}\n// Found by test_diff: {}\n", program.seed, why.substr(0, why.find('\n'))) << render(program);
  fmt::print("  saved as {}\n", path);
}

unsigned run_regressions(const Options& o, const std::vector<NamedEngine>& engines, unsigned& failures) {
  unsigned count = 0;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(o.regress))
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream stream(path);
    std::ostringstream content;
    content << stream.rdbuf();
    std::string text = content.str();
    auto at = text.find("// seed: ");
    std::uint64_t seed = at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 9, nullptr, 0);
    ++count;
    std::string why = check(text, seed, engines);
    if (why.empty()) continue;
    ++failures;
    fmt::print("FAIL {}: {}\n", path.filename().string(), why);
  }
  return count;
}

int run_all(const Options& o) {
  auto engines = make_engines(o.engines);
  if (!engines.ok()) return fmt::print("{}\n", engines.error().message), 2;
  unsigned failures = 0;
  unsigned regressions = run_regressions(o, *engines, failures);
  for (std::uint64_t seed = o.seed; seed < o.seed + o.count; ++seed) {
    Program program = random_program(seed);
    if (o.print) fmt::print("{}\n", render(program));
    std::string why = check(render(program), seed, *engines);
    if (why.empty()) continue;
    ++failures;
    fmt::print("FAIL seed {}: {}\n", seed, why);
    save_shrunk(program, o, *engines, why);
    std::fflush(stdout);
  }
  std::string names;
  for (const auto& engine : *engines) names += (names.empty() ? "" : ", ") + engine.name;
  fmt::print("{} programs from seed {}, {} regressions, on {}: {} failures\n", o.count, o.seed, regressions, names, failures);
  return failures != 0;
}

}  // namespace
}  // namespace raddle::testing

int main(int argc, char** argv) {
  raddle::testing::Options o;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--seed") o.seed = std::strtoull(value, nullptr, 0), ++i;
    else if (name == "--count") o.count = static_cast<unsigned>(std::atoi(value)), ++i;
    else if (name == "--engines") o.engines = value, ++i;
    else if (name == "--print") o.print = true;
    else if (name == "--no-save") o.save = false;
    else return std::fputs("test_diff [--seed N] [--count M] [--engines LIST] [--print] [--no-save]\n", stderr), 2;
  }
  return raddle::testing::run_all(o);
}
