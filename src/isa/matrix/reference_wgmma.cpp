// Reference semantics of warpgroups' matrix instructions (PTX ISA "wgmma"): D = A * B + D for a warp's
// own 16 of 64 rows. Every element of D starts from itself, or zero, and adds one product after the
// other, k ascending, each rounded once to f32 (docs/adr/0049).
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "exec/cluster.h"
#include "exec/wgmma.h"
#include "interp/lane.h"
#include "interp/matrix_fragments.h"
#include "interp/reference.h"
#include "interp/warp.h"
#include "isa/fragment.h"
#include "numerics/matrix.h"
#include "numerics/tensor_core.h"

namespace raddle::interp {

using exec::IssuedWgmma;
using exec::WgmmaProblem;
using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Instruction;

namespace {

constexpr unsigned kWarpRows = 16;         // of A and D that a warp has
constexpr unsigned kChunkBytes = 16;       // bytes that lie together, whatever the layout
constexpr std::uint32_t kLineBytes = 128;  // the unit of swizzle phases

/// A matrix descriptor. Offsets and addresses are bytes.
struct MatrixDescriptor {
  explicit MatrixDescriptor(std::uint64_t word)
      : start(static_cast<std::uint32_t>(word & 0x3fff) << 4),
        leading(static_cast<std::uint32_t>(word >> 16 & 0x3fff) << 4),
        stride(static_cast<std::uint32_t>(word >> 32 & 0x3fff) << 4),
        base(static_cast<std::uint32_t>(word >> 49 & 7)) {
    constexpr unsigned kAtomChunks[] = {1, 8, 4, 2};  // none, 128, 64, 32 bytes
    atom = kAtomChunks[word >> 62];
  }

  /// Where chunk c (along K) of a row lies, or, of a matrix that is M- or N-major, chunk c of the rows in
  /// column k.
  std::uint32_t of_row(std::uint32_t row, std::uint32_t c) const {
    return swizzled(row / 8 * stride + row % 8 * atom * kChunkBytes +
                    c * (atom == 1 ? leading : kChunkBytes));
  }
  std::uint32_t of_column(std::uint32_t k, std::uint32_t c) const {
    if (atom == 1) return swizzled(c * stride + k % 8 * kChunkBytes + k / 8 * leading);
    return swizzled(c % atom * kChunkBytes + c / atom * leading + k % 8 * atom * kChunkBytes +
                    k / 8 * stride);
  }

 private:
  /// The lines of a repeating pattern are numbered from where it starts; a chunk moves to its number xor
  /// that.
  std::uint32_t swizzled(std::uint32_t offset) const {
    const std::uint32_t address = start + offset, line = address / kLineBytes - base;
    return address ^ line % atom * kChunkBytes;
  }

  std::uint32_t start, leading, stride, base;
  std::uint32_t atom;  ///< chunks that a swizzle permutes
};

/// MatrixWords of 32 bits of a matrix: row by row, those of a row in the order of K.
using MatrixWords = std::vector<std::uint32_t>;

float element_value(std::uint32_t bits, Type type) {
  return numerics::matrix_float(bits, matrix_format(type));
}

/// A matrix in shared memory, or some of its rows.
struct MatrixPlace {
  std::uint64_t descriptor;
  std::uint32_t first_row;
  unsigned rows, row_bytes;
  bool by_columns;
};

unsigned element_bits(Type type) { return type == Type::tf32 || type == Type::b1 ? 32 : isa::bit_size(type); }

[[noreturn]] void fail_in_warpgroup(WarpStep& step, const Instruction& instruction, WgmmaProblem problem,
                                    std::uint64_t address = 0) {
  step.context().cta->services->wgmma_fault(&step.context(), static_cast<std::uint32_t>(problem), address,
                                            instruction.line);
}

/// Whole warps of whole warpgroups.
void check_warpgroup(WarpStep& step, const Instruction& instruction) {
  if (step.lanes() != ~0u) fail_in_warpgroup(step, instruction, WgmmaProblem::diverged);
  const std::uint32_t behind = (step.context().warp_id / exec::kWarpgroupWarps + 1) * exec::kWarpgroupWarps;
  if (behind * exec::kWarpSize > step.context().cta->thread_count)
    fail_in_warpgroup(step, instruction, WgmmaProblem::no_warpgroup);
}

const Instruction& instruction_of(const IssuedWgmma& issued) {
  return *static_cast<const Instruction*>(issued.instruction);
}

/// One wgmma of a warp.
class WarpgroupProduct {
 public:
  WarpgroupProduct(WarpStep& step, const IssuedWgmma& issued)
      : step_(step),
        issued_(issued),
        opcode_(*instruction_of(issued).opcode),
        first_(step.lane(0)),
        a_type_(opcode_.type(1)),
        b_type_(opcode_.type(2)),
        n_(isa::matrix_shape(opcode_).n),
        is_sparse_(opcode_.has(Mod::sp)),
        rank_(step.context().cta->cluster_rank << exec::kRankShift) {
    words_ = is_sparse_ ? 16 : 8;  // of a column of B; a row of A always has 8
  }

  void check() const;  ///< that its matrices are in shared memory, before anything is allocated
  void run(const std::byte* memory);
  void leave_garbage();

 private:
  unsigned at(std::string_view name) const { return opcode_.form->operand(name).value_or(~0u); }
  bool a_in_registers() const { return first_.operand(at("a")).kind == ptx::Operand::Kind::vector; }
  std::uint32_t constant(std::string_view name) const {
    return first_.has(at(name)) ? first_.in<std::uint32_t>(at(name)) : 0;
  }
  template <class Use>
  void each_chunk(const MatrixPlace& place, Use use) const;
  std::uint64_t generic(std::uint32_t offset) const {
    return first_.to_generic(ptx::Space::shared, rank_ + offset);
  }
  void check(const MatrixPlace& place) const;
  MatrixPlace place_of_a() const;
  MatrixPlace place_of_b() const { return {issued_.b, 0, n_, words_ * 4, constant("trans_b") != 0}; }
  MatrixWords load(const MatrixPlace& place) const;
  MatrixWords rows_of_a() const;
  std::uint32_t element(const MatrixWords& words, unsigned per_row, unsigned row, unsigned k,
                        Type type) const;
  void spread_a();
  std::uint32_t nibble(unsigned row, unsigned chunk) const;
  bool is_half() const { return opcode_.type(0) == Type::f16; }
  std::uint32_t result(unsigned row, unsigned column, std::uint32_t old) const;
  std::uint32_t hopper_sum(unsigned row, unsigned column, float sum) const;
  std::uint32_t sum_of_floats(unsigned row, unsigned column, float sum) const;
  std::uint32_t sum_of_integers(unsigned row, unsigned column, std::int32_t old) const;
  std::int64_t product(unsigned row, unsigned k, unsigned column) const;

  WarpStep& step_;
  const IssuedWgmma& issued_;
  const isa::Opcode& opcode_;
  const Lane& first_;
  const Type a_type_, b_type_;
  const unsigned n_;
  const bool is_sparse_;
  const std::uint32_t rank_;  ///< what the CTA's own shared addresses start with
  unsigned words_;
  const std::byte* memory_ = nullptr;  ///< the CTA's own shared memory
  float sign_ = 1;
  MatrixWords a_, b_;
  std::vector<std::uint32_t> elements_;  ///< of A, row by row
  std::vector<bool> kept_;               ///< of these: the others are zeros that are not multiplied
};

void WarpgroupProduct::check() const {
  if (!a_in_registers()) check(place_of_a());
  check(place_of_b());
}

/// Calls `use(offset in shared memory, row, column)` for the first element of each chunk of a matrix in
/// memory: rows of K elements, a row of B being a column; where columns lie together, `words` are half a
/// column each.
template <class Use>
void WarpgroupProduct::each_chunk(const MatrixPlace& place, Use use) const {
  const MatrixDescriptor descriptor(place.descriptor);
  constexpr unsigned kElement = 2,
                     kPerChunk = kChunkBytes / kElement;  // only 16-bit matrices may lie by columns
  if (!place.by_columns) {
    for (unsigned row = 0; row < place.rows; ++row)
      for (unsigned at = 0; at < place.row_bytes; at += kChunkBytes)
        use(descriptor.of_row(place.first_row + row, at / kChunkBytes), row, at);
    return;
  }
  for (unsigned at = 0; at < place.row_bytes; at += kElement)
    for (unsigned row = 0; row < place.rows; row += kPerChunk)
      use(descriptor.of_column(at / kElement, (place.first_row + row) / kPerChunk), row, at);
}

void WarpgroupProduct::check(const MatrixPlace& place) const {
  each_chunk(place, [&](std::uint32_t offset, unsigned, unsigned) {
    if (offset + kChunkBytes > step_.context().cta->cluster->shared_bytes)
      fail_in_warpgroup(step_, instruction_of(issued_), WgmmaProblem::outside, generic(offset));
    first_.note_access(generic(offset));
  });
}

MatrixWords WarpgroupProduct::load(const MatrixPlace& place) const {
  constexpr unsigned kElement = 2;
  MatrixWords result(std::size_t{place.rows} * place.row_bytes / 4);
  std::byte* bytes = std::as_writable_bytes(std::span(result)).data();
  each_chunk(place, [&](std::uint32_t offset, unsigned row, unsigned at) {
    const std::byte* from = memory_ + offset;
    std::byte* to = bytes + row * place.row_bytes + at;
    if (!place.by_columns) std::memcpy(to, from, kChunkBytes);
    for (unsigned i = 0; place.by_columns && i < kChunkBytes; i += kElement)
      std::memcpy(to + i / kElement * place.row_bytes, from + i, kElement);
  });
  return result;
}

MatrixPlace WarpgroupProduct::place_of_a() const {
  return {issued_.a, issued_.warp * kWarpRows, kWarpRows, 32, constant("trans_a") != 0};
}

/// The warp's rows of A. In registers, word w of a row is in the row's thread w mod 4.
MatrixWords WarpgroupProduct::rows_of_a() const {
  constexpr unsigned kWords = 8;
  if (!a_in_registers()) return load(place_of_a());
  MatrixWords result(kWarpRows * kWords);
  for (unsigned row = 0; row < kWarpRows; ++row)
    for (unsigned w = 0; w < kWords; ++w) {
      const Lane& lane = step_.lane(row % 8 * 4 + w % 4);
      result[row * kWords + w] = lane.value<std::uint32_t>(lane.element(1, w / 4 * 2 + row / 8));
    }
  return result;
}

std::uint32_t WarpgroupProduct::element(const MatrixWords& words, unsigned per_row, unsigned row, unsigned k,
                                        Type type) const {
  const unsigned bits = element_bits(type), per_word = 32 / bits;
  const std::uint32_t word = words[row * per_row + k / per_word];
  return bits == 32 ? word : word >> k % per_word * bits & ((1u << bits) - 1);
}

/// Four bits of metadata for each chunk of A that keeps half of its elements. The selector names the
/// pair of a row's threads that have them; of 8-bit matrices all four do.
std::uint32_t WarpgroupProduct::nibble(unsigned row, unsigned chunk) const {
  const unsigned lane = row % 8 * 4;
  const auto word = [&](unsigned thread) { return issued_.metadata[lane + thread]; };
  if (element_bits(a_type_) == 8) return word(row / 8 + chunk / 8 * 2) >> chunk % 8 * 4 & 15;
  return word(constant("selector") * 2 + chunk / 4) >> (row / 8 * 16 + chunk % 4 * 4) & 15;
}

/// Elements of A at their places among zeros.
void WarpgroupProduct::spread_a() {
  const unsigned bits = element_bits(a_type_), kept = 8 * 32 / bits, depth = words_ * 32 / bits;
  elements_.assign(std::size_t{kWarpRows} * depth, 0);
  kept_.assign(elements_.size(), !is_sparse_);
  for (unsigned row = 0; row < kWarpRows; ++row)
    for (unsigned i = 0; i < kept; ++i) {
      unsigned k = i;
      if (is_sparse_ && bits == 32)
        k = i * 2 + (nibble(row, i) >> 1 & 1);  // 0b0100: the first of two, 0b1110: the second
      else if (is_sparse_)
        k = i / 2 * 4 + (nibble(row, i / 2) >> i % 2 * 2 & 3);
      elements_[row * depth + k] = element(a_, 8, row, i, a_type_);
      kept_[row * depth + k] = true;
    }
}

std::uint32_t WarpgroupProduct::hopper_sum(unsigned row, unsigned column, float sum) const {
  std::vector<float> a, b;
  const unsigned depth = words_ * 32 / element_bits(a_type_);
  for (unsigned k = 0; k < depth; ++k) {
    if (!kept_[row * depth + k]) continue;
    a.push_back(sign_ * element_value(elements_[row * depth + k], a_type_));
    b.push_back(element_value(element(b_, words_, column, k, b_type_), b_type_));
  }
  const auto format = matrix_format(a_type_);
  const numerics::TensorCore core =
      is_half() ? numerics::hopper_tensor_core_to_halves(format) : numerics::hopper_tensor_core(format);
  return std::bit_cast<std::uint32_t>(numerics::tensor_core_sum(core, sum, a, b));
}

std::uint32_t WarpgroupProduct::sum_of_floats(unsigned row, unsigned column, float sum) const {
  const unsigned depth = words_ * 32 / element_bits(a_type_);
  if (step_.module().matrix_arithmetic == MatrixArithmetic::hopper) return hopper_sum(row, column, sum);
  for (unsigned k = 0; k < depth; ++k) {
    if (!kept_[row * depth + k]) continue;
    const float a = element_value(elements_[row * depth + k], a_type_);
    const float b = element_value(element(b_, words_, column, k, b_type_), b_type_);
    sum = numerics::matrix_step(sum, sign_ * a, b);
  }
  return std::bit_cast<std::uint32_t>(sum);
}

std::int64_t WarpgroupProduct::product(unsigned row, unsigned k, unsigned column) const {
  const std::uint32_t a = elements_[row * words_ * 32 / element_bits(a_type_) + k];
  const std::uint32_t b = element(b_, words_, column, k, b_type_);
  if (a_type_ == Type::b1) return std::popcount(a & b);
  const auto value = [](std::uint32_t bits, Type type) -> std::int64_t {
    return numerics::matrix_integer(bits, element_bits(type), isa::is_signed(type));
  };
  return value(a, a_type_) * value(b, b_type_);
}

std::uint32_t WarpgroupProduct::sum_of_integers(unsigned row, unsigned column, std::int32_t old) const {
  std::int64_t sum = old;
  for (unsigned k = 0; k < words_ * 32 / element_bits(a_type_); ++k) sum += product(row, k, column);
  return static_cast<std::uint32_t>(numerics::matrix_total(sum, opcode_.has(Mod::satfinite)));
}

std::uint32_t WarpgroupProduct::result(unsigned row, unsigned column, std::uint32_t old) const {
  if (issued_.adds == 0) old = 0;
  if (opcode_.type(0) == Type::s32) return sum_of_integers(row, column, static_cast<std::int32_t>(old));
  if (opcode_.type(0) == Type::f32) return sum_of_floats(row, column, std::bit_cast<float>(old));
  const std::uint32_t sum = sum_of_floats(row, column, element_value(old, Type::f16));
  return static_cast<std::uint32_t>(
      numerics::round_double(std::bit_cast<float>(sum), numerics::kF16, numerics::Rounding::rn));
}

void WarpgroupProduct::leave_garbage() {
  step_.each([&](Lane& lane) {
    for (unsigned r = 0; r < lane.count(0); ++r)
      lane.assign(lane.element(0, r), exec::kWgmmaGarbage * 0x01010101u);
  });
}

void WarpgroupProduct::run(const std::byte* memory) {
  memory_ = memory;
  if (first_.has(at("scale_a")))
    sign_ =
        static_cast<float>(first_.in<std::int32_t>(at("scale_a")) * first_.in<std::int32_t>(at("scale_b")));
  a_ = rows_of_a();
  spread_a();
  b_ = load(place_of_b());
  step_.each([&](Lane& lane) {
    for (unsigned r = 0; r < lane.count(0); ++r) {
      const ptx::Operand& d = lane.element(0, r);
      const auto old = lane.value<std::uint32_t>(d);
      const unsigned row = lane.index() / 4 + (is_half() ? r % 2 : r / 2 % 2) * 8;
      const unsigned column = (is_half() ? r / 2 : r / 4) * 8 + lane.index() % 4 * 2;
      if (is_half())
        lane.assign<std::uint32_t>(d, result(row, column, old & 0xffff) | result(row, column + 1, old >> 16)
                                                                              << 16);
      else
        lane.assign<std::uint32_t>(d, result(row, column + r % 2, old));
    }
  });
}

template <class T>
T same_in_all(WarpStep& step, const Instruction& instruction, unsigned k) {
  const T first = step.lane(0).in<T>(k);
  step.each([&](const Lane& lane) {
    if (lane.in<T>(k) != first) fail_in_warpgroup(step, instruction, WgmmaProblem::differing);
  });
  return first;
}

/// In a device function it is executed at once, by the function's registers.
void execute(const IssuedWgmma* issued, std::byte* memory) {
  WarpStep step(*static_cast<Warp*>(issued->registers), ~0u);
  const auto run = [&] {
    WarpgroupProduct product(step, *issued);
    if (memory == nullptr)
      product.leave_garbage();
    else
      product.run(memory);
  };
  if (issued->in_call != 0) return run();
  step.with(instruction_of(*issued), run);
}

void multiply_in_warpgroup(WarpStep& step, const Instruction& instruction) {
  check_warpgroup(step, instruction);
  const auto at = [&](std::string_view name) { return instruction.opcode->form->operand(name); };
  IssuedWgmma issued{.execute = execute, .instruction = &instruction, .registers = &step.warp()};
  if (step.lane(0).operand(*at("a")).kind != ptx::Operand::Kind::vector)
    issued.a = same_in_all<std::uint64_t>(step, instruction, *at("a"));
  issued.b = same_in_all<std::uint64_t>(step, instruction, *at("b"));
  issued.warp = step.context().warp_id % exec::kWarpgroupWarps;
  issued.line = instruction.line;
  issued.adds = same_in_all<bool>(step, instruction, *at("scale_d"));
  issued.is_fenced = step.is_fenced(instruction);
  issued.in_call = step.is_in_call();
  if (at("meta"))
    step.each([&](const Lane& lane) { issued.metadata[lane.index()] = lane.in<std::uint32_t>(*at("meta")); });
  WarpgroupProduct(step, issued).check();
  step.context().cta->services->wgmma_issue(&step.context(), &issued);
}

}  // namespace

template <>
void reference_warp<Op::wgmma_mma_async>(WarpStep& step, const Instruction& i) {
  multiply_in_warpgroup(step, i);
}
template <>
void reference_warp<Op::wgmma_mma_async_sp>(WarpStep& step, const Instruction& i) {
  multiply_in_warpgroup(step, i);
}

template <>
void reference_warp<Op::wgmma_fence>(WarpStep& step, const Instruction&) {
  step.context().cta->services->wgmma_fence(&step.context());
}
template <>
void reference_warp<Op::wgmma_commit_group>(WarpStep& step, const Instruction&) {
  step.context().cta->services->wgmma_commit(&step.context());
}
template <>
void reference_warp<Op::wgmma_wait_group>(WarpStep& step, const Instruction& i) {
  check_warpgroup(step, i);
  step.context().line = i.line;
  step.context().cta->services->wgmma_wait(&step.context(), step.lane(0).in<std::uint32_t>(0));
}

}  // namespace raddle::interp
