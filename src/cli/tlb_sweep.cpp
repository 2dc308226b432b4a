#include "cli/tlb_sweep.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "machine/mmu/mmu_spec.h"

namespace raddle::cli {
namespace {

constexpr std::array kSmSizes = {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u};
constexpr std::array kGpcSizes = {8u, 16u, 32u, 64u, 128u, 256u, 512u, 1024u, 2048u, 4096u};

struct Point {
  unsigned entries;
  TranslationCounts counts;
};

struct Line {
  const char* name;
  const char* colour;
  Hits TranslationCounts::* hits;
};
// Colours that people with any sight tell apart (Okabe and Ito).
constexpr std::array kLines = {Line{"SMs' TLBs", "#0072b2", &TranslationCounts::sm_tlbs},
                               Line{"GPCs' TLBs", "#d55e00", &TranslationCounts::gpc_tlbs}};

double percent(const Hits& hits) {
  const double all = static_cast<double>(hits.hits) + static_cast<double>(hits.misses);
  return all == 0 ? 0 : 100.0 * static_cast<double>(hits.hits) / all;
}

/// With another number of entries, if that is whole sets.
std::string resized(const std::string& tlb, const char* name, const machine::TagStoreSpec& spec,
                    unsigned entries) {
  const unsigned ways = spec.ways == 0 ? entries : spec.ways;
  if (entries % ways != 0) return {};
  return fmt::format("{}{}{}={}:{}:{}", tlb, tlb.empty() ? "" : ",", name, entries, ways,
                     machine::replacement_name(spec.replacement));
}

template <std::size_t count>
Result<std::vector<Point>> measure(const std::array<unsigned, count>& sizes, const std::string& tlb,
                                   const char* name, const machine::TagStoreSpec& spec,
                                   const CountTranslations& work) {
  std::vector<Point> points;
  for (const unsigned entries : sizes) {
    const std::string wanted = resized(tlb, name, spec, entries);
    if (wanted.empty()) continue;
    TRY_ASSIGN(const TranslationCounts counts, work(wanted));
    points.push_back({entries, counts});
  }
  return points;
}

/// Places in the diagram, in units of SVG.
struct Frame {
  static constexpr double kLeft = 56, kTop = 16, kWidth = 560, kHeight = 240;
  std::size_t columns;

  double x(std::size_t column) const {
    return kLeft +
           kWidth * (columns < 2 ? 0.5 : static_cast<double>(column) / static_cast<double>(columns - 1));
  }
  static double y(double share) { return kTop + kHeight * (1 - share / 100); }
};

std::string axes(const Frame& frame, const std::vector<Point>& points) {
  std::string svg;
  for (int share = 0; share <= 100; share += 20)
    svg += fmt::format(
        R"(<line x1="{0}" y1="{1}" x2="{2}" y2="{1}" stroke="#ddd"/><text x="{3}" y="{4}" text-anchor="end">{5} %</text>)"
        "\n",
        Frame::kLeft, Frame::y(share), Frame::kLeft + Frame::kWidth, Frame::kLeft - 6, Frame::y(share) + 4,
        share);
  for (std::size_t i = 0; i < points.size(); ++i)
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)"
                       "\n",
                       frame.x(i), Frame::kTop + Frame::kHeight + 18, points[i].entries);
  return svg;
}

std::string drawn(const Frame& frame, const std::vector<Point>& points, const Line& line) {
  std::string path, dots;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double share = percent(points[i].counts.*line.hits);
    path += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", frame.x(i), Frame::y(share));
    dots += fmt::format(
        R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"><title>{} entries: {:.2f} %</title></circle>)"
        "\n",
        frame.x(i), Frame::y(share), line.colour, points[i].entries, share);
  }
  return fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>)"
                     "\n{}",
                     path, line.colour, dots);
}

std::string diagram(const std::vector<Point>& points) {
  const Frame frame{points.size()};
  std::string svg =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" font-size="12" font-family="sans-serif">)"
                  "\n",
                  Frame::kLeft + Frame::kWidth + 24, Frame::kTop + Frame::kHeight + 30);
  svg += axes(frame, points);
  for (const Line& line : kLines) svg += drawn(frame, points, line);
  return svg + "</svg>\n<p>" +
         fmt::format(R"(<b style="color:{}">{}</b>, <b style="color:{}">{}</b>)", kLines[0].colour,
                     kLines[0].name, kLines[1].colour, kLines[1].name) +
         ": share of accesses whose page they had</p>\n";
}

std::string table(const std::vector<Point>& points) {
  std::string html = "<table>\n<tr><th>entries</th>";
  for (const Line& line : kLines)
    html += fmt::format("<th>{0}: hits</th><th>misses</th><th>%</th>", line.name);
  for (const Point& point : points) {
    html += fmt::format("</tr>\n<tr><td>{}</td>", point.entries);
    for (const Line& line : kLines) {
      const Hits& hits = point.counts.*line.hits;
      html += fmt::format("<td>{}</td><td>{}</td><td>{:.2f}</td>", hits.hits, hits.misses, percent(hits));
    }
  }
  return html + "</tr>\n</table>\n";
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char letter : text)
    html += letter == '<'   ? "&lt;"
            : letter == '>' ? "&gt;"
            : letter == '&' ? "&amp;"
                            : std::string(1, letter);
  return html;
}

std::string section(std::string_view heading, const std::vector<Point>& points) {
  return fmt::format("<h2>{}</h2>\n", heading) + diagram(points) + table(points);
}

constexpr std::string_view kStyle =
    "body{font-family:sans-serif;max-width:48em;margin:2em auto}svg{width:100%}"
    "td,th{text-align:right;padding:0 .8em}th{font-weight:normal;color:#555}";

}  // namespace

Result<std::string> sweep_tlbs(std::string_view title, const std::string& tlb,
                               const CountTranslations& count) {
  TRY_ASSIGN(const machine::MmuSpec spec, machine::parse_mmu_spec(tlb));
  TRY_ASSIGN(const std::vector<Point> sms, measure(kSmSizes, tlb, "l1", spec.sm_tlb, count));
  TRY_ASSIGN(const std::vector<Point> gpcs, measure(kGpcSizes, tlb, "l2", spec.gpc_tlb, count));
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
             "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
             escaped(title), kStyle) +
         section(fmt::format("Entries of the TLB of each SM, with {} in each GPC's", spec.gpc_tlb.entries),
                 sms) +
         section(fmt::format("Entries of the TLB of each GPC, with {} in each SM's", spec.sm_tlb.entries),
                 gpcs) +
         "</body></html>\n";
}

}  // namespace raddle::cli
