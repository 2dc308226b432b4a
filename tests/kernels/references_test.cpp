// Texture and surface references (.texref, .surfref), which a program binds by name: on every engine, in
// functions, through registers, in launches that run after they were bound anew.
#include <gmock/gmock.h>

#include "kernel_test.h"

namespace {

using raddle::ChannelType;
using raddle::Image;

constexpr const char* kReferences = R"(
.version 8.0
.target sm_90
.address_size 64
.global .texref row;
.tex .u64 old;
.global .surfref target;

.func (.param .f32 result) texel(.param .u64 texture, .param .b32 x)
{
  .reg .b64 %t; .reg .b32 %x; .reg .f32 %f<4>;
  ld.param.u64 %t, [texture]; ld.param.b32 %x, [x];
  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%t, {%x}];
  st.param.f32 [result], %f0;
  ret;
}

// out[thread]: texel `thread` of `row`; out[8 + thread]: the same by a register; the surface gets it, too
.visible .entry copy(.param .u64 out)
{
  .reg .b64 %o, %t; .reg .b32 %x, %b; .reg .f32 %f<4>;
  ld.param.u64 %o, [out];
  mov.u32 %x, %tid.x;
  mad.wide.u32 %o, %x, 4, %o;
  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [row, {%x}];
  st.global.f32 [%o], %f0;
  shl.b32 %b, %x, 2;
  sust.b.1d.b32.zero [target, {%b}], {%f0};
  mov.u64 %t, row;
  {
    .param .u64 a; .param .b32 b; .param .f32 r;
    st.param.u64 [a], %t; st.param.b32 [b], %x;
    call (r), texel, (a, b);
    ld.param.f32 %f1, [r];
  }
  st.global.f32 [%o+32], %f1;
  ret;
}
.visible .entry of_old(.param .u64 out)
{
  .reg .b64 %o; .reg .b32 %x; .reg .f32 %f<4>;
  ld.param.u64 %o, [out];
  mov.u32 %x, 0;
  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [old, {%x}];
  st.global.f32 [%o], %f0;
  ret;
}
)";

class References : public KernelTest {
 protected:
  Image row_of(const raddle::Buffer<float>& texels) {
    Image image;
    image.format = {ChannelType::float32, 1};
    image.dimensions = 1;
    image.levels[0] = {texels.address(), 32, 32, 8, 1, 1};
    return image;
  }
};

TEST_P(References, LaunchesReadWhatIsBound) {
  auto first = buffer(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  auto second = buffer(std::vector<float>{10, 20, 30, 40, 50, 60, 70, 80});
  auto written = buffer(std::vector<float>(8));
  auto out = buffer(std::vector<float>(16));
  load_text(kReferences);
  ASSERT_TRUE(module().has_texture_reference("row"));
  ASSERT_TRUE(module().has_texture_reference("old"));
  ASSERT_TRUE(module().has_surface_reference("target"));
  ASSERT_FALSE(module().has_texture_reference("target"));
  ASSERT_TRUE(module().bind("target", *device().create_surface(row_of(written))).ok());
  for (const auto* texels : {&first, &second}) {
    ASSERT_TRUE(module().bind("row", *device().create_texture(row_of(*texels), {})).ok());
    run(*module().kernel("copy"), {.grid = {1}, .block = {8}}, out);
    const std::vector<float> wanted = contents(*texels), got = contents(out);
    EXPECT_THAT(std::vector<float>(got.begin(), got.begin() + 8), testing::ElementsAreArray(wanted));
    EXPECT_THAT(std::vector<float>(got.begin() + 8, got.end()), testing::ElementsAreArray(wanted));
    EXPECT_THAT(contents(written), testing::ElementsAreArray(wanted));
  }
  ASSERT_TRUE(module().bind("old", *device().create_texture(row_of(second), {})).ok());
  run(*module().kernel("of_old"), {.grid = {1}, .block = {1}}, out);
  EXPECT_EQ(contents(out)[0], 10);
}

// The handle is the module's, and ends when no launch has it.
TEST_P(References, HandlesEndWithTheirLastLaunch) {
  auto texels = buffer(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  load_text(kReferences);
  const raddle::TextureHandle before = *device().create_texture(row_of(texels), {});
  ASSERT_TRUE(module().bind("row", before).ok());
  ASSERT_TRUE(module().bind("row", *device().create_texture(row_of(texels), {})).ok());
  EXPECT_FALSE(device().destroy(before).ok());
  EXPECT_EQ(module().bind("nowhere", *device().create_texture(row_of(texels), {})).error().code,
            raddle::ErrorCode::not_found);
  EXPECT_FALSE(module().bind("target", *device().create_texture(row_of(texels), {})).ok());
  EXPECT_FALSE(module().unbind("nowhere").ok());
}

TEST_P(References, UnboundOnesAreFaultsThatNameThem) {
  {
    auto texels = buffer(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    auto out = buffer(std::vector<float>(16));
    load_text(kReferences);
    ASSERT_TRUE(module().bind("row", *device().create_texture(row_of(texels), {})).ok());
    const auto report = try_run(*module().kernel("copy"), {.grid = {1}, .block = {8}}, out);
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.error().message,
                testing::HasSubstr("nothing is bound to the surface reference 'target'"));
  }
  close();
  auto out = buffer(std::vector<float>(16));
  load_text(kReferences);
  ASSERT_TRUE(module().unbind("row", "a reason").ok());
  const auto report = try_run(*module().kernel("copy"), {.grid = {1}, .block = {8}}, out);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message,
              testing::HasSubstr("nothing is bound to the texture reference 'row': a reason"));
}

ON_EVERY_ENGINE(References);

}  // namespace
