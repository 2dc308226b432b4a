// Where attacks happen: a machine with the address space of a victim, which holds secrets in all kinds of
// memory, and one of an attacker; and secrets of the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "machine/address_space.h"
#include "ptx/layout.h"
#include "ptx/module.h"

namespace raddle::attacks {

inline constexpr std::uint64_t kSecret = 0x5ec4e75ec4e75ec4;
inline constexpr std::uint64_t kWindowBytes = 8ull << 30;

/// Those of this build.
std::vector<std::string> engines();

/// A kernel, compiled once for many address spaces.
struct Kernel {
  /// @param engine  "interp", "jit"
  static std::unique_ptr<Kernel> make(const std::string& ptx, const std::string& engine, Translation how,
                                      unsigned threads = 32);
  ptx::Module module;
  ptx::SharedLayout shared;
  std::unique_ptr<exec::Executable> code;
  std::uint64_t local_stride = 0;
};

/// Something that no attacker may read or change.
struct Target {
  std::string name;
  std::uint64_t address;
  std::uint64_t* secret;  ///< where the host has it
  bool is_code = false;   ///< then it is whatever lies there, and cannot be written
  std::vector<std::uint64_t> words = {};
};

class Arena {
 public:
  Arena();
  ~Arena();

  /// Addresses of secrets, known exactly: 64 bytes from there on are kSecret, or code.
  const std::vector<Target>& targets() const { return targets_; }
  /// Whether every secret is what it was; makes it so again.
  bool restore();

  struct Outcome {
    exec::Fault fault;
    std::vector<std::uint64_t> read;  ///< by lane
    std::string printed;
  };
  /// Runs the kernel with (target, out, own) in an address space of its own.
  Outcome attack(const Kernel& kernel, std::uint64_t target, Translation translation);
  machine::AddressSpace& victim() { return *victim_; }
  /// Another one on the same machine. @param printed  receives what its kernels print; outlives it
  std::unique_ptr<machine::AddressSpace> open(Translation translation, std::string* printed);

 private:
  void hide(const char* name, std::uint64_t address, std::byte* host);
  void hide_code(const char* name, std::uint64_t address);

  std::shared_ptr<machine::Machine> machine_;
  std::unique_ptr<machine::AddressSpace> victim_;
  std::unique_ptr<Kernel> code_;  ///< of the victim's
  std::vector<std::uint64_t> of_host_;
  std::string printed_;  // by the victim
  std::vector<Target> targets_;
};

/// Runs a grid to its end; 50 seconds at most.
exec::Fault run(machine::AddressSpace& space, const Kernel& kernel,
                const std::vector<std::uint64_t>& arguments, unsigned blocks, unsigned threads);
/// One block of 32 threads, 2 seconds at most.
exec::Fault run(machine::AddressSpace& space, const Kernel& kernel,
                const std::vector<std::uint64_t>& arguments);

}  // namespace raddle::attacks
