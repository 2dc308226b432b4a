// Multicast objects: memory of every device of a team behind one range of addresses. The team is the one
// device, so a mapping of the object shows the memory that this has bound, and multimem instructions are
// plain ones.
#include <algorithm>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "driver/virtual_memory.h"

namespace raddle::driver {
namespace {

bool overlap(const Multicast::Binding& binding, std::size_t offset, std::size_t bytes) {
  return binding.offset < offset + bytes && offset < binding.offset + binding.bytes;
}

/// What cuMulticastGetGranularity and cuMulticastCreate ask for alike.
Status check_props(const CUmulticastObjectProp& prop) {
  if (prop.numDevices == 0 || prop.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (prop.handleTypes != 0) return CUDA_ERROR_NOT_SUPPORTED;  // other processes have no device to add
  return CUDA_SUCCESS;
}

/// A part of an object of so many bytes, in units.
bool is_part(std::size_t offset, std::size_t bytes, std::size_t all) {
  return is_whole(bytes) && offset % kMemoryGranularity == 0 && offset <= all && bytes <= all - offset;
}

/// From here on the object's mappings show the memory.
Status bind(PhysicalMemory& object, const Multicast::Binding& binding) {
  object.multicast->wait_for_team();
  const std::lock_guard lock(object.mutex);
  if (!object.multicast->bind(binding)) return CUDA_ERROR_INVALID_VALUE;
  Result<void> filled;
  with_mappings_of(object, [&](const MappedMemory& mapped) {
    if (filled) filled = mapped.fill(binding.offset, binding.bytes);
  });
  return filled;
}

/// The file behind memory of a pool or of cuMemCreate, and the place of an address in it.
Status find_file(CUdeviceptr address, std::size_t bytes, Multicast::Binding& binding) {
  const auto memory = Process::instance().memory.find(address);
  if (memory == nullptr || bytes > memory->bytes - (address - memory->base)) return CUDA_ERROR_INVALID_VALUE;
  if (memory->kind == MemoryKind::mapped) {
    const auto& mapped = static_cast<const MappedMemory&>(*memory);
    if (mapped.physical->multicast != nullptr) return CUDA_ERROR_INVALID_VALUE;
    binding.file = mapped.physical->file;
    binding.at = mapped.offset + (address - mapped.base);
    return CUDA_SUCCESS;
  }
  if (memory->nature() != MemoryKind::pooled) return CUDA_ERROR_INVALID_VALUE;
  Process::instance().synchronize_all();  // the pages change
  TRY_ASSIGN(const auto pages, Process::instance().gpu(memory->device).share({memory->base}));
  TRY_ASSIGN(MemoryFile own, MemoryFile::of(pages.descriptor));
  binding.file = std::make_shared<const MemoryFile>(std::move(own));
  binding.at = pages.offset + (address - memory->base);
  return CUDA_SUCCESS;
}

}  // namespace

Status Multicast::add(CUdevice device) {
  const std::lock_guard lock(mutex_);
  if (team_.size() == devices_ || std::ranges::find(team_, device) != team_.end())
    return CUDA_ERROR_INVALID_VALUE;
  team_.push_back(device);
  if (team_.size() == devices_) complete_.notify_all();
  return CUDA_SUCCESS;
}

void Multicast::wait_for_team() {
  std::unique_lock lock(mutex_);
  complete_.wait(lock, [&] { return team_.size() == devices_; });
}

bool Multicast::bind(const Binding& binding) {
  const std::lock_guard lock(mutex_);
  const auto taken = [&](const Binding& other) { return overlap(other, binding.offset, binding.bytes); };
  if (std::ranges::any_of(bindings_, taken)) return false;
  bindings_.insert(std::ranges::upper_bound(bindings_, binding.offset, {}, &Binding::offset), binding);
  return true;
}

bool Multicast::unbind(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto meets = [&](const Binding& binding) { return overlap(binding, offset, bytes); };
  const auto is_inside = [&](const Binding& binding) {
    return binding.offset >= offset && binding.offset + binding.bytes <= offset + bytes;
  };
  if (std::ranges::none_of(bindings_, meets)) return false;
  if (!std::ranges::all_of(bindings_, [&](const Binding& each) { return !meets(each) || is_inside(each); }))
    return false;
  std::erase_if(bindings_, meets);
  return true;
}

auto Multicast::parts(std::size_t offset, std::size_t bytes) const -> std::vector<Binding> {
  const std::lock_guard lock(mutex_);
  std::vector<Binding> parts;
  for (Binding part : bindings_) {
    if (!overlap(part, offset, bytes)) continue;
    const std::size_t first = std::max(part.offset, offset);
    part.bytes = std::min(part.offset + part.bytes, offset + bytes) - first;
    part.at += first - part.offset;
    part.offset = first;
    parts.push_back(part);
  }
  return parts;
}

bool Multicast::is_bound(std::size_t offset, std::size_t bytes) const {
  for (const Binding& part : parts(offset, bytes)) bytes -= part.bytes;
  return bytes == 0;
}

namespace entry {

Status cuMulticastGetGranularity(std::size_t* granularity, const CUmulticastObjectProp* prop,
                                 CUmulticastGranularity_flags option) {
  if (option != MULTICAST_GRANULARITY_MINIMUM && option != MULTICAST_GRANULARITY_RECOMMENDED)
    return CUDA_ERROR_INVALID_VALUE;
  TRY(check_props(*prop));
  *granularity = kMemoryGranularity;
  return CUDA_SUCCESS;
}

Status cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* prop) {
  TRY(check_props(*prop));
  if (!is_whole(prop->size)) return CUDA_ERROR_INVALID_VALUE;
  if (prop->numDevices > Process::instance().gpus().size()) return CUDA_ERROR_INVALID_DEVICE;
  if (prop->numDevices > 1) return Error::unsupported("multicast objects of several devices");
  *handle = add_handle(std::make_shared<PhysicalMemory>(*prop));
  return CUDA_SUCCESS;
}

Status cuMulticastAddDevice(In<PhysicalMemory> object, In<CUdevice> device) {
  return object->multicast != nullptr ? object->multicast->add(device.number) : CUDA_ERROR_INVALID_VALUE;
}

Status cuMulticastBindMem(In<PhysicalMemory> object, std::size_t offset, In<PhysicalMemory> memory,
                          std::size_t memory_offset, std::size_t bytes, unsigned long long flags) {
  if (object->multicast == nullptr || memory->multicast != nullptr || flags != 0 ||
      !is_part(offset, bytes, object->bytes) || !is_part(memory_offset, bytes, memory->bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return bind(*object, {offset, bytes, memory->file, memory_offset});
}

Status cuMulticastBindAddr(In<PhysicalMemory> object, std::size_t offset, CUdeviceptr address,
                           std::size_t bytes, unsigned long long flags) {
  if (object->multicast == nullptr || flags != 0 || !is_part(offset, bytes, object->bytes) ||
      address % kMemoryGranularity != 0)
    return CUDA_ERROR_INVALID_VALUE;
  Multicast::Binding binding{.offset = offset, .bytes = bytes, .file = nullptr};
  TRY(find_file(address, bytes, binding));
  return bind(*object, binding);
}

/// Work that was given before may use the memory.
Status cuMulticastUnbind(In<PhysicalMemory> object, In<CUdevice>, std::size_t offset, std::size_t bytes) {
  if (object->multicast == nullptr || !is_part(offset, bytes, object->bytes)) return CUDA_ERROR_INVALID_VALUE;
  Process::instance().synchronize_all();
  const std::lock_guard lock(object->mutex);
  if (!object->multicast->unbind(offset, bytes)) return CUDA_ERROR_INVALID_VALUE;
  with_mappings_of(*object, [&](const MappedMemory& mapped) { mapped.empty(offset, bytes); });
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
