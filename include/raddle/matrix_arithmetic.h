// How matrix instructions (mma, wmma, wgmma) add up products of floating-point elements.
#pragma once

#include <cstdint>

namespace raddle {

/// Integers and f64 are the same in all: PTX defines their results.
enum class MatrixArithmetic : std::uint8_t {
  reference,  ///< a chain of fused multiply-adds in the order of k, each rounded to the nearest f32
  hopper,     ///< as measured on H100: many products at once, cut off below the largest; on the interpreter
  fast,  ///< as reference, but of bf16 pairs by what the host has; bounds in docs/accuracy.md; by the JIT
};

}  // namespace raddle
