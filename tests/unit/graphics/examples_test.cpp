// The examples of examples/graphics: the deferred scene against the reference renderer with its passes
// written again in C++, the tessellated sphere against rays.
#include <cmath>

#include "rig.h"
#include "scenes.h"

namespace graphics_test {
namespace {

using reference::Colour;

/// Linear filtering of the scene's texture, wrapped, from the CUDA C++ Programming Guide's formulas.
Colour texture_at(double u, double v) {
  static const std::vector<std::uint32_t> texels = examples::make_texture();
  const int side = static_cast<int>(examples::kTextureSide);
  const double x = (u - std::floor(u)) * side - 0.5, y = (v - std::floor(v)) * side - 0.5;
  Colour sum{};
  for (int corner = 0; corner < 4; ++corner) {
    const double fx = x - std::floor(x), fy = y - std::floor(y);
    const double weight = ((corner & 1) != 0 ? fx : 1 - fx) * ((corner & 2) != 0 ? fy : 1 - fy);
    const int tx = (static_cast<int>(std::floor(x)) + (corner & 1) + side) % side,
              ty = (static_cast<int>(std::floor(y)) + (corner >> 1) + side) % side;
    for (int c = 0; c < 4; ++c)
      sum[c] += weight * (texels[static_cast<std::size_t>(ty) * side + tx] >> 8 * c & 255) / 255;
  }
  return sum;
}

struct Vector {
  double x, y, z;
};
Vector operator-(const Vector& a, const Vector& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vector operator+(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Vector normal(const Vector& a) {
  const double length = std::sqrt(dot(a, a));
  return {a.x / length, a.y / length, a.z / length};
}
Vector vector_of(const float* at) { return {at[0], at[1], at[2]}; }

/// The geometry pass: albedo, normal, position of each pixel.
reference::Images geometry_pass(const deferred::Scene& scene, unsigned detail) {
  const int width = static_cast<int>(scene.width), height = static_cast<int>(scene.height);
  const examples::Mesh mesh = examples::make_scene(detail);
  reference::Images images(width, height, 3);
  reference::State state;
  state.unorm8 = false;
  state.depth = {1, 1, graphics::Compare::less};
  state.cull = graphics::CullMode::back;
  const auto vertex = [&](std::uint32_t index) {
    const deferred::MeshVertex& from = mesh.vertices[index];
    double at[4];
    for (int row = 0; row < 4; ++row) {
      at[row] = scene.view_projection[row * 4 + 3];
      for (int k = 0; k < 3; ++k) at[row] += double{scene.view_projection[row * 4 + k]} * from.position[k];
    }
    reference::Vertex to{at[0], at[1], at[2], at[3]};
    for (int k = 0; k < 3; ++k) to.varyings[k] = from.position[k], to.varyings[3 + k] = from.normal[k];
    to.varyings[6] = from.place[0], to.varyings[7] = from.place[1];
    return to;
  };
  for (std::size_t i = 0; i < mesh.indices.size(); i += 3)
    reference::draw(
        images, state, {vertex(mesh.indices[i]), vertex(mesh.indices[i + 1]), vertex(mesh.indices[i + 2])},
        [](const reference::Fragment& f) {
          const auto& v = f.varyings;
          const Vector n = normal({v[3], v[4], v[5]});
          return reference::Shaded{{texture_at(v[6], v[7]), {n.x, n.y, n.z, 0}, {v[0], v[1], v[2], 1}}};
        });
  return images;
}

Colour lit(const deferred::Scene& scene, const reference::Images& images, int x, int y) {
  const std::size_t at = images.at(x, y);
  const Colour &albedo = images.colours[0][at], &n = images.colours[1][at], &p = images.colours[2][at];
  const double down = static_cast<double>(y) / images.height;
  if (p[3] == 0) return {0.1 + 0.1 * down, 0.15 + 0.2 * down, 0.3 + 0.3 * down, 1};
  const Vector place{p[0], p[1], p[2]}, facing{n[0], n[1], n[2]}, view = normal(vector_of(scene.eye) - place);
  Colour diffuse{0.06, 0.06, 0.08, 0}, shine{};
  for (const deferred::Light& light : scene.lights) {
    const Vector way = vector_of(light.position) - place, to = normal(way);
    const double strength = 1 / (1 + dot(way, way) / (light.range * light.range));
    const double towards = std::max(dot(facing, to), 0.0) * strength;
    const double glance = std::pow(std::max(dot(facing, normal(to + view)), 0.0), 32);
    for (int c = 0; c < 3; ++c) {
      diffuse[c] += light.colour[c] * towards;
      if (towards > 0) shine[c] += light.colour[c] * glance * strength * 0.5;
    }
  }
  return {albedo[0] * diffuse[0] + shine[0], albedo[1] * diffuse[1] + shine[1],
          albedo[2] * diffuse[2] + shine[2], 1};
}

/// The last pass over what lighting has made.
std::vector<Colour> last_pass(const std::vector<Colour>& image, int width, int height) {
  std::vector<Colour> result(image.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double u = 2 * (x + 0.5) / width - 1, v = 2 * (y + 0.5) / height - 1;
      for (int c = 0; c < 3; ++c) {
        double colour = image[static_cast<std::size_t>(y) * width + x][c];
        for (const auto& [dx, dy] : {std::pair{-2, -2}, {2, -2}, {-2, 2}, {2, 2}}) {
          const int nx = std::clamp(x + dx, 0, width - 1), ny = std::clamp(y + dy, 0, height - 1);
          colour += 0.25 * std::max(image[static_cast<std::size_t>(ny) * width + nx][c] - 0.8, 0.0);
        }
        result[static_cast<std::size_t>(y) * width + x][c] =
            std::sqrt(colour / (1 + colour)) * (1 - 0.15 * (u * u + v * v));
      }
    }
  return result;
}

/// Pixels of which a channel is further away than 3 of 255.
template <class Want>
int differing_pixels(const examples::Pixels& got, int width, int height, const Want& want) {
  int count = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const Colour colour = want(x, y);
      bool same = true;
      for (int c = 0; c < 3; ++c)
        same =
            same && std::abs(got[(static_cast<std::size_t>(y) * width + x) * 4 + c] - colour[c] * 255) <= 3;
      count += !same;
    }
  return count;
}

// proves: G-17d, G-17e, G-17f, G-17h
TEST(Examples, DeferredSceneIsTheReferences) {
  constexpr int kWidth = side(160), kHeight = side(128), kDetail = side(24);
  Rig& rig = Rig::get();
  const auto scene = examples::DeferredScene::create(rig.device, rig.renderer, kWidth, kHeight, kDetail);
  ASSERT_TRUE(scene.ok()) << scene.error().to_string();
  expect_ok((*scene)->draw(rig.device.default_stream()));
  const auto pixels = (*scene)->pixels();
  ASSERT_TRUE(pixels.ok()) << pixels.error().to_string();
  const deferred::Scene view = examples::make_view(kWidth, kHeight);
  const reference::Images images = geometry_pass(view, kDetail);
  std::vector<Colour> lighted;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) lighted.push_back(lit(view, images, x, y));
  const std::vector<Colour> want = last_pass(lighted, kWidth, kHeight);
  // Corners are rounded to the grid from floats here, from doubles there: a few pixels on edges may differ.
  EXPECT_LE(differing_pixels(*pixels, kWidth, kHeight,
                             [&](int x, int y) { return want[static_cast<std::size_t>(y) * kWidth + x]; }),
            kWidth * kHeight / 500);
  int covered = 0;
  for (const Colour& position : images.colours[2]) covered += position[3] != 0;
  EXPECT_GT(covered, kWidth * kHeight / 3);  // there is something to see
}

/// The sphere's colour where a ray through a pixel meets it.
bool meets_sphere(const examples::SphereView& view, double x, double y, Colour& colour) {
  // Two points of the ray, by the inverse of the projection: solves M p = (x w, y w, z w, w) for two depths.
  const auto point = [&](double z) {
    double m[3][4];  // rows of M minus the coordinate times its last row
    const double at[3] = {x, y, z};
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 4; ++c)
        m[r][c] = view.view_projection[r * 4 + c] - at[r] * view.view_projection[12 + c];
    for (int r = 0; r < 3; ++r) {
      int pivot = r;
      for (int i = r; i < 3; ++i)
        if (std::abs(m[i][r]) > std::abs(m[pivot][r])) pivot = i;
      std::swap(m[r], m[pivot]);
      for (int i = 0; i < 3; ++i) {
        if (i == r) continue;
        const double factor = m[i][r] / m[r][r];
        for (int c = 0; c < 4; ++c) m[i][c] -= factor * m[r][c];
      }
    }
    return Vector{-m[0][3] / m[0][0], -m[1][3] / m[1][1], -m[2][3] / m[2][2]};
  };
  const Vector a = point(0.1), way = normal(point(0.9) - a);
  const double b = dot(a, way), under = b * b - dot(a, a) + 1;
  if (under < 0) return false;
  const double t = -b - std::sqrt(under);
  const Vector n{a.x + t * way.x, a.y + t * way.y, a.z + t * way.z};
  const double light = 0.15 + 0.85 * std::max(dot(n, vector_of(view.light)), 0.0);
  colour = {light * (0.6 + 0.4 * n.x), light * (0.6 + 0.4 * n.y), light * (0.6 + 0.4 * n.z), 1};
  return true;
}

// proves: G-17b, G-17f, G-17h
TEST(Examples, TessellatedSphereIsASphere) {
  constexpr int kSize = side(128);
  examples::SphereView view = examples::make_sphere_view();
  for (float& level : view.levels) level *= kSize / 128.f;  // triangles of as many pixels
  const auto pixels = examples::draw_sphere(Rig::get().device, Rig::get().renderer, kSize, view);
  ASSERT_TRUE(pixels.ok()) << pixels.error().to_string();
  int inside = 0;
  const int wrong = differing_pixels(*pixels, kSize, kSize, [&](int x, int y) {
    Colour colour{0.1, 0.1, 0.15, 1};
    inside += meets_sphere(view, (x + 0.5) / kSize * 2 - 1, 1 - (y + 0.5) / kSize * 2, colour);
    return colour;
  });
  EXPECT_GT(inside, kSize * kSize / 6);
  EXPECT_LE(wrong, 60);  // on the outline, which has flat sides
}

/// The chunks of a PNG file are there, and the pixels are as they were.
// proves: G-17h
TEST(Examples, PngFilesHoldThePixels) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 300 * 100 * 3; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 7));
  const std::string path = testing::TempDir() + "graphics_test.png";
  expect_ok(graphics::write_png(path, 300, 100, 3, pixels));
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::vector<unsigned char> bytes(1 << 20);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  std::remove(path.c_str());
  const std::vector<unsigned char> head = {0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0,   0, 0, 13, 'I', 'H', 'D',
                                           'R',  0,   0,   1,   44, 0,  0,  0,  100, 8, 2, 0,  0,   0};
  ASSERT_TRUE(std::equal(head.begin(), head.end(), bytes.begin()));
  // What the stored blocks hold, by their lengths.
  std::vector<unsigned char> rows;
  std::size_t at = 33 + 8 + 2;
  for (bool last = false; !last;) {
    last = bytes[at] == 1;
    const std::size_t length = bytes[at + 1] | bytes[at + 2] << 8;
    rows.insert(rows.end(), bytes.begin() + static_cast<long>(at) + 5,
                bytes.begin() + static_cast<long>(at + 5 + length));
    at += 5 + length;
  }
  ASSERT_EQ(rows.size(), 100u * 901);
  for (std::size_t y = 0; y < 100; ++y)
    ASSERT_TRUE(rows[y * 901] == 0 && std::equal(pixels.begin() + static_cast<long>(y * 900),
                                                 pixels.begin() + static_cast<long>(y * 900 + 900),
                                                 rows.begin() + static_cast<long>(y * 901 + 1)));
}

}  // namespace
}  // namespace graphics_test
