// The tensor memory unit against tests/tma: an oracle in Python, which shares no code with it, writes maps,
// boxes and coordinates with what must come of them; here they run, in any order of responses.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "sanitized.h"
#include "tma_fixture.h"
#include "unit/source_directory.h"

namespace raddle::machine {
namespace {

using exec::BulkDirection;
using exec::BulkKind;
using exec::BulkMode;
using exec::BulkReduction;
using exec::TensorMap;

/// A line of the file; tests/tma/cases.py says what is in it.
struct OracleCase {
  std::string op, name, expected;
  TensorMap map;
  std::int32_t coordinates[5] = {};
  unsigned offsets[3] = {};
  std::uint32_t shared = 0, transaction_bytes = 0;
  std::uint64_t memory_at = 0, memory_bytes = 0, data_at = 0, data_bytes = 0;
};

template <class Enum>
void read_number(std::istream& in, Enum& value) {
  unsigned number = 0;
  in >> number;
  value = static_cast<Enum>(number);
}

std::istream& operator>>(std::istream& in, OracleCase& c) {
  std::string mode;
  if (!(in >> c.op >> mode >> c.name)) return in;
  TensorMap& m = c.map;
  m = {};
  m.mode = mode == "tile" ? TensorMap::Mode::tile : TensorMap::Mode::im2col;
  read_number(in, m.element);
  in >> m.rank;
  for (auto& each : m.size) in >> each;
  for (auto& each : m.stride) in >> each;
  for (auto& each : m.box) in >> each;
  for (auto& each : m.step) in >> each;
  for (auto& each : m.lower) in >> each;
  for (auto& each : m.upper) in >> each;
  in >> m.channels >> m.pixels;
  read_number(in, m.interleave);
  read_number(in, m.swizzle);
  read_number(in, m.fill);
  for (auto& each : c.coordinates) in >> each;
  for (auto& each : c.offsets) in >> each;
  return in >> c.shared >> c.transaction_bytes >> c.memory_at >> c.memory_bytes >> c.data_at >>
         c.data_bytes >> c.expected;
}

std::string hexadecimal(const std::byte* from, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[static_cast<unsigned>(from[i]) >> 4];
    text += kDigits[static_cast<unsigned>(from[i]) & 15];
  }
  return text;
}

/// What `changes` (OFFSET:BYTES, by commas) makes of memory.
void change_by(const std::string& changes, std::vector<std::byte>& memory) {
  if (changes == "-") return;
  std::istringstream list(changes);
  for (std::string change; std::getline(list, change, ',');) {
    const std::size_t colon = change.find(':');
    std::size_t at = std::stoul(change.substr(0, colon));
    for (std::size_t i = colon + 1; i < change.size(); i += 2)
      memory.at(at++) = static_cast<std::byte>(std::stoul(change.substr(i, 2), nullptr, 16));
  }
}

BulkReduction reduction_named(const std::string& name) {
  static constexpr const char* kNames[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  for (unsigned i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<BulkReduction>(i + 1);
  return BulkReduction::none;
}

class AnyOrder final : public TmaChooser {
 public:
  std::size_t choose(std::size_t count) override { return random_() % count; }

 private:
  std::mt19937_64 random_{1};
};

class TmaOracle : public TmaTest {
 protected:
  /// Lets the oracle write its file. @returns its path
  static std::string written_by_oracle(const std::string& options) {
    const std::string path = testing::TempDir() + "tma_cases_" + std::to_string(getpid());
    const std::string command =
        "python3 " + source_directory() + "/tests/tma/cases.py " + options + " " + path;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return path;
  }

  void run_file(const std::string& path, std::size_t count) {
    std::ifstream pool_file(path + ".pool", std::ios::binary), cases(path);
    const std::string pool{std::istreambuf_iterator<char>(pool_file), {}};
    std::size_t done = 0;
    for (OracleCase c; cases >> c; ++done) {
      unit_.set_mode(done % 2 != 0 ? TmaMode::deferred : TmaMode::eager);
      run_case(c, pool);
      if (HasFailure()) {
        ADD_FAILURE() << c.op << " " << c.name;
        break;
      }
    }
    EXPECT_EQ(done, count);
    std::remove(path.c_str());
    std::remove((path + ".pool").c_str());
  }

  void run_case(OracleCase& c, const std::string& pool) {
    const bool loads = c.op == "load";
    std::vector<std::byte> memory(c.memory_bytes + 128), map_bytes(256);
    std::byte* const tensor = aligned(memory);
    std::byte* const map = aligned(map_bytes);
    std::memcpy(tensor, pool.data() + c.memory_at, c.memory_bytes);
    std::memcpy(shared(kBlock + c.shared), pool.data() + c.data_at, c.data_bytes);
    c.map.address = address(tensor);
    ASSERT_TRUE(check(c.map)) << check(c.map).error().message;
    encode(c.map, map);
    exec::BulkRequest r{
        .kind = BulkKind{.direction = loads ? BulkDirection::to_shared : BulkDirection::to_global,
                         .mode = c.map.mode == TensorMap::Mode::tile ? BulkMode::tile : BulkMode::im2col,
                         .reduction = reduction_named(c.op),
                         .rank = static_cast<std::uint8_t>(c.map.rank)}
                    .word(),
        .global = address(map),
        .shared = at(kBlock + c.shared),
        .barrier = at(kBarrier)};
    std::copy_n(c.coordinates, 5, r.coordinates);
    for (unsigned i = 0; i < 3; ++i) r.offsets[i] = static_cast<std::uint16_t>(c.offsets[i]);
    expect_bytes(c.transaction_bytes);
    const TmaProblem problem = unit_.submit(thread(), r);
    ASSERT_FALSE(problem) << problem.note;
    while (unit_.outstanding() != 0) ASSERT_FALSE(unit_.advance(order_));
    ASSERT_FALSE(unit_.drain());
    if (loads) {
      EXPECT_TRUE(is_over());
      EXPECT_EQ(hexadecimal(shared(kBlock + c.shared), c.data_bytes), c.expected);
      return;
    }
    std::vector<std::byte> expected(c.memory_bytes);
    std::memcpy(expected.data(), pool.data() + c.memory_at, c.memory_bytes);
    change_by(c.expected, expected);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), tensor));
  }

  AnyOrder order_;
};

std::string seed() {
  const char* given = std::getenv("RADDLE_TEST_SEED");
  return given == nullptr ? "1" : given;
}

// proves: T-4a, T-4b, T-4c, T-4d, T-5a, T-5b, T-5d, T-5e, T-5f, T-5g, T-6a, T-6b, T-6c, T-7a, T-7c, T-7d, T-7f, T-7g, T-7h, T-7i, T-9a, T-9c, T-9g, T-9h, T-9i, T-9j, T-10a, T-10b, T-10c, T-10d, T-10h
TEST_F(TmaOracle, RandomCopies) {
  constexpr unsigned kCopies = kSanitized ? 1250 : 5000;
  run_file(written_by_oracle("--random " + std::to_string(kCopies) + " --seed " + seed()), kCopies);
}

// proves: T-7j, T-8a, T-8b, T-8c, T-8d, T-8e, T-8f, T-8g, T-8h, T-8i, T-8j, T-10i
TEST_F(TmaOracle, WorkedConvolutions) { run_file(written_by_oracle("--worked"), 23); }

}  // namespace
}  // namespace raddle::machine
