// What a draw must be, before anything of it runs.
#pragma once

#include "raddle/graphics.h"

namespace raddle::graphics {

/// @errors invalid: the stage, state, buffer or target that is missing or wrong, by name
Result<void> check_draw(const Draw& draw);
/// `what`: "target 2", "the depth target" @errors invalid
Result<void> check_target(const Target& target, const std::string& what);
/// A programmable stage's kernel takes the stage's batch and an address. @errors invalid
Result<void> check_shader(const Shader& shader, const char* stage, std::size_t batch_bytes);
/// Vertices that indices may name: as the draw says, or as its buffers hold. @errors invalid: nothing says it
Result<std::uint32_t> indexable_vertices(const Draw& draw);

}  // namespace raddle::graphics
