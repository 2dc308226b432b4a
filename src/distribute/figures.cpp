#include "distribute/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace raddle::distribute {
namespace {
using FiguresJson = nlohmann::ordered_json;

FiguresJson array_of(std::span<const RunFigure> figures) {
  FiguresJson list = FiguresJson::array();
  for (const RunFigure& figure : figures) list.push_back({{"name", figure.name}, {"value", figure.value}});
  return list;
}

const RunFigure* find_figure(const MeasuredRun& run, std::string_view name) {
  const auto found = std::ranges::find(run.figures, name, &RunFigure::name);
  return found == run.figures.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(std::span<const MeasuredRun> runs) {
  std::vector<std::string> names;
  for (const MeasuredRun& run : runs)
    for (const RunFigure& figure : run.figures)
      if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
  return names;
}

void add_row(std::string& text, std::string_view name, std::span<const MeasuredRun> runs, auto&& cell) {
  fmt::format_to(std::back_inserter(text), "{:<24}", name);
  for (const MeasuredRun& run : runs) fmt::format_to(std::back_inserter(text), " {:>14}", cell(run));
  text += '\n';
}
}  // namespace

std::string figures_text(std::span<const RunFigure> figures) {
  return FiguresJson{{"raddle", "figures"}, {"figures", array_of(figures)}}.dump(1) + "\n";
}

Result<std::vector<RunFigure>> parse_figures(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const nlohmann::json document, parse_json(text, name));
  const JsonValue root(document);
  TRY(root.has_only({"raddle", "figures"}));
  TRY_ASSIGN(const JsonValue list, root.member("figures"));
  TRY_ASSIGN(const std::vector<JsonValue> items, list.elements(0, 1000));
  std::vector<RunFigure> figures;
  for (const JsonValue& item : items) {
    TRY(item.has_only({"name", "value"}));
    RunFigure& figure = figures.emplace_back();
    TRY_ASSIGN(const JsonValue called, item.member("name"));
    TRY_ASSIGN(figure.name, called.text());
    TRY_ASSIGN(const JsonValue value, item.member("value"));
    TRY_ASSIGN(figure.value, value.number(-1e300, 1e300));
  }
  return figures;
}

std::string comparison_table(std::span<const MeasuredRun> runs) {
  std::string text;
  add_row(text, "", runs, [](const MeasuredRun& run) { return run.name; });
  for (const std::string& name : names_of(runs))
    add_row(text, name, runs, [&](const MeasuredRun& run) {
      const RunFigure* figure = find_figure(run, name);
      return figure == nullptr ? "-" : fmt::format("{:.10g}", figure->value);
    });
  return text;
}

std::string comparison_json(std::span<const MeasuredRun> runs) {
  FiguresJson list = FiguresJson::array();
  for (const MeasuredRun& run : runs)
    list.push_back({{"placement", run.name}, {"figures", array_of(run.figures)}});
  return FiguresJson{{"runs", list}}.dump(2) + "\n";
}

}  // namespace raddle::distribute
