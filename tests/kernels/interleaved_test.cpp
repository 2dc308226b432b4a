// Vectors of words that go from memory to memory: what is done to each word alike, and what is not, by whole
// warps and by some lanes.
#include <cstdint>

#include "kernel_test.h"

namespace {

// Thread t < n: the four words at 16 (t + shift), in place: each plus 7; then the first two plus s, the third
// minus s, the last exclusive-or s; then exchanged by pairs.
constexpr const char* kAlikeAndNot = R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry words(.param .u64 data, .param .u32 shift, .param .u32 n, .param .u32 s)
{
  .reg .pred %p;
  .reg .b32 %t, %n, %s, %a, %b, %c, %d, %shift;
  .reg .b64 %data, %wide;
  ld.param.u64 %data, [data];
  ld.param.u32 %shift, [shift];
  ld.param.u32 %n, [n];
  ld.param.u32 %s, [s];
  mov.u32 %t, %tid.x;
  setp.ge.u32 %p, %t, %n;
  @%p ret;
  add.u32 %t, %t, %shift;
  mul.wide.u32 %wide, %t, 16;
  add.u64 %data, %data, %wide;
  ld.global.v4.u32 {%a, %b, %c, %d}, [%data];
  add.u32 %a, %a, 7;
  add.u32 %b, %b, 7;
  add.u32 %c, %c, 7;
  add.u32 %d, %d, 7;
  st.global.v4.u32 [%data], {%a, %b, %c, %d};
  ld.global.v2.u32 {%a, %b}, [%data];
  add.u32 %a, %a, %s;
  add.u32 %b, %b, %s;
  st.global.v2.u32 [%data], {%a, %b};
  ld.global.v4.u32 {%a, %b, %c, %d}, [%data];
  sub.u32 %c, %c, %s;
  xor.b32 %d, %d, %s;
  st.global.v4.u32 [%data], {%c, %d, %a, %b};
  ret;
}
)";

class Interleaved : public KernelTest {};
ON_EVERY_ENGINE(Interleaved);

TEST_P(Interleaved, WordsFromMemoryToMemory) {
  load_text(kAlikeAndNot);
  const auto kernel = module().kernel("words");
  ASSERT_TRUE(kernel.ok());
  constexpr std::uint32_t kThreads = 96, kScale = 0x01020304;
  for (const std::uint32_t n : {kThreads, 77u, 33u, 1u})
    for (const std::uint32_t shift : {0u, 3u}) {
      std::vector<std::uint32_t> words(4 * (kThreads + 8));
      for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 2654435761u;
      auto data = buffer(words);
      run(*kernel, {.grid = {1}, .block = {kThreads}}, data, shift, n, kScale);
      for (std::uint32_t t = 0; t < n; ++t) {
        std::uint32_t* w = &words[4 * (t + shift)];
        const std::uint32_t a = w[0] + 7 + kScale, b = w[1] + 7 + kScale, c = w[2] + 7 - kScale,
                            d = (w[3] + 7) ^ kScale;
        w[0] = c, w[1] = d, w[2] = a, w[3] = b;
      }
      EXPECT_EQ(contents(data), words) << n << " threads, shift " << shift;
    }
}

}  // namespace
