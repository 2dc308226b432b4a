#include "cli/top_page.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <optional>

namespace raddle::cli {
namespace {

using nlohmann::json;

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "K", "M", "G", "T"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return value < 10 && unit != 0 ? fmt::format("{:.1f}{}", value, kUnits[unit])
                                 : fmt::format("{:.0f}{}", value, kUnits[unit]);
}

std::string time_text(std::uint64_t nanoseconds) {
  const std::uint64_t seconds = nanoseconds / 1'000'000'000;
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string user_name(std::uint32_t user) {
  std::array<char, 4096> room;
  passwd entry{}, *found = nullptr;
  getpwuid_r(user, &entry, room.data(), room.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(user);
}

/// Per second, of one client; nothing before it was seen twice.
std::optional<double> launch_rate(const json& client, const json* before, double seconds) {
  if (before == nullptr || seconds <= 0) return std::nullopt;
  for (const json& known : (*before)["clients"])
    if (known["space id"] == client["space id"])
      return static_cast<double>(client["launches"].get<std::uint64_t>() -
                                 known["launches"].get<std::uint64_t>()) /
             seconds;
  return std::nullopt;
}

/// A letter for each SM: how many blocks it has.
std::string bar_of(const json& sms) {
  std::string bar;
  for (const json& sm : sms) {
    const auto blocks = sm.get<std::uint32_t>();
    bar += blocks == 0 ? '.' : blocks < 10 ? static_cast<char>('0' + blocks) : '#';
  }
  return bar;
}

std::string contexts_text(const std::string& mode) {
  return mode.empty() ? "" : "; " + mode + " device contexts";
}

/// A column where there are several; a selected one has a mark.
std::string context_column(const json& now, const json* client) {
  if (now["contexts"].get<std::string>().empty()) return "";
  if (client == nullptr) return fmt::format(" {:<9}", "CONTEXT");
  const bool is_selected = (*client)["context selected"].get<bool>();
  return fmt::format(" {:<9.9}", (is_selected ? "*" : "") + (*client)["context"].get<std::string>());
}

std::vector<std::string> machine_lines(const json& now) {
  std::uint64_t blocks = 0, busy = 0, sms = 0, memory = 0;
  for (const json& gpc : now["blocks by gpc"])
    for (const json& sm : gpc) blocks += sm.get<std::uint32_t>(), busy += sm != 0, ++sms;
  for (const json& client : now["clients"]) memory += client["memory"].get<std::uint64_t>();
  std::vector<std::string> lines = {
      fmt::format("{}: {}, {} workers; {} of {} clients{}", now["socket"].get<std::string>(),
                  now["shape"].get<std::string>(), now["workers"].get<unsigned>(), now["clients"].size(),
                  now["most clients"].get<unsigned>(), contexts_text(now["contexts"].get<std::string>())),
      fmt::format("SMs {} of {} in use, {} blocks; memory {} of {}", busy, sms, blocks, bytes_text(memory),
                  bytes_text(now["memory"].get<std::uint64_t>()))};
  for (const json& instance : now["instances"]) {
    const auto name = instance["name"].get<std::string>();
    if (name.empty() && now["instances"].size() == 1) continue;
    lines.push_back(
        fmt::format("{}: {} SMs, memory {} of {}", name.empty() ? "outside of instances" : "instance " + name,
                    instance["sms"].get<unsigned>(), bytes_text(instance["memory"].get<std::uint64_t>()),
                    bytes_text(instance["memory limit"].get<std::uint64_t>())));
  }
  for (std::size_t gpc = 0; gpc < now["blocks by gpc"].size(); ++gpc)
    lines.push_back(fmt::format("GPC {:<2} {}", gpc, bar_of(now["blocks by gpc"][gpc])));
  return lines;
}

std::string client_line(const json& now, const json& client, const json* before, double seconds) {
  const std::optional<double> rate = launch_rate(client, before, seconds);
  return fmt::format("{:>8} {:<10.10} {:<15.15} {:<9.9}{} {:>8} {:>7} {:>7} {:>4} {:>7} {:>7} {:>10} {:>8}",
                     client["process"].get<int>(), user_name(client["user"].get<std::uint32_t>()),
                     client["name"].get<std::string>(), client["instance"].get<std::string>(),
                     context_column(now, &client), time_text(client["nanoseconds"].get<std::uint64_t>()),
                     bytes_text(client["memory"].get<std::uint64_t>()),
                     bytes_text(client["memory limit"].get<std::uint64_t>()), client["sms"].get<unsigned>(),
                     client["launches running"].get<std::uint64_t>(),
                     client["launches waiting"].get<std::uint64_t>(), client["launches"].get<std::uint64_t>(),
                     rate ? fmt::format("{:.0f}", *rate) : "");
}

}  // namespace

TopPage top_page(const json& now, const json* before, double seconds) {
  TopPage page{.lines = machine_lines(now)};
  page.lines.emplace_back();
  page.heading = page.lines.size();
  page.lines.push_back(
      fmt::format("{:>8} {:<10} {:<15} {:<9}{} {:>8} {:>7} {:>7} {:>4} {:>7} {:>7} {:>10} {:>8}", "PROCESS",
                  "USER", "NAME", "INSTANCE", context_column(now, nullptr), "TIME", "MEMORY", "LIMIT", "SMS",
                  "RUNNING", "WAITING", "LAUNCHES", "A SECOND"));
  for (const json& client : now["clients"]) page.lines.push_back(client_line(now, client, before, seconds));
  return page;
}

}  // namespace raddle::cli
