#include "driver/logs.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "driver/entry.h"

namespace raddle::driver {
namespace {

constexpr std::size_t kMostKept = 100;  ///< messages, as many as CUDA keeps

struct Callback {
  CUlogsCallback function;
  void* data;
};

/// An iterator is the number of the next message since the process began.
struct Logs {
  std::mutex mutex;
  std::deque<std::string> lines;
  CUlogIterator dropped = 0;  ///< messages that are not kept any more
  std::map<std::uintptr_t, Callback> callbacks;
  std::uintptr_t next_handle = 1;

  static Logs& instance() {
    static Logs& logs = *new Logs;  // calls may fail while the process ends
    return logs;
  }
  CUlogIterator end() const { return dropped + static_cast<CUlogIterator>(lines.size()); }
  /// The messages from an iterator on, or all; the iterator then stands behind them.
  std::string take(CUlogIterator* from) const {
    const CUlogIterator first = from == nullptr ? dropped : std::clamp(*from, dropped, end());
    std::string text;
    for (CUlogIterator i = first; i < end(); ++i) text += lines[i - dropped] + '\n';
    if (from != nullptr) *from = end();
    return text;
  }
};

}  // namespace

void log_error(std::string_view text) {
  Logs& logs = Logs::instance();
  std::map<std::uintptr_t, Callback> callbacks;
  std::string line(text);
  {
    const std::lock_guard lock(logs.mutex);
    logs.lines.push_back(line);
    if (logs.lines.size() > kMostKept) logs.lines.pop_front(), ++logs.dropped;
    callbacks = logs.callbacks;
  }
  for (const auto& [handle, each] : callbacks)
    each.function(each.data, LOG_LEVEL_ERROR, line.data(), line.size());
}

namespace entry {

Status cuLogsRegisterCallback(CUlogsCallback function, void* data, CUlogsCallbackHandle* handle) {
  Logs& logs = Logs::instance();
  const std::lock_guard lock(logs.mutex);
  const std::uintptr_t number = logs.next_handle++;
  logs.callbacks[number] = {function, data};
  if (handle != nullptr) *handle = reinterpret_cast<CUlogsCallbackHandle>(number);
  return CUDA_SUCCESS;
}

Status cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  Logs& logs = Logs::instance();
  const std::lock_guard lock(logs.mutex);
  const bool was_there = logs.callbacks.erase(reinterpret_cast<std::uintptr_t>(handle)) != 0;
  return was_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status cuLogsCurrent(CUlogIterator* iterator, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Logs& logs = Logs::instance();
  const std::lock_guard lock(logs.mutex);
  *iterator = logs.end();
  return CUDA_SUCCESS;
}

Status cuLogsDumpToFile(CUlogIterator* iterator, const char* path, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Logs& logs = Logs::instance();
  const std::lock_guard lock(logs.mutex);
  std::ofstream file(path);
  return file << logs.take(iterator) && file.flush() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// The newest that have room, a zero behind them.
Status cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, std::size_t* bytes, unsigned flags) {
  if (flags != 0 || *bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Logs& logs = Logs::instance();
  const std::lock_guard lock(logs.mutex);
  std::string text = logs.take(iterator);
  while (text.size() + 1 > *bytes) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  *bytes = text.size();
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
