// Tensor maps as a program makes them: every limit that the comments of cuda.h name, on both sides, and the
// message that says which it was. Which bytes come of it, and what kernels may do to them, is tested in
// tests/unit/exec.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "driver_test.h"

namespace raddle::driver {
namespace {

/// Arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, right ones at first.
struct EncodeArguments {
  bool im2col = false;
  alignas(128) std::byte bytes[256] = {};
  std::size_t offset = 0;  // of the map in `bytes`
  unsigned element = 6;    // f16
  unsigned rank = 5;
  std::uint64_t address = 0x10000;
  std::uint64_t sizes[6] = {64, 100000, 100000, 100000, 4, 1};
  std::uint64_t strides[5] = {128, 4096, 65536, 524288, 0};
  unsigned box[6] = {16, 4, 3, 2, 1, 1};
  int lower[4] = {-1, -1, -1, -1}, upper[4] = {-1, -1, -1, -1};
  unsigned channels = 8, pixels = 64;
  unsigned steps[6] = {1, 1, 2, 3, 8, 1};
  unsigned interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  bool no_sizes = false, no_strides = false, no_box = false, no_steps = false, no_map = false;

  CUresult encode() {
    auto* map = no_map ? nullptr : reinterpret_cast<CUtensorMap*>(bytes + offset);
    auto* at = reinterpret_cast<void*>(address);
    const std::uint64_t *size = no_sizes ? nullptr : sizes, *stride = no_strides ? nullptr : strides;
    const unsigned* step = no_steps ? nullptr : steps;
    if (im2col)
      return cuTensorMapEncodeIm2col(map, element, rank, at, size, stride, no_box ? nullptr : lower, upper,
                                     channels, pixels, step, interleave, swizzle, promotion, fill);
    return cuTensorMapEncodeTiled(map, element, rank, at, size, stride, no_box ? nullptr : box, step,
                                  interleave, swizzle, promotion, fill);
  }
};

enum class Maps { tiled, im2col, both };
struct Limit {
  Maps maps;
  std::function<void(EncodeArguments&)> within, beyond;
  std::string says;
};

void sliced(EncodeArguments& a) { a.interleave = 2, a.swizzle = 1; }

std::vector<Limit> limits() {
  std::vector<Limit> all = {
      {Maps::both, [=](EncodeArguments& a) { a.offset = 64; }, [=](EncodeArguments& a) { a.offset = 32; },
       "it must be a multiple of 64"},
      {Maps::both, [=](EncodeArguments& a) { a.element = 12; }, [=](EncodeArguments& a) { a.element = 13; },
       "tensorDataType is 13"},
      {Maps::both, [](EncodeArguments&) {}, [=](EncodeArguments& a) { a.element = 256; },
       "tensorDataType is 255"},
      {Maps::tiled, [=](EncodeArguments& a) { a.rank = 1; }, [=](EncodeArguments& a) { a.rank = 0; },
       "tensorRank is 0; it must be from 1 to 5"},
      {Maps::both, [=](EncodeArguments& a) { a.rank = 5; }, [=](EncodeArguments& a) { a.rank = 6; },
       "tensorRank is 6"},
      {Maps::im2col, [=](EncodeArguments& a) { a.rank = 3; }, [=](EncodeArguments& a) { a.rank = 2; },
       "tensorRank is 2; it must be from 3 to 5 in im2col"},
      {Maps::tiled, [=](EncodeArguments& a) { a.interleave = 1, a.rank = 3; },
       [=](EncodeArguments& a) { a.interleave = 1, a.rank = 2; },
       "it must be from 3 to 5 with an interleaved layout"},
      {Maps::both, [=](EncodeArguments& a) { a.address = 16; }, [=](EncodeArguments& a) { a.address = 8; },
       "globalAddress is 0x8; it must be a multiple of 16"},
      {Maps::both, [=](EncodeArguments& a) { sliced(a), a.address = 32; },
       [=](EncodeArguments& a) { sliced(a), a.address = 16; },
       "globalAddress is 0x10; it must be a multiple of 32"},
      {Maps::both, [=](EncodeArguments& a) { a.interleave = 1; },
       [=](EncodeArguments& a) { a.interleave = 3; }, "interleave is 3"},
      {Maps::both, [=](EncodeArguments& a) { a.swizzle = 3; }, [=](EncodeArguments& a) { a.swizzle = 4; },
       "swizzle is 4"},
      {Maps::both, [=](EncodeArguments& a) { a.promotion = 3; }, [=](EncodeArguments& a) { a.promotion = 4; },
       "l2Promotion is 4"},
      {Maps::both, [=](EncodeArguments& a) { a.fill = 1; }, [=](EncodeArguments& a) { a.fill = 2; },
       "oobFill is 2"},
      {Maps::both, [=](EncodeArguments& a) { a.fill = 1, a.element = 6; },
       [=](EncodeArguments& a) { a.fill = 1, a.element = 1; }, "oobFill asks for NaN"},
      {Maps::both, [=](EncodeArguments& a) { sliced(a); },
       [=](EncodeArguments& a) { sliced(a), a.swizzle = 2; }, "interleave of 32 bytes needs a swizzle"},
      {Maps::both, [=](EncodeArguments& a) { a.interleave = 1, a.steps[0] = 8; },
       [=](EncodeArguments& a) { a.interleave = 1, a.steps[0] = 9; }, "elementStrides[0] is 9"},
      {Maps::both, [=](EncodeArguments& a) { a.steps[0] = 8; }, [=](EncodeArguments& a) { a.steps[0] = 9; },
       "elementStrides[0] is 9"},
      {Maps::both, [=](EncodeArguments& a) { a.steps[0] = 1; },
       [=](EncodeArguments& a) { a.interleave = 1, a.steps[0] = 0; }, "elementStrides[0] is 0"},
      {Maps::tiled, [=](EncodeArguments& a) { a.box[0] = 8; }, [=](EncodeArguments& a) { a.box[0] = 9; },
       "they must be a multiple of 16"},
      {Maps::im2col, [=](EncodeArguments& a) { a.channels = 256; },
       [=](EncodeArguments& a) { a.channels = 257; }, "channelsPerPixel is 257"},
      {Maps::im2col, [=](EncodeArguments& a) { a.channels = 8; }, [=](EncodeArguments& a) { a.channels = 0; },
       "channelsPerPixel is 0"},
      {Maps::im2col, [=](EncodeArguments& a) { a.channels = 16; },
       [=](EncodeArguments& a) { a.channels = 1; }, "they must be a multiple of 16"},
      {Maps::im2col, [=](EncodeArguments& a) { a.pixels = 1024; },
       [=](EncodeArguments& a) { a.pixels = 1025; }, "pixelsPerColumn is 1025"},
      {Maps::im2col, [=](EncodeArguments& a) { a.pixels = 1; }, [=](EncodeArguments& a) { a.pixels = 0; },
       "pixelsPerColumn is 0"},
      {Maps::im2col, [=](EncodeArguments& a) { a.sizes[1] = 1, a.lower[0] = a.upper[0]; },
       [=](EncodeArguments& a) { a.sizes[1] = 1, a.lower[0] = a.upper[0] + 1; },
       "the bounding box from pixelBoxLowerCorner[0]"},
      {Maps::tiled, [=](EncodeArguments& a) { a.rank = 1, a.no_strides = true; },
       [=](EncodeArguments& a) { a.no_strides = true; }, "globalStrides is null"},
  };
  for (unsigned mode = 1; mode <= 3; ++mode) {  // swizzles of 32, 64 and 128 bytes, of f16
    auto edit = [=](unsigned elements) {
      return [=](EncodeArguments& a) { a.swizzle = mode, a.box[0] = a.channels = elements; };
    };
    all.push_back({Maps::both, edit(8u << mode), edit((8u << mode) + 8), "the swizzle allows"});
  }
  for (unsigned d = 0; d < 5; ++d) {
    auto name = [=](const char* array, unsigned i) {
      return std::string(array) + "[" + std::to_string(i) + "] is ";
    };
    constexpr std::uint64_t k2To32 = std::uint64_t{1} << 32, k2To40 = std::uint64_t{1} << 40;
    all.push_back({Maps::both, [=](EncodeArguments& a) { a.sizes[d] = k2To32; },
                   [=](EncodeArguments& a) { a.sizes[d] = k2To32 + 1; }, name("globalDim", d)});
    all.push_back({Maps::both, [](EncodeArguments&) {}, [=](EncodeArguments& a) { a.sizes[d] = 0; },
                   name("globalDim", d)});
    all.push_back({Maps::tiled, [=](EncodeArguments& a) { a.box[d] = 256; },
                   [=](EncodeArguments& a) { a.box[d] = 257; }, name("boxDim", d)});
    all.push_back(
        {Maps::tiled, [](EncodeArguments&) {}, [=](EncodeArguments& a) { a.box[d] = 0; }, name("boxDim", d)});
    if (d == 0) continue;
    all.push_back({Maps::both, [=](EncodeArguments& a) { a.steps[d] = 8; },
                   [=](EncodeArguments& a) { a.steps[d] = 9; }, name("elementStrides", d)});
    all.push_back({Maps::both, [=](EncodeArguments& a) { a.steps[d] = 1; },
                   [=](EncodeArguments& a) { a.steps[d] = 0; }, name("elementStrides", d)});
    const std::string stride = name("globalStrides", d - 1);
    all.push_back({Maps::both, [=](EncodeArguments& a) { a.strides[d - 1] = 16; },
                   [=](EncodeArguments& a) { a.strides[d - 1] = 8; }, stride});
    all.push_back({Maps::both, [=](EncodeArguments& a) { sliced(a), a.strides[d - 1] = 32; },
                   [=](EncodeArguments& a) { sliced(a), a.strides[d - 1] = 48; }, stride});
    all.push_back({Maps::both, [=](EncodeArguments& a) { a.strides[d - 1] = k2To40 - 16; },
                   [=](EncodeArguments& a) { a.strides[d - 1] = k2To40; }, stride});
  }
  const int most[] = {32767, 127, 15};
  for (unsigned spatial = 1; spatial <= 3; ++spatial) {
    for (unsigned i = 0; i < spatial; ++i) {
      for (bool upper : {false, true}) {
        auto corner = [=](int value) {
          return [=](EncodeArguments& a) {
            a.rank = spatial + 2;
            (upper ? a.upper : a.lower)[i] = value;
          };
        };
        const int greatest = most[spatial - 1];
        const std::string says =
            std::string(upper ? "pixelBoxUpperCorner[" : "pixelBoxLowerCorner[") + std::to_string(i);
        all.push_back({Maps::im2col, corner(greatest), corner(greatest + 1), says});
        all.push_back({Maps::im2col, corner(-greatest - 1), corner(-greatest - 2), says});
      }
    }
  }
  return all;
}

/// Calls `body` for each limit and each kind of map that has it.
template <class Body>
void for_each_limit(Body body) {
  for (const Limit& limit : limits()) {
    for (bool im2col : {false, true}) {
      if (limit.maps != (im2col ? Maps::tiled : Maps::im2col)) body(limit, im2col);
    }
  }
}

class DriverTensorMaps : public Driver {};

// proves: T-2e, T-2i
TEST_F(DriverTensorMaps, HaveTheLimitsOfTheManual) {
  for_each_limit([](const Limit& limit, bool im2col) {
    EncodeArguments within{.im2col = im2col}, beyond{.im2col = im2col};
    limit.within(within);
    EXPECT_EQ(within.encode(), CUDA_SUCCESS) << limit.says;
    limit.beyond(beyond);
    if (on_hardware() && limit.says == "it must be a multiple of 64") return;  // takes any place
    EXPECT_EQ(beyond.encode(), CUDA_ERROR_INVALID_VALUE) << limit.says;
    if (on_hardware()) return;                                                 // which may have written some
    for (std::byte b : beyond.bytes) EXPECT_EQ(b, std::byte{}) << limit.says;  // nothing was written
  });
}

void refuse_by_all_limits() {
  setenv("RADDLE_TRACE", "api", 1);
  CUcontext context;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v4(&context, nullptr, 0, 0) != CUDA_SUCCESS) std::exit(1);
  for_each_limit([](const Limit& limit, bool im2col) {
    EncodeArguments beyond{.im2col = im2col};
    limit.beyond(beyond);
    std::fprintf(stderr, "limit %s\n", limit.says.c_str());
    beyond.encode();
  });
  std::exit(42);
}

// proves: T-2j
TEST(DriverTensorMapMessages, SayWhichLimitItWas) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(refuse_by_all_limits(), testing::ExitedWithCode(42),
              testing::Truly([](const std::string& text) {
                std::size_t at = 0;
                for_each_limit([&](const Limit& limit, bool) {
                  const std::string announced = "limit " + limit.says + "\n";
                  at = text.find(announced, at);
                  ASSERT_NE(at, std::string::npos) << limit.says;
                  at += announced.size();
                  const std::string line = text.substr(at, text.find('\n', at) - at);
                  EXPECT_THAT(line, testing::StartsWith("raddle: "));
                  EXPECT_THAT(line, testing::HasSubstr(limit.says));
                });
                return !testing::Test::HasFailure();
              }));
}

TEST_F(DriverTensorMaps, NeedTheirArguments) {
  SKIP_ON_HARDWARE("follows null pointers");
  for (bool im2col : {false, true}) {
    for (auto missing : {&EncodeArguments::no_map, &EncodeArguments::no_sizes, &EncodeArguments::no_strides,
                         &EncodeArguments::no_box, &EncodeArguments::no_steps}) {
      EncodeArguments arguments{.im2col = im2col};
      arguments.*missing = true;
      EXPECT_EQ(arguments.encode(), CUDA_ERROR_INVALID_VALUE);
    }
    EncodeArguments arguments{.im2col = im2col};
    std::thread([&] {
      EXPECT_EQ(arguments.encode(), CUDA_ERROR_INVALID_CONTEXT);
    }).join();  // has none current
  }
}

// proves: T-2e
TEST_F(DriverTensorMaps, GetAnotherAddress) {
  for (bool im2col : {false, true}) {
    EncodeArguments made{.im2col = im2col}, wanted{.im2col = im2col};
    auto* map = reinterpret_cast<CUtensorMap*>(made.bytes);
    if (!on_hardware())
      EXPECT_EQ(cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(0x20000)), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(made.encode(), CUDA_SUCCESS);
    ASSERT_EQ(cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(0x20010)), CUDA_SUCCESS);
    wanted.address = 0x20010;
    ASSERT_EQ(wanted.encode(), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(made.bytes, wanted.bytes, 128), 0);
    EXPECT_EQ(cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(0x20008)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(std::memcmp(made.bytes, wanted.bytes, 128), 0);
    sliced(made);
    made.address = 0x20020;
    ASSERT_EQ(made.encode(), CUDA_SUCCESS);
    if (on_hardware()) continue;  // an H200 takes what follows, and follows null pointers
    EXPECT_EQ(cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(0x20010)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuTensorMapReplaceAddress(map, reinterpret_cast<void*>(0x20040)), CUDA_SUCCESS);
    auto* misaligned = reinterpret_cast<CUtensorMap*>(made.bytes + 32);
    EXPECT_EQ(cuTensorMapReplaceAddress(misaligned, reinterpret_cast<void*>(0x20040)),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuTensorMapReplaceAddress(nullptr, reinterpret_cast<void*>(0x20040)), CUDA_ERROR_INVALID_VALUE);
  }
}

/// Programs get the entry by its name, since they do not link the driver.
// proves: T-2e
TEST_F(DriverTensorMaps, AreFoundByName) {
  for (const char* name :
       {"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapReplaceAddress"}) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    ASSERT_EQ(cuGetProcAddress_v2(name, &found, 12000, 0, &status), CUDA_SUCCESS) << name;
    EXPECT_NE(found, nullptr) << name;
    EXPECT_EQ(status, 0) << name;
    cuGetProcAddress_v2(name, &found, 11080, 0, &status);
    EXPECT_NE(status, 0) << name;  // not in that version of CUDA
  }
}

}  // namespace
}  // namespace raddle::driver
