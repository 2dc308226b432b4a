// The layout is XSAVE's standard format (Intel SDM volume 1, 13.4): FXSAVE's 512 bytes, a header, then
// components at places that CPUID names.
#include "machine/sm/saved_registers.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace raddle::machine {
namespace {

enum Component : unsigned { kYmmHigh = 2, kMasks = 5, kZmmHigh = 6, kZmmUpper = 7, kComponents = 8 };
constexpr unsigned kXmm = 160, kMagic = 464, kHeader = 512;  // offsets
constexpr std::uint32_t kMagicValue = 0x46505853;            // the kernel's mark that XSAVE was used
unsigned saved_at[kComponents];

template <class T>
T field_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void prepare_saved_registers() {
  if (__get_cpuid_max(0, nullptr) < 0xd) return;
  for (unsigned component : {kYmmHigh, kMasks, kZmmHigh, kZmmUpper}) {
    unsigned size = 0, offset = 0, c = 0, d = 0;
    __cpuid_count(0xd, component, size, offset, c, d);
    saved_at[component] = size == 0 ? 0 : offset;
  }
}

void save_registers(const ucontext_t& context, exec::SavedRegisters& registers) {
  constexpr int kGeneral[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  registers = {};
  for (unsigned r = 0; r < 16; ++r)
    registers.general[r] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kGeneral[r]]);
  const auto* area = reinterpret_cast<const std::byte*>(context.uc_mcontext.fpregs);
  if (area == nullptr) return;
  const bool extended = field_at<std::uint32_t>(area + kMagic) == kMagicValue;
  const std::uint64_t in_use = extended ? field_at<std::uint64_t>(area + kHeader) : 0;
  const auto component = [&](Component which) {
    return saved_at[which] != 0 && (in_use >> which & 1) != 0 ? area + saved_at[which] : nullptr;
  };
  const std::byte *high = component(kYmmHigh), *higher = component(kZmmHigh), *upper = component(kZmmUpper);
  for (unsigned r = 0; r < 16; ++r) {
    std::memcpy(&registers.vectors[r][0], area + kXmm + r * 16, 16);
    if (high != nullptr) std::memcpy(&registers.vectors[r][2], high + r * 16, 16);
    if (higher != nullptr) std::memcpy(&registers.vectors[r][4], higher + r * 32, 32);
    if (upper != nullptr) std::memcpy(&registers.vectors[16 + r][0], upper + r * 64, 64);
  }
  if (const std::byte* masks = component(kMasks)) std::memcpy(registers.masks, masks, 64);
}

}  // namespace raddle::machine

#else

namespace raddle::machine {
void prepare_saved_registers() {}
void save_registers(const ucontext_t&, exec::SavedRegisters&) {}
}  // namespace raddle::machine

#endif
