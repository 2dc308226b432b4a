// Settings of .samplerref variables (PTX ISA "Texture Sampler and Surface Types"):
// `{ addr_mode_0 = clamp_to_edge, filter_mode = linear, force_unnormalized_coords = 1 }`.
#pragma once

#include <string>

#include "ptx/state.h"

namespace raddle::ptx {

/// The '=' is passed. @errors settings of a .texref or .surfref, unknown ones, unknown values
bool parse_sampler_settings(Parser& parser, VariableId variable);

/// As they are written behind the '='.
std::string sampler_settings_text(const SamplerSettings& settings);

}  // namespace raddle::ptx
