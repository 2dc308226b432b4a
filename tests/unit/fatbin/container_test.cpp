// Containers as nvcc writes them, the choice between architectures, and damage of every kind.
#include "fatbin/write.h"
#include "fatbin_test.h"

namespace raddle::fatbin {
namespace {

constexpr const char* kContainers[] = {"zstd.fatbin", "lz4.fatbin", "stored.fatbin"};
// Offsets of fields of a container's first entry.
constexpr std::size_t kEntry = 16, kHeaderBytes = kEntry + 0x04, kStored = kEntry + 0x08,
                      kPacked = kEntry + 0x10, kFlags = kEntry + 0x28, kUnpacked = kEntry + 0x38;

TEST(Containers, HoldTheSameTextHoweverCompressed) {
  const Compression expected[] = {Compression::zstd, Compression::lz4, Compression::none};
  std::string first;
  for (int i = 0; i < 3; ++i) {
    const std::string bytes = data(kContainers[i]);
    const auto containers = read_containers(as_bytes(bytes)).value();
    ASSERT_EQ(containers.size(), 1u);
    ASSERT_EQ(containers[0].entries.size(), 2u);
    const Entry& newer = containers[0].entries[1];
    EXPECT_EQ(newer.kind, Kind::ptx);
    EXPECT_EQ(newer.compression, expected[i]);
    EXPECT_EQ(describe(newer), "PTX 9.0 for sm_90");
    EXPECT_EQ(architecture(containers[0].entries[0]), "sm_75");
    const std::string text = unpack(newer).value();
    EXPECT_NE(text.find(".target sm_90"), std::string::npos);
    EXPECT_EQ(text.find('\0'), std::string::npos);
    if (i == 0) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(Containers, FollowOneAnother) {
  const std::string bytes = data("zstd.fatbin") + std::string(24, '\0') + data("lz4.fatbin");
  EXPECT_EQ(read_containers(as_bytes(bytes)).value().size(), 2u);
  EXPECT_TRUE(is_fat_binary(as_bytes(bytes)));
  EXPECT_FALSE(is_fat_binary(as_bytes(std::string("\x50\xed\x55"))));
}

TEST(Containers, AreReadBackAsTheyWereWritten) {
  for (const std::string& text : {std::string(".version 8.5\n"), std::string(7, 'x'), std::string()}) {
    const std::string bytes = write_ptx(text, 90, Feature::architecture, {8, 5});
    EXPECT_EQ(bytes.size() % 8, 0u);
    const std::string twice = bytes + bytes;
    const auto containers = read_containers(as_bytes(twice)).value();
    ASSERT_EQ(containers.size(), 2u);
    const Entry& entry = containers[1].entries.at(0);
    EXPECT_EQ(describe(entry), "PTX 8.5 for sm_90a");
    EXPECT_EQ(unpack(entry).value(), text);
  }
  const std::string plain = write_ptx("code", 80, Feature::baseline, {7, 0});
  EXPECT_EQ(describe(read_containers(as_bytes(plain)).value()[0].entries[0]), "PTX 7.0 for sm_80");
}

TEST(Containers, KeepTheSourceName) {
  const auto containers = read_host_binary(data("relocatable.o")).value();
  ASSERT_EQ(containers.size(), 1u);
  EXPECT_EQ(containers[0].entries[0].source, "scale.cu");
  EXPECT_EQ(architecture(containers[0].entries[0]), "sm_90a");
}

Entry ptx(std::uint32_t capability, Feature feature = Feature::baseline) {
  Entry entry;
  entry.capability = capability;
  entry.feature = feature;
  return entry;
}

// proves: K-18a
TEST(Containers, ChooseAsCudaDoes) {
  Container container;
  container.entries = {ptx(75),
                       ptx(90),
                       ptx(90, Feature::architecture),
                       ptx(100),
                       ptx(100, Feature::family),
                       ptx(103, Feature::architecture)};
  const auto chosen = [&](std::uint32_t capability) {
    const Entry* entry = choose_ptx(container, capability);
    return entry == nullptr ? "none" : architecture(*entry);
  };
  EXPECT_EQ(chosen(70), "none");
  EXPECT_EQ(chosen(75), "sm_75");
  EXPECT_EQ(chosen(89), "sm_75");
  EXPECT_EQ(chosen(90), "sm_90a");
  EXPECT_EQ(chosen(92), "sm_90");
  EXPECT_EQ(chosen(100), "sm_100f");
  EXPECT_EQ(chosen(103), "sm_103a");
  EXPECT_EQ(chosen(109), "sm_100f");
  EXPECT_EQ(chosen(110), "sm_100");
}

TEST(Containers, MachineCodeIsNoPtx) {
  Container container;
  container.entries = {ptx(90)};
  container.entries[0].kind = Kind::cubin;
  EXPECT_EQ(choose_ptx(container, 90), nullptr);
  EXPECT_EQ(describe(container.entries[0]), "machine code for sm_90");
}

std::string error_of(const std::string& bytes) {
  auto containers = read_containers(as_bytes(bytes));
  if (!containers.ok()) return containers.error().message;
  auto text = unpack((*containers)[0].entries[0]);
  return text.ok() ? "" : text.error().message;
}

TEST(Containers, SayWhatIsDamaged) {
  const std::string zstd = data("zstd.fatbin"), lz4 = data("lz4.fatbin");
  const auto says = [](const std::string& bytes, const char* what) {
    EXPECT_NE(error_of(bytes).find(what), std::string::npos) << error_of(bytes);
  };
  says(zstd.substr(0, 12), "header at offset 0 is cut off");
  says(zstd.substr(0, 100), "claims 16 + 944 bytes, 100 are there");
  says(patched(zstd, 4, std::uint16_t{2}), "has version 2");
  says(patched(zstd, kHeaderBytes, 8u), "has a header of 8 bytes");
  says(patched(zstd, kHeaderBytes, 0xffffffffu), "has a header of 4294967295 bytes");
  says(patched(zstd, kStored, ~std::uint64_t{7}), "of code");
  says(patched(zstd, kPacked, 0xffffu), "longer compressed");
  says(patched(zstd, kUnpacked, std::uint64_t{801}), "ZSTD frame is damaged");
  says(patched(zstd, kUnpacked, std::uint64_t{1} << 40), "too large");
  says(patched(lz4, kUnpacked, std::uint64_t{801}), "LZ4 block is damaged");
  says(patched(lz4, kUnpacked, std::uint64_t{1} << 27), "cannot unpack");
  says(patched(zstd, kFlags, std::uint64_t{0x2000}), "LZ4 block is damaged");
  says(zstd + "garbage behind it", "no container at offset 960");
}

// Whatever is flipped or cut, the reader answers, and payloads stay inside the bytes (ASan watches).
TEST(Containers, SurviveEveryFlippedByteAndEveryCut) {
  for (const char* name : kContainers) {
    const std::string bytes = data(name);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const int flip : {0x01, 0x80, 0xff})
        (void)error_of(patched(bytes, i, static_cast<char>(bytes[i] ^ flip)));
      EXPECT_FALSE(i > 0 && error_of(bytes.substr(0, i)).empty()) << name << " cut at " << i;
    }
  }
}

}  // namespace
}  // namespace raddle::fatbin
