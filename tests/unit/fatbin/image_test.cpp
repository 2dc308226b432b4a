// Wrappings told apart: text, fat binaries, host object files; and files that hold nothing for Raddle.
#include <unistd.h>

#include "fatbin_test.h"

namespace raddle::fatbin {
namespace {

// proves: K-18
TEST(Images, TextIsTakenAsItIs) {
  const auto images = ptx_images(".version 9.0", "a.ptx", 90).value();
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].name, "a.ptx");
  EXPECT_EQ(images[0].text, ".version 9.0");
}

// proves: K-18
TEST(Images, ComeOutOfEveryWrapping) {
  const struct {
    const char *file, *name, *target;
  } cases[] = {{"zstd.fatbin", "zstd.fatbin.1.sm_90.ptx", ".target sm_90"},
               {"lz4.fatbin", "lz4.fatbin.1.sm_90.ptx", ".target sm_90"},
               {"stored.fatbin", "stored.fatbin.1.sm_90.ptx", ".target sm_90"},
               {"plain.o", "plain.o.1.sm_90.ptx", ".target sm_90"},
               {"relocatable.o", "relocatable.o.1.sm_90a.ptx", ".target sm_90a"}};
  for (const auto& [file, name, target] : cases) {
    const auto images = ptx_images(data(file), file, 90).value();
    ASSERT_EQ(images.size(), 1u) << file;
    EXPECT_EQ(images[0].name, name);
    EXPECT_NE(images[0].text.find(target), std::string::npos);
    EXPECT_NE(images[0].text.find(".entry scale"), std::string::npos);
    EXPECT_EQ(images[0].newer_than_device, "");
  }
}

TEST(Images, SuitTheDevice) {
  EXPECT_EQ(ptx_images(data("zstd.fatbin"), "x", 80).value()[0].name, "x.1.sm_75.ptx");
  const auto newer = ptx_images(data("newer.fatbin"), "x", 90).value();
  ASSERT_EQ(newer.size(), 1u);
  EXPECT_EQ(newer[0].newer_than_device, "sm_100");
}

TEST(Images, NameWhatIsThereInsteadOfPtx) {
  const std::string only_cubins =
      patched(patched(data("stored.fatbin"), 16, std::uint16_t{2}), 0x380, std::uint16_t{2});
  const auto cubins = ptx_images(only_cubins, "app", 90);
  ASSERT_FALSE(cubins.ok());
  EXPECT_EQ(cubins.error().code, ErrorCode::unsupported);
  EXPECT_EQ(
      cubins.error().message,
      "app: no PTX in it, only machine code for sm_75; machine code for sm_90; compile with PTX, as nvcc "
      "-arch=sm_90 does");
  EXPECT_EQ(ptx_images("!<arch>\nx", "lib.a", 90).error().code, ErrorCode::unsupported);
  std::string cubin = data("plain.o");
  cubin = patched(cubin, 18, std::uint16_t{190});  // e_machine
  EXPECT_NE(ptx_images(cubin, "a.cubin", 90).error().message.find("cubin"), std::string::npos);
  const auto self = ptx_images(read_file("/proc/self/exe").value(), "test", 90);
  ASSERT_FALSE(self.ok());
  EXPECT_EQ(self.error().message, "test: no device code in it");
}

TEST(Images, SurviveDamagedObjectFiles) {
  const std::string bytes = data("plain.o");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {0x01, 0xff}) {
      const auto images = ptx_images(patched(bytes, i, static_cast<char>(bytes[i] ^ flip)), "x", 90);
      EXPECT_TRUE(images.ok() || !images.error().message.empty());
    }
    if (i % 16 == 0) (void)ptx_images(std::string_view(bytes).substr(0, i), "x", 90);
  }
}

}  // namespace
}  // namespace raddle::fatbin
