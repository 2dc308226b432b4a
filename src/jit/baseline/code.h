// The machine code of a module as it is written: asmjit's assembler, the constants behind the code, what is
// called outside, and which line an instruction belongs to.
#pragma once

#include <asmjit/x86.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

namespace raddle::jit::baseline {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;

/// An instruction for each size of an element: 8, 16, 32, 64 bits. 0: the host has none.
struct BySize {
  asmjit::InstId of_8, of_16, of_32, of_64;
  asmjit::InstId operator[](unsigned bits) const {
    return bits == 8 ? of_8 : bits == 16 ? of_16 : bits == 32 ? of_32 : of_64;
  }
};

/// Keeps the first thing that asmjit cannot encode.
class FirstError : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* text, asmjit::BaseEmitter*) override {
    if (message.empty()) message = text;
  }
  std::string message;
};

/// A row of the line table: from this offset on.
struct Line {
  std::uint32_t offset, line, column;
};

/// A function's place in the code.
struct WrittenFunction {
  const llvm::Function* function;
  std::uint32_t begin, end;
  std::uint64_t stack_bytes;
};

class Code {
 public:
  explicit Code(const llvm::Module& module);

  const llvm::Module& module;
  asmjit::CodeHolder holder;
  FirstError error;
  x86::Assembler assembler;
  std::vector<Line> lines;
  std::vector<WrittenFunction> functions;
  /// Eight bytes at this offset are the address of the symbol.
  struct Address {
    asmjit::Label place;
    std::string symbol;
  };
  std::vector<Address> addresses;
  /// Four bytes for each label: how far behind the table it lies.
  struct Table {
    asmjit::Label place;
    std::vector<asmjit::Label> to;
  };
  std::vector<Table> tables;

  std::uint32_t offset() { return static_cast<std::uint32_t>(assembler.offset()); }
  /// @returns the number of a constant of these bytes, padded to the width of a register
  std::uint64_t constant(llvm::StringRef bytes);
  /// The constant is four bytes twice.
  bool halves_are_equal(std::uint64_t number) const {
    return constants_[number].bytes.compare(0, 4, constants_[number].bytes, 4, 4) == 0;
  }
  x86::Mem constant_at(std::uint64_t number, std::int32_t offset = 0) {
    return x86::ptr(constants_[number].label, offset);
  }
  /// Zeros in the whole of a vector register.
  void clear(unsigned reg) {
    if (reg < 16)
      assembler.vpxor(x86::xmm(reg), x86::xmm(reg), x86::xmm(reg));
    else
      assembler.vpxord(x86::xmm(reg), x86::xmm(reg), x86::xmm(reg));
  }
  asmjit::Label label_of(const llvm::Function& function);
  /// Where a variable of the module lies, which must be constant; an invalid label: it cannot be laid down.
  asmjit::Label label_of(const llvm::GlobalVariable& variable);
  /// Memory that holds the address of a symbol outside.
  x86::Mem address_of(llvm::StringRef symbol);
  /// The bytes of a constant; false: it holds what has none (an address). @param is_defined  false if all of
  /// it is undefined
  bool bytes_of(const llvm::Constant* constant, std::string& bytes, bool& is_defined) const;
  void at_line(std::uint32_t line, std::uint32_t column);
  /// Lays down constants and addresses behind the code. @returns false, with the reason in `error`
  bool finish();

 private:
  struct Constant {
    asmjit::Label label;
    std::string bytes;
  };
  std::vector<Constant> constants_;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
  std::map<const llvm::GlobalValue*, asmjit::Label> labels_;
  std::vector<std::pair<asmjit::Label, std::string>> variables_;
  std::map<std::string, std::size_t, std::less<>> address_numbers_;
};

}  // namespace raddle::jit::baseline
