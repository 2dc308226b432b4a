// printf on every engine: each conversion against the C library's, strings and pointers, what it returns, and
// the order of what threads print.
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "kernel_test.h"

namespace {

class Prints : public KernelTest {
 protected:
  /// Prints from one thread. @returns the text; `count_` receives what printf returned
  std::string print(const std::string& format, const std::vector<std::byte>& arguments) {
    std::vector<char> text(format.begin(), format.end());
    text.push_back(0);
    auto device_format = buffer(text);
    auto device_arguments = buffer(arguments.empty() ? std::vector<std::byte>(8) : arguments);
    auto counts = buffer(std::vector<int>{-99});
    printed_.clear();
    run(kernel("prints.ptx", "print"), {.grid = {1}, .block = {1}}, device_format, device_arguments, 0u,
        counts);
    count_ = contents(counts)[0];
    return printed_;
  }

  /// Prints the same on the device and by snprintf.
  template <class... Arguments>
  void same_as_host(const char* format, Arguments... arguments) {
    char want[2048];
    std::snprintf(want, sizeof want, format, arguments...);
    packed_.clear();
    (pack(arguments), ...);
    EXPECT_EQ(print(format, packed_), want) << format;
    EXPECT_EQ(count_, static_cast<int>(sizeof...(arguments))) << format;
  }

  /// As nvcc does: each at its natural alignment; small integers as int, as C promotes them.
  template <class T>
  void pack(T given) {
    if constexpr (sizeof given < sizeof(int)) return pack(int{given});
    const auto value = given;
    packed_.resize((packed_.size() + sizeof value - 1) / sizeof value * sizeof value + sizeof value);
    std::memcpy(&packed_[packed_.size() - sizeof value], &value, sizeof value);
  }

  std::vector<std::byte> packed_;
  int count_ = 0;
};
ON_EVERY_ENGINE(Prints);

// proves: K-20a
TEST_P(Prints, IntegerConversions) {
  same_as_host("%d %i %d|\n", -1, 2147483647, -2147483647 - 1);
  same_as_host("%u %o %x %X", 4294967295u, 8u, 0xdeadbeefu, 0xdeadbeefu);
  same_as_host("%5d|%-5d|%05d|%+d|% d|%+5d|%-+5d|", 42, 42, 42, 42, 42, 42, 42);
  same_as_host("%#x %#X %#o %#x", 255u, 255u, 8u, 0u);
  same_as_host("%.5d|%8.3d|%-8.3d|%.0d|", 42, 42, 42, 0);
  same_as_host("%*d|%-*d|%.*d|%*.*d|", 6, 1, 6, 2, 4, 3, 7, 3, 4);
  same_as_host("%*d|%.*d|", -6, 1, -1, 2);  // a negative width is the flag -, a negative precision none
  same_as_host("%hd %hu %hhd %hhu %hx", 65537, 65537, 257, 257, 0x12345);
  same_as_host("%ld %lu %lx %lo", -5000000000l, ~0ul, 0x123456789abul, 8ul);
  same_as_host("%lld %llu %llX %lli", -5000000000ll, ~0ull, 0xabcdef0123ull, -1ll);
  same_as_host("%zu %zd %jd %td", std::size_t{1} << 40, std::size_t{5}, std::intmax_t{-6},
               std::ptrdiff_t{-7});
  same_as_host("%c%c%3c|%-3c|", 'a', '\n', 'b', 'c');
}

TEST_P(Prints, FloatConversions) {
  same_as_host("%f %F %e %E %g %G", 1.5, -2.5, 12345.678, 1e-300, 0.0001, 1e20);
  same_as_host("%a %A %.3a", 1.0, 0.1, 1.0 / 3);
  same_as_host("%.0f %.3f %10.2f|%-10.2f|%+.1f %010.3f % f", 2.5, 2.0 / 3, 3.14159, 3.14159, 1.0, -3.14159,
               1.0);
  same_as_host("%#.0f %#g %.*f %*.*f", 1.0, 1.0, 2, 1.0, 9, 3, 2.0);
  same_as_host("%f %e %g %F", 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1.0 / 0.0);
  same_as_host("%f", 1.7976931348623157e308);
  same_as_host("%g %.17g %g", 5e-324, 0.1, -0.0);
}

TEST_P(Prints, MixedArgumentsKeepTheirAlignment) {
  same_as_host("%d %f %d %lld %c %g %d", 1, 2.5, 3, 4ll, '5', 6.25, 7);
  same_as_host("%d %d %d %lld|%d %f", 1, 2, 3, 4ll, 5, 6.0);
  same_as_host("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
               14, 15, 16);
}

TEST_P(Prints, StringsAndPointers) {
  auto text = buffer(std::vector<char>{'r', 'a', 'd', 'd', 'l', 'e', 0});
  const std::uint64_t address = text.address().value;
  const auto with = [&](const char* format, auto... arguments) {
    packed_.clear();
    (pack(arguments), ...);
    return print(format, packed_);
  };
  EXPECT_EQ(with("%s|%8s|%-8s|%.3s|%8.2s|", address, address, address, address, address),
            "raddle|  raddle|raddle  |rad|      ra|");
  EXPECT_EQ(count_, 5);
  EXPECT_EQ(with("%.*s|%*s|", 2, address, 9, address), "ra|   raddle|");
  char want[64];
  std::snprintf(want, sizeof want, "%p %20p|", reinterpret_cast<void*>(address),
                reinterpret_cast<void*>(address));
  EXPECT_EQ(with("%p %20p|", address, address), want);

  const std::vector<char> line(5000, 'x');
  std::vector<char> terminated = line;
  terminated.push_back(0);
  auto longer = buffer(terminated);
  EXPECT_EQ(with("<%s>", longer.address().value), "<" + std::string(line.begin(), line.end()) + ">");
}

TEST_P(Prints, PlainTextPercentAndWhatItReturns) {
  EXPECT_EQ(print("plain 100%% %%d\n", {}), "plain 100% %d\n");
  EXPECT_EQ(count_, 0);
  EXPECT_EQ(print("", {}), "");
  EXPECT_EQ(count_, 0);
  auto counts = buffer(std::vector<int>{5});
  run(kernel("prints.ptx", "print"), {.grid = {1}, .block = {1}}, std::uint64_t{0}, std::uint64_t{0}, 0u,
      counts);
  EXPECT_EQ(contents(counts)[0], -1);  // no format
}

// A width or a precision of gigabytes costs no more than the largest message.
// proves: K-20a
TEST_P(Prints, HugeWidthsAndPrecisionsAreBounded) {
  constexpr std::size_t kMost = 4096;  // of a width or a precision: FormattedText::kMostPadding
  const auto with = [&](const char* format, auto... arguments) {
    packed_.clear();
    (pack(arguments), ...);
    return print(format, packed_);
  };
  const std::string padding(kMost - 1, ' '), zeros(kMost - 1, '0');
  EXPECT_EQ(with("%2147483647d|", 7), padding + "7|");
  EXPECT_EQ(with("%-2147483647d|", 7), "7" + padding + "|");
  EXPECT_EQ(with("%99999999999999999999d|", 7), padding + "7|");
  EXPECT_EQ(with("%*d|", 2147483647, 7), padding + "7|");
  EXPECT_EQ(with("%*d|", -2147483647 - 1, 7), "7" + padding + "|");
  EXPECT_EQ(with("%.2147483647d|", 7), zeros + "7|");
  EXPECT_EQ(with("%.*d|", 2147483647, 7), zeros + "7|");
  EXPECT_EQ(with("%02147483647d|", 7), zeros + "7|");
  EXPECT_EQ(with("%.2147483647f|", 1.5), "1.5" + zeros + "|");
  EXPECT_EQ(with("%2147483647c|", 'x'), padding + "x|");
  auto text = buffer(std::vector<char>{'a', 'b', 0});
  const std::uint64_t address = text.address().value;
  EXPECT_EQ(with("%2147483647s|", address), padding.substr(1) + "ab|");
  EXPECT_EQ(with("%-2147483647.1s|", address), "a" + padding + "|");
  EXPECT_EQ(with("%.2147483647s|", address), "ab|");
  EXPECT_EQ(with("%2000d|", 7), std::string(1999, ' ') + "7|");  // a text that fits is not cut
  EXPECT_EQ(with("%9000d%9000d%9000d%9000d%9000d", 1, 2, 3, 4, 5).size(), 16u << 10);
}

// A text that is no conversion is printed as written, takes no argument and writes nowhere.
TEST_P(Prints, MalformedFormatsArePrintedAsWritten) {
  EXPECT_EQ(print("%", {}), "%");
  EXPECT_EQ(print("a%-+ #0", {}), "a%-+ #0");
  EXPECT_EQ(print("%12.34", {}), "%12.34");
  EXPECT_EQ(print("%ll", {}), "%ll");
  EXPECT_EQ(print("%y %5Q %!|", {}), "%y %5Q %!|");
  EXPECT_EQ(print("%00000000000000000000000000000000000000000y|", {}),
            "%00000000000000000000000000000000000000000y|");
  EXPECT_EQ(count_, 0);
  auto target = buffer(std::vector<int>{77});
  packed_.clear();
  pack(target.address().value);
  EXPECT_EQ(print("abc%n|%hhn", packed_), "abc%n|%hhn");
  EXPECT_EQ(contents(target)[0], 77);
}

// proves: K-20a
TEST_P(Prints, BadPointersAreTheKernelsFault) {
  const auto faults = [&](const char* format, std::uint64_t argument) {
    std::string message;
    {
      std::vector<char> text(format, format + std::strlen(format) + 1);
      auto device_format = buffer(text);
      auto arguments = buffer(std::vector<std::uint64_t>{argument});
      auto counts = buffer(std::vector<int>{0});
      auto report = try_run(kernel("prints.ptx", "print"), {.grid = {1}, .block = {1}}, device_format,
                            arguments, 0u, counts);
      if (!report.ok()) message = report.error().message;
    }
    close();
    return message;
  };
  const std::string where = " in kernel print, block (0,0,0), thread (0,0,0)";
  EXPECT_NE(faults("%s", 8).find("illegal address 0x8" + where), std::string::npos);
  EXPECT_NE(faults("%2147483647.2147483647s", 8).find("illegal address 0x8" + where), std::string::npos);
  EXPECT_NE(faults("%s", 1ull << 63).find(where), std::string::npos);
  auto counts = buffer(std::vector<int>{0});
  auto report = try_run(kernel("prints.ptx", "print"), {.grid = {1}, .block = {1}}, std::uint64_t{16},
                        std::uint64_t{16}, 0u, counts);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("illegal address 0x10" + where), std::string::npos);
}

// Lines of different threads come in any order, each whole and once.
// proves: K-20a
TEST_P(Prints, ThreadsPrintWholeLines) {
  constexpr int kThreads = 100, kBlocks = 3;
  std::vector<int> values(2 * kThreads);
  for (int t = 0; t < kThreads; ++t) {
    values[2 * t] = t;
    values[2 * t + 1] = -t * t;
  }
  auto format = buffer(std::vector<char>{'%', 'd', ':', '%', 'd', '\n', 0});
  auto arguments = buffer(values), counts = buffer(std::vector<int>(kThreads));
  run(kernel("prints.ptx", "print"), {.grid = {kBlocks}, .block = {kThreads}}, format, arguments, 8u, counts);
  EXPECT_EQ(contents(counts), std::vector<int>(kThreads, 2));
  std::map<std::string, int> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = printed_.find('\n', begin)) != std::string::npos; begin = end + 1)
    ++lines[printed_.substr(begin, end - begin)];
  EXPECT_EQ(begin, printed_.size());
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kThreads));
  for (int t = 0; t < kThreads; ++t)
    EXPECT_EQ(lines[std::to_string(t) + ":" + std::to_string(-t * t)], kBlocks) << t;
}

// As in CUDA's buffer of 1 MiB, output that does not fit before a synchronisation overwrites the oldest.
// proves: K-20a
TEST_P(Prints, AFullBufferKeepsTheLastLines) {
  options_.print_bytes = 4096;
  options_.deterministic = 0;  // one warp after the other
  auto format = buffer(std::vector<char>{'%', '0', '6', 'd', '\n', 0});
  std::vector<int> values(1000);
  for (int t = 0; t < 1000; ++t) values[t] = t;
  auto arguments = buffer(values), counts = buffer(std::vector<int>(1000));
  run(kernel("prints.ptx", "print"), {.grid = {1}, .block = {1000}}, format, arguments, 4u, counts);
  EXPECT_EQ(printed_.size(), 4096u / 7 * 7);
  std::set<std::string> lines;
  for (std::size_t at = 0; at < printed_.size(); at += 7) {
    EXPECT_EQ(printed_[at + 6], '\n');
    lines.insert(printed_.substr(at, 6));
  }
  EXPECT_EQ(lines.size(), 4096u / 7);
  EXPECT_EQ(lines.count("000000"), 0u) << "the first warp's";
  EXPECT_EQ(lines.count("000999"), 1u) << "the last one's";
}

// printf as nvcc compiles it: a thread's lines come in its order, and before a barrier's other side.
// proves: K-20a
TEST_P(Prints, CompiledCallsKeepEachThreadsOrder) {
  run(kernel("calls.ptx", "prints"), {.grid = {1}, .block = {64}}, 4);
  const std::string first =
      "int -7    42|42   |00042 3000000000 ff FF 10\n"
      "long -5000000000 18446744073709551615 abcdef0123 char z string text percent %\n"
      "float 1.500000 0.667 1.234568e+04 0.0001     3.14|\n"
      "star      4 1.00 none\n";
  EXPECT_EQ(printed_.substr(0, first.size()), first);
  std::size_t lines = 0;
  for (char c : printed_) lines += c == '\n';
  EXPECT_EQ(lines, 4u + 4 * 3);
  for (int t : {5, 21, 37, 53}) {
    std::size_t at = first.size() - 1;
    for (int k = 0; k < 3; ++k) {
      at = printed_.find("\nt" + std::to_string(t) + " k" + std::to_string(k) + "\n", at);
      ASSERT_NE(at, std::string::npos) << "thread " << t << ", line " << k << " in:\n" << printed_;
    }
  }
}

}  // namespace
