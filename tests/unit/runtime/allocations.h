// Counts what this test program takes from the heap.
#pragma once

#include <cstdint>
#include <optional>

/// Calls of operator new so far, on all threads; none under a sanitizer, which has its own.
std::optional<std::uint64_t> allocations();
