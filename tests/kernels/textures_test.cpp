// Long, as each mode of textures has a test: texture fetches and surface accesses of CUDA C++ kernels
// against a scalar model written from the CUDA C++ Programming Guide's "Texture Fetching".
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernel_test.h"

namespace {

using raddle::AddressMode;
using raddle::ChannelType;
using raddle::FilterMode;
using raddle::Image;
using raddle::Sampler;

struct Point {
  float x, y = 0, z = 0, w = 0;
};
struct Value {
  float r, g, b, a;
};
struct Integers {
  int r, g, b, a;
};

/// The Guide's formulas, for one channel of a texture.
struct Model {
  int dimensions;
  int extent[3];
  Sampler sampler;
  std::function<double(int, int, int)> texel;

  /// Index of a texel, or -1 for the border.
  int index(int i, int d) const {
    const int n = extent[d];
    const bool normalized = sampler.normalized_coordinates;
    if (sampler.address[d] == AddressMode::border) return i < 0 || i >= n ? -1 : i;
    if (normalized && sampler.address[d] == AddressMode::wrap) return ((i % n) + n) % n;
    if (normalized && sampler.address[d] == AddressMode::mirror) {
      while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
      return i;
    }
    return std::min(std::max(i, 0), n - 1);
  }
  double at(const int* i) const {
    int k[3] = {0, 0, 0};
    for (int d = 0; d < dimensions; ++d)
      if ((k[d] = index(i[d], d)) < 0) return static_cast<double>(sampler.border[0]);
    return texel(k[0], k[1], k[2]);
  }
  /// An H200's shares of four texels, in 256ths: the last one's is the product of weights, rounded; the
  /// others make up the rest.
  static double pair(double x, double y, int corner) {
    const double both = std::floor(x * y * 256 + 0.5) / 256;
    const double shares[] = {1 - x - y + both, x - both, y - both, both};
    return shares[corner];
  }
  double share(const double* alpha, int corner) const {
    if (dimensions < 3) return pair(alpha[0], alpha[1], corner);
    const double plane = pair(alpha[0], alpha[2], (corner & 1) + corner / 4 * 2);
    const double upper = std::floor(plane * alpha[1] * 256 + 0.5) / 256;
    return (corner & 2) != 0 ? upper : plane - upper;
  }
  double operator()(const float* point) const {
    double position[3];
    for (int d = 0; d < dimensions; ++d) {
      double x = static_cast<double>(point[d]);
      const double whole = std::floor(x);
      if (sampler.normalized_coordinates && sampler.address[d] == AddressMode::wrap) x -= whole;
      if (sampler.normalized_coordinates && sampler.address[d] == AddressMode::mirror)
        x -= 2 * std::floor(x / 2);  // the index is mirrored, not the point: it matters at texels' borders
      position[d] = sampler.normalized_coordinates ? x * extent[d] : x;
    }
    int i[3] = {0, 0, 0};
    if (sampler.filter == FilterMode::point) {
      for (int d = 0; d < dimensions; ++d) i[d] = static_cast<int>(std::floor(position[d]));
      return at(i);
    }
    double sum = 0, alpha[3] = {0, 0, 0};
    for (int d = 0; d < dimensions; ++d) alpha[d] = position[d] - 0.5 - std::floor(position[d] - 0.5);
    const bool lines =
        dimensions == 1 && sampler.address[1] == AddressMode::border;  // half of them is border
    for (int corner = 0; corner < 1 << dimensions; ++corner) {
      for (int d = 0; d < dimensions; ++d)
        i[d] = static_cast<int>(std::floor(position[d] - 0.5)) + (corner >> d & 1);
      if (lines) {
        const double whole = corner == 0 ? 1 - alpha[0] : alpha[0], upper = pair(alpha[0], 0.5, corner + 2);
        sum += upper * at(i) + (whole - upper) * static_cast<double>(sampler.border[0]);
      } else {
        sum += share(alpha, corner) * at(i);
      }
    }
    return sum;
  }
};

class Textures : public KernelTest {
 protected:
  /// An image of these texels, rows and slices without gaps.
  template <class T>
  Image image(raddle::TexelFormat format, unsigned dimensions, unsigned width, unsigned height,
              unsigned slices, const std::vector<T>& texels) {
    auto& memory = memory_.emplace_back(
        buffer(std::vector<std::byte>(reinterpret_cast<const std::byte*>(texels.data()),
                                      reinterpret_cast<const std::byte*>(texels.data() + texels.size()))));
    Image made;
    made.format = format;
    made.dimensions = dimensions;
    made.levels[0] = {
        memory.address(), width * format.bytes(), width * height * format.bytes(), width, height, slices};
    return made;
  }
  raddle::TextureHandle texture(const Image& of, const Sampler& sampler) {
    auto made = device().create_texture(of, sampler);
    if (!made.ok()) ADD_FAILURE() << made.error().to_string();
    return *made;
  }
  raddle::SurfaceHandle surface(const Image& of) {
    auto made = device().create_surface(of);
    if (!made.ok()) ADD_FAILURE() << made.error().to_string();
    return *made;
  }
  template <class Result = Value>
  std::vector<Result> fetch(const char* name, raddle::TextureHandle handle,
                            const std::vector<Point>& points) {
    auto at = buffer(points), out = buffer(std::vector<Point>(points.size()));
    static_assert(sizeof(Result) == sizeof(Point));
    const auto n = static_cast<int>(points.size());
    run(kernel("textures.ptx", name),
        {.grid = {static_cast<unsigned>(points.size() + 63) / 64}, .block = {64}}, handle.value, at, out, n);
    std::vector<Result> results(points.size());
    const auto raw = contents(out);
    std::memcpy(results.data(), raw.data(), sizeof(Point) * raw.size());
    return results;
  }
  void TearDown() override { memory_.clear(); }

  std::vector<raddle::Buffer<std::byte>> memory_;
};

double texel_value(int x, int y, int z) { return (x * 7 + y * 13 + z * 29) % 64; }

/// Points on a grid of 64ths of a texel, whose weights eight bits hold, inside and outside; normalised
/// where the extents, powers of two, leave them exact.
std::vector<Point> grid_points(const int* extent, bool normalized) {
  std::vector<Point> points;
  for (unsigned i = 0, seed = 1; i < 150; ++i) {
    float at[3];
    for (int d = 0; d < 3; ++d) {
      seed = seed * 1664525u + 1013904223u;
      const int span = extent[d] * 64;
      const float texels = static_cast<float>(static_cast<int>(seed >> 8) % (3 * span) - span) / 64;
      at[d] = normalized ? texels / static_cast<float>(extent[d]) : texels;
    }
    points.push_back({at[0], at[1], at[2], 0});
  }
  return points;
}

// proves: K-19a, K-19d, K-19e, K-19f
TEST_P(Textures, EveryFilterAndAddressMode) {
  const char* const names[] = {"fetch_1d", "fetch_2d", "fetch_3d"};
  const int extent[3] = {16, 8, 4};
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    const int height = dimensions > 1 ? extent[1] : 1, depth = dimensions > 2 ? extent[2] : 1;
    std::vector<float> texels;
    for (int z = 0; z < depth; ++z)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < extent[0]; ++x) texels.push_back(static_cast<float>(texel_value(x, y, z)));
    const Image of = image({ChannelType::float32, 1}, static_cast<unsigned>(dimensions), 16,
                           static_cast<unsigned>(height), static_cast<unsigned>(depth), texels);
    for (const AddressMode mode :
         {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror, AddressMode::border})
      for (const FilterMode filter : {FilterMode::point, FilterMode::linear})
        for (const bool normalized : {false, true}) {
          Sampler sampler;
          sampler.address = {mode, mode, mode};
          sampler.filter = filter;
          sampler.normalized_coordinates = normalized;
          sampler.border = {100, 0, 0, 0};
          const Model model{dimensions, {extent[0], extent[1], extent[2]}, sampler, texel_value};
          const std::vector<Point> points = grid_points(extent, normalized);
          const auto handle = texture(of, sampler);
          const auto values = fetch(names[dimensions - 1], handle, points);
          for (std::size_t i = 0; i < points.size(); ++i)
            ASSERT_NEAR(values[i].r, model(&points[i].x), 1e-4)
                << dimensions << "-D mode " << static_cast<int>(mode) << " filter "
                << static_cast<int>(filter) << (normalized ? " normalised" : "") << " at " << points[i].x
                << " " << points[i].y << " " << points[i].z;
          EXPECT_TRUE(device().destroy(handle).ok());
        }
  }
}

TEST_P(Textures, WeightsHaveEightBits) {
  Sampler sampler;
  sampler.filter = FilterMode::linear;
  const auto handle =
      texture(image({ChannelType::float32, 1}, 1, 2, 1, 1, std::vector<float>{0, 256}), sampler);
  std::vector<Point> points;
  for (int i = 0; i <= 1024; ++i) points.push_back({0.5f + static_cast<float>(i) / 1024});
  const auto values = fetch("fetch_1d", handle, points);
  for (int i = 0; i <= 1024; ++i) {
    const float value = values[static_cast<std::size_t>(i)].r;
    EXPECT_EQ(value, std::floor(value)) << i;                  // a multiple of 1/256 of the difference
    EXPECT_NEAR(value, static_cast<float>(i) / 4, 0.5f) << i;  // the nearest one
  }
}

TEST_P(Textures, FiltersLeaveAFlatImageAsItIs) {
  constexpr float kValue = 0.1f;
  Sampler sampler;
  sampler.filter = FilterMode::linear;
  const auto handle =
      texture(image({ChannelType::float32, 1}, 3, 4, 4, 4, std::vector<float>(64, kValue)), sampler);
  std::vector<Point> points;
  for (int i = 0; i < 200; ++i)
    points.push_back(
        {static_cast<float>(i) * 0.0173f, static_cast<float>(i) * 0.0211f, static_cast<float>(i) * 0.0097f});
  for (const Value& v : fetch("fetch_3d", handle, points)) EXPECT_EQ(v.r, kValue);
}

// proves: K-19b
TEST_P(Textures, LayersAreChosenAndClamped) {
  std::vector<float> texels;
  for (int layer = 0; layer < 3; ++layer)
    for (int x = 0; x < 16; ++x) texels.push_back(static_cast<float>(100 * layer + x));
  Image one = image({ChannelType::float32, 1}, 1, 16, 1, 3, texels);
  one.layered = true;
  Image two = image({ChannelType::float32, 1}, 2, 4, 4, 3, texels);
  two.layered = true;
  const std::vector<Point> points{
      {3.5f, 0, 0, 1}, {3.5f, 0, 0, 2}, {3.5f, 0, 0, 7}, {3.5f, 2.5f, 0, 1}, {0.5f, 3.5f, 0, 9}};
  const auto first = fetch("fetch_1d_layered", texture(one, {}), points);
  EXPECT_EQ(first[0].r, 103);
  EXPECT_EQ(first[1].r, 203);
  EXPECT_EQ(first[2].r, 203);
  const auto second = fetch("fetch_2d_layered", texture(two, {}), points);
  EXPECT_EQ(second[3].r, 111);
  EXPECT_EQ(second[4].r, 212);
}

/// Face and coordinates of a direction by the table of "Cubemap Textures".
double cube_model(const Point& p, int size, int layer) {
  const float ax = std::fabs(p.x), ay = std::fabs(p.y), az = std::fabs(p.z);
  int face;
  double m, s, t;
  if (ax > ay && ax > az)
    face = p.x > 0 ? 0 : 1, m = ax, s = p.x > 0 ? -p.z : p.z, t = -p.y;
  else if (ay > az)
    face = p.y > 0 ? 2 : 3, m = ay, s = p.x, t = p.y > 0 ? p.z : -p.z;
  else
    face = p.z > 0 ? 4 : 5, m = az, s = p.z > 0 ? p.x : -p.x, t = -p.y;
  const int x = std::min(static_cast<int>((s / m + 1) / 2 * size), size - 1),
            y = std::min(static_cast<int>((t / m + 1) / 2 * size), size - 1);
  return ((layer * 6 + face) * size + y) * size + x;
}

// proves: K-19b
TEST_P(Textures, CubesAreReadByDirection) {
  constexpr int kSize = 8, kLayers = 2;
  std::vector<float> texels;
  for (int i = 0; i < kLayers * 6 * kSize * kSize; ++i) texels.push_back(static_cast<float>(i));
  Image cube = image({ChannelType::float32, 1}, 2, kSize, kSize, 6, texels);
  cube.cube = true;
  Image layers = image({ChannelType::float32, 1}, 2, kSize, kSize, 6 * kLayers, texels);
  layers.cube = layers.layered = true;
  std::vector<Point> points;
  for (int i = 0; i < 300; ++i)
    points.push_back({std::sin(static_cast<float>(i) * 1.7f), std::sin(static_cast<float>(i) * 0.9f + 1),
                      std::cos(static_cast<float>(i) * 2.3f), static_cast<float>(i % 2)});
  const auto plain = fetch("fetch_cube", texture(cube, {}), points);
  const auto layered = fetch("fetch_cube_layered", texture(layers, {}), points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(plain[i].r, cube_model(points[i], kSize, 0)) << i;
    EXPECT_EQ(layered[i].r, cube_model(points[i], kSize, static_cast<int>(points[i].w))) << i;
  }
}

TEST_P(Textures, SeamlessCubesFilterAcrossEdges) {
  std::vector<float> texels(6 * 16);
  for (std::size_t i = 0; i < texels.size(); ++i)
    texels[i] = static_cast<float>(i / 16);  // the face's number
  Image cube = image({ChannelType::float32, 1}, 2, 4, 4, 6, texels);
  cube.cube = true;
  Sampler sampler;
  sampler.filter = FilterMode::linear;
  const std::vector<Point> edge{{1, 0.25f, 0.9999f}, {0.9999f, 0.25f, 1}};  // +x meets +z: faces 0 and 4
  const auto apart = fetch("fetch_cube", texture(cube, sampler), edge);
  EXPECT_EQ(apart[0].r, 0);
  EXPECT_EQ(apart[1].r, 4);
  sampler.seamless_cube = true;
  const auto together = fetch("fetch_cube", texture(cube, sampler), edge);
  EXPECT_NEAR(together[0].r, 2, 0.05);
  EXPECT_NEAR(together[1].r, 2, 0.05);
}

// proves: K-19c
TEST_P(Textures, MipmapsByLevelAndGradient) {
  Image of;
  of.format = {ChannelType::float32, 1};
  of.level_count = 3;
  for (unsigned level = 0; level < 3; ++level) {
    const unsigned size = 8u >> level;
    std::vector<float> texels(size * size, static_cast<float>(100 * level));
    of.levels[level] = image(of.format, 2, size, size, 1, texels).levels[0];
  }
  Sampler sampler;
  sampler.normalized_coordinates = true;
  sampler.greatest_level = 10;
  const std::vector<Point> points{{0.5f, 0.5f, 0, 0},     {0.5f, 0.5f, 0, 0.4f}, {0.5f, 0.5f, 0, 0.6f},
                                  {0.5f, 0.5f, 0, 1.25f}, {0.5f, 0.5f, 0, 9},    {0.5f, 0.5f, 0, -3}};
  const auto level_of = [&](const Sampler& s) {
    std::vector<float> values;
    for (const Value& v : fetch("fetch_2d_lod", texture(of, s), points)) values.push_back(v.r);
    return values;
  };
  EXPECT_EQ(level_of(sampler), (std::vector<float>{0, 0, 100, 100, 200, 0}));
  sampler.mipmap_filter = FilterMode::linear;
  const std::vector<float> linear = level_of(sampler);
  EXPECT_NEAR(linear[1], 40, 0.2);  // eight bits of weight
  EXPECT_EQ(linear[3], 125);
  EXPECT_EQ(linear[4], 200);
  sampler.mipmap_bias = 0.5f;
  EXPECT_EQ(level_of(sampler)[3], 175);
  sampler.mipmap_bias = 0;
  sampler.least_level = 0.5f;
  sampler.greatest_level = 1.5f;
  EXPECT_EQ(level_of(sampler)[0], 50);
  EXPECT_EQ(level_of(sampler)[4], 150);
  sampler.least_level = 0;
  sampler.greatest_level = 10;
  // Gradients of z along x and w along y, of an image of 8 texels: the longer one counts.
  const auto gradients = fetch(
      "fetch_2d_grad", texture(of, sampler),
      {{0.5f, 0.5f, 0.125f, 0.125f}, {0.5f, 0.5f, 0.25f, 0.125f}, {0.5f, 0.5f, 0, 0.5f}, {0.5f, 0.5f, 0, 0}});
  EXPECT_EQ(gradients[0].r, 0);
  EXPECT_EQ(gradients[1].r, 100);
  EXPECT_EQ(gradients[2].r, 200);
  EXPECT_EQ(gradients[3].r, 0);
}

TEST_P(Textures, GathersTheFourTexelsOfAFilter) {
  std::vector<float> texels;
  for (int i = 0; i < 4 * 4 * 4; ++i) texels.push_back(static_cast<float>(i));
  const auto handle = texture(image({ChannelType::float32, 4}, 2, 4, 4, 1, texels), {});
  const std::vector<Point> points{{2, 2}, {1.75f, 3.25f}};
  const auto value = [](int x, int y, int c) { return static_cast<float>((y * 4 + x) * 4 + c); };
  for (const int c : {0, 2}) {
    const auto got = fetch(c == 0 ? "gather_0" : "gather_2", handle, points);
    EXPECT_EQ(got[0].r, value(1, 2, c));
    EXPECT_EQ(got[0].g, value(2, 2, c));
    EXPECT_EQ(got[0].b, value(2, 1, c));
    EXPECT_EQ(got[0].a, value(1, 1, c));
    EXPECT_EQ(got[1].r, value(1, 3, c));
    EXPECT_EQ(got[1].a, value(1, 2, c));
  }
}

TEST_P(Textures, LinearMemoryIsReadByIndex) {
  Image of = image({ChannelType::float32, 1}, 1, 5, 1, 1, std::vector<float>{1, 2, 3, 4, 5});
  of.linear_memory = true;
  const auto values = fetch("fetch_linear", texture(of, {}), {{0}, {4}, {5}, {-1}});
  EXPECT_EQ(values[0].r, 1);
  EXPECT_EQ(values[1].r, 5);
  EXPECT_EQ(values[2].r, 0);
  EXPECT_EQ(values[3].r, 0);
}

// proves: K-19f
TEST_P(Textures, IntegersAsTheyAreAndAsNumbers) {
  const std::vector<Point> one{{0.5f, 0.5f}};
  const auto check = [&](auto texel, ChannelType type, const char* name, double greatest) {
    using T = typename decltype(texel)::value_type;
    const std::vector<T> texels(texel.begin(), texel.end());
    const Image of = image({type, 4}, 2, 1, 1, 1, texels);
    const auto as_is = fetch<Integers>(name, texture(of, {}), one)[0];
    EXPECT_EQ(as_is.r, texels[0]);
    EXPECT_EQ(as_is.g, texels[1]);
    EXPECT_EQ(as_is.a, texels[3]);
    Sampler sampler;
    sampler.normalized_reads = true;
    const auto numbers = fetch("fetch_2d", texture(of, sampler), one)[0];
    EXPECT_NEAR(numbers.r, std::max(static_cast<double>(texels[0]) / greatest, -1.0), 1e-6);
    EXPECT_NEAR(numbers.g, std::max(static_cast<double>(texels[1]) / greatest, -1.0), 1e-6);
    EXPECT_NEAR(numbers.a, std::max(static_cast<double>(texels[3]) / greatest, -1.0), 1e-6);
  };
  check(std::array<std::uint8_t, 4>{0, 255, 7, 200}, ChannelType::unsigned8, "fetch_uchar4", 255);
  check(std::array<std::int8_t, 4>{-128, 127, 7, -127}, ChannelType::signed8, "fetch_char4", 127);
  check(std::array<std::uint16_t, 4>{0, 65535, 7, 300}, ChannelType::unsigned16, "fetch_ushort4", 65535);
  check(std::array<std::int16_t, 4>{-32768, 32767, 7, -5}, ChannelType::signed16, "fetch_short4", 32767);
  const auto words = fetch<Integers>(
      "fetch_int4",
      texture(image({ChannelType::signed32, 4}, 2, 1, 1, 1, std::vector<int>{-5, 1 << 30, 7, 8}), {}),
      one)[0];
  EXPECT_EQ(words.r, -5);
  EXPECT_EQ(words.g, 1 << 30);
}

TEST_P(Textures, HalvesChannelsAndSrgb) {
  const std::vector<Point> one{{0.5f, 0.5f}};
  const auto halves = fetch(
      "fetch_2d",
      texture(image({ChannelType::float16, 2}, 2, 1, 1, 1, std::vector<std::uint16_t>{0x3c00, 0xc100}), {}),
      one)[0];
  EXPECT_EQ(halves.r, 1.0f);
  EXPECT_EQ(halves.g, -2.5f);
  EXPECT_EQ(halves.b, 0.0f);  // channels that are not there
  EXPECT_EQ(halves.a, 0.0f);
  Sampler sampler;
  sampler.normalized_reads = sampler.srgb = true;
  const auto colour =
      fetch("fetch_2d",
            texture(image({ChannelType::unsigned8, 4}, 2, 1, 1, 1, std::vector<std::uint8_t>{0, 188, 5, 188}),
                    sampler),
            one)[0];
  EXPECT_EQ(colour.r, 0.0f);
  EXPECT_NEAR(colour.g, std::pow((188 / 255.0 + 0.055) / 1.055, 2.4), 1e-5);
  EXPECT_NEAR(colour.b, 5 / 255.0 / 12.92, 1e-6);
  EXPECT_NEAR(colour.a, 188 / 255.0, 1e-6);
}

// proves: K-19g
TEST_P(Textures, SurfacesAreReadAndWritten) {
  constexpr int kWidth = 40, kHeight = 5;
  std::vector<float> texels;
  for (int i = 0; i < kWidth * kHeight; ++i) texels.push_back(static_cast<float>(i));
  const Image from = image({ChannelType::float32, 1}, 2, kWidth, kHeight, 1, texels);
  const Image to = image({ChannelType::float32, 1}, 2, kWidth, kHeight, 1, std::vector<float>(texels.size()));
  run(kernel("textures.ptx", "surface_2d"), {.grid = {1, kHeight}, .block = {64}}, surface(from).value,
      surface(to).value, 3, -1, kWidth, kHeight);
  std::vector<float> result(texels.size());
  ASSERT_TRUE(device().read(result.data(), to.levels[0].address, result.size() * 4).ok());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      EXPECT_EQ(
          result[static_cast<std::size_t>(y * kWidth + x)],
          2 * texels[static_cast<std::size_t>(std::max(y - 1, 0) * kWidth + std::min(x + 3, kWidth - 1))])
          << x << " " << y;
  run(kernel("textures.ptx", "surface_zero"), {.grid = {1}, .block = {64}}, surface(from).value, kWidth);
  ASSERT_TRUE(device().read(result.data(), from.levels[0].address, result.size() * 4).ok());
  for (std::size_t i = 0; i < result.size(); ++i)
    EXPECT_EQ(result[i], texels[i] + (i / kWidth == 1 ? 1 : 0)) << i;
}

// proves: K-19a, K-19b, K-19g
TEST_P(Textures, SurfacesWithLayersAndDepth) {
  constexpr int kWidth = 8, kLayers = 6;
  std::vector<std::uint32_t> words(kWidth * 2 * kLayers);
  Image layers = image({ChannelType::unsigned8, 4}, 2, kWidth, 2, kLayers, words);
  layers.layered = true;
  run(kernel("textures.ptx", "surface_layers"), {.grid = {1}, .block = {kWidth}}, surface(layers).value,
      kLayers);
  ASSERT_TRUE(device().read(words.data(), layers.levels[0].address, words.size() * 4).ok());
  for (unsigned layer = 0; layer < kLayers; ++layer)
    for (unsigned x = 0; x < kWidth; ++x)
      EXPECT_EQ(words[layer * kWidth * 2 + x], 0x04030000u | layer << 8 | x);

  std::vector<float> pairs;
  for (int i = 0; i < 4 * 3 * 2 * 2; ++i) pairs.push_back(static_cast<float>(i));
  const Image deep = image({ChannelType::float32, 2}, 3, 4, 3, 2, pairs);
  run(kernel("textures.ptx", "surface_3d"), {.grid = {1}, .block = {4, 3, 2}}, surface(deep).value);
  std::vector<float> swapped(pairs.size());
  ASSERT_TRUE(device().read(swapped.data(), deep.levels[0].address, swapped.size() * 4).ok());
  for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(swapped[i], pairs[i ^ 1]);
}

TEST_P(Textures, WrongHandlesAreFaultsThatSaySo) {
  const auto fault = [&](auto handle_of) {
    const Image of = image({ChannelType::float32, 1}, 2, 4, 4, 1, std::vector<float>(16));
    const std::uint64_t handle = handle_of(of);
    std::string text;
    {
      auto at = buffer(std::vector<Point>{{0}}), out = buffer(std::vector<Point>{{0}});
      const auto report =
          try_run(kernel("textures.ptx", "fetch_2d"), {.grid = {1}, .block = {1}}, handle, at, out, 1);
      EXPECT_FALSE(report.ok());
      if (!report.ok()) text = report.error().message;
    }
    memory_.clear();
    close();
    return text;
  };
  EXPECT_THAT(fault([](const Image&) { return std::uint64_t{0x123456}; }),
              testing::HasSubstr("no texture object has this handle"));
  EXPECT_THAT(fault([&](const Image& of) {
                const auto handle = texture(of, {});
                EXPECT_TRUE(device().destroy(handle).ok());
                EXPECT_FALSE(device().destroy(handle).ok());
                return handle.value;
              }),
              testing::HasSubstr("the texture object was destroyed"));
  EXPECT_THAT(fault([&](const Image& of) { return surface(of).value; }),
              testing::HasSubstr("a surface object is used as a texture"));
}

/// All lanes of a warp at once, or one: the fault says where.
TEST_P(Textures, AnImageWithoutMemoryIsAFaultOfItsInstruction) {
  for (const unsigned threads : {32u, 1u}) {
    {
      auto at = buffer(std::vector<Point>(32, {3, 4})), out = buffer(std::vector<Point>(32));
      Sampler sampler;
      sampler.filter = FilterMode::linear;
      Image of = image({ChannelType::float32, 1}, 2, 256, 256, 1, std::vector<float>(256 * 256));
      of.levels[0].address.value += 512 << 20;  // nothing is there
      const std::uint64_t handle = texture(of, sampler).value;
      const auto n = static_cast<int>(threads);
      const auto report =
          try_run(kernel("textures.ptx", "fetch_2d"), {.grid = {1}, .block = {threads}}, handle, at, out, n);
      ASSERT_FALSE(report.ok());
      EXPECT_THAT(report.error().message, testing::HasSubstr("illegal address"));
      EXPECT_THAT(report.error().message, testing::ContainsRegex("textures.cu:10|PTX line [1-9]"));
    }
    memory_.clear();
    close();
  }
}

TEST_P(Textures, StoresOutsideASurfaceTrap) {
  const Image of = image({ChannelType::float32, 1}, 2, 4, 4, 1, std::vector<float>(16));
  const auto report = try_run(kernel("textures.ptx", "surface_2d"), {.grid = {1}, .block = {8}},
                              surface(of).value, surface(of).value, 0, 0, 8, 1);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, testing::HasSubstr("outside the surface"));
  EXPECT_THAT(report.error().message, testing::HasSubstr("thread (4,0,0)"));
}

TEST_P(Textures, WhatCannotBeIsRefused) {
  const Image integers = image({ChannelType::unsigned8, 4}, 2, 1, 1, 1, std::vector<std::uint32_t>{0});
  Sampler sampler;
  sampler.filter = FilterMode::linear;
  EXPECT_FALSE(device().create_texture(integers, sampler).ok());
  sampler.normalized_reads = true;
  EXPECT_TRUE(device().create_texture(integers, sampler).ok());
  Image wrong = integers;
  wrong.format.channels = 3;
  EXPECT_FALSE(device().create_texture(wrong, {}).ok());
  wrong = integers;
  wrong.cube = true;
  EXPECT_FALSE(device().create_surface(wrong).ok());
  EXPECT_FALSE(device().create_texture(Image{}, {}).ok());
}

ON_EVERY_ENGINE(Textures);

}  // namespace
