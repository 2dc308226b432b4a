// What host and shaders of the deferred example share.
#pragma once

#include <cstdint>

namespace deferred {

constexpr unsigned kLights = 8;

struct MeshVertex {
  float position[3], normal[3], place[2];  ///< place: in the texture
};
struct Light {
  float position[3], range, colour[3], reserved;
};
/// Addresses and handles are numbers of the device.
struct Scene {
  float view_projection[16];  ///< rows
  float eye[4];
  Light lights[kLights];
  std::uint64_t albedo_texture;
  std::uint64_t albedo, normal, position;  ///< targets of the geometry pass, that lighting reads
  std::uint64_t lit;                       ///< what lighting has drawn
  std::uint32_t width, height;
};

}  // namespace deferred
