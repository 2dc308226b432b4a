// Sums of products of several elements that lie in a word, by the host's own instructions (SimdForm says
// whether it has them): 16 words at once.
#pragma once

#include "jit/value.h"

namespace raddle::jit {

/// sum + four products of unsigned bytes and signed ones, modulo 2^32.
Val dot_of_bytes(Val unsigned_bytes, Val signed_bytes, Val sum);
/// sum + two products; two roundings at most, subnormals count as zero (docs/accuracy.md).
Val dot_of_bf16(Val a, Val b, Val sum);

}  // namespace raddle::jit
