#include "machine/mmu/physical_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace raddle::machine {

Result<std::unique_ptr<PhysicalMemory>> PhysicalMemory::create(std::uint64_t bytes) {
  TRY_ASSIGN(MemoryFile file, MemoryFile::create("raddle physical memory", bytes));
  void* const map =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.descriptor(), 0);
  if (map == MAP_FAILED)
    return Error::make(ErrorCode::out_of_memory, "the host has no {} bytes of addresses for physical memory",
                       bytes);
  return std::unique_ptr<PhysicalMemory>(
      new PhysicalMemory(std::move(file), static_cast<std::byte*>(map), bytes));
}

PhysicalMemory::PhysicalMemory(MemoryFile file, std::byte* base, std::uint64_t bytes)
    : file_(std::move(file)), base_(base), bytes_(bytes) {
  free_.add({0, bytes});
}

PhysicalMemory::~PhysicalMemory() { munmap(base_, bytes_); }

std::optional<FrameRun> PhysicalMemory::take(std::uint64_t bytes, std::uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  if (auto run = free_.take(bytes, alignment)) return run;
  return free_.take_longest(bytes);
}

bool PhysicalMemory::take_at(FrameRun run) {
  const std::lock_guard lock(mutex_);
  return free_.take_at(run);
}

std::optional<std::uint64_t> PhysicalMemory::take_table() {
  const std::lock_guard lock(mutex_);
  const auto run = free_.take_last(FrameRuns::kFrame);
  return run ? std::optional(run->start) : std::nullopt;
}

void PhysicalMemory::give_back(FrameRun run) {
  clear(run);
  const std::lock_guard lock(mutex_);
  free_.add(run);
}

std::uint64_t PhysicalMemory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_.bytes();
}

void PhysicalMemory::clear(FrameRun run) {
  if (fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(run.start),
                static_cast<off_t>(run.bytes)) != 0)
    std::memset(host(run.start), 0, run.bytes);
}

}  // namespace raddle::machine
