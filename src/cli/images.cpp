#include "cli/images.h"

#include <cstdio>

#include "base/file.h"
#include "machine/shape/shape_file.h"

namespace raddle::cli {

Result<std::vector<fatbin::PtxImage>> read_images(const std::string& path, const std::string& shape) {
  TRY_ASSIGN(const std::string file, read_file(path));
  TRY_ASSIGN(const machine::MachineShape machine, machine::find_shape(shape));
  TRY_ASSIGN(std::vector<fatbin::PtxImage> images, fatbin::ptx_images(file, path, machine.capability));
  for (const fatbin::PtxImage& image : images)
    if (!image.newer_than_device.empty())
      fmt::print(stderr, "raddle: warning: {} is for {}, newer than the device (sm_{})\n", image.name,
                 image.newer_than_device, machine.capability);
  return images;
}

std::string_view text_of(const std::vector<fatbin::PtxImage>& images, const Error& error) {
  for (const fatbin::PtxImage& image : images)
    if (image.name == error.where.file) return image.text;
  return {};
}

}  // namespace raddle::cli
