// A plain static split of an index range over threads, for references and machine limits.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

namespace bench {

/// Threads that every system of the benchmark uses.
inline unsigned& core_count() {
  static unsigned cores = std::max(1u, std::min(2u, std::thread::hardware_concurrency()));
  return cores;
}

/// Calls body(begin, end) on core_count() threads; returns when all are done.
template <class Body>
void parallel_for(long count, const Body& body) {
  const unsigned threads = core_count();
  std::vector<std::thread> workers;
  for (unsigned t = 1; t < threads; ++t) {
    workers.emplace_back([&, t] { body(count * t / threads, count * (t + 1) / threads); });
  }
  body(0, count / threads);
  for (std::thread& worker : workers) worker.join();
}

}  // namespace bench
