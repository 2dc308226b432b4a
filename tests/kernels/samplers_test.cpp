// Samplers apart from textures (.samplerref, independent texturing mode) and multi-sample textures, which
// CUDA C++ cannot name: kernels in PTX, results worked out by hand.
#include <gmock/gmock.h>

#include "kernel_test.h"

namespace {

using raddle::AddressMode;
using raddle::ChannelType;
using raddle::FilterMode;
using raddle::Image;
using raddle::Sampler;

constexpr const char* kSamplers = R"(
.version 8.0
.target sm_90, texmode_independent
.address_size 64
.global .samplerref nearest;
.global .samplerref linear = {addr_mode_0 = clamp_to_border, filter_mode = linear};
.global .samplerref half_border = {addr_mode_0 = clamp_ogl, filter_mode = linear};
.global .samplerref mirrored = {addr_mode_0 = mirror, addr_mode_1 = 4};
.global .samplerref texels = {addr_mode_0 = clamp_to_edge, force_unnormalized_coords = 1};

// out[k]: the texture at x by the k-th sampler
.visible .entry fetch(.param .u64 texture, .param .f32 x, .param .u64 out)
{
  .reg .b64 %t, %o, %s;
  .reg .f32 %x, %f<4>;
  ld.param.u64 %t, [texture];
  ld.param.u64 %o, [out];
  ld.param.f32 %x, [x];
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, nearest, {%x}];
  st.global.f32 [%o], %f0;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, linear, {%x}];
  st.global.f32 [%o+4], %f0;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, half_border, {%x}];
  st.global.f32 [%o+8], %f0;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, mirrored, {%x}];
  st.global.f32 [%o+12], %f0;
  mov.u64 %s, texels;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, %s, {%x}];
  st.global.f32 [%o+16], %f0;
  ret;
}

.visible .entry ask(.param .u64 texture, .param .u64 out)
{
  .reg .b64 %t, %o, %s;
  .reg .b32 %r<8>;
  .reg .pred %p, %q;
  ld.param.u64 %t, [texture];
  ld.param.u64 %o, [out];
  txq.force_unnormalized_coords.b32 %r0, [texels];
  txq.force_unnormalized_coords.b32 %r1, [linear];
  txq.filter_mode.b32 %r2, [linear];
  txq.addr_mode_0.b32 %r3, [linear];
  txq.addr_mode_1.b32 %r4, [mirrored];
  txq.normalized_coords.b32 %r5, [%t];
  mov.u64 %s, texels;
  istypep.samplerref %p, %s;
  istypep.texref %q, %s;
  selp.b32 %r6, 1, 0, %p;
  selp.b32 %r7, 1, 0, %q;
  st.global.v4.b32 [%o], {%r0, %r1, %r2, %r3};
  st.global.v4.b32 [%o+16], {%r4, %r5, %r6, %r7};
  ret;
}

.visible .entry by_handle(.param .u64 texture, .param .u64 sampler, .param .u64 out)
{
  .reg .b64 %t, %o, %s;
  .reg .f32 %x, %f<4>;
  ld.param.u64 %t, [texture];
  ld.param.u64 %s, [sampler];
  ld.param.u64 %o, [out];
  mov.f32 %x, 0f3F000000;
  tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%t, %s, {%x}];
  st.global.f32 [%o], %f0;
  ret;
}

.visible .entry names(.param .u64 out)
{
  .reg .b64 %o, %s;
  ld.param.u64 %o, [out];
  mov.u64 %s, linear;
  st.global.u64 [%o], %s;
  ret;
}
)";

constexpr const char* kMultisample = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u32 layer, .param .u32 sample, .param .u32 x, .param .u32 y,
                      .param .u64 out)
{
  .reg .b64 %t, %o;
  .reg .b32 %l, %s, %x, %y, %n;
  .reg .f32 %f<4>, %g<4>;
  ld.param.u64 %t, [texture];
  ld.param.u64 %o, [out];
  ld.param.u32 %l, [layer];
  ld.param.u32 %s, [sample];
  ld.param.u32 %x, [x];
  ld.param.u32 %y, [y];
  tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%s, %x, %y, %y}];
  tex.a2dms.v4.f32.s32 {%g0, %g1, %g2, %g3}, [%t, {%l, %s, %x, %y}];
  txq.num_samples.b32 %n, [%t];
  st.global.f32 [%o], %f0;
  st.global.f32 [%o+4], %g0;
  cvt.rn.f32.u32 %f1, %n;
  st.global.f32 [%o+8], %f1;
  ret;
}

.visible .entry plain(.param .u64 texture)
{
  .reg .b64 %t;
  .reg .b32 %x;
  .reg .f32 %f<4>;
  ld.param.u64 %t, [texture];
  mov.b32 %x, 0;
  tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%x, %x}];
  ret;
}
)";

class Samplers : public KernelTest {
 protected:
  /// Four texels 1, 2, 4, 8 by default, read by normalised coordinates; the border is 100.
  raddle::TextureHandle row() {
    texels_.emplace_back(buffer(std::vector<float>{1, 2, 4, 8}));
    Image image;
    image.format = {ChannelType::float32, 1};
    image.dimensions = 1;
    image.levels[0] = {texels_.back().address(), 16, 16, 4, 1, 1};
    Sampler sampler;
    sampler.normalized_coordinates = true;
    sampler.border.fill(100);
    return *device().create_texture(image, sampler);
  }

  /// 2 x 2 texels of 4 samples each in two layers: 100 layer + 10 sample + 2 y + x.
  Image samples() {
    std::vector<float> values;
    for (int layer = 0; layer < 2; ++layer)
      for (int sample = 0; sample < 4; ++sample)
        for (int i = 0; i < 4; ++i) values.push_back(static_cast<float>(100 * layer + 10 * sample + i));
    texels_.emplace_back(buffer(values));
    Image image;
    image.format = {ChannelType::float32, 1};
    image.layered = true;
    image.samples = 4;
    image.levels[0] = {texels_.back().address(), 8, 16, 2, 2, 8};
    return image;
  }

  /// What a launch that must fail says; the device is new afterwards.
  template <class... Arguments>
  std::string fault(const char* text, const char* name, const Arguments&... arguments) {
    load_text(text);
    const auto report = try_run(*module().kernel(name), {.grid = {1}, .block = {1}}, arguments...);
    return report.ok() ? "no fault" : report.error().message;
  }
  void renew() {
    texels_.clear();
    close();
  }

 private:
  std::vector<raddle::Buffer<float>> texels_;
};

TEST_P(Samplers, DecideFilterAndAddress) {
  const auto texture = row();
  load_text(kSamplers);
  const auto fetched = [&](float x) {
    auto out = buffer(std::vector<float>(5));
    run(*module().kernel("fetch"), {.grid = {1}, .block = {1}}, texture.value, x, out);
    return contents(out);
  };
  using testing::ElementsAre;
  // nearest and wrap; linear with a border of 100; half a border; mirrored; coordinates in texels, clamped
  EXPECT_THAT(fetched(0.5f), ElementsAre(4, 3, 3, 4, 1));
  EXPECT_THAT(fetched(0.0f), ElementsAre(1, 50.5f, 50.5f, 1, 1));
  EXPECT_THAT(fetched(1.0f), ElementsAre(1, 54, 54, 8, 2));
  EXPECT_THAT(fetched(1.25f),
              ElementsAre(2, 100, 54, 4, 2));  // mirrored between two texels: the lower, as on an H200
  EXPECT_THAT(fetched(-0.375f), ElementsAre(4, 100, 50.5f, 2, 1));
  EXPECT_THAT(fetched(9.0f), ElementsAre(1, 100, 54, 8, 8));
}

TEST_P(Samplers, AnswerQueries) {
  const auto texture = row();
  load_text(kSamplers);
  auto out = buffer(std::vector<std::uint32_t>(8));
  run(*module().kernel("ask"), {.grid = {1}, .block = {1}}, texture.value, out);
  EXPECT_THAT(contents(out), testing::ElementsAre(1, 0, static_cast<int>(FilterMode::linear),
                                                  static_cast<int>(AddressMode::border),
                                                  static_cast<int>(AddressMode::border), 1, 1, 0));
}

TEST_P(Samplers, MayLieInATextureButNotInASurface) {
  const auto texture = row();
  load_text(kSamplers);
  auto out = buffer(std::vector<float>(1));
  run(*module().kernel("by_handle"), {.grid = {1}, .block = {1}}, texture.value, texture.value, out);
  EXPECT_EQ(contents(out)[0], 4);
  EXPECT_FALSE(module().variable("linear").ok()) << "a sampler is no memory";
}

TEST_P(Samplers, WrongHandlesAreFaultsThatSaySo) {
  {
    const auto texture = row();
    EXPECT_THAT(fault(kSamplers, "by_handle", texture.value, std::uint64_t{77}, std::uint64_t{0}),
                testing::HasSubstr("no sampler has this handle"));
    renew();
  }
  std::uint64_t handle = 0;
  {
    const auto texture = row();
    load_text(kSamplers);
    auto out = buffer(std::vector<std::uint64_t>(1));
    run(*module().kernel("names"), {.grid = {1}, .block = {1}}, out);
    handle = contents(out)[0];
    load_text(kMultisample);  // the other module goes, and its samplers
    const auto gone = fault(kSamplers, "by_handle", texture.value, handle, std::uint64_t{0});
    EXPECT_THAT(gone, testing::HasSubstr("the sampler's module was unloaded"));
  }
  renew();
  {
    load_text(kSamplers);
    auto out = buffer(std::vector<std::uint64_t>(1));
    run(*module().kernel("names"), {.grid = {1}, .block = {1}}, out);
    const auto report = try_run(*module().kernel("by_handle"), {.grid = {1}, .block = {1}}, contents(out)[0],
                                contents(out)[0], std::uint64_t{0});
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message, testing::HasSubstr("a sampler is used as a texture"));
  }
  renew();
}

TEST_P(Samplers, MultisampleTexturesAreReadBySample) {
  const auto texture = *device().create_texture(samples(), {});
  load_text(kMultisample);
  for (std::uint32_t sample = 0; sample < 4; ++sample)
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      auto out = buffer(std::vector<float>(3));
      run(*module().kernel("fetch"), {.grid = {1}, .block = {1}}, texture.value, layer, sample, 1u, 1u, out);
      const auto first = static_cast<float>(10 * sample + 3);
      EXPECT_THAT(contents(out), testing::ElementsAre(first, first + static_cast<float>(100 * layer), 4));
    }
}

TEST_P(Samplers, SamplesThatAreNotThereAreFaults) {
  EXPECT_THAT(fault(kMultisample, "fetch", device().create_texture(samples(), {})->value, 0u, 4u, 0u, 0u,
                    std::uint64_t{0}),
              testing::HasSubstr("no such sample"));
  renew();
  EXPECT_THAT(fault(kMultisample, "plain", device().create_texture(samples(), {})->value),
              testing::HasSubstr("several samples"));
  renew();
}

TEST_P(Samplers, ImagesWithSamplesHaveTwoDimensions) {
  Image image = samples();
  EXPECT_FALSE(device().create_surface(image).ok());
  image.samples = 3;  // of 8 slices
  EXPECT_FALSE(device().create_texture(image, {}).ok());
  image.samples = 0;
  EXPECT_FALSE(device().create_texture(image, {}).ok());
  image.samples = 4;
  image.dimensions = 3;
  EXPECT_FALSE(device().create_texture(image, {}).ok());
}

ON_EVERY_ENGINE(Samplers);

}  // namespace
