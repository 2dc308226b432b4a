#include "jit/code_cache.h"

#include <dirent.h>
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
#include <optional>
#include <utility>
#include <vector>

#include "jit/engine.h"

namespace raddle::jit {
namespace {

namespace fs = std::filesystem;

constexpr llvm::StringLiteral kMagic = "raddle object 2\n";
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof(CodeKey);

/// A file descriptor that is closed at the end, -1: none.
struct Descriptor {
  int number;
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

/// Makes the directory and opens it: what follows goes by the descriptor, so that nobody puts another one in
/// its place. @returns -1 with the reason why it is not used
int open_private(const std::string& directory, std::string& problem) {
  std::error_code error;
  fs::create_directories(fs::path(directory).parent_path(), error);
  const bool made = mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST;
  const int opened = made ? open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  struct stat info{};
  if (opened < 0 || fstat(opened, &info) != 0) {
    problem = fmt::format("cannot {} {}: {}", made ? "open" : "make", directory, std::strerror(errno));
  } else if (info.st_uid != geteuid()) {
    problem = fmt::format("{} belongs to somebody else (user {})", directory, info.st_uid);
  } else if ((info.st_mode & 07777) != 0700) {
    problem =
        fmt::format("{} is open to others: its mode is {:04o}, not 0700", directory, info.st_mode & 07777);
  } else {
    return opened;
  }
  if (opened >= 0) close(opened);
  return -1;
}

/// The bytes of a regular file that is the user's alone, none for anything else: a link, a pipe, a directory.
std::optional<std::string> read_private(int directory, const std::string& name) {
  const Descriptor file(openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (file.number < 0 || fstat(file.number, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const bool is_own = info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!is_own || static_cast<std::uint64_t>(info.st_size) > CodeCache::kDiskBytes) return {};
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::read(file.number, bytes.data() + done, bytes.size() - done);
    if (n <= 0) return {};
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

/// What a file begins with: the checksum holds for this key only, so no file serves under another's name.
std::string header_of(const CodeKey& key, llvm::StringRef object) {
  const llvm::StringRef name(reinterpret_cast<const char*>(key.data()), key.size());
  const CodeKey sum = code_key({name, object});
  return kMagic.str() + std::string(sum.begin(), sum.end());
}

std::string name_of(const CodeKey& key) { return llvm::toHex(key, true) + ".o"; }

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

CodeCache::CodeCache(const std::string& directory) {
  if (!directory.empty()) directory_ = open_private(directory, problem_);
}

CodeCache::~CodeCache() {
  if (directory_ >= 0) close(directory_);
}

std::unique_ptr<llvm::MemoryBuffer> CodeCache::find(const CodeKey& key) {
  {
    std::lock_guard lock(mutex_);
    if (auto known = memory_.find(key); known != memory_.end())
      return llvm::MemoryBuffer::getMemBufferCopy(known->second);
  }
  return directory_ < 0 ? nullptr : read(key);
}

void CodeCache::store(const CodeKey& key, llvm::StringRef object) {
  {
    std::lock_guard lock(mutex_);
    if (memory_bytes_ + object.size() <= kMemoryBytes && memory_.emplace(key, object.str()).second)
      memory_bytes_ += object.size();
  }
  if (directory_ >= 0) write(key, object);
}

std::unique_ptr<llvm::MemoryBuffer> CodeCache::read(const CodeKey& key) {
  const std::string name = name_of(key);
  const auto bytes = read_private(directory_, name);
  const llvm::StringRef object =
      bytes ? llvm::StringRef(*bytes).drop_front(std::min(bytes->size(), kHeaderBytes)) : "";
  if (!bytes || !llvm::StringRef(*bytes).starts_with(header_of(key, object))) {
    unlinkat(directory_, name.c_str(), 0);  // if there is one
    return nullptr;
  }
  utimensat(directory_, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);  // used now: trim() goes by it
  return llvm::MemoryBuffer::getMemBufferCopy(object);
}

/// Writes a new file, then renames it: readers see the whole file or none.
void CodeCache::write(const CodeKey& key, llvm::StringRef object) {
  static std::atomic<std::uint64_t> last{0};  // of this process
  const std::string temporary = fmt::format("new.{}.{}", getpid(), ++last);
  bool complete;
  {
    const Descriptor file(
        openat(directory_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.number < 0) return;
    const auto put = [&](llvm::StringRef bytes) {
      while (!bytes.empty()) {
        const ssize_t n = ::write(file.number, bytes.data(), bytes.size());
        if (n <= 0) return false;
        bytes = bytes.drop_front(static_cast<std::size_t>(n));
      }
      return true;
    };
    complete = put(header_of(key, object)) && put(object);
  }
  if (!complete || renameat(directory_, temporary.c_str(), directory_, name_of(key).c_str()) != 0)
    unlinkat(directory_, temporary.c_str(), 0);
  if (writes_.fetch_add(1, std::memory_order_relaxed) % 64 == 0)
    trim();  // looks at every file: not each time
}

void CodeCache::trim() {
  struct Entry {
    std::pair<std::int64_t, std::int64_t> used;  // seconds, nanoseconds
    std::uint64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  const int again = openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = again < 0 ? nullptr : fdopendir(again);  // which owns the descriptor
  if (listing == nullptr) return;
  while (const dirent* file = readdir(listing)) {
    struct stat info{};  // another process may be trimming too
    if (fstatat(directory_, file->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(info.st_mode)) continue;
    total += static_cast<std::uint64_t>(info.st_size);
    entries.push_back({{info.st_mtim.tv_sec, info.st_mtim.tv_nsec},
                       static_cast<std::uint64_t>(info.st_size),
                       file->d_name});
  }
  closedir(listing);
  if (total <= kDiskBytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= kDiskBytes / 4 * 3) break;
    if (unlinkat(directory_, entry.name.c_str(), 0) == 0) total -= entry.bytes;
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
