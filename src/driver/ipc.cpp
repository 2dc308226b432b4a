// Memory and events of other processes. Device memory is plain pages until somebody asks for a handle; then
// its pages become a file in memory at the same addresses, and the handle says where other processes find it:
// /proc/PID/fd. Linux lets them open it where they may look at the process (same user). A handle is good
// while the exporter lives and has not freed the memory; that the file is still the one is checked.
#include "driver/ipc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/page.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

constexpr std::uint64_t kMemoryMark = 0x3130'6d65'4d70'6c52, kEventMark = 0x3130'7645'7049'6c52,
                        kPoolMark = 0x3130'6c6f'6f50'6c52, kPointerMark = 0x3130'7274'5070'6c52;

/// What a handle holds.
struct Ticket {
  std::uint64_t mark = 0;
  std::int32_t process = 0, descriptor = -1;
  std::uint64_t file = 0;  ///< inode
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t address = 0;  ///< in the exporting process: tells allocations of one file apart
  std::uint64_t pool = 0;     ///< of a pool and its memory: the exporting process' handle
};
static_assert(sizeof(Ticket) <= sizeof(CUipcMemHandle));

template <class Handle>
void write(Handle& handle, const Ticket& ticket) {
  std::memset(handle.reserved, 0, sizeof handle.reserved);
  std::memcpy(handle.reserved, &ticket, sizeof ticket);
}

template <class Handle>
bool read(const Handle& handle, std::uint64_t mark, Ticket& ticket) {
  std::memcpy(&ticket, handle.reserved, sizeof ticket);
  return ticket.mark == mark && ticket.process > 0 && ticket.descriptor >= 0;
}

std::uint64_t file_of(int descriptor) {
  struct stat about{};
  return fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}

/// The file that a ticket is for; none: its process is gone, not ours to look at, or has closed it.
std::optional<MemoryFile> open_file(const Ticket& ticket) {
  const std::string path = fmt::format("/proc/{}/fd/{}", ticket.process, ticket.descriptor);
  MemoryFile file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.descriptor() < 0 || file_of(file.descriptor()) != ticket.file) return std::nullopt;
  return file;
}

struct ImportedMemory final : Memory {
  ImportedMemory(const Ticket& of, Mapping mapped, CUcontext owner) : ticket(of), pages(std::move(mapped)) {
    kind = MemoryKind::imported;
    base = pages.address() + of.offset % kPage;
    bytes = of.bytes;
    context = owner;
  }

  const Ticket ticket;
  const Mapping pages;
  unsigned opened = 1;  ///< under the lock of imports
};

std::uint64_t number_of(const Pool& pool) { return reinterpret_cast<std::uint64_t>(pool.handle); }

std::mutex& imports_lock() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

/// @param context  that opens it, or null: then it is of the device.
Status import(const Ticket& ticket, const Gpu& gpu, CUcontext context, CUdeviceptr* address) {
  const std::optional<MemoryFile> file = open_file(ticket);
  if (!file) return CUDA_ERROR_MAP_FAILED;
  const std::uint64_t begin = ticket.offset / kPage * kPage;
  Result<Mapping> pages = Mapping::of_file(file->descriptor(), begin, ticket.offset - begin + ticket.bytes);
  if (!pages) return CUDA_ERROR_MAP_FAILED;
  auto memory = std::make_shared<ImportedMemory>(ticket, std::move(*pages), context);
  memory->device = gpu.number;
  *address = memory->base;
  return Process::instance().memory.add(std::move(memory)) ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::create() {
  Result<MemoryFile> file = MemoryFile::create("raddle event", kPage);
  return file ? map(std::move(*file)) : nullptr;
}

std::shared_ptr<SharedEvent> SharedEvent::map(MemoryFile file) {
  Result<Mapping> page = Mapping::of_file(file.descriptor(), 0, kPage);
  return page ? std::make_shared<SharedEvent>(std::move(file), std::move(*page)) : nullptr;
}

void SharedEvent::complete(std::uint64_t record) {
  std::uint64_t last = page().completed;
  while (last < record && !page().completed.compare_exchange_weak(last, record)) {
  }
}

WordCondition happened(const std::shared_ptr<SharedEvent>& event) {
  return {.word = &event->page().completed, .bytes = 8, .value = event->recorded(), .holds = event};
}

bool free_imported(CUdeviceptr address, bool of_pool) {
  Process& process = Process::instance();
  const std::lock_guard lock(imports_lock());
  const auto found = process.memory.find(address);
  if (found == nullptr || found->kind != MemoryKind::imported || found->base != address) return false;
  auto& memory = static_cast<ImportedMemory&>(*found);
  if ((memory.ticket.mark == kPointerMark) != of_pool) return false;
  if (--memory.opened != 0) return true;
  return end_shared(address);
}

namespace entry {

Status cuIpcGetMemHandle(Here context, CUipcMemHandle* handle, CUdeviceptr address) {
  AddressInfo info;
  if (!find_address(context, address, info) || info.kind != MemoryKind::device)
    return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const SharedPages pages, info.context->device.share({info.base}));
  write(*handle, {kMemoryMark, getpid(), pages.descriptor, file_of(pages.descriptor), pages.offset,
                  info.bytes, info.base});
  return CUDA_SUCCESS;
}

Status cuIpcOpenMemHandle_v2(Here context, CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  if (flags != kIpcLazyPeerAccess) return CUDA_ERROR_INVALID_VALUE;
  Ticket ticket;
  if (!read(handle, kMemoryMark, ticket) || ticket.bytes == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (ticket.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;  // it has the memory already
  const std::lock_guard lock(imports_lock());
  for (const auto& known : Process::instance().memory.all()) {
    if (known->kind != MemoryKind::imported) continue;
    auto& memory = static_cast<ImportedMemory&>(*known);
    if (std::memcmp(&memory.ticket, &ticket, sizeof ticket) != 0) continue;
    ++memory.opened;
    return *address = memory.base, CUDA_SUCCESS;
  }
  return import(ticket, context->gpu, context->handle, address);
}

Status cuIpcOpenMemHandle(Here context, CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(context, address, handle, flags);
}

Status cuIpcCloseMemHandle(Here, CUdeviceptr address) {
  return free_imported(address, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The descriptor of a pool says no more than that its holder may have pointers of it: they say where the
// memory is.
Status cuMemPoolExportToShareableHandle(void* shareable, In<Pool> pool, CUmemAllocationHandleType type,
                                        unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (pool->kind == Pool::imported || type != HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !pool->is_shareable())
    return CUDA_ERROR_INVALID_VALUE;
  const int file = memfd_create("raddle pool", MFD_CLOEXEC);
  const Ticket ticket{kPoolMark, getpid(), 0, 0, 0, 0, 0, number_of(*pool)};
  if (file < 0 || ::write(file, &ticket, sizeof ticket) != sizeof ticket) {
    if (file >= 0) close(file);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  *static_cast<int*>(shareable) = file;
  return CUDA_SUCCESS;
}

Status cuMemPoolImportFromShareableHandle(CUmemoryPool* handle, void* shareable,
                                          CUmemAllocationHandleType type, unsigned long long flags) {
  if (type != HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Ticket ticket;
  const auto file = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
  if (pread(file, &ticket, sizeof ticket, 0) != sizeof ticket || ticket.mark != kPoolMark)
    return CUDA_ERROR_INVALID_VALUE;
  Gpu& gpu = current_gpu();
  const CUmemPoolProps props{
      ALLOCATION_PINNED, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, {LOCATION_DEVICE, gpu.number}};
  auto pool = std::make_shared<Pool>(gpu, props, Pool::imported, device_source(gpu), gpu.bit());
  pool->origin = {ticket.process, ticket.pool};
  *handle = Process::instance().pools.add(std::move(pool));
  return CUDA_SUCCESS;
}

// Memory of another process goes on with the ticket that it came with.
Status cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  const auto pool = pool_of(address);
  const auto memory = Process::instance().memory.find(address);
  if (memory != nullptr && memory->kind == MemoryKind::imported && memory->base == address) {
    const Ticket& ticket = static_cast<const ImportedMemory&>(*memory).ticket;
    if (ticket.mark != kPointerMark) return CUDA_ERROR_INVALID_VALUE;
    return write(*data, ticket), CUDA_SUCCESS;
  }
  if (pool == nullptr || memory == nullptr || !pool->is_shareable()) return CUDA_ERROR_INVALID_VALUE;
  Process::instance().synchronize_all();  // the pages are copied once
  TRY_ASSIGN(const auto pages, pool->source->share({address}));
  write(*data, {kPointerMark, getpid(), pages.descriptor, file_of(pages.descriptor), pages.offset,
                memory->bytes, address, number_of(*pool)});
  return CUDA_SUCCESS;
}

// Of the pool that the memory is of, and no other.
Status cuMemPoolImportPointer(CUdeviceptr* address, In<Pool> pool, CUmemPoolPtrExportData* data) {
  Ticket ticket;
  if (pool->kind != Pool::imported || !read(*data, kPointerMark, ticket) || ticket.bytes == 0 ||
      pool->origin != Pool::Origin{ticket.process, ticket.pool})
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(imports_lock());
  return import(ticket, pool->gpu, nullptr, address);
}

Status cuIpcGetEventHandle(CUipcEventHandle* handle, In<Event> event) {
  if (event->shared == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // not made for it: as an H200 answers
  const int descriptor = event->shared->descriptor();
  write(*handle, {kEventMark, getpid(), descriptor, file_of(descriptor)});
  return CUDA_SUCCESS;
}

Status cuIpcOpenEventHandle(Here context, CUevent* handle, CUipcEventHandle given) {
  Ticket ticket;
  if (!read(given, kEventMark, ticket)) return CUDA_ERROR_INVALID_HANDLE;
  if (ticket.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  std::optional<MemoryFile> file = open_file(ticket);
  if (!file) return CUDA_ERROR_MAP_FAILED;
  auto shared = SharedEvent::map(std::move(*file));
  if (shared == nullptr) return CUDA_ERROR_MAP_FAILED;
  auto event = std::make_shared<Event>();
  event->context = context;
  event->flags = EVENT_INTERPROCESS | EVENT_DISABLE_TIMING;
  event->shared = std::move(shared);
  *handle = Process::instance().events.add(std::move(event));
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
