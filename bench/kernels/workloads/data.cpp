#include "data.h"

namespace bench {

void fill_uniform(const Buffer& buffer, std::uint32_t stream, float low, float high) {
  const std::span<float> values = buffer.as<float>();
  parallel_for(static_cast<long>(values.size()), [&](long begin, long end) {
    for (long i = begin; i < end; ++i) values[i] = uniform(stream, i, low, high);
  });
}

void fill_hash(const Buffer& buffer, std::uint32_t stream) {
  const std::span<std::uint32_t> values = buffer.as<std::uint32_t>();
  parallel_for(static_cast<long>(values.size()), [&](long begin, long end) {
    for (long i = begin; i < end; ++i) values[i] = hash(stream, static_cast<std::uint32_t>(i));
  });
}

void fill_unwritten(const Buffer& buffer) { std::memset(buffer.data(), 0xff, buffer.bytes()); }

void clear(const Buffer& buffer) { std::memset(buffer.data(), 0, buffer.bytes()); }

}  // namespace bench
