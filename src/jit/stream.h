// The warps whose code is written into one stream of instructions (together.h): most often one.
#pragma once

#include <functional>
#include <vector>

#include "jit/registers.h"

namespace raddle::jit {

/// What code that concerns all of them needs of each.
struct StreamWarp {
  Masks& masks;
  Context& context;
  Registers& registers;
};
using Stream = std::vector<StreamWarp>;

/// Writes code for each warp in turn.
inline void for_each_warp(FunctionBuilder& code, const Stream& stream,
                          const std::function<void(const StreamWarp&)>& body) {
  for (unsigned w = 0; w < stream.size(); ++w) {
    code.at_warp(w);
    body(stream[w]);
  }
  code.at_warp(0);
}

}  // namespace raddle::jit
