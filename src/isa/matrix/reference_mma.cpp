// Reference semantics of the products of matrices that a warp holds together (PTX ISA "mma", "mma.sp",
// "wmma.mma"): D = A * B + C, summed as docs/adr/0049 says.
#include <array>
#include <span>
#include <vector>

#include "interp/matrix_fragments.h"
#include "interp/reference.h"
#include "interp/types.h"
#include "numerics/matrix.h"
#include "numerics/tensor_core.h"

namespace raddle::interp {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

constexpr unsigned kD = 0, kA = 1, kB = 2, kC = 3, kMetadata = 4, kSelector = 5;

/// The operands of one instruction, and the sums over them.
class MatrixProduct {
 public:
  MatrixProduct(WarpStep& step, const isa::Opcode& opcode) : step_(step), opcode_(opcode) {
    if (isa::is_sparse(opcode)) read_metadata();
  }

  void of_floats() {
    const auto sums =
        step_.module().matrix_arithmetic == MatrixArithmetic::hopper
            ? hopper_sum(floats(kA, a_), floats(kB, b_), floats(kC, c_))
            : sum<float>(floats(kA, a_), floats(kB, b_), floats(kC, c_),
                         [](float sum, float a, float b) { return numerics::matrix_step(sum, a, b); });
    write_matrix(step_, kD, d_, sums, [&](float value) -> std::uint64_t {
      if (d_.element == Type::f16) return numerics::narrow<numerics::f16>(value).bits;
      return std::bit_cast<std::uint32_t>(value);
    });
  }

  void of_doubles() {
    const numerics::Rounding rounding = rounding_of(opcode_);
    auto decode = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
    const auto sums = sum<double>(
        read_matrix<double>(step_, kA, a_, decode), read_matrix<double>(step_, kB, b_, decode),
        read_matrix<double>(step_, kC, c_, decode),
        [&](double sum, double a, double b) { return numerics::matrix_step(sum, a, b, rounding); });
    write_matrix(step_, kD, d_, sums, [](double value) { return std::bit_cast<std::uint64_t>(value); });
  }

  void of_integers() {
    const bool is_xor = opcode_.has(Mod::xor_), is_single_bit = a_.element == Type::b1;
    const auto sums = sum<std::int64_t>(integers(kA, a_), integers(kB, b_), integers(kC, c_),
                                        [&](std::int64_t sum, std::int64_t a, std::int64_t b) {
                                          if (!is_single_bit) return sum + a * b;
                                          return sum + (is_xor ? a ^ b : a & b);
                                        });
    write_matrix(step_, kD, d_, sums, [&](std::int64_t value) {
      return static_cast<std::uint32_t>(numerics::matrix_total(value, opcode_.has(Mod::satfinite)));
    });
  }

  Type element() const { return a_.element; }

 private:
  Elements<float> floats(unsigned k, const FragmentForm& form) {
    return read_matrix<float>(step_, k, form, [&](std::uint64_t bits) {
      const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << form.bits()) - 1);
      return numerics::matrix_float(static_cast<std::uint32_t>(bits) & mask, matrix_format(form.element));
    });
  }

  Elements<std::int64_t> integers(unsigned k, const FragmentForm& form) {
    return read_matrix<std::int64_t>(step_, k, form, [&](std::uint64_t bits) {
      return numerics::matrix_integer(static_cast<std::uint32_t>(bits), form.bits(),
                                      isa::is_signed(form.element));
    });
  }

  /// C with the products of every row of A and column of B added in the order of k.
  template <class T, class Step>
  Elements<T> sum(const Elements<T>& a, const Elements<T>& b, Elements<T> c, Step step) {
    const unsigned m = a_.rows, n = b_.columns, k = a_.columns;
    for (unsigned product = 0; product < a_.products; ++product)
      for (unsigned row = 0; row < m; ++row)
        for (unsigned column = 0; column < n; ++column) {
          T& total = c[(product * m + row) * n + column];
          for (unsigned i = 0; i < k; ++i)
            total = step(total, a[(product * m + row) * k + i],
                         b[(product * b_.rows + along(row, i)) * n + column]);
        }
    return c;
  }

  /// The same as Hopper's tensor cores add.
  Elements<float> hopper_sum(const Elements<float>& a, const Elements<float>& b, Elements<float> c) {
    const bool to_halves = d_.element == Type::f16;
    const numerics::TensorCore core = to_halves
                                          ? numerics::hopper_tensor_core_to_halves(matrix_format(a_.element))
                                          : numerics::hopper_tensor_core(matrix_format(a_.element));
    const unsigned m = a_.rows, n = b_.columns, k = a_.columns;
    std::vector<float> column(k);
    for (unsigned at = 0; at < c.size(); ++at) {
      for (unsigned i = 0; i < k; ++i)
        column[i] = b[(at / (m * n) * b_.rows + along(at / n % m, i)) * n + at % n];
      const std::span<const float> row(&a[at / n * k], k);
      c[at] = a_.bits() == 8 ? numerics::byte_sum_in_halves(c[at], row, column, to_halves)
                             : numerics::tensor_core_sum(core, c[at], row, column);
    }
    return c;
  }

  /// Column of the matrix A whose element is kept as number i of a row.
  unsigned along(unsigned row, unsigned i) const { return kept_.empty() ? i : kept_[row * a_.columns + i]; }

  /// Fills kept_. With 16 bits and more, a thread's metadata are 16 bits of a row and 16 of the row 8
  /// below, with less, 32 of one row, in turn. The selector says which threads of four have them.
  void read_metadata() {
    std::array<std::uint32_t, exec::kWarpSize> words{};
    unsigned selector = 0;
    step_.each([&](Lane& lane) {
      words[lane.index()] = lane.in<std::uint32_t>(kMetadata);
      selector = lane.in<std::uint32_t>(kSelector);
    });
    const isa::SparseChunks chunks = isa::sparse_chunks(a_.element);
    const unsigned in_row = b_.rows / chunks.columns, threads = in_row / 4;
    for (unsigned row = 0; row < a_.rows; ++row)
      for (unsigned i = 0; i < a_.columns; ++i) {
        const unsigned chunk = i / chunks.kept, within = i % chunks.kept;
        const bool is_wide = a_.bits() >= 16;
        const unsigned thread = is_wide ? chunk / 4 : chunk / 8 * 2 + row / 8;
        const unsigned bit = is_wide ? row / 8 * 16 + chunk % 4 * 4 : chunk % 8 * 4;
        const std::uint32_t word = words[row % 8 * 4 + selector * threads + thread] >> bit;
        kept_.push_back(chunk * chunks.columns + kept_column(chunks, word, within));
      }
  }

  /// Of an element in its chunk. An index counts quarters of the chunk; tf32 has the first index alone.
  static unsigned kept_column(const isa::SparseChunks& chunks, std::uint32_t metadata, unsigned within) {
    if (chunks.columns == 2) return metadata >> 1 & 1;
    return (metadata >> (within / chunks.together * 2) & 3) * chunks.together + within % chunks.together;
  }

  WarpStep& step_;
  const isa::Opcode& opcode_;
  const FragmentForm a_ = fragment_form(opcode_, "a"), b_ = fragment_form(opcode_, "b"),
                     c_ = fragment_form(opcode_, "c"), d_ = fragment_form(opcode_, "d");
  std::vector<unsigned> kept_;  ///< of a sparse A: columns of the matrix, by row and number
};

void multiply(WarpStep& step, const isa::Opcode& opcode) {
  MatrixProduct product(step, opcode);
  if (product.element() == Type::f64)
    product.of_doubles();
  else if (isa::is_float(product.element()))
    product.of_floats();
  else
    product.of_integers();
}

}  // namespace

template <>
void reference_warp<Op::mma>(WarpStep& step, const Instruction& i) {
  multiply(step, *i.opcode);
}

template <>
void reference_warp<Op::mma_sp>(WarpStep& step, const Instruction& i) {
  multiply(step, *i.opcode);
}

template <>
void reference_warp<Op::wmma_mma>(WarpStep& step, const Instruction& i) {
  multiply(step, *i.opcode);
}

template <>
void reference_warp<Op::wmma_mma_f16>(WarpStep& step, const Instruction& i) {
  multiply(step, *i.opcode);
}

}  // namespace raddle::interp
