#include "machine/memory/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "machine/memory/device_space.h"

namespace raddle::machine {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Error no_memory(std::uint64_t bytes, const char* what) {
  return Error::make(ErrorCode::out_of_memory, "the host has no {} bytes: {}: {}", bytes, what,
                     std::strerror(errno));
}

Result<int> duplicate_of(int descriptor) {
  const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (other < 0) return Error::make(ErrorCode::io, "dup: {}", std::strerror(errno));
  return other;
}

std::byte* page_at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

Result<Mapping> Mapping::reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wanted) {
  if (bytes > ~std::uint64_t{0} - kPage) return no_memory(bytes, "too many");
  bytes = whole_pages(bytes);
  std::byte* const start = DeviceSpace::instance().take(bytes, alignment, wanted);
  if (start == nullptr) return no_memory(bytes, "addresses");
  return Mapping(start, bytes);
}

Result<Mapping> Mapping::pages(std::uint64_t bytes) {
  TRY_ASSIGN(Mapping taken, reserve(bytes));
  if (!DeviceSpace::instance().provide(taken.start_, taken.bytes_)) return no_memory(bytes, "mmap");
  return taken;
}

Result<Mapping> Mapping::of_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) {
  struct stat about{};
  const std::uint64_t end = offset + whole_pages(bytes);
  if (fstat(descriptor, &about) != 0 || end < offset || end > static_cast<std::uint64_t>(about.st_size))
    return Error::make(ErrorCode::io, "a file in memory has no {} bytes at {}", bytes, offset);
  TRY_ASSIGN(Mapping taken, reserve(bytes));
  TRY(taken.fill(taken.address(), taken.bytes_, descriptor, offset));
  TRY(taken.allow(taken.address(), taken.bytes_, Protection::write));
  return taken;
}

Mapping::~Mapping() {
  if (start_ != nullptr) DeviceSpace::instance().give_back(start_, bytes_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}

Result<void> Mapping::fill(std::uint64_t address, std::uint64_t bytes, int descriptor,
                           std::uint64_t offset) const {
  if (!DeviceSpace::instance().show(page_at(address), bytes, descriptor, offset, Protection::none))
    return no_memory(bytes, "mmap");
  return {};
}

Result<void> Mapping::allow(std::uint64_t address, std::uint64_t bytes, Protection protection) const {
  if (!DeviceSpace::instance().protect(page_at(address), bytes, protection))
    return no_memory(bytes, "mprotect");
  return {};
}

void Mapping::empty(std::uint64_t address, std::uint64_t bytes) const {
  DeviceSpace::instance().empty(page_at(address), bytes);
}

Result<MemoryFile> MemoryFile::create(const char* name, std::uint64_t bytes) {
  MemoryFile file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.descriptor_ < 0) return no_memory(bytes, "memfd_create");
  if (ftruncate(file.descriptor_, static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.descriptor_, F_ADD_SEALS, kSeals) != 0)
    return no_memory(bytes, "ftruncate");
  return file;
}

Result<MemoryFile> MemoryFile::of_sealed(int descriptor) {
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals)
    return Error::invalid("descriptor {} is not of a sealed file in memory", descriptor);
  return of(descriptor);
}

Result<MemoryFile> MemoryFile::of(int descriptor) {
  TRY_ASSIGN(const int other, duplicate_of(descriptor));
  return MemoryFile(other);
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::uint64_t MemoryFile::bytes() const {
  struct stat about{};
  return fstat(descriptor_, &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

Result<int> MemoryFile::duplicate() const { return duplicate_of(descriptor_); }

bool is_mapped(const void* address, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  // Without MS_SYNC this looks at the mappings and does nothing.
  return end > begin && msync(reinterpret_cast<void*>(begin), end - begin, MS_ASYNC) == 0;
}

}  // namespace raddle::machine
