// The modules of PTX in the file that a command was given: a text, a fat binary, or a program that nvcc made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatbin/image.h"

namespace raddle::cli {

/// For a machine shape by name; says on stderr if there was only PTX for a newer device.
/// @errors io; not_found: the shape; as fatbin::ptx_images
Result<std::vector<fatbin::PtxImage>> read_images(const std::string& path, const std::string& shape);

/// The text in which an error lies, for report(); empty if it is in none.
std::string_view text_of(const std::vector<fatbin::PtxImage>& images, const Error& error);

}  // namespace raddle::cli
