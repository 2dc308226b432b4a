// A random PTX program as a tree of statements: what the generator makes, the shrinker cuts and the oracle
// runs as text. Every register is written in the prologue and every loop counts its trips, so any subset of
// statements is a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "isa/type.h"

namespace raddle::diff {

/// A register of the pool from which operands are drawn.
struct Register {
  std::string name;
  isa::Type type;  ///< as declared
};

/// The registers that statements may read and write; all are loaded from the input and stored to the output.
const std::vector<Register>& register_pool();

struct Node {
  enum class Kind : std::uint8_t {
    lines,      ///< PTX as it stands
    branch,     ///< if (guard) parts[0] else parts[1]
    loop,       ///< parts[0] `count` times; a lane leaves when its own count is reached
    selection,  ///< brx.idx over the parts
    leave,      ///< predicated jump out of `levels` loops, or on to the next trip when `levels` is 0
    finish,     ///< predicated jump to the end of the program, or exit
    group,      ///< parts[0], one statement after the other
    critical,   ///< parts[0] under a spin lock of the CTA's
  };
  Kind kind = Kind::lines;
  std::vector<std::string>
      text;           ///< lines: the statement; else what comes before it: its predicate, its trips
  std::string guard;  ///< predicate of branch, leave and finish: "%p1" or "!%p1"
  std::string count;  ///< loop: register or number of trips; selection: index register
  std::vector<std::vector<Node>> parts;
  unsigned levels = 1;
  bool flag =
      false;  ///< loop: the test is at the end; selection: cases fall through; finish: exit, storing nothing
};

/// A device function of the program, fn0, fn1, ...: its registers are filled from what its parameters mix to.
struct Function {
  std::vector<isa::Type> parameters;  ///< b8 to f64; b128: a structure of 16 bytes
  isa::Type result = isa::Type::b32;
  bool recursive = false;  ///< its first parameter says how deep it may still call itself
  std::string returned;    ///< register of the pool
  std::vector<Node> body;
};

struct Program {
  std::uint64_t seed = 0;
  std::string profile;
  exec::BlockShape block;
  std::vector<Function> functions;  ///< each calls only earlier ones
  std::vector<Node> body;
};

inline constexpr unsigned kSlotBytes = 64;  ///< private memory per thread and state space

unsigned thread_count(exec::BlockShape block);
unsigned statement_count(const std::vector<Node>& nodes);

/// The parameters a call passes: "depth" before the others where the function is recursive.
std::vector<isa::Type> passed_types(const Function& f);

/// "fn3"
std::string function_name(std::size_t index);
/// ".align 16 .b8 name[16]" or ".b32 name": a declaration without its .param.
std::string parameter_text(isa::Type type, const std::string& name);

/// The program as a module whose head comment says how to launch it (see oracle.h).
std::string render(const Program& program);

}  // namespace raddle::diff
