// Where accesses go: host addresses of a warp's lanes, and the checks that every access makes before it
// touches memory. Each access of a kernel passes begin() or, if the compiler itself chooses its place,
// note().
#pragma once

#include <functional>

#include "exec/access.h"
#include "jit/registers.h"

namespace raddle::jit {

/// One access of the lanes of a warp, translated and checked.
struct WarpAccess {
  exec::Access access;
  WarpValue address;  ///< host addresses (i64)
  WarpValue generic;  ///< the kernel's own, which others follow from
  Mask lanes;
};

class Addresses {
 public:
  Addresses(FunctionBuilder& code, ModuleBuilder& module, const Cursor& cursor, WarpValues& values,
            Masks& masks, Context& context, StateSpaces& spaces, Registers& registers);

  /// The one way to memory for the instruction at hand: tells the listener, translates the address that the
  /// operand names, and checks it.
  WarpAccess begin(const ptx::Operand& address);
  /// The same where the instruction names the space of this operand, and moves `bytes` bytes.
  WarpAccess begin(const ptx::Operand& address, isa::Mod space, std::uint32_t bytes);
  /// The same for one of the two accesses of a copy, which these lanes make.
  WarpAccess begin(const ptx::Operand& address, isa::Mod space, std::uint32_t bytes, exec::AccessKind kind,
                   const Mask& lanes);
  /// Generic addresses that an operand names in the space, unchecked: the machine itself reads or writes
  /// there.
  WarpValue generic(const ptx::Operand& address, isa::Mod space) { return translate(address, space); }
  /// The same for one of the two accesses of a copy; tells the listener.
  WarpValue generic(const ptx::Operand& address, isa::Mod space, std::uint32_t bytes, exec::AccessKind kind);
  /// Every lane's address is known to be a multiple of `bytes`, in the space of the instruction at hand.
  bool is_aligned(const ptx::Operand& address, unsigned bytes) const;
  /// The host address of one that a lane computes from what begin() gave: the kernel may have to be kept from
  /// it. @param address  generic
  llvm::Value* reached(llvm::Value* address, llvm::Value* lane, const exec::Access& access);
  /// As begin(), for accesses without an address to translate: parameters of device functions, textures and
  /// surfaces.
  exec::Access note();
  /// Whether the launch wants stores that go past the host's caches (i32).
  llvm::Value* past_caches() { return spaces_.past_caches(); }
  /// Where the CTA's shared memory lies (i64), and how much it is (i32).
  llvm::Value* shared_base() { return spaces_.shared_base(); }
  llvm::Value* shared_bytes() { return spaces_.shared_bytes(); }

 private:
  WarpAccess begin(const ptx::Operand& address, isa::Mod space, std::uint32_t bytes,
                   const exec::Access& access, const Mask& lanes);
  void tell(const exec::Access& access);
  // Translation; StateSpaces knows where state spaces begin.
  WarpValue translate(const ptx::Operand& operand, isa::Mod space);
  WarpValue base_of(const ptx::Operand& operand);
  WarpValue in_shared(WarpValue value, std::int64_t offset);
  void each(WarpValue& value, const std::function<llvm::Value*(llvm::Value*)>& change);
  llvm::Value* plus(llvm::Value* x, llvm::Value* scalar);
  llvm::Value* widened(llvm::Value* x);
  llvm::Type* like(llvm::Value* x, llvm::Type* element);
  // Checks.
  void check_parameter(const WarpValue& offset, llvm::Value* base);
  void check_window(const ptx::Operand& operand, isa::Mod space, const WarpAccess& access);
  llvm::Value* leaves_window(const ptx::Operand& operand, isa::Mod space, const WarpAccess& access);
  llvm::Value* is_inside(llvm::Value* address, llvm::Value* start, llvm::Value* bytes);
  void check_access(llvm::Value* lanes, llvm::Value* addresses, const exec::Access& access);
  bool is_translated(isa::Mod space) const;
  WarpValue reached(const WarpAccess& access);
  void translate_lanes(llvm::Value* lanes, llvm::Value* addresses, const exec::Access& access);
  void check_remote(const ptx::Operand& operand, isa::Mod space, const WarpAccess& access);
  llvm::Value* may_be_remote(const WarpAccess& access, isa::Mod space);
  Mask outside_cluster(const WarpAccess& access, isa::Mod space);
  void trap_misaligned(const ptx::Operand& operand, isa::Mod space, WarpValue& address, unsigned bytes);
  bool is_aligned(const ptx::Operand& address, isa::Mod space, unsigned bytes) const;

  FunctionBuilder& code_;
  Builder& ir_;
  ModuleBuilder& module_;
  const KernelPlan& kernel_;
  const Cursor& cursor_;
  const FunctionPlan& plan_;
  const ptx::Function& f_;
  WarpValues& values_;
  Masks& masks_;
  Context& context_;
  StateSpaces& spaces_;
  Registers& registers_;
};

}  // namespace raddle::jit
