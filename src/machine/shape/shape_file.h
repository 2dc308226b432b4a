// Machine shapes as JSON files (W-1, W-2; the format: docs/shapes.md). One table of fields serves the reader
// and the writer, so what is written reads back equal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/shape/machine_shape.h"

namespace raddle::machine {

/// @param name  of the file, for messages
/// @errors invalid: no JSON, or the mistake in the value at a path ("$.gpcs[1].tpcs: ...")
Result<MachineShape> read_shape(std::string_view text, const std::string& name);

/// The shape as the document of its file; equal siblings in a row become one with a count.
nlohmann::ordered_json shape_document(const MachineShape& shape);
/// That document as text, one line for each part that has parts itself.
std::string shape_text(const MachineShape& shape);

/// The shape that a user named: a preset, or a file if the name ends in `.json`. `host` gets this host's
/// cores.
/// @errors not_found: names the presets; io, invalid: of the file
Result<MachineShape> find_shape(const std::string& name);

}  // namespace raddle::machine
