// Objects that were compiled before, by content: the key is a hash of the LLVM IR that the object was made
// from and of everything else the code generator looks at, so that an entry is never stale. In memory and,
// where a directory is given, on disk, shared by processes.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace raddle::jit {

using CodeKey = std::array<std::uint8_t, 32>;

/// SHA-256 over the parts; the length of each is part of it.
CodeKey code_key(std::initializer_list<llvm::StringRef> parts);

/// Safe to use from several threads and processes at once.
class CodeCache {
 public:
  /// @param directory made with mode 0700; empty: memory only. A directory of another owner or mode is not
  ///                  used (`problem()` says so), since code in it would run in this process.
  explicit CodeCache(const std::string& directory);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  /// The object, or null. A damaged entry, or one that is no regular file of the user's, counts as missing
  /// and is removed.
  std::unique_ptr<llvm::MemoryBuffer> find(const CodeKey& key);
  /// Keeps a copy. A full disk or a lost race only means that it is compiled again.
  void store(const CodeKey& key, llvm::StringRef object);
  const std::string& problem() const { return problem_; }

  static constexpr std::uint64_t kDiskBytes = 512u << 20;   ///< beyond it, the files used longest ago go
  static constexpr std::uint64_t kMemoryBytes = 64u << 20;  ///< beyond it, nothing more is kept in memory

 private:
  std::unique_ptr<llvm::MemoryBuffer> read(const CodeKey& key);
  void write(const CodeKey& key, llvm::StringRef object);
  void trim();

  int directory_ = -1;  // descriptor
  std::string problem_;
  std::mutex mutex_;
  std::map<CodeKey, std::string> memory_;
  std::uint64_t memory_bytes_ = 0;
  std::atomic<std::uint64_t> writes_{0};
};

}  // namespace raddle::jit
