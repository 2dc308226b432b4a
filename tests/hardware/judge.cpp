#include "hardware/judge.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/file.h"

namespace raddle::testing {
namespace {

/// "chapter/row.ptx:12: kernel" or "chapter/row: spelling", whatever the folder of the tests was.
std::string name_of(const Answers::Answer& answer) {
  constexpr std::string_view kFolder = "tests/isa/";
  const std::size_t at = answer.what.find(kFolder);
  return at == std::string::npos ? answer.what : answer.what.substr(at + kFolder.size());
}

/// A word of outputs with every NaN in it made the same one, if numbers of this kind are in it.
std::uint64_t without_payloads(std::uint64_t word, unsigned exponent_bits, unsigned mantissa_bits) {
  const unsigned width = 1 + exponent_bits + mantissa_bits;
  const std::uint64_t mantissa = (std::uint64_t{1} << mantissa_bits) - 1;
  const std::uint64_t exponent = ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  for (unsigned at = 0; at < 64; at += width)
    if ((word >> at & exponent) == exponent && (word >> at & mantissa) != 0) word |= all << at;
  return word;
}

/// Whether words differ at most in which NaN arithmetic made (isa::Numerics::exact).
bool are_alike(const std::string& ptx, std::uint64_t a, std::uint64_t b) {
  struct Kind {
    const char* type;
    unsigned exponent_bits, mantissa_bits;
  };
  constexpr Kind kKinds[] = {{".f64", 11, 52}, {".f32", 8, 23}, {".f16", 5, 10}, {".bf16", 8, 7}};
  if (a == b) return true;
  return std::ranges::any_of(kKinds, [&](const Kind& kind) {
    return ptx.find(kind.type) != std::string::npos &&
           without_payloads(a, kind.exponent_bits, kind.mantissa_bits) ==
               without_payloads(b, kind.exponent_bits, kind.mantissa_bits);
  });
}

std::uint64_t word_at(const std::string& bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
  return word;
}

/// @returns "" or how it ended, or what came out, differs
std::string difference(const Answers& answers, const Answers::Answer& answer, Device& device,
                       bool judges_values) {
  std::vector<std::string> data;
  for (const auto& argument : answer.arguments) data.push_back(argument.bytes);
  DeviceRun run{.ptx = answers.texts[answer.text],
                .kernel = answer.kernel,
                .threads = answer.threads,
                .arguments = {},
                .what = answer.what,
                .blocks = answer.blocks};
  for (std::size_t i = 0; i < data.size(); ++i)
    run.arguments.push_back(
        {data[i].data(), data[i].size(), answer.arguments[i].is_buffer, answer.arguments[i].is_output});
  const std::string problem = device.run(run);
  if (problem.empty() != answer.problem.empty())
    return fmt::format("ends with '{}', on hardware with '{}'", problem, answer.problem);
  std::size_t next = 0;
  for (std::size_t i = 0; i < data.size() && problem.empty() && judges_values; ++i) {
    if (!answer.arguments[i].is_output) continue;
    const std::string& wanted = answer.outputs[next++];
    for (std::size_t at = 0; at < wanted.size(); at += sizeof(std::uint64_t))
      if (!are_alike(run.ptx, word_at(data[i], at), word_at(wanted, at)))
        return fmt::format("argument {}: at {} is {:016x}, on hardware {:016x}", i, at, word_at(data[i], at),
                           word_at(wanted, at));
  }
  return {};
}

/// The driver's assembler refuses spellings that Raddle takes, and falls over some.
bool says_nothing(const Answers::Answer& answer) {
  return answer.problem.starts_with("loading:") || answer.problem.starts_with("the driver's process");
}

KeptDifferences::Line* line_of(KeptDifferences& kept, const std::string& name) {
  for (auto& line : kept.lines)
    if (name.starts_with(line.what)) return &line;
  return nullptr;
}

}  // namespace

Result<KeptDifferences> KeptDifferences::read(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_file(path));
  KeptDifferences kept;
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.rfind(": ");
    if (colon == std::string::npos) return Error::invalid("{}: no reason: {}", path, line);
    kept.lines.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  return kept;
}

std::map<std::string, Judgement> judge(const Answers& answers, Device& device, KeptDifferences& kept,
                                       const Sample& sample) {
  std::map<std::string, Judgement> chapters;
  for (const auto& [key, answer] : answers.kernels) {
    if (std::strtoull(key.c_str(), nullptr, 16) % sample.every != sample.seed % sample.every) continue;
    const std::string name = name_of(answer);
    Judgement& chapter = chapters[name.substr(0, name.find('/'))];
    if (says_nothing(answer)) {
      ++chapter.refused;
      continue;
    }
    const bool approximate = name.find(".approx") != std::string::npos;  // div.full gives the same bits
    const std::string found = difference(answers, answer, device, !approximate);
    ++chapter.report.checks;
    KeptDifferences::Line* const line = line_of(kept, name);
    if (line != nullptr) ++line->asked, line->differing += !found.empty();
    chapter.approximate += approximate;
    if (line != nullptr)
      ++chapter.kept;
    else if (!found.empty())
      chapter.report.fail(fmt::format("{}: {} (answer {})", name, found, key));
  }
  return chapters;
}

}  // namespace raddle::testing
