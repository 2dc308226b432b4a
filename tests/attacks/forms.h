// Hostile kernels: what is done with an address (a form), and how the address gets there (a trick).
#pragma once

#include <string>
#include <vector>

namespace raddle::attacks {

/// Kernel text, in which {A} stands for an address operand: register %a and what the trick adds.
struct Form {
  const char* name;
  const char* text;           ///< leaves what it read in %x
  bool always_faults = true;  ///< in a window, for a target outside; else what it does then is harmless
  bool reads = true;          ///< without windows %x tells what lies at the target
  bool writes = false;        ///< without windows memory at the target changes
};

struct Trick {
  const char* name;
  const char* text;               ///< makes %a of %t, the target
  const char* operand;            ///< {A}
  bool of_compiled_code = false;  ///< uses how the JIT has misaligned addresses trap
};

const std::vector<Form>& forms();
const std::vector<Trick>& tricks();

/// A kernel `attack(u64 target, u64 out, u64 own)`, for one warp: `own` is memory of the attacker, `out` gets
/// what each lane read.
std::string kernel_of(const Form& form, const Trick& trick);

}  // namespace raddle::attacks
