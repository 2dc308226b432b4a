// Any bytes as input of `raddle run`: arguments, extents, and .npy files, whose contents
// survive being written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/argument.h"

namespace {

using namespace raddle::cli;

/// Small buffers without files only: sizes and files are the host's matter, not the reader's.
bool worth_parsing(const std::string& text) {
  if (text.find(".npy") != std::string::npos) return false;
  const auto colon = text.find(':', text.starts_with("buf:") ? 4 : 0);
  if (!text.starts_with("buf:") || colon == std::string::npos) return true;
  const auto count = raddle::parse_count(text.substr(colon + 1, text.find('=') - colon - 1));
  return !count.ok() || *count <= 1024;
}

void read_arguments(const std::string& text) {
  const auto extents = parse_extents(text, "grid");
  if (extents.ok() && (*extents)[0] == 0) std::abort();
  if (!worth_parsing(text)) return;
  const auto argument = parse_argument(text, 0);
  if (!argument) {
    if (argument.error().message.empty()) std::abort();
    return;
  }
  const auto index = parse_indexed("0=" + text, {*argument}, "--expect");
  if (index.ok() != argument->is_buffer) std::abort();
}

void read_array(const std::string& contents, raddle::isa::Type type) {
  const auto array = parse_npy(contents, "fuzz.npy", type);
  if (!array) return;
  const auto again = parse_npy(format_npy(*array), "again.npy", type);
  if (!again || again->bytes != array->bytes || again->shape != array->shape) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using raddle::isa::Type;
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_arguments(text);
  for (const Type type : {Type::f32, Type::u8, Type::b64}) read_array(text, type);
  return 0;
}
