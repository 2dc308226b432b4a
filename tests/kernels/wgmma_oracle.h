// What a wgmma computes, and how its matrices lie in shared memory and registers, from the figures of PTX ISA
// "Asynchronous Warpgroup Level Matrix": shares nothing with the engines.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace wgmma {

/// A type of elements; of b1, 32 are one word.
struct Element {
  const char* name;
  unsigned bytes;
};

/// Where a matrix lies in shared memory. Offsets are bytes; start counts from the start of the image.
struct Layout {
  unsigned swizzle = 16;  ///< bytes: 128, 64, 32, or 16 for none
  bool k_major = true;
  std::uint32_t pattern = 0;  ///< where the pattern starts
  std::uint32_t advance =
      0;  ///< bytes along K from there to where the matrix starts; K-major and swizzled only
  std::uint32_t leading = 0, stride = 0;

  std::uint64_t descriptor() const;
  /// Of the byte `byte` along K of a row; N is the row of B.
  std::uint32_t place(std::uint32_t row, std::uint32_t k, std::uint32_t byte, unsigned element_bytes) const;
};

/// A random layout for so many rows of so many bytes that starts behind `from`; sets `end` behind its last
/// byte.
Layout random_layout(std::mt19937& random, unsigned swizzle, bool k_major, std::uint32_t rows,
                     std::uint32_t row_bytes, std::uint32_t from, std::uint32_t& end);

struct Spelling {
  Element a, b;
  const char* d;  ///< f32, f16, s32
  unsigned n = 8;
  bool sparse = false, saturates = false;

  unsigned depth() const;                                           ///< K, in elements (words of b1)
  unsigned kept() const { return sparse ? depth() / 2 : depth(); }  ///< of a row of A
  unsigned registers() const { return std::string(d) == "f16" ? n / 4 : n / 2; }
  bool is_half_width() const { return a.bytes == 2; }  ///< may be transposed
  std::string text() const;
};

/// Operands: encodings of elements, row by row; a row of B is a column of the matrix.
struct Operands {
  std::vector<std::uint32_t> a, b, d;  ///< 64 x kept, n x depth, 64 x n
  std::vector<std::uint8_t> kept;      ///< of a sparse A: where in its chunk each kept element lies
  bool adds = true;
  int sign = 1;
};
Operands random_operands(std::mt19937& random, const Spelling& spelling);
/// D, element by element.
std::vector<std::uint32_t> product(const Spelling& spelling, const Operands& operands);
/// Of bf16: the sums in double, and how far RADDLE_MMA=fast may be off (docs/accuracy.md).
struct Bounded {
  std::vector<double> sums, bounds;
};
Bounded bounded_product(const Spelling& spelling, const Operands& operands);
bool same(const Spelling& spelling, std::uint32_t x, std::uint32_t y);  ///< NaNs are

/// What thread t of the warpgroup has in its registers, register by register.
std::vector<std::uint32_t> fragment_of_a(const Spelling& spelling, const std::vector<std::uint32_t>& a);
std::vector<std::uint32_t> fragment_of_d(const Spelling& spelling, const std::vector<std::uint32_t>& d);
/// Metadata for each thread, garbage in those that the selector does not name.
std::vector<std::uint32_t> metadata(const Spelling& spelling, const Operands& operands, unsigned selector,
                                    std::mt19937& random);

}  // namespace wgmma
