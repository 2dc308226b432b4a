// The texts of `raddle run`'s --arg, --out, --expect, --grid and --block.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/count.h"
#include "base/result.h"
#include "cli/element.h"
#include "cli/npy.h"

namespace raddle::cli {

/// One kernel argument: a buffer in device memory, or a scalar.
struct Argument {
  std::string text;  ///< as given
  bool is_buffer = false;
  Array array;  ///< buffer: its contents before the launch; scalar: one element
};

/// `buf:f32:1M=random`, `buf:f32=in.npy` (the file says how many), `i32:42`. Counts take K, M and G (powers
/// of 1,024).
/// @param index  of the argument, the seed of an unseeded `random`
/// @errors invalid, io
Result<Argument> parse_argument(const std::string& text, unsigned index);

/// "64", "64,2", "64x2x1" -> three extents, 1 where not given. @errors invalid
Result<std::array<std::uint32_t, 3>> parse_extents(const std::string& text, const char* what);

/// `INDEX=TEXT` of --out and --expect.
struct Indexed {
  unsigned index = 0;
  std::string text;
};
/// @errors invalid: not an index of a buffer among `arguments`
Result<Indexed> parse_indexed(const std::string& text, const std::vector<Argument>& arguments,
                              const char* option);

/// The contents that --expect names, of the same type and size as the buffer. @errors invalid, io
Result<Array> expected_array(const Indexed& expectation, const Argument& argument);

}  // namespace raddle::cli
