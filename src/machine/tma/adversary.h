// Who decides when asynchronous copies land on a device where they do so late (Asynchrony, T-16): as late as
// waits allow, or at any moment and in any order that they allow. Its choices depend on its seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "machine/cluster/remote_errors.h"
#include "machine/tma/proxy_views.h"
#include "machine/tma/thread_copies.h"
#include "machine/tma/tma_unit.h"
#include "raddle/asynchrony.h"

namespace raddle::machine {

class Adversary : public TmaChooser {
 public:
  /// @param asynchrony  not eager
  explicit Adversary(const Asynchrony& asynchrony);

  /// Which of so many lands next: the oldest, or any.
  std::size_t choose(std::size_t count) override;
  /// How many land at a point where a kernel meets the machine; there may be fewer.
  std::size_t burst();
  /// Whether others run at such a point.
  bool lets_others_run();
  /// Whether errors that are on their way back have arrived at such a point.
  bool returns_errors();

  /// Whose copy has yet to do so with some of these bytes; null: nobody's.
  const TmaRequester* user_of(const ByteRange& place, TmaUse use) const;

  ProxyViews views;
  std::vector<const TmaUnit*> units;        ///< of all SMs that have one
  std::vector<const ThreadCopies*> copies;  ///< likewise
  std::vector<RemoteError> errors;          ///< on their way back
  /// What users have been told: kernel, line, what is wrong.
  std::set<std::tuple<std::string, std::uint32_t, std::string>> reported;

 private:
  bool one_in(std::uint64_t count) { return draw() % count == 0; }
  std::uint64_t draw();

  const bool random_;
  std::uint64_t state_;
  // One in so many points lands something, lets others run, gives an error back: seeds differ in it, so that
  // some copies are early and some very late.
  std::uint64_t lands_ = 1, yields_ = 1, returns_ = 1;
};

}  // namespace raddle::machine
