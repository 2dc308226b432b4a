// NumPy's .npy files: one array, little-endian, C order (format versions 1 to 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/type.h"

namespace raddle::cli {

struct Array {
  isa::Type type = isa::Type::none;
  std::vector<std::uint64_t> shape;  ///< empty: a single number
  std::vector<std::byte> bytes;
};

/// @param as  the type that the elements are to have; the file must hold it (bf16 and fp8, which NumPy lacks,
///            as unsigned integers of their width; b8..b64 take any type of their width)
/// @errors io, invalid (not a .npy file, big-endian, Fortran order, truncated), or another type
Result<Array> read_npy(const std::string& path, isa::Type as);
Result<Array> parse_npy(const std::string& contents, const std::string& name, isa::Type as);

/// @errors io
Result<void> write_npy(const std::string& path, const Array& array);
std::string format_npy(const Array& array);

}  // namespace raddle::cli
