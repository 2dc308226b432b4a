// Examples of matrices multiplied on tensor cores, by mma.sync and wgmma: products in four types, as
// persistent kernels, in groups, by stream-K; a convolution; attention.
#include "example.h"

namespace examples {
namespace {

/// Numbers as a kernel gets them, and as they are.
struct Numbers {
  Bytes bytes;
  std::vector<double> values;
};

std::uint16_t nearest_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

Numbers random_bf16(std::uint32_t seed, std::size_t count) {
  Numbers numbers;
  std::vector<std::uint16_t> encoded;
  for (const float value : random_floats(seed, count, -1, 1)) {
    encoded.push_back(nearest_bf16(value));
    const std::uint32_t bits = std::uint32_t{encoded.back()} << 16;
    float rounded;
    std::memcpy(&rounded, &bits, 4);
    numbers.values.push_back(rounded);
  }
  numbers.bytes = to_bytes(encoded);
  return numbers;
}

/// Halves between 1 and 2, of either sign: any ten bits are such a mantissa.
Numbers random_f16(std::uint32_t seed, std::size_t count) {
  Numbers numbers;
  std::vector<std::uint16_t> encoded;
  for (const std::uint32_t word : random_words(seed, count)) {
    encoded.push_back(static_cast<std::uint16_t>((word & 0x83ff) | 0x3c00));
    numbers.values.push_back((1 + (word & 0x3ff) / 1024.0) * ((word & 0x8000) != 0 ? -1 : 1));
  }
  numbers.bytes = to_bytes(encoded);
  return numbers;
}

/// Sign, four bits of exponent with bias 7, three of mantissa; no NaN.
Numbers random_e4m3(std::uint32_t seed, std::size_t count) {
  Numbers numbers;
  std::vector<std::uint8_t> encoded;
  for (const std::uint32_t word : random_words(seed, count)) {
    encoded.push_back(static_cast<std::uint8_t>(word & 0xbf));
    const int exponent = static_cast<int>(word >> 3 & 7), mantissa = static_cast<int>(word & 7);
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    numbers.values.push_back((word & 0x80) != 0 ? -magnitude : magnitude);
  }
  numbers.bytes = to_bytes(encoded);
  return numbers;
}

Numbers random_s8(std::uint32_t seed, std::size_t count) {
  Numbers numbers;
  std::vector<std::int8_t> encoded;
  for (const std::uint32_t word : random_words(seed, count)) {
    encoded.push_back(static_cast<std::int8_t>(word));
    numbers.values.push_back(encoded.back());
  }
  numbers.bytes = to_bytes(encoded);
  return numbers;
}

/// c[m][n] = sum over k of a[m][k] * b[n][k].
std::vector<double> product(const double* a, const double* b, unsigned rows, unsigned columns,
                            unsigned depth) {
  std::vector<double> c(std::size_t{rows} * columns);
  for (unsigned m = 0; m < rows; ++m)
    for (unsigned n = 0; n < columns; ++n) {
      double sum = 0;
      for (unsigned k = 0; k < depth; ++k)
        sum += a[std::size_t{m} * depth + k] * b[std::size_t{n} * depth + k];
      c[std::size_t{m} * columns + n] = sum;
    }
  return c;
}

/// What a product of so deep rows of numbers around 1 may be off in f32.
constexpr double kRelative = 1e-4, kAbsolute = 1e-3;

template <class MakeNumbers>
Example mma_gemm(Size size, const std::string& kernel, unsigned element_bytes, MakeNumbers make) {
  const unsigned rows = size == Size::small ? 64 : 512, columns = size == Size::small ? 128 : 512,
                 depth = size == Size::small ? 256 / element_bytes : 512;
  const Numbers a = make(70, std::size_t{rows} * depth), b = make(71, std::size_t{columns} * depth);
  Example example{kernel, "tensor_gemm", {a.bytes, b.bytes, unwritten(std::size_t{rows} * columns * 4)}};
  example.steps = {{kernel,
                    {columns / 64, rows / 64, 1},
                    {128, 1, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, static_cast<std::int32_t>(columns),
                     static_cast<std::int32_t>(depth * element_bytes)}}};
  example.work = 2e-9 * rows * columns * depth;
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    const std::vector<double> want = product(a.values.data(), b.values.data(), rows, columns, depth);
    if (kernel != "gemm_s8") return check_floats(from_bytes<float>(results[2]), want, kRelative, kAbsolute);
    std::vector<std::uint32_t> exact;
    for (const double value : want)
      exact.push_back(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
    return check_words(from_bytes<std::uint32_t>(results[2]), exact);
  };
  return example;
}

/// Rows of 64 or more bf16, of which kernels take tiles of 64 x 64.
TensorMapOf tiles_of(int buffer, unsigned rows, unsigned depth) {
  return {.tensor = {buffer},
          .element = TensorMapOf::bf16,
          .sizes = {depth, rows},
          .box = {64, 64},
          .swizzled = true};
}

/// c = a * b^T in bf16: the buffers, and how c (buffer 2) is checked.
Example bf16_product(const std::string& name, unsigned rows, unsigned columns, unsigned depth) {
  const Numbers a = random_bf16(72, std::size_t{rows} * depth),
                b = random_bf16(73, std::size_t{columns} * depth);
  Example example{name, name, {a.bytes, b.bytes, unwritten(std::size_t{rows} * columns * 4)}};
  example.work = 2e-9 * rows * columns * depth;
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    return check_floats(from_bytes<float>(results[2]),
                        product(a.values.data(), b.values.data(), rows, columns, depth), kRelative,
                        kAbsolute);
  };
  return example;
}

Example wgmma_gemm(Size size) {
  const unsigned rows = size == Size::small ? 256 : 1024, columns = size == Size::small ? 256 : 1024,
                 depth = size == Size::small ? 128 : 1024, clusters = size == Size::small ? 1 : 5;
  const unsigned tiles_x = columns / 128, tiles = rows / 256 * tiles_x;
  Example example = bf16_product("wgmma_gemm", rows, columns, depth);
  constexpr unsigned kSharedBytes = 3 * 32768 + 1024;
  example.steps = {{"wgmma_gemm",
                    {2 * clusters, 1, 1},
                    {384, 1, 1},
                    {tiles_of(0, rows, depth), tiles_of(1, columns, depth), BufferRef{2},
                     static_cast<std::int32_t>(tiles_x), static_cast<std::int32_t>(tiles),
                     static_cast<std::int32_t>(depth / 64)},
                    kSharedBytes,
                    2}};
  return example;
}

Example stream_k_gemm(Size size) {
  const unsigned rows = size == Size::small ? 64 : 320, columns = size == Size::small ? 192 : 448,
                 depth = size == Size::small ? 256 : 1024, blocks = size == Size::small ? 5 : 16;
  const unsigned tiles_x = columns / 64, tiles = rows / 64 * tiles_x;
  Example example = bf16_product("stream_k_gemm", rows, columns, depth);
  example.buffers.push_back(unwritten(std::size_t{blocks} * 64 * 64 * 4));
  example.buffers.push_back(Bytes(blocks * 4));
  example.steps = {{"stream_k_gemm",
                    {blocks, 1, 1},
                    {128, 1, 1},
                    {tiles_of(0, rows, depth), tiles_of(1, columns, depth), BufferRef{2}, BufferRef{3},
                     BufferRef{4}, static_cast<std::int32_t>(tiles_x), static_cast<std::int32_t>(tiles),
                     static_cast<std::int32_t>(depth / 64)}}};
  return example;
}

Example grouped_gemm(Size size) {
  struct Product {
    std::int32_t a, b, c, rows, columns, depth;
  };
  std::vector<Product> products = {{0, 0, 0, 70, 33, 72}, {0, 0, 0, 5, 129, 8}, {0, 0, 0, 64, 64, 200}};
  if (size == Size::full)
    products.insert(products.end(), {{0, 0, 0, 300, 500, 512}, {0, 0, 0, 1, 1000, 1000}});
  std::int32_t elements = 0, results = 0;
  double work = 0;
  for (Product& p : products) {
    p.a = elements, p.b = p.a + p.rows * p.depth, elements = p.b + p.columns * p.depth;
    p.c = results, results += p.rows * p.columns;
    work += 2e-9 * p.rows * p.columns * p.depth;
  }
  const unsigned blocks = size == Size::small ? 3 : 16;
  const Numbers numbers = random_bf16(74, static_cast<std::size_t>(elements));
  Example example{"grouped_gemm",
                  "grouped_gemm",
                  {numbers.bytes, to_bytes(products), unwritten(static_cast<std::size_t>(results) * 4),
                   unwritten(std::size_t{blocks} * 256)}};
  example.steps = {{"grouped_gemm",
                    {blocks, 1, 1},
                    {128, 1, 1},
                    {tiles_of(0, 64, 64), BufferRef{1}, static_cast<std::int32_t>(products.size()),
                     BufferRef{0}, BufferRef{2}, BufferRef{3}}}};
  example.work = work;
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& found) {
    std::vector<double> want;
    for (const Product& p : products) {
      const std::vector<double> c = product(
          &numbers.values[static_cast<std::size_t>(p.a)], &numbers.values[static_cast<std::size_t>(p.b)],
          static_cast<unsigned>(p.rows), static_cast<unsigned>(p.columns), static_cast<unsigned>(p.depth));
      want.insert(want.end(), c.begin(), c.end());
    }
    return check_floats(from_bytes<float>(found[2]), want, kRelative, kAbsolute);
  };
  return example;
}

Example implicit_gemm(Size size) {
  constexpr unsigned kChannels = 64;
  const unsigned images = size == Size::small ? 1 : 3, height = size == Size::small ? 8 : 32,
                 width = size == Size::small ? 16 : 30, pixels = images * height * width;
  const Numbers in = random_bf16(75, std::size_t{pixels} * kChannels),
                filter = random_bf16(76, 9 * kChannels * kChannels);
  Example example{"implicit_gemm",
                  "implicit_gemm",
                  {in.bytes, filter.bytes, unwritten(std::size_t{pixels} * kChannels * 4)}};
  const TensorMapOf map{.tensor = {0},
                        .element = TensorMapOf::bf16,
                        .sizes = {kChannels, width, height, images},
                        .lower = {-1, -1},
                        .upper = {-1, -1},
                        .channels = kChannels,
                        .pixels = 64,
                        .swizzled = true};
  example.steps = {{"implicit_gemm",
                    {pixels / 64, 1, 1},
                    {128, 1, 1},
                    {map, tiles_of(1, 9 * kChannels, kChannels), BufferRef{2},
                     static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)}}};
  example.work = 2e-9 * 9 * kChannels * kChannels * pixels;
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(std::size_t{pixels} * kChannels);
    for (unsigned pixel = 0; pixel < pixels; ++pixel)
      for (unsigned place = 0; place < 9; ++place) {
        const unsigned x = pixel % width + place % 3 - 1, y = pixel / width % height + place / 3 - 1;
        if (x >= width || y >= height) continue;
        const std::size_t from = (std::size_t{pixel} / width / height * height + y) * width + x;
        const std::vector<double> added =
            product(&in.values[from * kChannels], &filter.values[place * kChannels * kChannels], 1, kChannels,
                    kChannels);
        for (unsigned c = 0; c < kChannels; ++c) want[std::size_t{pixel} * kChannels + c] += added[c];
      }
    return check_floats(from_bytes<float>(results[2]), want, kRelative, kAbsolute);
  };
  return example;
}

/// Of each four elements of A two are kept, those that a random word names.
Example sparse_gemm(Size size) {
  const unsigned rows = size == Size::small ? 64 : 512, columns = size == Size::small ? 64 : 512,
                 depth = size == Size::small ? 96 : 512;
  const Numbers kept = random_bf16(83, std::size_t{rows} * depth / 2),
                b = random_bf16(84, std::size_t{columns} * depth);
  const std::vector<std::uint32_t> chance = random_words(85, std::size_t{rows} * depth / 4);
  constexpr unsigned kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  std::vector<double> a(std::size_t{rows} * depth);
  std::vector<std::uint32_t> metadata(std::size_t{rows} * depth / 32);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned four = 0; four < depth / 4; ++four) {
      const std::size_t at = std::size_t{row} * (depth / 4) + four;
      const auto& pair = kPairs[chance[at] % 6];
      for (unsigned i = 0; i < 2; ++i) a[at * 4 + pair[i]] = kept.values[at * 2 + i];
      const std::size_t word =
          ((std::size_t{row} / 16 * (depth / 32) + four / 8) * 8 + row % 8) * 2 + four / 4 % 2;
      metadata[word] |= (pair[0] | pair[1] << 2) << (row / 8 % 2 * 16 + four % 4 * 4);
    }
  Example example{"sparse_gemm",
                  "sparse_gemm",
                  {kept.bytes, to_bytes(metadata), b.bytes, unwritten(std::size_t{rows} * columns * 4)}};
  example.steps = {{"sparse_gemm",
                    {columns / 32, rows / 64, 1},
                    {128, 1, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3},
                     static_cast<std::int32_t>(columns), static_cast<std::int32_t>(depth)}}};
  example.work = 1e-9 * rows * columns * depth;
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    return check_floats(from_bytes<float>(results[3]),
                        product(a.data(), b.values.data(), rows, columns, depth), kRelative, kAbsolute);
  };
  return example;
}

/// A row of softmax(scores) * values, for rows of 64.
void attend(const double* query, const double* keys, const double* values, unsigned length, double* out) {
  std::vector<double> weights(length);
  double largest = -INFINITY, sum = 0;
  for (unsigned k = 0; k < length; ++k) {
    for (unsigned i = 0; i < 64; ++i) weights[k] += query[i] * keys[k * 64 + i] / 8;
    largest = std::max(largest, weights[k]);
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (unsigned k = 0; k < length; ++k)
    for (unsigned i = 0; i < 64; ++i) out[i] += weights[k] / sum * values[k * 64 + i];
}

/// Of scores, times log2(e).
constexpr float kScale = 0.125f * 1.44269504f;
/// Weights are rounded to bf16, which has eight bits.
constexpr double kWeightError = 0.01;

Example attention(Size size, bool causal) {
  const unsigned heads = size == Size::small ? 2 : 4, tiles = size == Size::small ? 2 : 8,
                 length = tiles * 64;
  const std::size_t count = std::size_t{heads} * length * 64;
  const Numbers q = random_bf16(77, count), k = random_bf16(78, count), v = random_bf16(79, count);
  Example example{causal ? "attention_causal" : "attention",
                  "attention",
                  {q.bytes, k.bytes, v.bytes, unwritten(count * 4)}};
  example.steps = {
      {"attention",
       {tiles, heads, 1},
       {256, 1, 1},
       {tiles_of(0, heads * length, 64), tiles_of(1, heads * length, 64), tiles_of(2, heads * length, 64),
        BufferRef{3}, static_cast<std::int32_t>(tiles), static_cast<std::int32_t>(causal), kScale}}};
  example.work = 4e-9 * 64 * heads * length * length * (causal ? 0.5 : 1);
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(count);
    for (unsigned row = 0; row < heads * length; ++row) {
      const std::size_t head = std::size_t{row / length * length} * 64;
      attend(&q.values[std::size_t{row} * 64], &k.values[head], &v.values[head],
             causal ? row % length + 1 : length, &want[std::size_t{row} * 64]);
    }
    return check_floats(from_bytes<float>(results[3]), want, kWeightError, kWeightError);
  };
  return example;
}

Example decode_attention(Size size) {
  const unsigned shared_heads = size == Size::small ? 2 : 8, length = size == Size::small ? 176 : 2000;
  const std::size_t queries = std::size_t{shared_heads} * 16 * 64,
                    past = std::size_t{shared_heads} * length * 64;
  const Numbers q = random_bf16(80, queries), k = random_bf16(81, past), v = random_bf16(82, past);
  Example example{
      "decode_attention", "decode_attention", {q.bytes, k.bytes, v.bytes, unwritten(queries * 4)}};
  example.steps = {
      {"decode_attention",
       {4, shared_heads, 1},
       {128, 1, 1},
       {BufferRef{0}, BufferRef{1}, BufferRef{2}, BufferRef{3}, static_cast<std::int32_t>(length), kScale},
       0,
       4}};
  example.work = 4e-9 * 16 * static_cast<double>(past);
  example.unit = "GFLOP/s";
  example.check = [=](const std::vector<Bytes>& results) {
    std::vector<double> want(queries);
    for (unsigned row = 0; row < shared_heads * 16; ++row) {
      const std::size_t head = std::size_t{row / 16} * length * 64;
      attend(&q.values[std::size_t{row} * 64], &k.values[head], &v.values[head], length,
             &want[std::size_t{row} * 64]);
    }
    return check_floats(from_bytes<float>(results[3]), want, kWeightError, kWeightError);
  };
  return example;
}

}  // namespace

std::vector<Example> make_tensor_core_examples(Size size, unsigned) {
  std::vector<Example> all = {mma_gemm(size, "gemm_bf16", 2, random_bf16),
                              mma_gemm(size, "gemm_s8", 1, random_s8),
                              wgmma_gemm(size),
                              stream_k_gemm(size),
                              grouped_gemm(size),
                              implicit_gemm(size),
                              attention(size, true),
                              decode_attention(size),
                              sparse_gemm(size)};
  if (size == Size::small) return all;
  // The same kernels once more, which take seconds to compile where vectors are short.
  all.push_back(mma_gemm(size, "gemm_f16", 2, random_f16));
  all.push_back(mma_gemm(size, "gemm_e4m3", 1, random_e4m3));
  all.push_back(attention(size, false));
  return all;
}

}  // namespace examples
