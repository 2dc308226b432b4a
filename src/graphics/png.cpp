// PNG files with stored data: as large as the pixels, and readable everywhere.
#include <array>

#include "base/file.h"
#include "raddle/graphics.h"

namespace raddle::graphics {
namespace {

std::uint32_t checksum(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      made[n] = c;
    }
    return made;
  }();
  std::uint32_t sum = ~0u;
  for (const char byte : bytes) sum = table[(sum ^ static_cast<std::uint8_t>(byte)) & 255] ^ (sum >> 8);
  return ~sum;
}

std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string chunk(std::string_view name, std::string_view data) {
  const std::string body = std::string(name) + std::string(data);
  return big_endian(static_cast<std::uint32_t>(data.size())) + body + big_endian(checksum(body));
}

/// zlib's format around blocks that are stored as they are (RFC 1950, 1951).
std::string stored(const std::string& bytes) {
  std::string out = "\x78\x01";
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) a = (a + static_cast<std::uint8_t>(byte)) % 65521, b = (b + a) % 65521;
  constexpr std::size_t kMost = 65535;
  for (std::size_t at = 0; at < bytes.size(); at += kMost) {
    const std::size_t length = std::min(kMost, bytes.size() - at);
    out += static_cast<char>(at + length == bytes.size());
    for (const std::size_t half : {length, ~length})
      out += static_cast<char>(half), out += static_cast<char>(half >> 8);
    out.append(bytes, at, length);
  }
  return out + big_endian(b << 16 | a);
}

}  // namespace

Result<void> write_png(const std::string& path, std::uint32_t width, std::uint32_t height, unsigned channels,
                       const std::vector<std::uint8_t>& pixels) {
  if ((channels != 3 && channels != 4) || width == 0 || height == 0 ||
      pixels.size() != std::size_t{width} * height * channels)
    return Error::invalid("{} bytes are no image of {} x {} pixels with {} channels", pixels.size(), width,
                          height, channels);
  std::string rows;
  for (std::uint32_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(pixels.data()) + std::size_t{y} * width * channels,
                std::size_t{width} * channels);
  }
  std::string header = big_endian(width) + big_endian(height);
  header += '\x08';
  header += static_cast<char>(channels == 3 ? 2 : 6);
  header += std::string(3, '\0');
  return write_file(
      path, "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", stored(rows)) + chunk("IEND", ""));
}

}  // namespace raddle::graphics
