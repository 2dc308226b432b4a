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
  bool is_of_module() const { return !name.empty(); }
};

struct TextureReference : Reference {
  CUtexref handle = nullptr;
  CUarray_format format = FORMAT_FLOAT;  ///< of memory; arrays have their own
  unsigned channels = 1;
  TextureReference();
};

struct SurfaceReference : Reference {
  CUsurfref handle = nullptr;
};

/// A module's reference by name, made when it is first asked for. @param known  handles by name, of the
/// module;
/// @param all  the process's
template <class Kind, class Handle, class Known, class All>
Handle named_reference(const std::shared_ptr<Context>& context, const std::shared_ptr<Module>& module,
                       const char* name, Known& known, All& all) {
  const std::lock_guard lock(module->mutex);
  if (const auto found = known.find(std::string_view(name)); found != known.end()) return found->second;
  auto made = std::make_shared<Kind>();
  made->context = context;
  made->module = module;
  made->name = name;
  const Handle handle = all.add(made);
  known.emplace(name, handle);
  return handle;
}

}  // namespace raddle::driver
