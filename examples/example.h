// An example: host buffers, launches of kernels from examples/kernels, and a check against a
// reference written in plain C++. run_examples runs the table through the public API; nothing here knows
// Raddle.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace examples {

using Bytes = std::vector<std::byte>;

/// A pointer argument: the buffer's index, and an offset into it.
struct BufferRef {
  int index;
  std::size_t byte_offset = 0;
};

/// A tensor map argument (CUtensorMap): of a dense tensor, for tiles; with `pixels`, for im2col. Dimension 0
/// is the fastest.
struct TensorMapOf {
  enum Element { u32, f32, bf16 };
  BufferRef tensor;
  Element element = u32;
  std::vector<unsigned> sizes;
  std::vector<unsigned> box = {};           ///< tiles
  std::vector<int> lower = {}, upper = {};  ///< im2col: corners of the box of filter bases, W first
  unsigned channels = 0, pixels = 0;        ///< im2col: per request
  bool swizzled = false;                    ///< by 128 bytes
};
using Argument = std::variant<BufferRef, TensorMapOf, std::int32_t, float>;

struct LaunchStep {
  std::string kernel;
  unsigned grid[3];   ///< blocks
  unsigned block[3];  ///< threads
  std::vector<Argument> arguments;
  unsigned shared_bytes = 0;  ///< dynamic, per block
  unsigned cluster = 0;       ///< blocks, along x; 0: no clusters
};

struct CheckResult {
  bool ok = true;
  double max_error = 0;  ///< largest |got - want|; 0 where results are exact
  std::string message;   ///< the first element that is wrong
};

struct Example {
  std::string name;
  std::string file;            ///< PTX file in examples/kernels, without extension
  std::vector<Bytes> buffers;  ///< contents before the launch
  std::vector<LaunchStep> steps;
  double work = 0;   ///< in units, done by one run of all steps
  std::string unit;  ///< of work per second, e.g. "GB/s"
  /// Judges the buffers after one run.
  std::function<CheckResult(const std::vector<Bytes>& results)> check;
};

/// `small` sizes finish on the interpreter in about a second each; neither is a multiple of the block size
/// where the kernel allows that.
enum class Size { small, full };

/// All examples, in the order of the table.
/// @param threads  per block, whole warps, for the kernels that take any number (radix_sort wants 256 at
/// least)
std::vector<Example> make_elementwise_examples(Size size, unsigned threads);
std::vector<Example> make_matrix_examples(Size size, unsigned threads);
std::vector<Example> make_collective_examples(Size size, unsigned threads);
std::vector<Example> make_grid_examples(Size size, unsigned threads);
std::vector<Example> make_irregular_examples(Size size, unsigned threads);
std::vector<Example> make_number_examples(Size size, unsigned threads);
std::vector<Example> make_cooperating_examples(Size size, unsigned threads);
std::vector<Example> make_asynchronous_examples(Size size, unsigned threads);
std::vector<Example> make_tensor_core_examples(Size size, unsigned threads);

template <class T>
Bytes to_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> from_bytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Bytes no kernel is expected to leave behind: a result that was never written is not taken for a right one.
inline Bytes unwritten(std::size_t bytes) { return Bytes(bytes, std::byte{0xff}); }

inline unsigned blocks_for(long elements, long per_block) {
  return static_cast<unsigned>((elements + per_block - 1) / per_block);
}

/// Reproducible input: `count` floats in [low, high).
std::vector<float> random_floats(std::uint32_t seed, std::size_t count, float low, float high);
std::vector<std::uint32_t> random_words(std::uint32_t seed, std::size_t count);

/// |got - want| <= relative * |want| + absolute for every element; a NaN is wrong.
CheckResult check_floats(const std::vector<float>& got, const std::vector<double>& want, double relative,
                         double absolute);
CheckResult check_words(const std::vector<std::uint32_t>& got, const std::vector<std::uint32_t>& want);

}  // namespace examples
