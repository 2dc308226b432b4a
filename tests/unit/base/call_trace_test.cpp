// Calls as lines of a trace.
#include "base/call_trace.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace trace_test {
struct Handle_st;
enum class Kind { one = 1 };
struct Size {
  int x;
};
void write_value(std::ostream& out, const Size& size) { out << '<' << size.x << '>'; }
}  // namespace trace_test

namespace raddle::base {
namespace {

TEST(CallText, NamesArgumentsAndShowsTheirValues) {
  const trace_test::Size size{3};
  EXPECT_EQ(arguments_text("(name, kind, size, count, address, c)", true,
                           {static_cast<const char*>("x"), trace_test::Kind::one, size, -5, 255ull,
                            static_cast<unsigned char>(7)}),
            "name=\"x\", kind=1, size=<3>, count=-5, address=0xff, c=7");
  EXPECT_EQ(arguments_text("()", true, {}), "");
  EXPECT_EQ(arguments_text("(name)", true, {static_cast<const char*>(nullptr)}), "name=NULL");
}

TEST(CallText, ShowsWhatASuccessfulCallWrote) {
  int value = 42;
  unsigned long long address = 0x1000;
  auto* handle = reinterpret_cast<trace_test::Handle_st*>(0x20);
  char text[] = "h200";
  EXPECT_EQ(arguments_text("(value, address, handle, name)", true, {&value, &address, &handle, &text[0]}),
            "value=[42], address=[0x1000], handle=[0x20], name=\"h200\"");
  const std::string failed = arguments_text("(value)", false, {&value});
  EXPECT_EQ(failed.find('['), std::string::npos) << failed;
  EXPECT_EQ(arguments_text("(value)", true, {static_cast<int*>(nullptr)}), "value=0x0");
}

TEST(CallText, MemoryThatIsNotThereIsNotRead) {
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const std::string text = arguments_text("(value)", true, {static_cast<int*>(page)});
  EXPECT_EQ(text.find('['), std::string::npos) << text;
  munmap(page, 4096);
}

TEST(CallText, ArraysOfPointersAndConstantsAreAddresses) {
  const int constant = 3;
  void* parameters[] = {nullptr};
  const std::string text = arguments_text("(in, parameters)", true, {&constant, &parameters[0]});
  EXPECT_EQ(text.find('['), std::string::npos) << text;
}

}  // namespace
}  // namespace raddle::base
