// The LLVM engine: a warp as SIMD vectors. The only public header of src/jit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "exec/access.h"
#include "exec/executable.h"

namespace raddle::jit {

/// Widest vectors the code may use, for tests and for hosts with unlike cores; `host` takes what the CPU has.
enum class SimdLevel : std::uint8_t { host, avx512, avx2, sse42 };  // in order: each less than the one before

/// How much work goes into the code. Results are the same bit for bit.
enum class Tier : std::uint8_t {
  quick,     ///< soon ready: hardly optimised
  balanced,  ///< optimised, but written by this project's own generator, in a third of the time; hosts that it
             ///< does not write for get optimised code
  optimised,  ///< as fast as it gets
};
std::string_view name_of(Tier tier);
/// @returns none for a name that is no tier's
std::optional<Tier> tier_named(std::string_view name);

/// Which kernels have a second form, in which lanes of several warps run together (together.h). Results are
/// the same, but for the order of what is in no order.
enum class Together : std::uint8_t {
  where_it_gains,
  wherever_possible,  ///< for tests: also where it gains nothing
};

/// Which kernels run their threads one by one, as scalars (one_by_one.h). Results are the same, but for the
/// order of what is in no order.
enum class OneByOne : std::uint8_t {
  where_it_gains,
  wherever_possible,  ///< for tests
};

struct EngineOptions {
  SimdLevel simd = SimdLevel::host;
  std::optional<Tier> tier;     ///< of every kernel; none: kernels start balanced, large ones quick, and are
                                ///< optimised once it pays
  bool cache = true;            ///< look compiled code up before making it (jit/code_cache.h)
  std::string cache_directory;  ///< where it is kept for other processes; empty: not on disk
  exec::AccessListener* listener = nullptr;  ///< hears of every access as its code is written
  Together together = Together::where_it_gains;
  OneByOne one_by_one = OneByOne::where_it_gains;
  /// Code for a processor that has all that `simd` names, whether or not this one does: it is to be read, not
  /// to be run.
  bool to_be_read = false;
};

std::unique_ptr<exec::Engine> make_engine(const EngineOptions& options = {});

/// How often, in this process, better code has taken the place of what a kernel started with.
std::uint64_t replacements();

/// CPU name and features in use, for `raddle device`.
std::string host_description(SimdLevel level = SimdLevel::host);

/// Where compiled code of this user is kept: RADDLE_CACHE (a directory, or `off` for none), else
/// XDG_CACHE_HOME/raddle, else HOME/.cache/raddle; empty for none.
std::string default_cache_directory();

}  // namespace raddle::jit
