// Any bytes as input of `raddle distribute`: loads and recorded decisions. What is accepted survives being
// written again.
#include "distribute/load.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "distribute/history.h"
#include "distribute/views.h"

namespace {

using namespace raddle::distribute;

void read_load(const std::string& text) {
  const auto load = parse_load(text, "fuzz.json");
  if (!load) {
    if (load.error().message.empty()) std::abort();
    return;
  }
  const std::string written = load_text(*load);
  const auto again = parse_load(written, "again.json");
  if (!again || load_text(*again) != written) std::abort();
}

void read_histories(const std::string& text) {
  const auto histories = parse_histories(text, "fuzz.jsonl");
  if (!histories) {
    if (histories.error().message.empty()) std::abort();
    return;
  }
  for (const History& history : *histories) {
    const auto again = parse_histories(history_text(history), "again.jsonl");
    if (!again || again->size() != 1 || again->front().steps.size() != history.steps.size()) std::abort();
    if (decision_table(history).empty()) std::abort();
  }
  if (timeline_text(*histories).empty() || page_text(*histories, "fuzz").empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Generators may ask for a million grids, which is the host's matter and not the reader's.
  if (text.find("generators") == std::string::npos) read_load(text);
  read_histories(text);
  return 0;
}
