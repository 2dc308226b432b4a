// What a program, library or object file has to do with CUDA: its runtime, its device code, the entry points
// it calls. `raddle doctor` prints it, `raddle exec` decides by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fatbin/container.h"

namespace raddle::cli {

enum class Runtime {
  none,    ///< driver API, or no CUDA at all
  shared,  ///< libcudart.so
  raddle,  ///< libcudart_static.a of Raddle
  nvidia   ///< libcudart_static.a of NVIDIA, which runs on NVIDIA's driver only
};

struct Program {
  Runtime runtime = Runtime::none;
  std::vector<fatbin::Container> containers;
  std::string bytes;                 ///< of the file; the containers point into it
  std::vector<std::string> needed;   ///< libraries
  std::string rpath;                 ///< DT_RPATH
  std::vector<std::string> imports;  ///< functions of other libraries whose names start with "cu" or "__cuda"
};

/// @errors io; invalid: no ELF file, or a malformed one
Result<Program> read_program(const std::string& path);

/// The advice for a program with NVIDIA's runtime in it.
std::string nvidia_runtime_advice(const std::string& path);

/// The folder of libcuda.so.1 and its companions: beside the raddle command's, or RADDLE_LIBRARY_PATH.
/// @errors not_found
Result<std::string> library_directory();

/// Where a command is found: a path as it is, a name in PATH, where this program is left out.
/// @errors not_found
Result<std::string> find_command(const std::string& name);

}  // namespace raddle::cli
