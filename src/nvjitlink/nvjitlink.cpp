// libnvJitLink.so.13: nvJitLink's functions over Raddle's linker. What they make is a cubin that carries PTX
// (fatbin/cubin.h), or PTX.
#include <cstring>
#include <memory>

#include "base/file.h"
#include "nvjitlink/link.h"

namespace raddle::nvjitlink {
namespace entry {
namespace {

nvJitLinkResult size_of(nvJitLinkHandle link, const std::string& what, bool is_there, std::size_t* bytes) {
  if (link == nullptr || bytes == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  if (!is_there) return NVJITLINK_ERROR_INTERNAL;
  *bytes = what.size();
  return NVJITLINK_SUCCESS;
}

nvJitLinkResult copy_of(nvJitLinkHandle link, const std::string& what, bool is_there, void* to) {
  if (link == nullptr || to == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  if (!is_there) return NVJITLINK_ERROR_INTERNAL;
  std::memcpy(to, what.data(), what.size());
  return NVJITLINK_SUCCESS;
}

/// A log has its zero counted only if there is something in it.
std::size_t log_size(const std::string& log) { return log.empty() ? 0 : log.size() + 1; }

nvJitLinkResult log_size_of(nvJitLinkHandle link, const std::string Link::* log, std::size_t* bytes) {
  if (link == nullptr || bytes == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  const std::lock_guard lock(link->mutex);
  *bytes = log_size(link->*log);
  return NVJITLINK_SUCCESS;
}

nvJitLinkResult log_of(nvJitLinkHandle link, const std::string Link::* log, char* to) {
  if (link == nullptr || to == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  const std::lock_guard lock(link->mutex);
  std::memcpy(to, (link->*log).c_str(), log_size(link->*log));
  return NVJITLINK_SUCCESS;
}

}  // namespace

nvJitLinkResult Create(nvJitLinkHandle* link, std::uint32_t count, const char* const* words) {
  if (link == nullptr || (count != 0 && words == nullptr)) return NVJITLINK_ERROR_NULL_INPUT;
  *link = nullptr;
  Options options;
  const nvJitLinkResult result = read_options(count, words, options);
  if (result == NVJITLINK_SUCCESS) *link = std::make_unique<Link>(options).release();
  return result;
}

nvJitLinkResult Destroy(nvJitLinkHandle* link) {
  if (link == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  const std::unique_ptr<Link> ended(*link);
  *link = nullptr;
  return NVJITLINK_SUCCESS;
}

nvJitLinkResult AddData(nvJitLinkHandle link, nvJitLinkInputType type, const void* data, std::size_t bytes,
                        const char* name) {
  if (link == nullptr || data == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  const std::lock_guard lock(link->mutex);
  const std::string fallback = "<input " + std::to_string(link->inputs.size() + 1) + ">";
  return link->add(type, {static_cast<const char*>(data), bytes}, name == nullptr ? fallback : name);
}

nvJitLinkResult AddFile(nvJitLinkHandle link, nvJitLinkInputType type, const char* path) {
  if (link == nullptr || path == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  Result<std::string> bytes = read_file(path);
  const std::lock_guard lock(link->mutex);
  if (bytes) return link->add(type, std::move(*bytes), path);
  link->errors += std::string("no such file: ") + path + "\n";
  return NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult Complete(nvJitLinkHandle link) {
  if (link == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  const std::lock_guard lock(link->mutex);
  return link->is_complete ? NVJITLINK_ERROR_INTERNAL : link->complete();
}

nvJitLinkResult GetLinkedCubinSize(nvJitLinkHandle link, std::size_t* bytes) {
  return link == nullptr ? NVJITLINK_ERROR_NULL_INPUT
                         : size_of(link, link->cubin, !link->cubin.empty(), bytes);
}

nvJitLinkResult GetLinkedCubin(nvJitLinkHandle link, void* cubin) {
  return link == nullptr ? NVJITLINK_ERROR_NULL_INPUT
                         : copy_of(link, link->cubin, !link->cubin.empty(), cubin);
}

nvJitLinkResult GetLinkedPtxSize(nvJitLinkHandle link, std::size_t* bytes) {
  if (link == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  return link->ptx.empty() ? NVJITLINK_ERROR_INVALID_INPUT : size_of(link, link->ptx, true, bytes);
}

nvJitLinkResult GetLinkedPtx(nvJitLinkHandle link, char* ptx) {
  if (link == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  return link->ptx.empty() ? NVJITLINK_ERROR_INVALID_INPUT : copy_of(link, link->ptx, true, ptx);
}

/// There is none: what is linked here is PTX.
nvJitLinkResult GetLinkedLTOIRSize(nvJitLinkHandle link, std::size_t* bytes) {
  return link == nullptr || bytes == nullptr ? NVJITLINK_ERROR_NULL_INPUT : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult GetLinkedLTOIR(nvJitLinkHandle link, void* code) {
  return link == nullptr || code == nullptr ? NVJITLINK_ERROR_NULL_INPUT : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult GetErrorLogSize(nvJitLinkHandle link, std::size_t* bytes) {
  return log_size_of(link, &Link::errors, bytes);
}
nvJitLinkResult GetErrorLog(nvJitLinkHandle link, char* log) { return log_of(link, &Link::errors, log); }
nvJitLinkResult GetInfoLogSize(nvJitLinkHandle link, std::size_t* bytes) {
  return log_size_of(link, &Link::infos, bytes);
}
nvJitLinkResult GetInfoLog(nvJitLinkHandle link, char* log) { return log_of(link, &Link::infos, log); }

}  // namespace entry

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define RELEASE(name, number, parameters, arguments) \
  EXPORTED nvJitLinkResult __nvJitLink##name##_##number parameters { return entry::name arguments; }
#define ENTRY(name, parameters, arguments)                                              \
  EXPORTED nvJitLinkResult nvJitLink##name parameters { return entry::name arguments; } \
  RELEASE(name, 13_0, parameters, arguments)                                            \
  RELEASE(name, 13_1, parameters, arguments)                                            \
  RELEASE(name, 13_2, parameters, arguments)                                            \
  RELEASE(name, 13_3, parameters, arguments)                                            \
  RELEASE(name, 13_4, parameters, arguments) RELEASE(name, 13_5, parameters, arguments)
#include "nvjitlink/entries.def"
#undef ENTRY
#undef RELEASE

/// The release whose behaviour it has.
EXPORTED nvJitLinkResult nvJitLinkVersion(unsigned* major, unsigned* minor) {
  if (major == nullptr || minor == nullptr) return NVJITLINK_ERROR_NULL_INPUT;
  *major = 13, *minor = 0;
  return NVJITLINK_SUCCESS;
}

}  // namespace raddle::nvjitlink
