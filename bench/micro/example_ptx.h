// The checked-in PTX of the examples, as input for the micro benchmarks.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct PtxFile {
  std::string name;  ///< without extension
  std::string text;
};

/// Every .ptx file of examples/kernels, by name. Aborts where a file cannot be read: there is nothing to
/// measure then.
std::vector<PtxFile> example_ptx();

/// One module of at least `bytes` bytes: the kernels of softmax.ptx over and over, each time under new names.
std::string large_module(std::size_t bytes);

}  // namespace bench
