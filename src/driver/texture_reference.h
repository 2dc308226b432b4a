// Texture and surface references: variables of a module (.texref, .surfref in PTX) to which a program binds
// an image. CUDA 12 deprecated them; PyCUDA and older programs have them.
#pragma once

#include <mutex>
#include <string>

#include "driver/texture.h"

namespace raddle::driver {

/// What both kinds are: a variable, and what is bound to it. The lock is of all that may change.
struct Reference {
  std::shared_ptr<Context> context;
  std::weak_ptr<Module> module;  ///< none of references that cuTexRefCreate made, which no kernel reads
  std::string name;
  std::mutex mutex;
  TextureObject bound;    ///< its resource says what is bound, its texture how that is read
  bool is_bound = false;  ///< to memory or an array
};

struct TextureReference : Reference {
  CUtexref handle = nullptr;
  bool is_of_module = false;
  CUarray_format format = FORMAT_FLOAT;  ///< of memory; arrays have their own
  unsigned channels = 1;
  TextureReference();
};

struct SurfaceReference : Reference {
  CUsurfref handle = nullptr;
};

}  // namespace raddle::driver
