// Writing fat binaries; the layout is layout.h's.
#include "fatbin/write.h"

#include <cstring>

#include "base/round_up.h"
#include "fatbin/layout.h"

namespace raddle::fatbin {
namespace {

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace

std::string write_ptx(std::string_view ptx, std::uint32_t capability, Feature feature,
                      const std::uint16_t (&version)[2]) {
  const std::size_t stored = round_up(ptx.size() + 1, kAlignment);  // with a zero
  std::string bytes(kHeaderBytes + kEntryHeaderBytes + stored, '\0');
  put<std::uint32_t>(bytes, 0, kContainerMagic);
  put<std::uint16_t>(bytes, 4, 1);
  put<std::uint16_t>(bytes, 6, kHeaderBytes);
  put<std::uint64_t>(bytes, 8, kEntryHeaderBytes + stored);
  const std::size_t entry = kHeaderBytes;
  put(bytes, entry + 0x00, static_cast<std::uint16_t>(Kind::ptx));
  put<std::uint16_t>(bytes, entry + 0x02, 0x0101);
  put<std::uint32_t>(bytes, entry + 0x04, kEntryHeaderBytes);
  put<std::uint64_t>(bytes, entry + 0x08, stored);
  put(bytes, entry + 0x18, version[1]);
  put(bytes, entry + 0x1a, version[0]);
  put(bytes, entry + 0x1c, capability);
  put<std::uint64_t>(bytes, entry + 0x28,
                     kUsual | (feature == Feature::architecture ? kArchitecture : 0) |
                         (feature == Feature::family ? kFamily : 0));
  std::memcpy(bytes.data() + entry + kEntryHeaderBytes, ptx.data(), ptx.size());
  return bytes;
}

}  // namespace raddle::fatbin
