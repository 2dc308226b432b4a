#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace raddle {

Result<std::string> read_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return Error::make(ErrorCode::io, "cannot open {}: {}", path, std::strerror(errno));
  std::string text;
  char chunk[1 << 16];
  while (std::size_t count = std::fread(chunk, 1, sizeof chunk, file.get())) text.append(chunk, count);
  if (std::ferror(file.get()))
    return Error::make(ErrorCode::io, "cannot read {}: {}", path, std::strerror(errno));
  return text;
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (!file) return Error::make(ErrorCode::io, "cannot open {}: {}", path, std::strerror(errno));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (!written || std::fflush(file.get()) != 0)
    return Error::make(ErrorCode::io, "cannot write {}: {}", path, std::strerror(errno));
  return {};
}

}  // namespace raddle
