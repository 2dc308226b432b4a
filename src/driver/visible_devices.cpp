#include "driver/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>

namespace raddle::driver {
namespace {

/// The parts of a text between commas.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

struct Several {
  unsigned count = 1;
  std::string_view name;
};

/// "2xh200" are two of "h200".
Several several(std::string_view part) {
  unsigned count = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
  const auto digits = static_cast<std::size_t>(end - part.data());
  if (error != std::errc{} || digits + 1 >= part.size() || part[digits] != 'x') return {1, part};
  return {count, part.substr(digits + 1)};
}

/// "GPU-72616464-6c65-...", as nvidia-smi writes it.
std::string text_of(const CUuuid& id) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof id.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(id.bytes[i]));
  }
  return text;
}

/// The device that a name of CUDA_VISIBLE_DEVICES means. Nothing: none, or several.
std::optional<std::size_t> named(std::span<const InstalledDevice> installed, std::string_view name) {
  if (name.starts_with("GPU-")) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < installed.size(); ++i) {
      if (!text_of(uuid_of(installed[i])).starts_with(name)) continue;
      if (found) return std::nullopt;
      found = i;
    }
    return found;
  }
  // As NVIDIA's driver reads numbers: what follows the digits counts for nothing.
  std::size_t number = 0;
  if (name.starts_with('+')) name.remove_prefix(1);
  if (std::from_chars(name.data(), name.data() + name.size(), number).ec != std::errc{}) return std::nullopt;
  return number < installed.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<std::vector<InstalledDevice>> installed_devices(std::string_view text) {
  std::vector<InstalledDevice> installed;
  for (const std::string_view part : parts_of(text)) {
    const auto [count, name] = several(trimmed(part));
    if (count == 0 || count > kMostDevices - installed.size())
      return Error::invalid("'{}': a computer has 1 to {} devices", text, kMostDevices);
    TRY_ASSIGN(const MachineShape shape, find_shape(std::string(name)));
    for (unsigned i = 0; i < count; ++i)
      installed.push_back({static_cast<unsigned>(installed.size()), std::string(name), shape});
  }
  return installed;
}

CUuuid uuid_of(const MachineShape& shape, unsigned slot) {
  CUuuid id{};
  const std::string text = "raddle" + shape.name;
  std::memcpy(id.bytes, text.data(), std::min(text.size(), sizeof id.bytes - 1));
  id.bytes[sizeof id.bytes - 1] = static_cast<char>(slot);
  return id;
}

CUuuid uuid_of(const InstalledDevice& device) { return uuid_of(device.shape, device.slot); }

std::vector<InstalledDevice> visible_devices(std::vector<InstalledDevice> installed,
                                             std::string_view wanted) {
  std::vector<InstalledDevice> visible;
  for (const std::string_view part : parts_of(wanted)) {
    const auto found = named(installed, trimmed(part));
    if (!found) break;
    const auto is_it = [&](const InstalledDevice& each) { return each.slot == installed[*found].slot; };
    if (std::ranges::any_of(visible, is_it)) return {};
    visible.push_back(installed[*found]);
  }
  return visible;
}

std::vector<std::uint64_t> shares_of_memory(std::span<const InstalledDevice> devices,
                                            std::uint64_t host_bytes) {
  std::vector<std::size_t> by_size(devices.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::ranges::sort(by_size, {}, [&](std::size_t i) { return devices[i].shape.memory_bytes; });
  std::vector<std::uint64_t> shares(devices.size());
  std::uint64_t left = host_bytes;
  for (std::size_t i = 0; i < by_size.size(); ++i) {  // the smallest first: what they leave is for the others
    const std::uint64_t equal = left / (by_size.size() - i);
    left -= shares[by_size[i]] = std::min(devices[by_size[i]].shape.memory_bytes, equal);
  }
  return shares;
}

}  // namespace raddle::driver
