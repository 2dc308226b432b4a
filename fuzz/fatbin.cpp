// Any bytes as a file with device code: the reader answers with modules or with an error that says something.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fatbin/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto images = raddle::fatbin::ptx_images({reinterpret_cast<const char*>(data), size}, "fuzz", 90);
  if (images.ok() ? images->empty() : images.error().message.empty()) std::abort();
  return 0;
}
