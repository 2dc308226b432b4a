// The memory that a program and `raddle serve` share for work: push buffers, and the completions that come
// back. A push buffer holds pointers to command streams, which lie in the memory behind it, the host's, or in
// the program's device memory. The server makes and seals it, and believes nothing that it reads there:
// what it takes is copied first, then checked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "raddle/placement.h"

namespace raddle::proxy {

/// Of this protocol; both sides have the same.
constexpr std::uint32_t kVersion = 5;

/// Launches of a program that the server has and has not answered, at most.
constexpr std::uint32_t kMostInFlight = 1024;

/// Bytes of text that kernels of one space print between two reports, at most.
constexpr std::uint64_t kMostText = 64 << 20;

/// How a launch ended.
struct Completion {
  std::uint64_t number = 0;    ///< of the launch
  std::uint32_t slot = 0;      ///< of the launch, as its command says
  std::uint32_t outcome = 0;   ///< an exec::FaultKind; what else there is to say is to be asked for
  std::uint32_t has_text = 0;  ///< its kernels have printed
  std::uint32_t reserved = 0;
  std::uint64_t started_ns = 0;
};

/// One of a program.
struct Channel {
  /// Completions written, and the word that the program sleeps on.
  alignas(64) std::atomic<std::uint32_t> completed;
  alignas(64) std::atomic<std::uint32_t> program_sleeps;
  /// The server is to be woken when something is put into a push buffer.
  alignas(64) std::atomic<std::uint32_t> server_sleeps;
  alignas(64) std::array<Completion, kMostInFlight> completions;
};

/// Points at a piece of a command stream.
struct StreamPiece {
  static constexpr std::uint32_t kHost = 0, kDevice = 1;
  std::uint64_t start;  ///< in PushBuffer::streams; or an address of the program's device memory
  std::uint32_t bytes;
  std::uint32_t memory = kHost;
};

/// Of one priority; a program has as many as it uses priorities (A-1c, A-1d).
struct PushBuffer {
  static constexpr std::uint32_t kPieces = 1024;
  static constexpr std::uint32_t kStreamBytes = 1 << 20;
  alignas(64) std::atomic<std::uint32_t> put;  ///< pieces that the program has written
  alignas(64) std::atomic<std::uint32_t> got;  ///< that the server has taken
  alignas(64) std::array<StreamPiece, kPieces> pieces;
  alignas(64) std::array<std::byte, kStreamBytes> streams;
};

/// The command that launches a grid; its parameters follow. Source: LaunchConfig, which says more.
struct LaunchCommand {
  static constexpr std::uint32_t kCommand = 0x4c41554e;
  std::uint32_t command = kCommand;
  std::uint32_t parameter_bytes = 0;
  std::uint64_t number = 0;  ///< never used again
  std::uint32_t slot = 0;    ///< the program's, for the completion
  std::uint64_t behind = 0;  ///< number of a launch in the same push buffer that it comes after; 0: none
  std::uint64_t module = 0, kernel = 0;
  std::uint32_t grid[3] = {}, block[3] = {};
  std::uint32_t first[3] = {}, part[3] = {};  ///< of a part of the grid; 0: it is whole
  std::uint64_t dynamic_shared = 0;
  std::uint32_t cooperative = 0, cluster_memory = 0;
  std::uint32_t cap_per_sm = 0;
  std::uint32_t distribution = 0;  ///< a DistributionMode
  std::uint32_t depth = 0;         ///< of clusters
  std::uint32_t explicit_cluster = 0;
  std::uint32_t behind_trigger = 0;  ///< it may begin when that launch lets it, before its end
  std::uint32_t triggers_at_start = 0;
  std::uint32_t placement = 0;  ///< as placement_number() has it; 0: the context's
  struct Level {
    std::uint32_t domain, extent[3];
  } levels[4] = {};
};

/// Placement modes as numbers: 1 + the mode, 0: none.
constexpr std::uint32_t placement_number(std::optional<PlacementMode> mode) {
  return mode ? 1 + static_cast<std::uint32_t>(*mode) : 0;
}
/// @returns false: the number is of none
constexpr bool read_placement(std::uint64_t number, std::optional<PlacementMode>& mode) {
  if (number > placement_number(PlacementMode::automatic_per_task)) return false;
  if (number != 0) mode = static_cast<PlacementMode>(number - 1);
  return true;
}

constexpr std::uint32_t kMostParameters = 32768;

/// The command that stops a launch, in a push buffer of its own.
struct StopCommand {
  static constexpr std::uint32_t kCommand = 0x53544f50;
  std::uint32_t command = kCommand;
  std::uint32_t reserved = 0;
  std::uint64_t number = 0;
};

}  // namespace raddle::proxy
