// What the fat binary tests share: nvcc's output in tests/data/fatbin, and ways to damage it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/file.h"
#include "fatbin/image.h"
#include "unit/source_directory.h"

namespace raddle::fatbin {

inline std::string data(const std::string& name) {
  Result<std::string> bytes = read_file(source_directory() + "/tests/data/fatbin/" + name);
  EXPECT_TRUE(bytes.ok()) << name;
  return bytes.ok() ? *bytes : std::string();
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// `bytes` with a field overwritten.
template <class T>
std::string patched(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

}  // namespace raddle::fatbin
