// The rows against what NVIDIA's ptxas of toolkit 13.0 accepts for sm_90a, both ways, without a ptxas: what
// it was asked and said lies in tests/data/ptxas_spellings.txt (tools/ptxas_spellings writes it). What
// differs on purpose is listed here, each with its reason.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "isa/row.h"
#include "unit/source_directory.h"

namespace raddle::isa {
namespace {

struct Exception {
  /// Mnemonic, then for each condition a word: `a|b`: has one of them; `!a|b`: has none of them.
  std::string_view pattern;
  bool we_accept;  ///< and ptxas does not; else the other way round
  std::string_view reason;
  mutable unsigned used = 0;
};
constexpr std::string_view kOldTargets = "for targets before sm_70 only";
constexpr std::string_view kOldRounding = "for targets before sm_20 only, which round to nearest";
constexpr std::string_view kNoMeaning = "the manual has it not, and nothing says what it does";
constexpr std::string_view kOverlooked =
    "ptxas overlooks the modifier: it makes the same code without it; the manual has it not";
constexpr std::string_view kSignless = "the manual has unsigned types only, and a sign would mean nothing";
const Exception kExceptions[] = {
    {"shfl !sync", true, kOldTargets},
    {"vote !sync", true, kOldTargets},
    {"mad f32|f64 !rn|rz|rm|rp", true, kOldRounding},
    {"txq level", true, "ptxas wants .level before the query; modifiers have no order here"},
    {"addc s16|u16", false, kNoMeaning},
    {"subc s16|u16", false, kNoMeaning},
    {"madc s16|u16", false, kNoMeaning},
    {"testp !finite|infinite|number|notanumber|normal|subnormal", false, kNoMeaning},
    {"cvta u32", false, "a generic address has 64 bits; ptxas leaves it at .const"},
    {"fma bf16|bf16x2 rz|rm|rp", false,
     "the manual rounds to nearest only; of a pair ptxas makes the code for that"},
    {"rcp ftz f64 !approx", false, kOverlooked},
    {"tex uni", false, kOverlooked},
    {"tld4 uni", false, kOverlooked},
    {"getctarank s32|s64", false, kSignless},
    {"mapa s32|s64", false, kSignless},
    {"setmaxnreg s32", false, kSignless},
    {"mbarrier arrive|arrive_drop shared::cluster", true,
     "ptxas was asked with a register for the result, which has to be a sink"},
    {"mbarrier noComplete", true, "ptxas was asked without the count of arrivals, which has to be there"},
    {"fence mbarrier_init sync_restrict::shared::cta|sync_restrict::shared::cluster", false, kNoMeaning},
    {"fence proxy alias|async|tensormap::generic sync_restrict::shared::cta|sync_restrict::shared::cluster",
     false, kNoMeaning},
    {"fence async::generic|tensormap::generic global|shared::cta|shared::cluster", false, kNoMeaning},
    {"multimem red|st acc::f32", false, kNoMeaning},
    {"mma tf32 m16n8k16 !sp|sp::ordered_metadata", false, kNoMeaning},
    {"mma s4|u4 and|xor", false, kNoMeaning},
    {"mma v2|v4", false, kNoMeaning},
    {"wmma f64 !m8n8k4", false, kNoMeaning},
    {"wmma load|store m8n8k32|m8n8k128 f16|f32|bf16|tf32|bf16x2", false, kNoMeaning},
    {"wmma load|store c|d m8n8k32|m8n8k128 b1|s4|u4", false, kNoMeaning},
    {"wmma load|store m16n16k8 f16|s32", false, kNoMeaning},
    {"wgmma !aligned", false, "the manual has all of them with .aligned"},
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(text)};
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

bool has_any(const std::vector<std::string>& words, std::string_view alternatives) {
  for (const std::string& wanted : split(alternatives, '|'))
    if (std::find(words.begin(), words.end(), wanted) != words.end()) return true;
  return false;
}

bool matches(const Exception& exception, const std::vector<std::string>& words) {
  const std::vector<std::string> conditions = split(exception.pattern, ' ');
  if (conditions[0] != words[0]) return false;
  for (std::size_t i = 1; i < conditions.size(); ++i) {
    const bool excludes = conditions[i][0] == '!';
    if (has_any(words, std::string_view(conditions[i]).substr(excludes)) == excludes) return false;
  }
  return true;
}

bool is_exception(const std::string& spelling, bool we_accept) {
  const std::vector<std::string> words = split(spelling, '.');
  for (const Exception& exception : kExceptions)
    if (exception.we_accept == we_accept && matches(exception, words)) return ++exception.used, true;
  return false;
}

/// Each spelling that a line of the data stands for.
void for_each_spelling(const std::vector<std::string>& cells, std::size_t at, const std::string& begun,
                       const std::function<void(const std::string&)>& body) {
  if (at == cells.size()) return body(begun);
  for (const std::string& word : split(cells[at], '|'))
    for_each_spelling(cells, at + 1, word == "-" ? begun : begun + "." + word, body);
}

#if defined(__has_feature) && (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
constexpr unsigned kEvery = 17;  // of the spellings: resolving takes ten times as long
#else
constexpr unsigned kEvery = 1;
#endif

// proves: K-17a
TEST(Ptxas, RowsAcceptWhatItAcceptsAndNothingElse) {
  std::ifstream data(source_directory() + "/tests/data/ptxas_spellings.txt");
  ASSERT_TRUE(data) << "tests/data/ptxas_spellings.txt is missing";
  std::map<std::string, std::vector<std::string>> differences;  // by mnemonic and direction
  unsigned judged = 0;
  for (std::string line; std::getline(data, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = split(line, ' ');
    if (cells[0] == ">") continue;  // for newer targets: Raddle may take them
    const bool it_accepts = cells[0] == "+";
    for_each_spelling(cells, 2, cells[1], [&](const std::string& spelling) {
      if (++judged % kEvery != 0) return;
      const auto resolved = resolve(spelling);
      const bool we_accept = resolved.ok();
      if (we_accept && (*resolved)->row->text->status == Status::unsupported)
        return;  // ptxas was not asked about it
      if (we_accept == it_accepts || is_exception(spelling, we_accept)) return;
      differences[cells[1] + (we_accept ? ": ptxas refuses " : ": ptxas accepts ")].push_back(spelling);
    });
  }
  EXPECT_GT(judged, 100'000u) << "the data is cut";
  const char* all = std::getenv("RADDLE_PTXAS_DIFFERENCES");  // a file for all of them
  std::ofstream list;
  if (all != nullptr) list.open(all);
  for (const auto& [what, spellings] : differences) {
    std::string some;
    for (std::size_t i = 0; i < spellings.size() && i < 5; ++i) some += (i ? ", " : "") + spellings[i];
    ADD_FAILURE() << what << some << (spellings.size() > 5 ? ", ... " : " ") << "(" << spellings.size()
                  << ")";
    for (const std::string& spelling : spellings) list << what << spelling << '\n';
  }
  for (const Exception& exception : kExceptions)
    EXPECT_TRUE(exception.used != 0u || kEvery != 1)
        << "no spelling needs the exception '" << exception.pattern << "'";
}

}  // namespace
}  // namespace raddle::isa
