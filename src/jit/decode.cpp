// LLVM's disassembler gives operands; their registers are found by name, as LLVM's numbers are not public.
#include "jit/decode.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <string_view>

#include "base/page.h"
#include "jit/host.h"

namespace raddle::jit {
namespace {

bool is_canonical(std::uint64_t address) {
  auto top = static_cast<std::int64_t>(address) >> 47;
  return top == 0 || top == -1;
}

/// A register of the saved state: general, vector or mask.
struct Register {
  enum class Kind { none, general, vector, mask } kind = Kind::none;
  unsigned number = 0, bits = 0;
};

Register register_named(std::string_view name) {
  constexpr std::string_view kGeneral[] = {"RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI",
                                           "R8",  "R9",  "R10", "R11", "R12", "R13", "R14", "R15"};
  if (auto at = std::find(std::begin(kGeneral), std::end(kGeneral), name); at != std::end(kGeneral))
    return {Register::Kind::general, static_cast<unsigned>(at - kGeneral), 64};
  auto numbered = [&](std::string_view prefix) -> std::optional<unsigned> {
    if (!name.starts_with(prefix)) return {};
    unsigned number = 0;
    for (char c : name.substr(prefix.size())) {
      if (c < '0' || c > '9') return {};
      number = number * 10 + static_cast<unsigned>(c - '0');
    }
    return number;
  };
  for (auto [prefix, bits] : {std::pair{"XMM", 128u}, {"YMM", 256u}, {"ZMM", 512u}})
    if (auto number = numbered(prefix); number && *number < 32)
      return {Register::Kind::vector, *number, bits};
  if (auto number = numbered("K"); number && *number < 8) return {Register::Kind::mask, *number, 64};
  return {};
}

class Decoder {
 public:
  Decoder(std::uint64_t code, const exec::SavedRegisters& saved)
      : saved_(saved), machine_(make_target_machine(host_target(SimdLevel::host), Tier::quick)) {
    const auto& features = *machine_->getMCSubtargetInfo();
    llvm::MCContext context(machine_->getTargetTriple(), machine_->getMCAsmInfo(),
                            machine_->getMCRegisterInfo(), &features);
    std::unique_ptr<llvm::MCDisassembler> disassembler(
        machine_->getTarget().createMCDisassembler(features, context));
    if (!disassembler) return;
    constexpr std::uint8_t kLock = 0xf0;  // to LLVM an instruction by itself
    if (*reinterpret_cast<const std::uint8_t*>(code) == kLock) ++code;
    constexpr std::uint64_t kLongest = 15;
    // The page after the code's last one may not be there: what lies on this one comes first.
    for (std::uint64_t bytes : {std::min(kLongest, kPage - code % kPage), kLongest}) {
      llvm::ArrayRef<std::uint8_t> text(reinterpret_cast<const std::uint8_t*>(code), bytes);
      if (disassembler->getInstruction(instruction_, size_, text, code, llvm::nulls()) ==
          llvm::MCDisassembler::Success) {
        next_ = code + size_;
        break;
      }
    }
    if (next_ != 0) find_operands();
  }

  std::optional<DecodedAccess> access(std::uint64_t faulted, unsigned elements) const {
    if (next_ == 0 || memory_ == instruction_.getNumOperands()) return {};
    DecodedAccess result{.is_write = description().mayStore()};
    Register index = at(memory_ + 2);
    std::uint64_t base = base_is_next() ? next_ : general(at(memory_));
    base += static_cast<std::uint64_t>(operand(memory_ + 3).getImm());
    auto scale = static_cast<std::uint64_t>(operand(memory_ + 1).getImm());
    if (index.kind != Register::Kind::vector) {
      result.address = base + general(index) * scale;
      find_element(result, faulted, elements);
      return result;
    }
    Shape shape = shape_of(index);
    for (unsigned e = 0; e < shape.count; ++e) {
      std::uint64_t address = base + scale * element(index, e, shape.index_bits);
      bool hit = faulted == 0 ? !is_canonical(address) : faulted - address < shape.data_bits / 8;
      if (!hit || !is_active(e, shape.data_bits)) continue;
      result.address = address;
      result.element = e;
      result.elements = shape.count;
      return result;
    }
    return {};
  }

  /// For a move of so many elements between memory and a register, under a mask or not, or of four of them
  /// into a quarter of one. The fault lies at or after the address that the processor names, which may be the
  /// start of a page that the vector reaches into.
  void find_element(DecodedAccess& access, std::uint64_t faulted, unsigned count) const {
    std::string_view name = machine_->getMCInstrInfo()->getName(instruction_.getOpcode());
    if (name.starts_with("V")) name.remove_prefix(1);
    const bool is_masked = name.starts_with("MASKMOV") || name.starts_with("PMASKMOV");  // AVX2
    const bool moves = name.starts_with("MOVU") || name.starts_with("MOVA") || name.starts_with("MOVDQ");
    const bool inserts = name.starts_with("INSERTF128") || name.starts_with("INSERTI128") ||
                         name.starts_with("INSERTF32x4") || name.starts_with("INSERTI32x4");
    if (data_.kind != Register::Kind::vector || count == 0 || (!moves && !inserts && !is_masked)) return;
    const unsigned bytes = inserts ? 4 : data_.bits / 8 / count;
    if (bytes != 4 && bytes != 8) return;
    if ((is_masked || mask_.kind == Register::Kind::mask) && bytes != bytes_of_elements(name)) return;
    for (unsigned e = 0; e < count; ++e) {
      if (is_masked ? !is_chosen(e, bytes)
                    : mask_.kind == Register::Kind::mask && (saved_.masks[mask_.number] >> e & 1) == 0)
        continue;
      if (faulted != 0 && access.address + e * bytes + bytes <= faulted) continue;
      access.element = e;
      access.elements = count;
      return;
    }
  }

 private:
  /// Of what moves under a mask, as its name says; 0: it does not.
  static unsigned bytes_of_elements(std::string_view name) {
    constexpr std::pair<std::string_view, unsigned> kParts[] = {{"PS", 4}, {"32", 4}, {"MASKMOVD", 4},
                                                                {"PD", 8}, {"64", 8}, {"MASKMOVQ", 8}};
    for (auto [part, bytes] : kParts)
      if (name.find(part) != name.npos) return bytes;
    return 0;
  }
  /// By the sign bits of a vector, which comes before what is stored and after what is loaded.
  bool is_chosen(unsigned e, unsigned bytes) const {
    return element(description().mayStore() ? data_ : last_vector_, e, bytes * 8) >> 63 != 0;
  }

  struct Shape {  // of a gather or scatter
    unsigned index_bits, data_bits, count;
  };

  const llvm::MCInstrDesc& description() const {
    return machine_->getMCInstrInfo()->get(instruction_.getOpcode());
  }
  const llvm::MCOperand& operand(unsigned k) const { return instruction_.getOperand(k); }
  Register at(unsigned k) const {
    if (!operand(k).isReg() || operand(k).getReg() == 0) return {};
    return register_named(machine_->getMCRegisterInfo()->getName(operand(k).getReg()));
  }

  /// x86's memory operand: base, scale, index, displacement, segment.
  void find_operands() {
    memory_ = instruction_.getNumOperands();
    auto operands = description().operands();
    for (unsigned k = 0; k + 5 <= instruction_.getNumOperands(); ++k)
      if (operands[k].OperandType == llvm::MCOI::OPERAND_MEMORY && operand(k + 1).isImm() &&
          operand(k + 3).isImm()) {
        memory_ = k;
        break;
      }
    for (unsigned k = 0; k < instruction_.getNumOperands(); ++k) {
      if (k >= memory_ && k < memory_ + 5) continue;
      Register r = at(k);
      if (r.kind == Register::Kind::mask) mask_ = r;
      if (r.kind == Register::Kind::vector) {
        if (data_.kind == Register::Kind::none) data_ = r;
        last_vector_ = r;
      }
    }
  }

  std::uint64_t general(const Register& r) const {
    return r.kind == Register::Kind::general ? saved_.general[r.number] : 0;
  }
  bool base_is_next() const {
    return operand(memory_).getReg() != 0 &&
           std::string_view(machine_->getMCRegisterInfo()->getName(operand(memory_).getReg())) == "RIP";
  }

  /// The mnemonic says the widths: (V)P?(GATHER|SCATTER)<index D|Q><data D|Q|PS|PD>.
  Shape shape_of(const Register& index) const {
    std::string_view name = machine_->getMCInstrInfo()->getName(instruction_.getOpcode());
    auto end = name.find("GATHER") != name.npos ? name.find("GATHER") + 6 : name.find("SCATTER") + 7;
    Shape shape{name[end] == 'Q' ? 64u : 32u, 32, 0};
    std::string_view data = name.substr(end + 1);
    if (data.starts_with("Q") || data.starts_with("PD")) shape.data_bits = 64;
    shape.count = std::min(index.bits / shape.index_bits, data_.bits / shape.data_bits);
    return shape;
  }

  std::uint64_t element(const Register& r, unsigned e, unsigned bits) const {
    std::uint64_t word = saved_.vectors[r.number][e * bits / 64];
    if (bits == 64) return word;
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(word >> (e % 2 * 32))});
  }

  /// Elements that are done have been taken out of the mask.
  bool is_active(unsigned e, unsigned data_bits) const {
    if (mask_.kind == Register::Kind::mask) return (saved_.masks[mask_.number] >> e & 1) != 0;
    return element(last_vector_, e, data_bits) >> 63 != 0;  // AVX2: sign bits of the last vector
  }

  const exec::SavedRegisters& saved_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::MCInst instruction_;
  std::uint64_t size_ = 0, next_ = 0;
  unsigned memory_ = 0;  // first of its operands
  Register data_, last_vector_, mask_;
};

}  // namespace

std::optional<DecodedAccess> decode_access(std::uint64_t code, const exec::SavedRegisters& registers,
                                           std::uint64_t faulted, unsigned elements) {
  return Decoder(code, registers).access(faulted, elements);
}

}  // namespace raddle::jit
