// Telling the wrappings of PTX apart and unwrapping them; see image.h.
#include "fatbin/image.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace raddle::fatbin {
namespace {

constexpr std::string_view kElf =
                               "\x7f"
                               "ELF",
                           kArchive = "!<arch>\n";

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The oldest PTX of a container, for a device older than all of it.
const Entry* oldest_ptx(const Container& container) {
  const Entry* oldest = nullptr;
  for (const Entry& entry : container.entries)
    if (entry.kind == Kind::ptx && (oldest == nullptr || entry.capability < oldest->capability))
      oldest = &entry;
  return oldest;
}

Result<std::vector<PtxImage>> unpack_chosen(const std::vector<Container>& containers, std::string_view name,
                                            std::uint32_t capability) {
  std::vector<PtxImage> images;
  for (std::size_t k = 0; k < containers.size(); ++k) {
    const Entry* chosen = choose_ptx(containers[k], capability);
    const Entry* entry = chosen != nullptr ? chosen : oldest_ptx(containers[k]);
    if (entry == nullptr) continue;
    TRY_ASSIGN(std::string text, unpack(*entry));
    images.push_back({fmt::format("{}.{}.{}.ptx", name, k + 1, architecture(*entry)), std::move(text),
                      chosen != nullptr ? "" : architecture(*entry)});
  }
  return images;
}

/// What to tell a user whose file has device code, but none that Raddle can run.
Error no_ptx(const std::vector<Container>& containers, std::string_view name) {
  std::vector<std::string> held;
  for (const Container& container : containers)
    for (const Entry& entry : container.entries)
      if (auto text = describe(entry); std::find(held.begin(), held.end(), text) == held.end())
        held.push_back(text);
  if (held.empty()) return Error::unsupported("{}: no device code in it", name);
  return Error::unsupported("{}: no PTX in it, only {}; compile with PTX, as nvcc -arch=sm_90 does", name,
                            fmt::join(held, "; "));
}

}  // namespace

Result<std::vector<PtxImage>> ptx_images(std::string_view bytes, std::string_view name,
                                         std::uint32_t capability) {
  std::vector<Container> containers;
  if (is_fat_binary(as_bytes(bytes))) {
    TRY_ASSIGN(containers, read_containers(as_bytes(bytes)));
  } else if (bytes.starts_with(kElf)) {
    TRY_ASSIGN(containers, read_host_binary(bytes));
  } else if (bytes.starts_with(kArchive)) {
    return Error::unsupported("{}: a static library; take its object files out first (ar x)", name);
  } else {
    return std::vector<PtxImage>{{std::string(name), std::string(bytes), ""}};
  }
  TRY_ASSIGN(std::vector<PtxImage> images, unpack_chosen(containers, name, capability));
  if (images.empty()) return no_ptx(containers, name);
  return images;
}

}  // namespace raddle::fatbin
