// Telling the wrappings of PTX apart and unwrapping them; see image.h.
#include "fatbin/image.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "fatbin/archive.h"
#include "fatbin/cubin.h"

namespace raddle::fatbin {
namespace {

constexpr std::string_view kElf =
    "\x7f"
    "ELF";

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// The oldest PTX of a container, for a device that is older than all its PTX.
const Entry* oldest_ptx(const Container& container) {
  const Entry* oldest = nullptr;
  for (const Entry& entry : container.entries)
    if (entry.kind == Kind::ptx && (oldest == nullptr || entry.capability < oldest->capability))
      oldest = &entry;
  return oldest;
}

/// The code of Raddle's own cubin for the device, where a container has one: the newest that is not newer.
Result<std::vector<NamedText>> own_cubin(const Container& container, std::uint32_t capability) {
  std::vector<NamedText> best;
  std::uint32_t newest = 0;
  for (const Entry& entry : container.entries) {
    if (entry.kind != Kind::cubin || entry.capability > capability || entry.capability < newest) continue;
    TRY_ASSIGN(const std::string bytes, unpack(entry));
    if (!is_cubin(bytes)) continue;
    TRY_ASSIGN(std::vector<NamedText> texts, read_cubin(bytes));
    if (!texts.empty()) best = std::move(texts), newest = entry.capability;
  }
  return best;
}

Result<void> unpack_chosen(const Container& container, const std::string& name, std::uint32_t capability,
                           std::vector<PtxImage>& images) {
  const Entry* chosen = choose_ptx(container, capability);
  if (chosen == nullptr) {
    TRY_ASSIGN(std::vector<NamedText> texts, own_cubin(container, capability));
    for (NamedText& text : texts)
      images.push_back({std::move(text.name), std::move(text.text), "", text.max_registers});
    if (!texts.empty()) return {};
  }
  const Entry* entry = chosen != nullptr ? chosen : oldest_ptx(container);
  if (entry == nullptr) return {};
  TRY_ASSIGN(std::string text, unpack(*entry));
  images.push_back({fmt::format("{}.{}.ptx", name, architecture(*entry)), std::move(text),
                    chosen != nullptr ? "" : architecture(*entry), entry->max_registers});
  return {};
}

/// The message for a file whose device code Raddle cannot run.
Error no_ptx(const std::vector<Container>& containers, std::string_view name) {
  std::vector<std::string> held;
  for (const Container& container : containers)
    for (const Entry& entry : container.entries)
      if (auto text = describe(entry); std::find(held.begin(), held.end(), text) == held.end())
        held.push_back(text);
  if (held.empty()) return Error::unsupported("{}: no device code in it", name);
  return Error::unsupported(
      "{}: no PTX in it, only {}; compile with PTX, as nvcc -arch=sm_90 and raddle nvcc do", name,
      fmt::join(held, "; "));
}

Result<std::vector<PtxImage>> cubin_images(std::string_view bytes, std::string_view name) {
  TRY_ASSIGN(std::vector<NamedText> texts, read_cubin(bytes));
  if (texts.empty())
    return Error::unsupported(
        "{}: a cubin, machine code for a GPU without PTX; compile with nvcc -ptx or -fatbin, or assemble "
        "with "
        "Raddle's ptxas",
        name);
  std::vector<PtxImage> images;
  for (NamedText& text : texts)
    images.push_back({std::move(text.name), std::move(text.text), "", text.max_registers});
  return images;
}

Result<std::vector<PtxImage>> archive_images(std::string_view bytes, std::string_view name,
                                             std::uint32_t capability) {
  TRY_ASSIGN(const std::vector<ArchiveMember> members, read_archive(bytes));
  std::vector<PtxImage> images;
  for (const ArchiveMember& member : members) {
    Result<std::vector<PtxImage>> found =
        ptx_images(member.bytes, fmt::format("{}({})", name, member.name), capability);
    if (!found && found.error().code == ErrorCode::unsupported) continue;  // host code
    if (!found) return found;
    std::move(found->begin(), found->end(), std::back_inserter(images));
  }
  if (images.empty()) return Error::unsupported("{}: no PTX in any of its {} members", name, members.size());
  return images;
}

}  // namespace

Result<std::vector<PtxImage>> ptx_images(std::string_view bytes, std::string_view name,
                                         std::uint32_t capability) {
  std::vector<Container> containers;
  if (is_fat_binary(as_bytes(bytes))) {
    TRY_ASSIGN(containers, read_containers(as_bytes(bytes)));
  } else if (is_cubin(bytes)) {
    return cubin_images(bytes, name);
  } else if (bytes.starts_with(kElf)) {
    TRY_ASSIGN(containers, read_host_binary(bytes));
  } else if (is_archive(bytes)) {
    return archive_images(bytes, name, capability);
  } else {
    return std::vector<PtxImage>{{std::string(name), std::string(bytes), ""}};
  }
  std::vector<PtxImage> images;
  for (std::size_t k = 0; k < containers.size(); ++k)
    TRY(unpack_chosen(containers[k], fmt::format("{}.{}", name, k + 1), capability, images));
  if (images.empty()) return no_ptx(containers, name);
  return images;
}

}  // namespace raddle::fatbin
