#include "jit/code_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "jit/engine.h"

namespace raddle::jit {
namespace {

namespace fs = std::filesystem;

constexpr llvm::StringLiteral kMagic = "raddle object 1\n";
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof(CodeKey);

CodeKey hash(llvm::StringRef bytes) { return llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes)); }

/// Makes the directory, or says why it is not used.
std::string prepare(const std::string& directory) {
  std::error_code error;
  fs::create_directories(fs::path(directory).parent_path(), error);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return fmt::format("cannot make {}: {}", directory, std::strerror(errno));
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return directory + " is no directory";
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return directory + " belongs to, or can be written by, somebody else";
  return {};
}

}  // namespace

CodeKey code_key(std::initializer_list<llvm::StringRef> parts) {
  llvm::SHA256 sum;
  for (llvm::StringRef part : parts) {
    std::uint64_t size = part.size();
    sum.update(llvm::StringRef(reinterpret_cast<const char*>(&size), sizeof size));
    sum.update(part);
  }
  return sum.final();
}

CodeCache::CodeCache(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  problem_ = prepare(directory_);
  if (!problem_.empty()) directory_.clear();
}

std::string CodeCache::path_of(const CodeKey& key) const {
  return fmt::format("{}/{}.o", directory_, llvm::toHex(key, true));
}

std::unique_ptr<llvm::MemoryBuffer> CodeCache::find(const CodeKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (auto known = memory_.find(key); known != memory_.end())
      return llvm::MemoryBuffer::getMemBufferCopy(known->second);
  }
  return directory_.empty() ? nullptr : read(key);
}

void CodeCache::store(const CodeKey& key, llvm::StringRef object) {
  {
    std::lock_guard lock(mutex_);
    if (memory_bytes_ + object.size() <= kMemoryBytes && memory_.emplace(key, object.str()).second)
      memory_bytes_ += object.size();
  }
  if (!directory_.empty()) write(key, object);
}

std::unique_ptr<llvm::MemoryBuffer> CodeCache::read(const CodeKey& key) {
  const std::string path = path_of(key);
  auto file = llvm::MemoryBuffer::getFile(path, false, false);
  if (!file) return nullptr;
  llvm::StringRef bytes = (*file)->getBuffer();
  llvm::StringRef object = bytes.drop_front(std::min(bytes.size(), kHeaderBytes));
  const CodeKey sum = hash(object);
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic) ||
      std::memcmp(bytes.data() + kMagic.size(), sum.data(), sum.size()) != 0) {
    unlink(path.c_str());
    return nullptr;
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now: trim() goes by it
  return llvm::MemoryBuffer::getMemBufferCopy(object);
}

/// A file of its own, then renamed: readers see all of it or nothing.
void CodeCache::write(const CodeKey& key, llvm::StringRef object) {
  std::string temporary = directory_ + "/new.XXXXXX";
  int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return;
  const CodeKey sum = hash(object);
  std::string header = kMagic.str() + std::string(sum.begin(), sum.end());
  auto put = [&](llvm::StringRef bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::write(file, bytes.data(), bytes.size());
      if (n <= 0) return false;
      bytes = bytes.drop_front(static_cast<std::size_t>(n));
    }
    return true;
  };
  bool complete = put(header) && put(object);
  complete = ::close(file) == 0 && complete;
  if (!complete || rename(temporary.c_str(), path_of(key).c_str()) != 0) unlink(temporary.c_str());
  if (writes_.fetch_add(1, std::memory_order_relaxed) % 64 == 0)
    trim();  // looks at every file: not each time
}

void CodeCache::trim() {
  struct Entry {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(directory_, error)) {
    std::error_code gone;  // another process may be trimming too
    Entry entry{file.last_write_time(gone), file.file_size(gone), file.path()};
    if (gone) continue;
    total += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (total <= kDiskBytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= kDiskBytes / 4 * 3) break;
    if (fs::remove(entry.path, error)) total -= entry.bytes;
  }
}

std::string default_cache_directory() {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string chosen = variable("RADDLE_CACHE"); !chosen.empty()) return chosen;
  if (std::string base = variable("XDG_CACHE_HOME"); !base.empty()) return base + "/raddle";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/raddle";
  return {};
}

}  // namespace raddle::jit
