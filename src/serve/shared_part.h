// Memory that the server shares with a client: a sealed file, which both map.
#pragma once

#include <sys/mman.h>

#include <new>
#include <utility>

#include "machine/memory/mapping.h"

namespace raddle::serve {

template <class Layout>
class SharedPart {
 public:
  /// All zero. @errors out_of_memory
  static Result<SharedPart> make(const char* name) {
    TRY_ASSIGN(machine::MemoryFile file, machine::MemoryFile::create(name, sizeof(Layout)));
    void* const map = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
    if (map == MAP_FAILED) return Error::make(ErrorCode::out_of_memory, "no memory to share with a client");
    return SharedPart(static_cast<Layout*>(map), std::move(file));
  }
  SharedPart(SharedPart&& other) noexcept
      : layout_(std::exchange(other.layout_, nullptr)), file_(std::move(other.file_)) {}
  ~SharedPart() {
    if (layout_ != nullptr) munmap(layout_, sizeof(Layout));
  }
  Layout& operator*() const { return *layout_; }
  Layout* operator->() const { return layout_; }
  int descriptor() const { return file_.descriptor(); }

 private:
  SharedPart(Layout* layout, machine::MemoryFile file) : layout_(layout), file_(std::move(file)) {}
  Layout* layout_;
  machine::MemoryFile file_;
};

}  // namespace raddle::serve
