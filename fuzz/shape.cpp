// Any bytes as a machine shape file: it is refused with a message that names the file, or it is a machine
// that survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "machine/shape/shape_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace raddle::machine;
  const auto shape = read_shape({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!shape) {
    if (shape.error().message.empty() || shape.error().where.file != "fuzz.json") std::abort();
    return 0;
  }
  if (shape->sm_count() == 0 || shape->largest_portable_cluster() == 0) std::abort();
  const auto again = read_shape(shape_text(*shape), "again.json");
  if (!again || *again != *shape) std::abort();
  return 0;
}
