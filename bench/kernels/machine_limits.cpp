// Streams over arrays far larger than the caches, random reads, private tables of counts, and independent
// vector FMA chains, on every core in use. Best of several passes: a limit is the best that the machine
// reached.
#include "machine_limits.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "parallel.h"
#include "workloads/data.h"

namespace bench {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kChains = 16;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kChains = 10;
#else
constexpr int kVectorBytes = 16;
constexpr int kChains = 10;
#endif
using Vector = float __attribute__((vector_size(kVectorBytes)));

/// Keeps what is computed from being left out.
void keep(float value) { asm volatile("" ::"x"(value) : "memory"); }

/// Of the best of passes, the first of which warms up and may still be the best.
template <class Body>
double best_seconds(int passes, const Body& body) {
  double best = 1e30;
  for (int i = 0; i <= passes; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

/// Calls body(from, to, vectors) on every core, of arrays whose length is a multiple of 16 vectors per core.
template <class Body>
double seconds_of_stream(const Buffer& in, const Buffer& out, const Body& body) {
  const long chunks = static_cast<long>(in.bytes()) / (16 * kVectorBytes);
  return best_seconds(5, [&] {
    parallel_for(chunks, [&](long begin, long end) {
      body(reinterpret_cast<const Vector*>(in.data()) + 16 * begin,
           reinterpret_cast<Vector*>(out.data()) + 16 * begin, 16 * (end - begin));
    });
  });
}

void copy(const Vector* from, Vector* to, long count) {
  for (long i = 0; i < count; ++i) {
    to[i] = from[i];
    asm volatile("" ::: "memory");  // keeps the loop from becoming a call of memcpy
  }
}

void update(const Vector* from, Vector* to, long count) {
  for (long i = 0; i < count; ++i) to[i] = to[i] + 0.5f * from[i];
}

void read(const Vector* from, Vector*, long count) {
  Vector sum[4] = {};
  for (long i = 0; i < count; i += 4) {
    for (int k = 0; k < 4; ++k) sum[k] += from[i + k];
  }
  keep((sum[0] + sum[1] + sum[2] + sum[3])[0]);
}

/// Places come from a list as they do in a graph, so that many reads are under way.
double random_reads(bool quick) {
  const long numbers = quick ? kRandomReads / 8 : kRandomReads, count = quick ? 1l << 21 : 1l << 24;
  const Buffer table(numbers * sizeof(std::uint32_t)), places(count * sizeof(std::uint32_t));
  fill_hash(table, 1);
  fill_hash(places, 2);
  for (std::uint32_t& place : places.as<std::uint32_t>()) place %= static_cast<std::uint32_t>(numbers);
  const double seconds = best_seconds(5, [&] {
    parallel_for(count, [&](long begin, long end) {
      const std::uint32_t *values = table.as<std::uint32_t>().data(),
                          *place = places.as<std::uint32_t>().data();
      std::uint32_t sum = 0;
      for (long i = begin; i < end; ++i) sum += values[place[i]];
      keep(static_cast<float>(sum));
    });
  });
  return 1e-9 * static_cast<double>(count) / seconds;
}

double increments(bool quick) {
  const long rounds = quick ? 100 : 1000, bytes = 16384;  // they stay in the first-level cache
  const Buffer data(bytes);
  fill_hash(data, 3);
  const double seconds = best_seconds(5, [&] {
    parallel_for(core_count(), [&](long begin, long end) {
      const std::uint8_t* byte = data.as<std::uint8_t>().data();
      std::uint32_t counts[4][256] = {};
      for (long round = begin * rounds; round < end * rounds; ++round) {
        for (long i = 0; i < bytes; i += 4) {
          for (int k = 0; k < 4; ++k) ++counts[k][byte[i + k]];
        }
      }
      keep(static_cast<float>(counts[0][byte[0]]));
    });
  });
  return 1e-9 * static_cast<double>(bytes * rounds * core_count()) / seconds;
}

float run_chains(long rounds) {
  Vector chain[kChains];
  const Vector factor = Vector{} + 0.999f, step = Vector{} + 0.001f;
  for (int c = 0; c < kChains; ++c) chain[c] = Vector{} + static_cast<float>(c);
  for (long r = 0; r < rounds; ++r) {
    for (int c = 0; c < kChains; ++c) chain[c] = chain[c] * factor + step;
  }
  float sum = 0;
  for (const Vector& c : chain) sum += c[0];
  return sum;
}

double multiply_adds(bool quick) {
  const long rounds = quick ? 8000000 : 20000000;
  const double operations = 2.0 * kChains * (kVectorBytes / 4) * static_cast<double>(rounds) * core_count();
  return 1e-9 * operations / best_seconds(5, [&] {
           parallel_for(core_count(), [&](long begin, long end) {
             for (long t = begin; t < end; ++t) keep(run_chains(rounds));
           });
         });
}

}  // namespace

Limits measure_limits(bool quick) {
  const std::size_t bytes = quick ? 1ul << 26 : 1ul << 28;
  const Buffer in(bytes), out(bytes);
  const double gigabytes = 1e-9 * static_cast<double>(bytes);
  Limits limits{};
  limits.copy_gb_per_second = 2 * gigabytes / seconds_of_stream(in, out, copy);
  limits.update_gb_per_second = 3 * gigabytes / seconds_of_stream(in, out, update);
  limits.read_gb_per_second = gigabytes / seconds_of_stream(in, out, read);
  limits.random_gread_per_second = random_reads(quick);
  limits.gincrement_per_second = increments(quick);
  limits.fma_gflop_per_second = multiply_adds(quick);
  return limits;
}

}  // namespace bench
