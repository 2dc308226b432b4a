// The bytes of an object of Python's buffer protocol, held while this lives.
#pragma once

#include "python/nanobind.h"

namespace raddle::python {

class BufferView {
 public:
  /// @param flags  PyBUF_SIMPLE, or PyBUF_WRITABLE; the memory is in one piece, in the order of C, or
  ///               Python's BufferError is raised
  BufferView(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  BufferView(const BufferView&) = delete;
  ~BufferView() { PyBuffer_Release(&view_); }

  void* data() const { return view_.buf; }
  std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
  bool read_only() const { return view_.readonly != 0; }

 private:
  Py_buffer view_;
};

}  // namespace raddle::python
