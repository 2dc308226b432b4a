// A device, a renderer and the tests' shaders, and draws of vertices that lie in a vector.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "raddle/graphics.h"
#include "reference.h"

namespace graphics_test {

namespace graphics = raddle::graphics;

/// Fails the test with the error's text.
template <class T>
void expect_ok(const raddle::Result<T>& result) {
  EXPECT_TRUE(result.ok()) << result.error().to_string();
}

/// The text of an error; empty: there is none.
template <class T>
std::string message(const raddle::Result<T>& result) {
  return result.ok() ? "" : result.error().message;
}

/// The suite's random numbers: from RADDLE_TEST_SEED, printed when the test fails.
std::mt19937 random_numbers();

/// Sanitized builds: a kernel takes ten times as long.
#ifdef RADDLE_JIT
inline constexpr bool kOnlyInterpreter = false;
#else
inline constexpr bool kOnlyInterpreter = true;
#endif

/// How often something random is tried.
constexpr int rounds(int full) { return kOnlyInterpreter ? std::max(1, full / 10) : full; }

/// The side of a picture, in pixels.
constexpr int side(int full) { return kOnlyInterpreter ? full / 2 : full; }

/// A target and the memory that it lies in.
struct Canvas {
  Canvas(raddle::Device& device, std::uint32_t width, std::uint32_t height, raddle::TexelFormat format,
         std::uint32_t layers = 1, std::uint32_t samples = 1);
  /// Channel c of a texel's sample as it is stored.
  template <class T>
  std::vector<T> read() const {
    std::vector<std::uint8_t> bytes(memory.size());
    expect_ok(memory.read(bytes));
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  raddle::Buffer<std::uint8_t> memory;
  graphics::Target target;
};

inline constexpr raddle::TexelFormat kRgba8{raddle::ChannelType::unorm8, 4};
inline constexpr raddle::TexelFormat kFloats{raddle::ChannelType::float32, 4};
inline constexpr raddle::TexelFormat kDepth{raddle::ChannelType::float32, 1};
inline constexpr raddle::TexelFormat kStencil{raddle::ChannelType::unsigned8, 1};

/// A device with what draws on it need.
class Rig {
 public:
  explicit Rig(raddle::Device opened);
  /// Of one engine; there is one for each in the process, so that kernels are compiled once.
  static Rig& get(const std::string& engine = "");

  graphics::Shader shader(const char* name, raddle::DevicePtr constants = {});
  /// A draw of triangles through plain_vertex and a pixel shader, with vertices of eight floats: clip space,
  /// four varyings.
  graphics::Draw plain(const std::vector<reference::Vertex>& vertices, const char* pixel = "colour_pixel");
  template <class T>
  raddle::DevicePtr upload(const std::vector<T>& values) {
    return upload_bytes(values.data(), values.size() * sizeof(T));
  }
  raddle::DevicePtr upload_bytes(const void* from, std::size_t bytes);
  /// Draws, waits and checks.
  void draw(const graphics::Draw& draw);
  void clear(const graphics::Target& target, float r, float g = 0, float b = 0, float a = 0);

  raddle::Device device;
  raddle::Module module;
  graphics::Renderer renderer;

 private:
  std::vector<raddle::Buffer<std::uint8_t>> kept_;  ///< all that was uploaded
};

/// A vertex at a place in pixels, of a target of such extents; exact where extents are powers of two.
reference::Vertex at_pixel(double x, double y, double width, double height, double z = 0.5, double w = 1);

}  // namespace graphics_test
