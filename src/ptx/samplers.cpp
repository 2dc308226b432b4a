#include "ptx/samplers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "ptx/expressions.h"

namespace raddle::ptx {
namespace {

// By value: a number may stand for a name.
constexpr std::string_view kAddressModes[] = {"wrap", "mirror", "clamp_ogl", "clamp_to_edge",
                                              "clamp_to_border"};
constexpr std::string_view kFilters[] = {"nearest", "linear"};

/// One of these names, or its number.
bool parse_choice(Parser& parser, std::span<const std::string_view> names, std::uint64_t& choice) {
  const Token token = parser.in.token();
  const auto found = std::ranges::find(names, token.text);
  choice = static_cast<std::uint64_t>(found - names.begin());
  if (found != names.end()) {
    parser.in.advance();
    return true;
  }
  if (token.kind == TokenKind::number) {
    if (!parse_integer(parser, "a setting's value", choice)) return false;
    if (choice < names.size()) return true;
  }
  return parser.in.error(token.at, "'{}' is none of {}", token.text, fmt::join(names, ", "));
}

bool parse_setting(Parser& parser, SamplerSettings& settings) {
  Token name;
  if (!parser.in.expect_identifier("a sampler's setting", name)) return false;
  if (!parser.in.expect('=', "after the setting's name")) return false;
  std::uint64_t value = 0;
  if (name.text == "filter_mode") {
    if (!parse_choice(parser, kFilters, value)) return false;
    settings.linear = value != 0;
    return true;
  }
  if (name.text == "force_unnormalized_coords") {
    if (!parse_integer(parser, "0 or 1", value)) return false;
    settings.force_unnormalized_coordinates = value != 0;
    return true;
  }
  for (unsigned d = 0; d < settings.address.size(); ++d) {
    if (name.text != fmt::format("addr_mode_{}", d)) continue;
    if (!parse_choice(parser, kAddressModes, value)) return false;
    settings.address[d] = static_cast<SamplerSettings::AddressMode>(value);
    return true;
  }
  return parser.in.error(name.at, "a .samplerref has no setting '{}'", name.text);
}

}  // namespace

bool parse_sampler_settings(Parser& parser, VariableId variable) {
  const Variable& v = parser.module.variables[variable];
  if (v.type != Type::samplerref)
    return parser.in.error(parser.in.token().at, "'{}' has no initial value: a .{} is bound by its program",
                           v.name, isa::type_name(v.type));
  SamplerSettings settings;
  if (!parser.in.expect('{', "before a sampler's settings")) return false;
  while (!parser.in.token().is('}')) {
    if (!parse_setting(parser, settings)) return false;
    if (!parser.in.accept(',')) break;
  }
  if (!parser.in.expect('}', "to close the initialiser")) return false;
  parser.module.variables[variable].sampler = settings;
  return true;
}

std::string sampler_settings_text(const SamplerSettings& settings) {
  std::string text = "{";
  for (unsigned d = 0; d < settings.address.size(); ++d)
    text += fmt::format("addr_mode_{} = {}, ", d, kAddressModes[static_cast<unsigned>(settings.address[d])]);
  return text + fmt::format("filter_mode = {}, force_unnormalized_coords = {}}}",
                            kFilters[settings.linear ? 1 : 0],
                            settings.force_unnormalized_coordinates ? 1 : 0);
}

}  // namespace raddle::ptx
