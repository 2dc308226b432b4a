#include "jit/matrix_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/fragment.h"
#include "isa/op.h"
#include "jit/matrix_layout.h"
#include "jit/matrix_pieces.h"
#include "jit/matrix_words.h"

namespace raddle::jit {

using isa::Mod;

namespace {

/// Counts of the matrices that a run names.
struct RunSize {
  unsigned d = 0, a = 0, b = 0;
};
RunSize size_of(const std::vector<RunProduct>& products) {
  RunSize size;
  for (const RunProduct& p : products)
    size = {std::max(size.d, p.d + 1), std::max(size.a, p.a + 1), std::max(size.b, p.b + 1)};
  return size;
}

class MatrixRunWriter {
 public:
  MatrixRunWriter(llvm::Function& function, const isa::Opcode& opcode, SimdForm simd,
                  const std::vector<RunProduct>& products, const std::vector<bool>& is_there)
      : function_(function),
        module_(*function.getParent()),
        ir_(llvm::BasicBlock::Create(function.getContext(), "entry", &function)),
        products_(products),
        is_there_(is_there),
        size_(size_of(products)),
        form_(opcode, simd) {}

  void write() {
    for (unsigned n = 0; n < size_.a; ++n) unpack_a(n);
    for (unsigned n = 0; n < size_.b; ++n)
      if (!is_there_[n]) ir_.CreateCall(unpacker_of_b(module_, form_), {matrix_b(n), panel_of_b(n)});
    for (const Tile& tile : tiles()) multiply(tile);
    ir_.CreateRetVoid();
  }

 private:
  using Values = std::vector<llvm::Value*>;
  /// Sums that are made at once: of one or two Ds, each of the same As in turn.
  struct Tile {
    std::vector<unsigned> ds;
  };

  llvm::Value* matrix_d(unsigned n) { return function_.getArg(n); }
  llvm::Value* matrix_a(unsigned n) { return function_.getArg(size_.d + n); }
  llvm::Value* matrix_b(unsigned n) { return function_.getArg(size_.d + size_.a + n); }
  llvm::Value* panel_of_b(unsigned n) { return function_.getArg(size_.d + size_.a + size_.b + n); }
  llvm::Value* local(unsigned words, const char* name) {
    auto* place = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getInt32Ty(), words), nullptr, name);
    place->setAlignment(llvm::Align(64));
    return place;
  }

  void unpack_a(unsigned n) {
    panels_of_a_.push_back(form_.in_words() ? matrix_a(n) : local(form_.words_of_panel_of_a(), "a_panel"));
    if (form_.flips_b) excess_.push_back(local(RunForm::kWordsOfExcess, "excess"));
    if (form_.flips_b || !form_.in_words())
      ir_.CreateCall(unpacker_of_a(module_, form_),
                     {matrix_a(n), form_.flips_b ? excess_[n] : panels_of_a_[n]});
  }

  /// What is added to a D, in order.
  std::vector<RunProduct> products_of(unsigned d) const {
    std::vector<RunProduct> all;
    std::ranges::copy_if(products_, std::back_inserter(all), [&](const RunProduct& p) { return p.d == d; });
    return all;
  }
  bool have_same_as(unsigned x, unsigned y) const {
    return std::ranges::equal(products_of(x), products_of(y), {}, &RunProduct::a, &RunProduct::a);
  }
  std::vector<Tile> tiles() const {
    std::vector<Tile> all;
    for (unsigned d = 0; d < size_.d; ++d) {
      const auto open = std::ranges::find_if(
          all, [&](const Tile& tile) { return tile.ds.size() == 1 && have_same_as(tile.ds[0], d); });
      if (open != all.end())
        open->ds.push_back(d);
      else
        all.push_back({{d}});
    }
    return all;
  }

  void multiply(const Tile& tile) {
    Values arguments;
    for (const unsigned d : tile.ds) arguments.push_back(matrix_d(d));
    const auto products = products_of(tile.ds[0]);
    for (std::size_t step = 0; step < products.size(); ++step) {
      arguments.push_back(panels_of_a_[products[step].a]);
      for (const unsigned d : tile.ds) arguments.push_back(panel_of_b(products_of(d)[step].b));
      if (form_.flips_b) arguments.push_back(excess_[products[step].a]);
    }
    const auto ds = static_cast<unsigned>(tile.ds.size()), steps = static_cast<unsigned>(products.size());
    ir_.CreateCall(tile_adder(module_, form_, ds, steps), arguments);
  }

  llvm::Function& function_;
  llvm::Module& module_;
  Builder ir_;
  const std::vector<RunProduct>& products_;
  const std::vector<bool>& is_there_;  // of each B: in its panel
  const RunSize size_;
  const RunForm form_;
  Values panels_of_a_;
  Values excess_;  // of each A, if there is any
};

}  // namespace

bool is_run_opcode(const isa::Opcode& opcode) {
  const isa::MatrixShape shape = isa::matrix_shape(opcode);
  const Type d = MatrixLayout(opcode, "d").element();
  return shape.m == 16 && shape.n == RunForm::kColumnsOfB && isa::matrix_products(opcode) == 1 &&
         !isa::is_sparse(opcode) && (d == Type::f32 || d == Type::s32) && !opcode.has(Mod::satfinite) &&
         element_bits(MatrixLayout(opcode, "a").element()) >= 8;
}

bool has_run_products(const isa::Opcode& opcode, SimdForm simd) {
  return simd.lanes == RunForm::kLanes &&
         (isa::is_float(MatrixLayout(opcode, "a").element()) || simd.dots_of_bytes);
}

unsigned panel_bytes(const isa::Opcode& opcode, SimdForm simd) {
  const RunForm form(opcode, simd);
  return form.chunks * form.chunk_of_b() * 4;
}

llvm::Function* matrix_run(llvm::Module& module, const isa::Opcode& opcode, SimdForm simd,
                           const std::vector<RunProduct>& products, const std::vector<bool>& is_there) {
  std::string name = "raddle.run." + opcode.text;
  for (const RunProduct& p : products) name += fmt::format(".{}_{}_{}", p.d, p.a, p.b);
  name += '.';
  for (const bool there : is_there) name += there ? '1' : '0';
  if (auto* known = module.getFunction(name)) return known;
  const RunSize size = size_of(products);
  auto* function = new_matrix_function(module, name, size.d + size.a + 2 * size.b, size.d, size.a + size.b);
  MatrixRunWriter(*function, opcode, simd, products, is_there).write();
  return function;
}

}  // namespace raddle::jit
