// Histories to look at: a table, a timeline for Perfetto or chrome://tracing, a page that animates them.
#pragma once

#include <span>
#include <string>

#include "distribute/history.h"

namespace raddle::distribute {

/// A line per step: time, what, grid and cluster, the candidates with their speeds, the SMs.
std::string decision_table(const History& history);

/// Trace events (JSON): a process per GPC, a track per SM and per row of it, a slice per CTA, arrows between
/// the CTAs of a cluster, failed speculations as instants. Several histories stand below one another.
std::string timeline_text(std::span<const History> histories);

/// One HTML file that needs nothing else; histories are shown side by side.
std::string page_text(std::span<const History> histories, const std::string& title);

}  // namespace raddle::distribute
