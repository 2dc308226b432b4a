// Reference semantics of the products of matrices that a warp holds together (PTX ISA "mma", "wmma.mma"):
// D = A * B + C, summed as docs/adr/0049 says.
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

constexpr unsigned kD = 0, kA = 1, kB = 2, kC = 3;

numerics::Format matrix_format(Type element) {
  switch (element) {
    case Type::bf16:
      return numerics::kBf16;
    case Type::tf32:
      return numerics::kTf32;
    case Type::e4m3:
      return numerics::kE4m3;
    case Type::e5m2:
      return numerics::kE5m2;
    case Type::f32:
      return numerics::kF32;
    default:
      return numerics::kF16;
  }
}

/// The operands of one instruction, and the sums over them.
class MatrixProduct {
 public:
  MatrixProduct(WarpStep& step, const isa::Opcode& opcode) : step_(step), opcode_(opcode) {}

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
    const unsigned m = a_.rows, n = b_.columns, k = b_.rows;
    for (unsigned product = 0; product < a_.products; ++product)
      for (unsigned row = 0; row < m; ++row)
        for (unsigned column = 0; column < n; ++column) {
          T& total = c[(product * m + row) * n + column];
          for (unsigned i = 0; i < k; ++i)
            total = step(total, a[(product * m + row) * k + i], b[(product * k + i) * n + column]);
        }
    return c;
  }

  /// The same as Hopper's tensor cores add.
  Elements<float> hopper_sum(const Elements<float>& a, const Elements<float>& b, Elements<float> c) {
    const numerics::TensorCore core = numerics::hopper_tensor_core(matrix_format(a_.element));
    const unsigned m = a_.rows, n = b_.columns, k = b_.rows;
    std::vector<float> column(k);
    for (unsigned at = 0; at < c.size(); ++at) {
      for (unsigned i = 0; i < k; ++i) column[i] = b[(at / (m * n) * k + i) * n + at % n];
      c[at] = numerics::tensor_core_sum(core, c[at], {&a[at / n * k], k}, column);
    }
    return c;
  }

  WarpStep& step_;
  const isa::Opcode& opcode_;
  const FragmentForm a_ = fragment_form(opcode_, "a"), b_ = fragment_form(opcode_, "b"),
                     c_ = fragment_form(opcode_, "c"), d_ = fragment_form(opcode_, "d");
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
void reference_warp<Op::wmma_mma>(WarpStep& step, const Instruction& i) {
  multiply(step, *i.opcode);
}

template <>
void reference_warp<Op::wmma_mma_f16>(WarpStep& step, const Instruction& i) {
  multiply(step, *i.opcode);
}

}  // namespace raddle::interp
