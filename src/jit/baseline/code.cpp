#include "jit/baseline/code.h"

#include <llvm/IR/Constants.h>

#include <cstdio>

/// What asmjit writes to instead of stderr (src/CMakeLists.txt).
extern "C" {
[[gnu::visibility("hidden")]] FILE* raddle_asmjit_stderr = stderr;
}

namespace raddle::jit::baseline {

Code::Code(const llvm::Module& of) : module(of) {
  holder.init(asmjit::Environment::host());
  holder.setErrorHandler(&error);
  holder.attach(&assembler);
}

std::uint64_t Code::constant(llvm::StringRef bytes) {
  auto [found, is_new] = numbers_.try_emplace(bytes.str(), constants_.size());
  if (is_new) {
    std::string padded = bytes.str();
    padded.resize((padded.size() + 63) / 64 * 64);
    constants_.push_back({assembler.newLabel(), std::move(padded)});
  }
  return found->second;
}

asmjit::Label Code::label_of(const llvm::Function& function) {
  auto [found, is_new] = labels_.try_emplace(&function);
  if (is_new) found->second = assembler.newLabel();
  return found->second;
}

asmjit::Label Code::label_of(const llvm::GlobalVariable& variable) {
  if (const auto found = labels_.find(&variable); found != labels_.end()) return found->second;
  std::string bytes;
  bool is_defined = false;
  if (!variable.isConstant() || !variable.hasInitializer() ||
      !bytes_of(variable.getInitializer(), bytes, is_defined))
    return {};
  const asmjit::Label label = assembler.newLabel();
  labels_[&variable] = label;
  variables_.emplace_back(label, std::move(bytes));
  return label;
}

x86::Mem Code::address_of(llvm::StringRef symbol) {
  auto [found, is_new] = address_numbers_.try_emplace(symbol.str(), addresses.size());
  if (is_new) addresses.push_back({assembler.newLabel(), symbol.str()});
  return x86::ptr(addresses[found->second].place, 0, 8);
}

bool Code::bytes_of(const llvm::Constant* constant, std::string& bytes, bool& is_defined) const {
  const std::uint64_t size = module.getDataLayout().getTypeStoreSize(constant->getType());
  if (llvm::isa<llvm::UndefValue>(constant)) {  // poison is one
    bytes.append(size, '\0');
    return true;
  }
  is_defined = true;
  auto number = [&](const llvm::APInt& value) {
    if (value.getBitWidth() > 64) return false;
    const std::uint64_t bits = value.getZExtValue();
    bytes.append(reinterpret_cast<const char*>(&bits), size);
    return true;
  };
  if (constant->isNullValue()) {
    bytes.append(size, '\0');
    return true;
  }
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(constant)) return number(integer->getValue());
  if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(constant))
    return number(real->getValueAPF().bitcastToAPInt());
  if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(constant)) {
    bytes += data->getRawDataValues();
    return true;
  }
  if (!llvm::isa<llvm::ConstantVector, llvm::ConstantArray>(constant)) return false;
  for (const llvm::Use& element : constant->operands())
    if (!bytes_of(llvm::cast<llvm::Constant>(element.get()), bytes, is_defined)) return false;
  return true;
}

void Code::at_line(std::uint32_t line, std::uint32_t column) {
  if (!lines.empty() && lines.back().line == line && lines.back().column == column) return;
  if (!lines.empty() && lines.back().offset == offset())
    lines.back() = {offset(), line, column};
  else
    lines.push_back({offset(), line, column});
}

bool Code::finish() {
  auto lay_down = [this](const asmjit::Label& label, unsigned alignment, llvm::StringRef bytes) {
    assembler.align(asmjit::AlignMode::kZero, alignment);
    assembler.bind(label);
    assembler.embed(bytes.data(), bytes.size());
  };
  for (const Address& address : addresses) lay_down(address.place, 8, llvm::StringRef("\0\0\0\0\0\0\0\0", 8));
  for (const Constant& constant : constants_) lay_down(constant.label, 64, constant.bytes);
  for (const auto& [label, bytes] : variables_) lay_down(label, 64, bytes);
  for (const Table& table : tables) {
    lay_down(table.place, 4, "");
    for (const asmjit::Label& to : table.to) {
      const auto distance =
          static_cast<std::int32_t>(holder.labelOffset(to) - holder.labelOffset(table.place));
      assembler.embed(&distance, sizeof distance);
    }
  }
  if (!error.message.empty()) return false;
  if (holder.hasUnresolvedLinks() || holder.hasRelocEntries() || holder.sectionCount() != 1)
    error.message = "code refers to what it does not have";
  return error.message.empty();
}

}  // namespace raddle::jit::baseline
