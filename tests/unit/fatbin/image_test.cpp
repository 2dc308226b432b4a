// Wrappings told apart: text, fat binaries, host object files; and files that hold nothing for Raddle.
#include <unistd.h>

#include "fatbin/cubin.h"
#include "fatbin_test.h"

namespace raddle::fatbin {
namespace {

TEST(Images, TextIsTakenAsItIs) {
  const auto images = ptx_images(".version 9.0", "a.ptx", 90).value();
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].name, "a.ptx");
  EXPECT_EQ(images[0].text, ".version 9.0");
}

// proves: K-18a
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
      "-arch=sm_90 and raddle nvcc do");
  std::string cubin = data("plain.o");
  cubin = patched(cubin, 18, std::uint16_t{190});  // e_machine
  EXPECT_NE(ptx_images(cubin, "a.cubin", 90).error().message.find("cubin"), std::string::npos);
  const auto self = ptx_images(read_file("/proc/self/exe").value(), "test", 90);
  ASSERT_FALSE(self.ok());
  EXPECT_EQ(self.error().message, "test: no device code in it");
}

std::string archive(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string bytes = "!<arch>\n";
  for (const auto& [name, content] : members) {
    bytes +=
        fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, content.size()) + content;
    if (content.size() % 2 != 0) bytes += '\n';
  }
  return bytes;
}

// proves: K-18a
TEST(Images, ComeOutOfLibraries) {
  const std::string library = archive({{"/", "symbols"},
                                       {"//", "a_very_long_name_of_a_file.o/\n"},
                                       {"plain.o/", data("plain.o")},
                                       {"/0", data("relocatable.o")},
                                       {"host.o/", read_file("/proc/self/exe").value()}});
  const auto images = ptx_images(library, "lib.a", 90).value();
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].name, "lib.a(plain.o).1.sm_90.ptx");
  EXPECT_EQ(images[1].name, "lib.a(a_very_long_name_of_a_file.o).1.sm_90a.ptx");
  const auto host = ptx_images(archive({{"host.o/", read_file("/proc/self/exe").value()}}), "lib.a", 90);
  EXPECT_EQ(host.error().code, ErrorCode::unsupported);
  EXPECT_NE(ptx_images("!<arch>\nx", "lib.a", 90).error().message.find("offset 8"), std::string::npos);
  for (std::size_t size = 8; size < 300; ++size) (void)ptx_images(library.substr(0, size), "lib.a", 90);
}

// proves: K-18b
TEST(Images, ComeOutOfCubinsThatCarryThem) {
  const NamedText texts[] = {{"a.ptx", ".version 9.0"}, {"b.ptx", ".version 8.0"}};
  const std::string cubin = write_cubin(texts, 90);
  const auto images = ptx_images(cubin, "x.cubin", 90).value();
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[1].name, "b.ptx");
  EXPECT_EQ(images[1].text, ".version 8.0");
  for (std::size_t i = 0; i < cubin.size(); ++i) {
    (void)ptx_images(patched(cubin, i, static_cast<char>(cubin[i] ^ 0xff)), "x.cubin", 90);
    (void)ptx_images(cubin.substr(0, i), "x.cubin", 90);
  }
}

/// A container with one stored entry.
std::string container(Kind kind, std::uint32_t capability, std::string content) {
  content.resize((content.size() + 7) / 8 * 8);
  std::string bytes(16 + 0x40, '\0');
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, std::uint32_t{0xba55ed50});
  put(4, std::uint16_t{1});
  put(6, std::uint16_t{16});
  put(8, std::uint64_t{0x40 + content.size()});
  put(16, static_cast<std::uint16_t>(kind));
  put(16 + 4, std::uint32_t{0x40});
  put(16 + 8, std::uint64_t{content.size()});
  put(16 + 0x1c, capability);
  return bytes + content;
}

// proves: K-18b
TEST(Images, ComeOutOfFatBinariesWithSuchCubins) {
  const NamedText text[] = {{"a.ptx", ".version 9.0"}};
  const std::string fat = container(Kind::cubin, 90, write_cubin(text, 90));
  const auto images = ptx_images(fat, "x.fatbin", 90).value();
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].text, ".version 9.0");
  EXPECT_FALSE(ptx_images(fat, "x.fatbin", 80).ok()) << "code for a newer device";
}

// What nvcc was told of registers stands beside the PTX, for whoever compiles it.
TEST(Images, KeepALimitOfRegisters) {
  const auto images = ptx_images(data("capped.fatbin"), "capped.fatbin", 90).value();
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].max_registers, 24u);
  EXPECT_EQ(ptx_images(data("zstd.fatbin"), "zstd.fatbin", 90).value()[0].max_registers, 0u);
  // Written in other ways, beside others, and as no number.
  const std::string bytes = data("capped.fatbin"), written = " -maxrregcount=24 ";
  const std::size_t at = bytes.find(written);
  ASSERT_NE(at, std::string::npos);
  const std::pair<const char*, std::uint32_t> others[] = {{"--maxrregcount 128", 128},
                                                          {" -O1 -maxrregcount", 0},
                                                          {"-maxrregcount=many", 0},
                                                          {"-maxrregcounts=8  ", 0}};
  for (const auto& [options, wanted] : others) {
    std::string changed = bytes;
    changed.replace(at, written.size(), options);
    EXPECT_EQ(ptx_images(changed, "x", 90).value()[0].max_registers, wanted) << options;
  }
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
