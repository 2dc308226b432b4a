// How probes tell what a copy moved. The tensor's memory counts its words, so that each unit of 16 bytes
// names itself.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

constexpr unsigned kUntouched = 0x5a5a5a5a;

/// The units that landed: " FIRST+COUNT" where several follow each other, "-" for zeros, "x" for what nothing
/// was written to, "NUMBER:BYTES" for a unit with zeros behind so many bytes.
/// @param base     number of the tensor's first unit
/// @param written  receives the bytes that were written
inline std::string units_of(const unsigned* words, std::size_t count, int base, unsigned& written) {
  std::vector<std::string> units;
  std::size_t last = 0;
  written = 0;
  for (std::size_t i = 0; i < count; i += 4) {
    unsigned bytes = 16;
    while (bytes > 4 && words[i + bytes / 4 - 1] == 0) bytes -= 4;
    const bool untouched = words[i] == kUntouched, zero = bytes == 4 && words[i] == 0;
    const std::string number = std::to_string(static_cast<int>(words[i] / 4) - base);
    units.push_back(untouched     ? "x"
                    : zero        ? "-"
                    : bytes == 16 ? number
                                  : number + ":" + std::to_string(bytes));
    if (!untouched) written += 16, last = units.size();
  }
  const auto follows = [&](std::size_t i, std::size_t next) {
    if (next >= last) return false;
    if (units[i] == "x" || units[i] == "-") return units[next] == units[i];
    return units[i].find(':') == std::string::npos &&
           units[next] == std::to_string(std::stoi(units[i]) + static_cast<int>(next - i));
  };
  std::string text;
  for (std::size_t i = 0, next; i < last; i = next) {
    for (next = i + 1; follows(i, next); ++next) {
    }
    text += " " + units[i];
    if (next != i + 1) text += "+" + std::to_string(next - i);
  }
  return text;
}
