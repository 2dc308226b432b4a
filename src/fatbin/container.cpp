// Reading fat binaries; see container.h. Numbers are little-endian, as on every host that Raddle runs on.
#include "fatbin/container.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "fatbin/layout.h"

namespace raddle::fatbin {
namespace {

/// Bytes with a cursor-free, checked access to fields.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, std::size_t offset) : bytes_(bytes), offset_(offset) {}
  template <class T>
  T at(std::size_t field) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset_ + field, sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t offset_;
};

std::string text_at(std::span<const std::byte> header, std::uint64_t offset, std::uint64_t length) {
  if (offset >= header.size() || length > header.size() - offset) return {};
  std::string text(reinterpret_cast<const char*>(header.data()) + offset, length);
  return text.substr(0, text.find('\0'));
}

/// The number of `-maxrregcount=32`, `--maxrregcount 32` among options; 0: it is not there.
std::uint32_t max_registers_in(std::string_view options) {
  constexpr std::string_view kName = "-maxrregcount";
  const std::size_t found = options.find(kName);
  if (found == std::string_view::npos) return 0;
  options.remove_prefix(found + kName.size());
  if (options.empty() || (options.front() != '=' && options.front() != ' ')) return 0;
  options.remove_prefix(1);
  std::uint32_t number = 0;
  std::from_chars(options.data(), options.data() + options.size(), number);
  return number;
}

/// The entry at `offset`; moves the offset behind it.
Result<Entry> read_entry(std::span<const std::byte> bytes, std::size_t& offset, std::size_t end) {
  if (end - offset < kEntryHeaderBytes)
    return Error::invalid("fat binary: entry at offset {} is cut off", offset);
  const Fields fields(bytes, offset);
  const std::uint64_t header = fields.at<std::uint32_t>(0x04), stored = fields.at<std::uint64_t>(0x08);
  if (header < kEntryHeaderBytes || header > end - offset)
    return Error::invalid("fat binary: entry at offset {} has a header of {} bytes", offset, header);
  if (stored > end - offset - header)
    return Error::invalid("fat binary: entry at offset {} claims {} bytes of code, {} are there", offset,
                          stored, end - offset - header);
  const std::uint64_t packed = fields.at<std::uint32_t>(0x10), flags = fields.at<std::uint64_t>(0x28);
  Entry entry;
  entry.kind = static_cast<Kind>(fields.at<std::uint16_t>(0x00));
  entry.version[0] = fields.at<std::uint16_t>(0x1a);
  entry.version[1] = fields.at<std::uint16_t>(0x18);
  entry.capability = fields.at<std::uint32_t>(0x1c);
  if (flags & kArchitecture) entry.feature = Feature::architecture;
  if (flags & kFamily) entry.feature = Feature::family;
  if (flags & kLz4) entry.compression = Compression::lz4;
  if (flags & kZstd) entry.compression = Compression::zstd;
  const bool compressed = entry.compression != Compression::none;
  if (compressed && packed > stored)
    return Error::invalid("fat binary: entry at offset {} is longer compressed ({}) than stored ({})", offset,
                          packed, stored);
  entry.payload = bytes.subspan(offset + header, compressed ? packed : stored);
  entry.bytes = compressed ? fields.at<std::uint64_t>(0x38) : stored;
  entry.source =
      text_at(bytes.subspan(offset, header), fields.at<std::uint32_t>(0x20), fields.at<std::uint32_t>(0x24));
  constexpr std::size_t kWithOptions = 0x48;
  if (header >= kWithOptions)
    entry.max_registers = max_registers_in(text_at(
        bytes.subspan(offset, header), fields.at<std::uint32_t>(0x40), fields.at<std::uint32_t>(0x44)));
  offset += header + stored;
  return entry;
}

Result<Container> read_container(std::span<const std::byte> bytes, std::size_t& offset) {
  if (bytes.size() - offset < kHeaderBytes)
    return Error::invalid("fat binary: header at offset {} is cut off", offset);
  const Fields fields(bytes, offset);
  if (fields.at<std::uint32_t>(0) != kContainerMagic)
    return Error::invalid("fat binary: no container at offset {} (magic number {:#x})", offset,
                          fields.at<std::uint32_t>(0));
  const std::uint16_t version = fields.at<std::uint16_t>(4), header = fields.at<std::uint16_t>(6);
  if (version != 1)
    return Error::invalid("fat binary: container at offset {} has version {}", offset, version);
  const std::uint64_t content = fields.at<std::uint64_t>(8);
  if (header < kHeaderBytes || header > bytes.size() - offset || content > bytes.size() - offset - header)
    return Error::invalid("fat binary: container at offset {} claims {} + {} bytes, {} are there", offset,
                          header, content, bytes.size() - offset);
  offset += header;
  const std::size_t end = offset + content;
  Container container;
  while (offset < end) {
    TRY_ASSIGN(Entry entry, read_entry(bytes, offset, end));
    container.entries.push_back(std::move(entry));
  }
  return container;
}

}  // namespace

bool is_fat_binary(std::span<const std::byte> bytes) {
  return bytes.size() >= kHeaderBytes && Fields(bytes, 0).at<std::uint32_t>(0) == kContainerMagic;
}

Result<std::vector<Container>> read_containers(std::span<const std::byte> bytes) {
  std::vector<Container> containers;
  std::size_t offset = 0;
  while (offset < bytes.size()) {
    const auto rest = bytes.subspan(offset);
    if (std::all_of(rest.begin(), rest.begin() + std::min(rest.size(), kAlignment),
                    [](std::byte b) { return b == std::byte{0}; })) {
      offset += std::min(rest.size(), kAlignment);
      continue;
    }
    TRY_ASSIGN(Container container, read_container(bytes, offset));
    containers.push_back(std::move(container));
  }
  return containers;
}

std::string architecture(const Entry& entry) {
  constexpr const char* kSuffixes[] = {"", "a", "f"};
  return fmt::format("sm_{}{}", entry.capability, kSuffixes[static_cast<int>(entry.feature)]);
}

std::string describe(const Entry& entry) {
  switch (entry.kind) {
    case Kind::ptx:
      return fmt::format("PTX {}.{} for {}", entry.version[0], entry.version[1], architecture(entry));
    case Kind::cubin:
      return fmt::format("machine code for {}", architecture(entry));
    case Kind::lto_ir:
      return fmt::format("link-time intermediate code for {}", architecture(entry));
  }
  return fmt::format("code of unknown kind {} for {}", static_cast<unsigned>(entry.kind),
                     architecture(entry));
}

}  // namespace raddle::fatbin
