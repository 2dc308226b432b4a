#include "wgmma_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace wgmma {
namespace {

/// In units of 16 bytes: what a swizzle adds, bit by bit, to the number of a unit in the row of a pattern.
std::uint32_t turned(unsigned swizzle, std::uint32_t row) {
  if (swizzle == 128) return row % 8;
  if (swizzle == 64) return row % 8 / 2;
  return swizzle == 32 ? row % 8 / 4 : 0;
}

float narrow_float(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1)), top = (1 << exponent_bits) - 1;
  const float sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1.0f : 1.0f;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == top && has_infinity)
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity() : std::nanf("");
  if (exponent == top && mantissa == (1 << mantissa_bits) - 1) return std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  return sign *
         std::ldexp(static_cast<float>(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
}

float decode(const std::string& type, std::uint32_t bits) {
  if (type == "f16") return narrow_float(bits, 5, 10, true);
  if (type == "bf16") return std::bit_cast<float>(bits << 16);
  if (type == "e4m3") return narrow_float(bits, 4, 3, false);
  if (type == "e5m2") return narrow_float(bits, 5, 2, true);
  if (type == "tf32") return std::bit_cast<float>(bits >> 13 << 13);
  return std::bit_cast<float>(bits);
}

std::uint32_t encode_half(float value) {
  const auto half = static_cast<_Float16>(value);
  return std::bit_cast<std::uint16_t>(half);
}

std::int64_t decode_integer(const std::string& type, std::uint32_t bits) {
  return type == "s8" ? std::int64_t{static_cast<std::int8_t>(bits)} : std::int64_t{bits};
}

/// Mostly numbers of one size, whose sums must be rounded; sometimes any bits at all.
std::uint32_t random_element(std::mt19937& random, const std::string& type, bool wild) {
  const auto any = static_cast<std::uint32_t>(random());
  if (type == "b1" || type == "s32") return any;
  const float x = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
  if (type == "f32" || type == "tf32") return wild ? any : std::bit_cast<std::uint32_t>(x);
  if (type == "f16") return wild ? any & 0xffff : encode_half(x);
  if (type == "bf16") return wild ? any & 0xffff : std::bit_cast<std::uint32_t>(x) >> 16;
  if (type == "e4m3" && !wild && (any & 0x7f) == 0x7f) return 0x37;
  if (type == "e5m2" && !wild && (any & 0x7c) == 0x7c) return 0x37;
  return any & 0xff;
}

unsigned chunk_of(const Spelling& spelling) { return spelling.a.bytes == 4 ? 2 : 4; }

}  // namespace

std::uint64_t Layout::descriptor() const {
  const std::uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  const std::uint64_t base = mode != 0 ? pattern / 128 % 8 : 0;
  const bool is_whole = pattern % (8 * swizzle) == 0;
  return std::uint64_t{(pattern + advance) >> 4} | std::uint64_t{leading >> 4} << 16 |
         std::uint64_t{stride >> 4} << 32 | (is_whole ? 0 : base) << 49 | mode << 62;
}

std::uint32_t Layout::place(std::uint32_t row, std::uint32_t k, std::uint32_t byte,
                            unsigned element_bytes) const {
  if (k_major) {
    const std::uint32_t at = k * element_bytes + byte + advance;
    if (swizzle == 16) return pattern + row / 8 * stride + row % 8 * 16 + at / 16 * leading + at % 16;
    const std::uint32_t unit = at / 16 ^ turned(swizzle, row);
    return pattern + row / 8 * stride + row % 8 * swizzle + unit * 16 + at % 16;
  }
  const std::uint32_t at = row * element_bytes + byte;
  if (swizzle == 16) return pattern + at / 16 * stride + k / 8 * leading + k % 8 * 16 + at % 16;
  const std::uint32_t unit = at % swizzle / 16 ^ turned(swizzle, k);
  return pattern + at / swizzle * leading + k / 8 * stride + k % 8 * swizzle + unit * 16 + at % 16;
}

Layout random_layout(std::mt19937& random, unsigned swizzle, bool k_major, std::uint32_t rows,
                     std::uint32_t row_bytes, std::uint32_t from, std::uint32_t& end) {
  Layout layout;
  layout.swizzle = swizzle;
  layout.k_major = k_major;
  const bool swizzled = swizzle != 16;
  const std::uint32_t atom = 8 * swizzle, align = swizzled ? atom : 16;
  layout.pattern = (from + align - 1) / align * align;
  if (swizzled && random() % 4 == 0) layout.pattern += random() % (atom / 128) * 128;
  // Atoms along the rows and along K, either of them first.
  const std::uint32_t along_k = k_major ? (swizzled ? 1 : row_bytes / 16) : row_bytes / 2 / 8;
  const std::uint32_t along_rows = k_major ? rows / 8 : (rows * 2 + swizzle - 1) / swizzle;
  const auto gap = [&] { return swizzled ? random() % 2 * atom : random() % 3 * 16; };
  std::uint32_t k_step = atom + gap(), row_step = atom + gap();
  if (random() % 2 == 0)
    row_step = along_k * k_step + gap();
  else
    k_step = along_rows * row_step + gap();
  end = layout.pattern + (along_k - 1) * k_step + (along_rows - 1) * row_step + atom;
  if (k_major) {
    layout.stride = row_step;
    layout.leading = swizzled ? random() % 4 * 16 : k_step;  // not used where swizzled
    if (swizzle > row_bytes) layout.advance = random() % (swizzle / row_bytes) * row_bytes;
  } else {
    layout.leading = swizzled ? row_step : k_step;
    layout.stride = swizzled ? k_step : row_step;
  }
  return layout;
}

unsigned Spelling::depth() const { return 32 / a.bytes * (sparse ? 2 : 1); }

std::string Spelling::text() const {
  const bool bits = std::string(a.name) == "b1";
  const unsigned k = bits ? 256 : depth();
  return std::string("wgmma.mma_async") + (sparse ? ".sp" : "") + ".sync.aligned.m64n" + std::to_string(n) +
         "k" + std::to_string(k) + (saturates ? ".satfinite" : "") + "." + d + "." + a.name + "." + b.name +
         (bits ? ".and.popc" : "");
}

Operands random_operands(std::mt19937& random, const Spelling& spelling) {
  Operands o;
  const bool wild = random() % 8 == 0;
  for (unsigned i = 0; i < 64 * spelling.kept(); ++i)
    o.a.push_back(random_element(random, spelling.a.name, wild && random() % 16 == 0));
  for (unsigned i = 0; i < spelling.n * spelling.depth(); ++i)
    o.b.push_back(random_element(random, spelling.b.name, wild && random() % 16 == 0));
  for (unsigned i = 0; i < 64 * spelling.n; ++i)
    o.d.push_back(random_element(random, spelling.d, wild && random() % 16 == 0));
  if (std::string(spelling.d) == "s32" && random() % 2 == 0)  // near the ends
    for (auto& d : o.d) d = (d & 0x80000000u) != 0 ? 0x7fffff00u | (d & 0xff) : 0x80000000u | (d & 0xff);
  const unsigned chunk = chunk_of(spelling), kept_in_chunk = chunk / 2;
  for (unsigned i = 0; spelling.sparse && i < o.a.size(); i += kept_in_chunk) {
    unsigned first = random() % chunk, second = random() % chunk;
    while (second == first) second = random() % chunk;
    if (kept_in_chunk == 2) o.kept.push_back(static_cast<std::uint8_t>(std::min(first, second)));
    o.kept.push_back(static_cast<std::uint8_t>(kept_in_chunk == 2 ? std::max(first, second) : first));
  }
  o.adds = random() % 4 != 0;
  return o;
}

std::vector<std::uint32_t> product(const Spelling& spelling, const Operands& o) {
  const unsigned chunk = chunk_of(spelling), depth = spelling.depth(), kept = spelling.kept();
  const std::string type = spelling.d;
  const bool is_integer = type == "s32", is_bits = std::string(spelling.a.name) == "b1",
             is_half = type == "f16";
  std::vector<float> a, b;
  std::vector<std::int64_t> whole_a, whole_b;
  for (const auto bits : o.a) a.push_back(static_cast<float>(o.sign) * decode(spelling.a.name, bits));
  for (const auto bits : o.b) b.push_back(decode(spelling.b.name, bits));
  for (const auto bits : o.a) whole_a.push_back(decode_integer(spelling.a.name, bits));
  for (const auto bits : o.b) whole_b.push_back(decode_integer(spelling.b.name, bits));
  std::vector<std::uint32_t> result;
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < spelling.n; ++column) {
      const std::uint32_t old = o.adds ? o.d[row * spelling.n + column] : 0;
      float sum = is_integer ? 0 : decode(spelling.d, old);
      std::int64_t whole = static_cast<std::int32_t>(old);
      for (unsigned i = 0; i < kept; ++i) {
        const unsigned at = row * kept + i, k = spelling.sparse ? i / (chunk / 2) * chunk + o.kept[at] : i;
        const unsigned in_b = column * depth + k;
        if (is_bits)
          whole += std::popcount(o.a[at] & o.b[in_b]);
        else if (is_integer)
          whole += whole_a[at] * whole_b[in_b];
        else
          sum = std::fma(a[at], b[in_b], sum);
      }
      if (spelling.saturates) whole = std::clamp<std::int64_t>(whole, INT32_MIN, INT32_MAX);
      result.push_back(is_integer ? static_cast<std::uint32_t>(whole)
                       : is_half  ? encode_half(sum)
                                  : std::bit_cast<std::uint32_t>(sum));
    }
  return result;
}

Bounded bounded_product(const Spelling& spelling, const Operands& o) {
  const unsigned depth = spelling.depth();
  Bounded result;
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < spelling.n; ++column) {
      double sum = o.adds ? decode(spelling.d, o.d[row * spelling.n + column]) : 0.0;
      double size = std::abs(sum), flushed = 0;
      for (unsigned k = 0; k < depth; ++k) {
        const double a = decode(spelling.a.name, o.a[row * depth + k]),
                     b = decode(spelling.b.name, o.b[column * depth + k]);
        sum += o.sign * a * b;
        size += std::abs(a * b);
        if (std::min(std::abs(a), std::abs(b)) < 0x1p-126) flushed += std::abs(a * b);
      }
      result.sums.push_back(sum);
      result.bounds.push_back((depth + 1) * (size * 0x1p-23 + 0x1p-126) + flushed);
    }
  return result;
}

bool same(const Spelling& spelling, std::uint32_t x, std::uint32_t y) {
  if (x == y) return true;
  if (std::string(spelling.d) == "s32") return false;
  return std::isnan(decode(spelling.d, x)) && std::isnan(decode(spelling.d, y));
}

std::vector<std::uint32_t> fragment_of_a(const Spelling& spelling, const std::vector<std::uint32_t>& a) {
  std::vector<std::uint32_t> words;
  const unsigned each = 4 / spelling.a.bytes;  // elements of a register
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned row = thread / 32 * 16 + thread % 32 / 4 + (r == 1 || r == 3 ? 8 : 0);
      const unsigned first = thread % 4 * each + (r >= 2 ? 4 * each : 0);
      std::uint32_t word = 0;
      for (unsigned i = 0; i < each; ++i)
        word |= a[row * spelling.kept() + first + i] << (i * 8 * spelling.a.bytes);
      words.push_back(word);
    }
  return words;
}

std::vector<std::uint32_t> fragment_of_d(const Spelling& spelling, const std::vector<std::uint32_t>& d) {
  std::vector<std::uint32_t> words;
  for (unsigned thread = 0; thread < 128; ++thread) {
    const auto at = [&](unsigned element) {  // d0, d1, d2, ... of the figures
      const unsigned row = thread / 32 * 16 + thread % 32 / 4 + (element % 4 >= 2 ? 8 : 0);
      return d[row * spelling.n + element / 4 * 8 + thread % 4 * 2 + element % 2];
    };
    for (unsigned element = 0; element < spelling.n / 2; ++element) {
      if (std::string(spelling.d) != "f16") {
        words.push_back(at(element));
      } else if (element % 2 == 0) {
        words.push_back(at(element) | at(element + 1) << 16);
      }
    }
  }
  return words;
}

std::vector<std::uint32_t> metadata(const Spelling& spelling, const Operands& o, unsigned selector,
                                    std::mt19937& random) {
  std::vector<std::uint32_t> words(128);
  for (auto& word : words) word = static_cast<std::uint32_t>(random());
  const unsigned chunk = chunk_of(spelling), chunks = spelling.depth() / chunk;
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned c = 0; c < chunks; ++c) {
      std::uint32_t bits = 0;
      if (chunk == 2)
        bits = o.kept[row * chunks + c] == 0 ? 0b0100 : 0b1110;
      else
        bits = o.kept[(row * chunks + c) * 2] | o.kept[(row * chunks + c) * 2 + 1] << 2;
      const unsigned quad = row / 16 * 32 + row % 8 * 4, lower = row % 16 / 8;
      const bool is_byte = spelling.a.bytes == 1;
      const unsigned thread = quad + (is_byte ? c / 8 * 2 + lower : selector * 2 + c / 4);
      const unsigned shift = is_byte ? c % 8 * 4 : lower * 16 + c % 4 * 4;
      words[thread] = (words[thread] & ~(15u << shift)) | bits << shift;
    }
  return words;
}

}  // namespace wgmma
