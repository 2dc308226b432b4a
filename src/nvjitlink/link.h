// One link: its inputs, its logs, and what came of it.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "linking/linking.h"
#include "nvjitlink/options.h"

namespace raddle::nvjitlink {

/// What a program's handle points to.
struct Link {
  explicit Link(const Options& chosen) : options(chosen) {}

  /// Reads an input at once, so that the call that brought it hears what is wrong with it (check).
  nvJitLinkResult add(nvJitLinkInputType type, std::string bytes, std::string name);
  nvJitLinkResult complete();
  nvJitLinkResult check(const linking::Input& input);

  struct Input {
    std::string bytes, name;
    bool is_library;
  };
  const Options options;
  std::mutex mutex;
  std::vector<Input> inputs;
  std::string cubin, ptx;  ///< one of them, once it is complete
  std::string errors, infos;
  bool is_complete = false;
};

}  // namespace raddle::nvjitlink
