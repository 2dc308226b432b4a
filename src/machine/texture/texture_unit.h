// The texture unit: descriptors of textures and surfaces, found by checked handles, and the requests of
// kernels. One per machine, shared by its workers; see README.md here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/texture.h"
#include "machine/texture/texture_table.h"
#include "raddle/fault_kind.h"

namespace raddle::machine {

/// Why a lane's request cannot be answered; `note` null: it was.
struct TextureProblem {
  const char* note = nullptr;
  raddle::FaultKind fault = raddle::FaultKind::invalid_handle;
};

class TextureUnit final : public TextureTable {
 public:
  TextureUnit() = default;
  ~TextureUnit() override;
  TextureUnit(const TextureUnit&) = delete;
  TextureUnit& operator=(const TextureUnit&) = delete;

  std::uint64_t add_texture(const Image& image, const Sampler& sampler) override;
  std::uint64_t add_surface(const Image& image) override;
  std::uint64_t add_sampler(const Sampler& sampler, bool force_unnormalized_coordinates) override;
  std::uint64_t add_unbound(const std::string& why) override;
  bool remove(std::uint64_t handle) override;

  // For kernels: one lane of an instruction, if no other is named. No lock, no allocation.
  TextureProblem texture(const exec::TextureRequest& request, exec::TextureLanes& lanes, unsigned lane) const;
  /// All lanes of `active` at once. @returns false: they are to be asked one by one
  bool texture_of_warp(const exec::TextureRequest& request, exec::TextureLanes& lanes,
                       std::uint32_t active) const;
  TextureProblem surface(const exec::SurfaceRequest& request, exec::SurfaceLanes& lanes, unsigned lane) const;
  TextureProblem query(exec::TextureQuery query, exec::TextureQueryLanes& lanes, unsigned lane) const;

 private:
  enum class Kind : std::uint32_t { unbound = 12, texture = 13, surface = 14, sampler = 15 };
  struct Descriptor {
    std::atomic<std::uint64_t> handle{0};  ///< 0: free
    std::uint32_t generation = 0;
    Image image;
    Sampler sampler;
    bool force_unnormalized_coordinates = false;  ///< of a sampler
    std::string why;                              ///< of unbound
  };
  // Descriptors stay where they are while others are added: the table grows by chunks.
  static constexpr std::size_t kChunk = 256, kChunks = 4096;

  /// What a handle says it names.
  static Kind kind_of(std::uint64_t handle) { return static_cast<Kind>(handle & 15); }

  std::uint64_t add(Kind kind, const Image& image, const Sampler& sampler,
                    bool force_unnormalized_coordinates = false, const std::string& why = {});
  Descriptor* slot(std::size_t index) const;
  const Descriptor* find(std::uint64_t handle, Kind kind) const;
  const Descriptor* find_sampler(std::uint64_t handle) const;  ///< apart, or in a texture
  TextureProblem no_such(std::uint64_t handle, Kind kind) const;

  std::mutex mutex_;
  std::size_t used_ = 0;
  std::vector<std::size_t> free_;
  std::array<std::atomic<Descriptor*>, kChunks> chunks_{};
};

}  // namespace raddle::machine
