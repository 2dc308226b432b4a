// `raddle isa`: the instruction rows for people: a list, one instruction's forms, or the coverage page
// (docs/generated/isa.md). Everything printed comes from the rows.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "isa/row.h"

namespace raddle::cli {
namespace {

using isa::Row;

const char* status_name(isa::Status status) { return status == isa::Status::done ? "done" : "unsupported"; }

const char* scope_name(isa::Scope scope) {
  switch (scope) {
    case isa::Scope::lane:
      return "lane";
    case isa::Scope::warp:
      return "warp";
    case isa::Scope::warpgroup:
      return "warpgroup";
    case isa::Scope::cta:
      return "cta";
    case isa::Scope::cluster:
      return "cluster";
    case isa::Scope::grid:
      return "grid";
    case isa::Scope::async:
      return "async";
  }
  return "?";
}

std::string since(const Row& row) {
  return fmt::format("PTX {}.{}, sm_{}", row.text->ptx / 10, row.text->ptx % 10, row.text->sm);
}

std::string effects_text(isa::Effects effects) {
  static constexpr std::pair<isa::Effects, const char*> kNames[] = {
      {isa::Effects::reads, "reads memory"},   {isa::Effects::writes, "writes memory"},
      {isa::Effects::control, "control flow"}, {isa::Effects::sync, "synchronises"},
      {isa::Effects::may_fault, "may fault"},  {isa::Effects::orders, "orders memory"},
      {isa::Effects::state, "hidden state"}};
  std::string text;
  for (auto [bit, name] : kNames)
    if (isa::has(effects, bit)) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "pure" : text;
}

/// The rows in chapter order, then as they stand in their file.
std::map<std::string, std::vector<const Row*>> by_chapter() {
  std::map<std::string, std::vector<const Row*>> chapters;
  for (const Row& row : isa::rows()) chapters[row.chapter].push_back(&row);
  return chapters;
}

/// ".type = { .u16, .s16 }" for each modifier set that the forms use, once.
std::vector<std::string> sets_of(const Row& row) {
  std::vector<std::string> sets;
  for (const isa::Form& form : row.forms) {
    for (const isa::ModSlot& slot : form.slots) {
      if (slot.set.empty()) continue;
      std::vector<std::string> names;
      for (isa::Mod mod : slot.mods) names.push_back(fmt::format(".{}", isa::mod_name(mod)));
      for (isa::Type type : slot.types) names.push_back(fmt::format(".{}", isa::type_name(type)));
      std::string text = fmt::format(".{} = {{ {} }}", slot.set, fmt::join(names, ", "));
      if (std::find(sets.begin(), sets.end(), text) == sets.end()) sets.push_back(text);
    }
  }
  return sets;
}

void print_row(const Row& row) {
  fmt::print("{} ({}, {}, {})\n", row.id, row.chapter, since(row), status_name(row.text->status));
  for (const isa::Form& form : row.forms) fmt::print("    {}\n", form.text);
  for (const std::string& set : sets_of(row)) fmt::print("      {}\n", set);
  auto line = [](const char* name, std::string_view value) {
    if (!value.empty()) fmt::print("  {:<10} {}\n", name, value);
  };
  line("operands", row.text->operands);
  line("scope", scope_name(row.text->scope));
  line("effects", effects_text(row.text->effects));
  line("result",
       row.text->numerics == isa::Numerics::exact ? "exact" : fmt::format("within {:.3g}", row.text->error));
  line("note", row.text->note);
  line("manual",
       fmt::format("https://docs.nvidia.com/cuda/parallel-thread-execution/#{}", row.text->section));
}

int print_mnemonic(const std::string& mnemonic) {
  bool first = true;
  for (const Row& row : isa::rows()) {
    if (row.mnemonic != mnemonic && row.id != mnemonic) continue;
    if (!first) fmt::print("\n");
    first = false;
    print_row(row);
  }
  return first ? report(Error::make(ErrorCode::not_found, "no PTX instruction is called {}", mnemonic))
               : kSuccess;
}

void print_list() {
  std::size_t done = 0;
  for (const auto& [chapter, rows] : by_chapter()) {
    fmt::print("{}\n", chapter);
    for (const Row* row : rows) {
      done += row->text->status == isa::Status::done;
      fmt::print("  {:<24} {:<12} {:>2} form{} {:<18} {}\n", row->id, status_name(row->text->status),
                 row->forms.size(), row->forms.size() == 1 ? " " : "s", since(*row), row->text->note);
    }
  }
  fmt::print("{} rows, {} done\n", isa::rows().size(), done);
}

/// Whether a test file of several rows names this one: `// rows: ROW ROW`.
bool names_row(const std::filesystem::path& file, std::string_view id) {
  const auto text = read_file(file.string());
  if (!text) return false;
  const auto begin = text->find("// rows: ");
  if (begin == std::string::npos) return false;
  const std::string names = text->substr(begin + 8, text->find('\n', begin) - begin - 8) + " ";
  return names.find(fmt::format(" {} ", id)) != std::string::npos;
}

/// Path of a row's test file, relative to `tests`' parent as given, or a dash.
std::string test_file(const Row& row, const std::string& tests) {
  if (tests.empty() || row.text->status != isa::Status::done) return "-";
  const std::filesystem::path folder = std::filesystem::path(tests) / row.chapter;
  const std::filesystem::path own = folder / fmt::format("{}.ptx", row.id);
  if (std::filesystem::exists(own)) return fmt::format("`{}`", own.string());
  if (!std::filesystem::exists(folder)) return "-";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (names_row(entry.path(), row.id)) return fmt::format("`{}`", entry.path().string());
  return "-";
}

/// A cell of a Markdown table: bars would end it.
std::string cell(std::string_view text) {
  std::string escaped;
  for (char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

void print_markdown(const std::string& tests) {
  auto chapters = by_chapter();
  std::size_t total = 0, done = 0;
  for (const Row& row : isa::rows()) ++total, done += row.text->status == isa::Status::done;
  fmt::print(
      "# PTX instructions\n\nGenerated by `raddle isa --markdown --tests {}` from the rows in `src/isa`; "
      "`tools/check` fails when it is "
      "stale.\n`done`: interpreter, JIT and tests for every form and type. `unsupported`: parsed and "
      "reported, never run.\n\n"
      "{} rows, {} done.\n",
      tests, total, done);
  for (const auto& [chapter, rows] : chapters) {
    fmt::print(
        "\n## {}\n\n| row | status | forms | since | test | note |\n| --- | --- | --- | --- | --- | --- |\n",
        chapter);
    for (const Row* row : rows)
      fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", row->id, status_name(row->text->status),
                 row->forms.size(), since(*row), test_file(*row, tests), cell(row->text->note));
  }
}

}  // namespace

int isa(const IsaOptions& options) {
  if (!options.mnemonic.empty()) return print_mnemonic(options.mnemonic);
  options.markdown ? print_markdown(options.tests) : print_list();
  return kSuccess;
}

}  // namespace raddle::cli
