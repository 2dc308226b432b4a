// Textures, surfaces and samplers by handle: an address space's texture unit, or a server's.
#pragma once

#include <cstdint>
#include <string>

#include "raddle/texture.h"

namespace raddle::machine {

class TextureTable {
 public:
  virtual ~TextureTable() = default;
  /// @returns a handle that kernels know it by; 0: there are too many. Likewise below
  virtual std::uint64_t add_texture(const Image& image, const Sampler& sampler) = 0;
  virtual std::uint64_t add_surface(const Image& image) = 0;
  /// A sampler apart from textures: its filter and address modes stand for the texture's, and coordinates are
  /// in texels if it says so.
  virtual std::uint64_t add_sampler(const Sampler& sampler, bool force_unnormalized_coordinates) = 0;
  /// What a texture or surface reference stands for while nothing is bound to it: requests are faults that
  /// say `why`.
  virtual std::uint64_t add_unbound(const std::string& why) = 0;
  /// Ends a handle. Kernels that use it then find it stale. @returns false if the handle is not live
  virtual bool remove(std::uint64_t handle) = 0;
};

}  // namespace raddle::machine
