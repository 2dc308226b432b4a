// The Python module raddle._raddle: the C++ API for Python. The package's own files (src/python/raddle) make
// it comfortable: what wants NumPy, files or other programs is there.
#include "python/device.h"
#include "python/stream.h"

NB_MODULE(_raddle, module) {
  module.doc() = "The C++ part of the package raddle.";
  module.attr("__version__") = RADDLE_VERSION;
  // Objects that live at module level are given up with the process, as devices of other libraries are.
  nanobind::set_leak_warnings(false);
  raddle::python::bind_device(module);
  raddle::python::bind_stream(module);
  raddle::python::bind_launch(module);
  raddle::python::bind_kernel(module);
}
