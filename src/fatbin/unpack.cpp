// Decompressing entries: LZ4 blocks and ZSTD frames.
#include <lz4.h>
#include <zstd.h>

#include "fatbin/container.h"

namespace raddle::fatbin {
namespace {

constexpr std::uint64_t kMostBytes = 256u << 20;
constexpr std::uint64_t kMostLz4Ratio = 255;  ///< one byte of an LZ4 block stands for 255 at most

Result<std::string> unpack_lz4(const Entry& entry) {
  if (entry.bytes > (entry.payload.size() + 1) * kMostLz4Ratio)
    return Error::invalid("fat binary: {} bytes cannot unpack to {}", entry.payload.size(), entry.bytes);
  std::string text(entry.bytes, '\0');
  const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()), text.data(),
                                       static_cast<int>(entry.payload.size()), static_cast<int>(text.size()));
  if (size < 0 || static_cast<std::uint64_t>(size) != entry.bytes)
    return Error::invalid("fat binary: {}: the LZ4 block is damaged", describe(entry));
  return text;
}

Result<std::string> unpack_zstd(const Entry& entry) {
  // The frame says its own size: nothing is allocated for an entry that lies.
  const unsigned long long size = ZSTD_getFrameContentSize(entry.payload.data(), entry.payload.size());
  if (size != entry.bytes)
    return Error::invalid("fat binary: {}: the ZSTD frame is damaged", describe(entry));
  std::string text(entry.bytes, '\0');
  const std::size_t written =
      ZSTD_decompress(text.data(), text.size(), entry.payload.data(), entry.payload.size());
  if (ZSTD_isError(written))
    return Error::invalid("fat binary: {}: {}", describe(entry), ZSTD_getErrorName(written));
  if (written != entry.bytes)
    return Error::invalid("fat binary: {}: the ZSTD frame is cut off", describe(entry));
  return text;
}

Result<std::string> stored(const Entry& entry) {
  return std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
}

}  // namespace

Result<std::string> unpack(const Entry& entry) {
  if (entry.bytes > kMostBytes) return Error::invalid("fat binary: {}: too large", describe(entry));
  TRY_ASSIGN(std::string code, entry.compression == Compression::lz4    ? unpack_lz4(entry)
                               : entry.compression == Compression::zstd ? unpack_zstd(entry)
                                                                        : stored(entry));
  if (entry.kind == Kind::ptx) code.resize(code.find_last_not_of('\0') + 1);
  return code;
}

}  // namespace raddle::fatbin
