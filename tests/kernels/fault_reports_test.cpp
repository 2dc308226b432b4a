// What a fault says: PTX line, source line and thread, as far as each engine can know them (K-12).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "kernel_test.h"

namespace {

class FaultReports : public KernelTest {
 protected:
  /// Line of tests/kernels/fault_reports.ptx with the kernel's marker.
  static int line_of(const std::string& name) {
    std::ifstream file(RADDLE_KERNEL_TESTS "/fault_reports.ptx");
    std::string text;
    for (int line = 1; std::getline(file, text); ++line)
      if (text.ends_with("// HERE " + name)) return line;
    ADD_FAILURE() << "no marker for " << name;
    return 0;
  }

  /// The message of a launch of 64 threads that must fault.
  template <class... Arguments>
  std::string message(const char* name, const Arguments&... arguments) {
    auto report = try_run(kernel("fault_reports.ptx", name), {.grid = {1}, .block = {64}}, arguments...);
    if (report.ok()) {
      ADD_FAILURE() << name << " did not fault";
      return {};
    }
    return report.error().message;
  }

  /// Whether the thread is named: on the JIT another one of its warp may be, or the warp alone.
  bool names(const std::string& text, int thread) const {
    const std::string lead = ", thread (";
    const std::size_t found = text.find(lead);
    if (found == std::string::npos)
      return !interpreted() && text.find(": warp " + std::to_string(thread / 32)) != std::string::npos;
    const int named = std::stoi(text.substr(found + lead.size()));
    return interpreted() ? named == thread : named / 32 == thread / 32;
  }

  static std::string at(const char* name) { return "PTX line " + std::to_string(line_of(name)); }
};
ON_EVERY_ENGINE(FaultReports);

using testing::HasSubstr;

// proves: K-12d, K-12e, K-12f
TEST_P(FaultReports, AWildStridedStoreNamesItsLine) {
  std::string text = message("store_strided", kNowhere, kNowhere);
  EXPECT_THAT(text, HasSubstr("illegal address 0x500000 in kernel store_strided, block (0,0,0)"));
  EXPECT_THAT(text, HasSubstr(at("store_strided") + " (fault.cu:12)"));
  EXPECT_TRUE(names(text, 0)) << text;
}

// proves: K-12e
TEST_P(FaultReports, AWildGatherNamesItsLineAndWhereItWasInlined) {
  auto out = buffer(std::vector<int>(64));
  std::string text = message("load_scattered", kNowhere, out);
  EXPECT_THAT(text, HasSubstr(at("load_scattered") + " (inner.h:5 inlined at fault.cu:22)"));
  EXPECT_THAT(text, HasSubstr("read"));
}

// proves: K-12d, K-12e
TEST_P(FaultReports, AWildNumberNamesItsThread) {
  const bool gathers = GetParam().simd != std::string("sse42");  // else LLVM makes loads of a lane each
  for (const auto& [thread, number] : {std::pair(21, 1 << 28), {40, -(1 << 28)}}) {
    {
      std::vector<int> numbers(64, 3);
      numbers[thread] = number;
      auto picked = buffer(numbers), table = buffer(std::vector<int>(64));
      const std::string text = message("load_picked", picked, table);
      const std::uint64_t wrong = table.address().value + std::int64_t{number} * 4;
      EXPECT_THAT(text, HasSubstr(fmt::format("illegal address {:#x} ", wrong)));
      EXPECT_THAT(text, HasSubstr(at("load_picked")));
      EXPECT_TRUE(names(text, thread)) << text;
      if (gathers) EXPECT_THAT(text, HasSubstr(fmt::format(", thread ({},0,0), ", thread)));
    }
    close();
  }
}

// proves: A-9e
TEST_P(FaultReports, EveryFactIsThere) {
  constexpr std::uint64_t kFirstAsid = 1;
  const std::uint64_t space =
      GetParam().translation == raddle::Translation::modelled ? kFirstAsid : device().space();
  const std::string text = message("store_alone", kNowhere, kNowhere),
                    names_space = ": address space " + std::to_string(space) + ": write, ";
  for (const std::string& fact : {std::string("illegal address 0x500000 in kernel store_alone"),
                                  std::string(", block (0,0,0), thread (37,0,0), PTX line "), names_space})
    EXPECT_THAT(text, HasSubstr(fact));
}

// proves: K-12d, K-12e
TEST_P(FaultReports, ALaneByItselfIsNamed) {
  std::string text = message("store_alone", kNowhere, kNowhere);
  EXPECT_THAT(text, HasSubstr("illegal address 0x500000"));
  EXPECT_THAT(text, HasSubstr("thread (37,0,0), " + at("store_alone")));
}
TEST_P(FaultReports, AWildAtomicNamesItsThread) {
  EXPECT_THAT(message("add_alone", kNowhere, kNowhere), HasSubstr("thread (5,0,0), " + at("add_alone")));
}

// proves: K-12d, K-12e
TEST_P(FaultReports, AfterABarrierTheWarpIsNamed) {
  std::string text = message("store_after_barrier", kNowhere, kNowhere);
  EXPECT_THAT(text, HasSubstr("illegal address 0x500080"));
  EXPECT_THAT(text, HasSubstr(at("store_after_barrier")));
  EXPECT_TRUE(names(text, 32)) << text;
}

// proves: K-12d, K-12e
TEST_P(FaultReports, AfterAnotherWarpsSleepTheWarpIsNamed) {
  std::string text = message("store_after_sleep", std::uint64_t{8}, kNowhere);
  EXPECT_THAT(text, HasSubstr("illegal address 0x8 "));
  EXPECT_THAT(text, HasSubstr(at("store_after_sleep")));
  EXPECT_TRUE(names(text, 0)) << text;
}

// proves: K-12d, K-12e
TEST_P(FaultReports, MisalignedAccessesNameThreadLineAndAddress) {
  struct Case {
    const char* name;
    std::uint64_t argument, wrong;  ///< from the buffer's start
    int thread;
  };
  for (const Case& c : {Case{"misaligned_load", 0, 38, 9},
                        {"misaligned_vector", 8, 8, 0},
                        {"misaligned_atomic", 1, 1, 40},
                        {"misaligned_store", 2, 2, 0}}) {
    {
      auto memory = buffer(std::vector<int>(512));
      const std::uint64_t start = memory.address().value;
      bool counts = c.name == std::string("misaligned_store");  // its second argument is a number of threads
      std::string text = message(c.name, start + c.argument, counts ? 64 : start);
      // On the JIT any lane's address may be the first to trap; all are equally far off.
      const std::string lead = "misaligned address 0x";
      ASSERT_TRUE(text.starts_with(lead)) << text;
      const std::uint64_t off = std::stoull(text.substr(lead.size()), nullptr, 16) - start - c.wrong;
      EXPECT_TRUE(interpreted() ? off == 0 : off < 2048 && off % 4 == 0) << text;
      EXPECT_THAT(text, HasSubstr(at(c.name)));
      EXPECT_TRUE(names(text, c.thread)) << text;
    }
    close();
  }
  std::string text = message("misaligned_shared", std::uint64_t{2}, std::uint64_t{0});
  EXPECT_THAT(text, HasSubstr("misaligned address"));
  EXPECT_THAT(text, HasSubstr(at("misaligned_shared")));
}

// Addresses of lanes that do not execute the access do not count.
TEST_P(FaultReports, InactiveLanesMayHoldMisalignedAddresses) {
  auto memory = buffer(std::vector<int>(64, -1));
  run(kernel("fault_reports.ptx", "misaligned_store"), {.grid = {1}, .block = {64}},
      memory.address().value + 2, std::uint64_t{0});
  run(kernel("fault_reports.ptx", "misaligned_load"), {.grid = {1}, .block = {9}}, memory, memory);
  run(kernel("fault_reports.ptx", "misaligned_store"), {.grid = {1}, .block = {64}}, memory,
      std::uint64_t{40});
  auto got = contents(memory);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(got[t], t < 40 ? t : -1);
}

// proves: K-12d, K-12e
TEST_P(FaultReports, ATrapInAFunctionNamesThreadAndLine) {
  std::string text = message("trap_in_function", std::uint64_t{45}, std::uint64_t{0});
  EXPECT_THAT(text, HasSubstr("trap in kernel trap_in_function"));
  EXPECT_THAT(text, HasSubstr("thread (45,0,0), " + at("trap_in_function") + " (fault.cu:50)"));
}

}  // namespace
