// The table of faults (K-12): thread 37 of the second block does what is wrong, in a kernel of each block
// kind, on every engine. Each report names kernel, block, thread (or warp, see docs/faults.md), PTX line,
// source line and where that was inlined, and what is known of the address. The device keeps the error; a new
// one works.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>

#include "kernel_test.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Where %p comes from.
enum class Pointer { is_number, into_buffer, past_buffer };

struct Case {
  const char* name;
  std::string body;  ///< the line that faults ends with "//!"
  Pointer from = Pointer::is_number;
  std::uint64_t number = 0;  ///< %p, or an offset in bytes
  std::string begins;        ///< the message; PTR stands for %p
  std::string tells = {};    ///< further part of it
  bool lane_known = false;   ///< by the JIT as well
};

constexpr std::uint64_t kNotCanonical = 0x1234567890abcdec;
constexpr std::size_t kWords = 1 << 15;  // a buffer large enough to lie between guard pages

Case wild(const char* name, const char* body, bool lane_known = false) {
  return {
      name, body,      Pointer::is_number, kNowhere, "illegal address 0x500000 in kernel k, block (1,0,0)",
      "",   lane_known};
}
Case misaligned(const char* name, const char* body, std::uint64_t off, bool lane_known = false) {
  return {name,
          body,
          Pointer::into_buffer,
          off,
          "misaligned address PTR in kernel k, block (1,0,0)",
          " bytes into the allocation ",
          lane_known};
}
Case other(const char* name, const char* body, std::uint64_t p, const char* begins, const char* tells = "",
           bool lane_known = true) {
  return {name, body, Pointer::is_number, p, begins, tells, lane_known};
}

std::vector<Case> accesses() {
  return {
      wild("load", "ld.global.u32 %v, [%p];  //!"),
      wild("store", "st.global.u32 [%p], %t;  //!"),
      wild("load_generic", "ld.u32 %v, [%p];  //!"),
      wild("load_vector", "ld.global.v4.u32 {%v, %w, %x, %y}, [%p];  //!"),
      wild("load_byte", "ld.global.u8 %v, [%p];  //!"),
      wild("load_volatile", "ld.volatile.global.u32 %v, [%p];  //!", true),
      wild("load_acquire", "ld.acquire.gpu.global.u32 %v, [%p];  //!", true),
      wild("load_b128", "ld.global.b128 %b, [%p];  //!\nmov.b128 {%c, %d}, %b;\ncvt.u32.u64 %v, %c;", true),
      wild("atomic", "atom.global.add.u32 %v, [%p], %t;  //!", true),
      wild("reduction", "red.global.add.u32 [%p], %t;  //!", true),
      wild("compare_and_swap", "atom.global.cas.b32 %v, [%p], %t, %t;  //!", true),
      {"load_null", "ld.global.u32 %v, [%p];  //!", Pointer::is_number, 0, "illegal address 0x0 in kernel k"},
      {"store_null", "st.u32 [%p], %t;  //!", Pointer::is_number, 0, "illegal address 0x0 in kernel k"},
      {"load_not_canonical", "ld.u32 %v, [%p];  //!", Pointer::is_number, kNotCanonical,
       "illegal address 0x1234567890abcdec in kernel k", "no address of user memory"},
      {"store_not_canonical", "st.u32 [%p], %t;  //!", Pointer::is_number, kNotCanonical,
       "illegal address 0x1234567890abcdec in kernel k", "no address of user memory"},
      {"atomic_not_canonical", "atom.add.u32 %v, [%p], %t;  //!", Pointer::is_number, kNotCanonical,
       "illegal address 0x1234567890abcdec in kernel k", "no address of user memory", true},
      {"load_past_the_end", "ld.global.u32 %v, [%p];  //!", Pointer::past_buffer, 8,
       "illegal address PTR in kernel k", "read, 8 bytes past the end of the allocation"},
      {"store_past_the_end", "st.global.u32 [%p], %t;  //!", Pointer::past_buffer, 0,
       "illegal address PTR in kernel k", "write, 0 bytes past the end of the allocation"},
      other("load_shared", "cvt.u32.u64 %w, %p;\nld.shared.u32 %v, [%w];  //!", 0x00f00000, "illegal address",
            "offset 0xf00000 of the block's shared memory, which has 0x", false),
      other("shared_atomic", "cvt.u32.u64 %w, %p;\natom.shared.add.u32 %v, [%w], %t;  //!", 0x00f00000,
            "illegal address", "offset 0xf00000 of the block's shared memory, which has 0x"),
      other("shared_reduction", "cvt.u32.u64 %w, %p;\nred.shared.max.s32 [%w], %t;  //!", 0x00f00000,
            "illegal address", "offset 0xf00000 of the block's shared memory, which has 0x"),
      other("shared_compare_and_swap", "cvt.u32.u64 %w, %p;\natom.shared.cas.b64 %c, [%w], %c, %d;  //!",
            0x00f00000, "illegal address", "offset 0xf00000 of the block's shared memory, which has 0x"),
      other("store_shared_below_the_window", "cvt.u32.u64 %w, %p;\nst.shared.u32 [%w], %t;  //!", 0xfffffff0,
            "illegal address", "offset 0xfffffff0 of the block's shared memory", false),
      other("load_shared_far_below", "cvt.u32.u64 %w, %p;\nld.shared.u32 %v, [%w-268435456];  //!",
            0x90000000, "illegal address", "offset 0x80000000 of the block's shared memory", false),
      other("load_shared_far_above", "cvt.u32.u64 %w, %p;\nld.shared.u32 %v, [%w];  //!", 0x7ffffff0,
            "illegal address", "offset 0x7ffffff0 of the block's shared memory", false),
      other("shared_atomic_below", "cvt.u32.u64 %w, %p;\natom.shared.add.u32 %v, [%w], %t;  //!", 0xffffff00,
            "illegal address", "offset 0xffffff00 of the block's shared memory"),
      other("load_local", "ld.local.u32 %v, [%p];  //!", 0x8000000, "illegal address",
            "of the block's local memory, which has 0x", false),
      other("store_local", "st.local.u32 [%p], %t;  //!", 0x8000000, "illegal address",
            "of the block's local memory, which has 0x", false),
      other("load_constant", "mov.u64 %c, numbers;\nadd.u64 %c, %c, %p;\nld.const.u32 %v, [%c];  //!", 0x1000,
            "illegal address", " bytes past the end of variable constants of fault ", false),
      other("store_constant", "mov.u64 %c, numbers;\ncvta.const.u64 %c, %c;\nst.u32 [%c], %t;  //!", 0,
            "illegal address", "0 bytes into variable constants of fault ", false),
      other("load_parameter", "ld.param.u32 %v, [%p];  //!", 0x10000, "illegal address", ""),
  };
}

/// Volatile and relaxed accesses of shared memory are vectors of the host, which tell the lane all the same.
/// What is loaded is not used: the access is made nevertheless.
std::vector<Case> lone_accesses() {
  const std::string start = "cvt.u32.u64 %w, %p;\n", scattered = "mul.lo.u32 %x, %t, %t;\n";
  const auto by = [&](const char* bytes) { return start + "mad.lo.u32 %w, %t, " + bytes + ", %w;\n"; };
  const auto beyond = [&](const char* name, const std::string& body, unsigned offset) {
    const std::string place = fmt::format("offset {:#x} of the block's shared memory, which has 0x", offset);
    return Case{name, body, Pointer::is_number, 0x00f00000, "illegal address", place, true};
  };
  const auto odd = [&](const char* name, const std::string& body) {
    return Case{name, body, Pointer::is_number, 2, "misaligned address", "of the block's shared memory",
                true};
  };
  return {
      beyond("load_row", by("4") + "ld.volatile.shared.u32 %y, [%w];  //!", 0xf00094),
      beyond("load_wide_row", by("8") + "ld.relaxed.cta.shared.u64 %c, [%w];  //!", 0xf00128),
      beyond("load_scattered",
             scattered + by("4") + "mad.lo.u32 %w, %x, 4, %w;\nld.volatile.shared.u32 %y, [%w];  //!",
             0xf015f8),
      beyond("load_one", start + "ld.volatile.shared.f32 %f, [%w];  //!", 0xf00000),
      beyond("store_row", by("4") + "st.volatile.shared.u32 [%w], %t;  //!", 0xf00094),
      beyond("store_wide_row", by("8") + "st.relaxed.cta.shared.u64 [%w], %q;  //!", 0xf00128),
      beyond("store_scattered",
             scattered + by("4") + "mad.lo.u32 %w, %x, 4, %w;\nst.volatile.shared.u32 [%w], %t;  //!",
             0xf015f8),
      beyond("store_one", start + "st.volatile.shared.u32 [%w], %t;  //!", 0xf00000),
      odd("load_odd_row", by("4") + "ld.volatile.shared.u32 %y, [%w];  //!"),
      odd("load_odd_wide_row", by("8") + "ld.volatile.shared.f64 %c, [%w];  //!"),
      odd("store_odd_row", by("4") + "st.volatile.shared.u32 [%w], %t;  //!"),
      odd("store_odd_wide_row", by("8") + "st.volatile.shared.u64 [%w], %q;  //!"),
  };
}

std::vector<Case> alignment() {
  return {
      misaligned("load", "ld.global.u32 %v, [%p];  //!", 2),
      misaligned("load_half", "ld.global.u16 %h, [%p];  //!\ncvt.u32.u16 %v, %h;", 1),
      misaligned("load_double", "ld.global.u64 %c, [%p];  //!\ncvt.u32.u64 %v, %c;", 4),
      misaligned("store", "st.global.u32 [%p], %t;  //!", 1),
      {"load_vector", "ld.global.v4.u32 {%v, %w, %x, %y}, [%p];  //!\nadd.u32 %v, %v, %y;",
       Pointer::into_buffer, 8, "misaligned address 0x",
       " bytes into the allocation "},  // of one of the elements
      misaligned("store_vector", "st.global.v2.u32 [%p], {%t, %t};  //!", 4),
      misaligned("load_volatile", "ld.volatile.global.u32 %v, [%p];  //!", 3, true),
      misaligned("store_release", "st.release.gpu.global.u32 [%p], %t;  //!", 2, true),
      misaligned("load_b128", "ld.global.b128 %b, [%p];  //!\nmov.b128 {%c, %d}, %b;\ncvt.u32.u64 %v, %c;", 8,
                 true),
      misaligned("atomic", "atom.global.add.u32 %v, [%p], %t;  //!", 1, true),
      misaligned("compare_and_swap", "atom.global.cas.b64 %c, [%p], %c, %c;  //!", 4, true),
      misaligned("atomic_b128", "atom.global.exch.b128 %b, [%p], %b;  //!", 8, true),
      misaligned("atomic_vector", "atom.global.v2.f32.add {%f, %g}, [%p], {%f, %g};  //!", 4, true),
      misaligned("reduction", "red.global.add.u32 [%p], %t;  //!", 2, true),
      misaligned("reduction_vector", "red.global.v4.f32.add [%p], {%f, %f, %g, %g};  //!", 8, true),
      other("shared", "cvt.u32.u64 %w, %p;\nadd.u32 %w, %w, words;\nst.shared.u32 [%w], %t;  //!", 2,
            "misaligned address", "of the block's shared memory", false),
      other("shared_atomic",
            "cvt.u32.u64 %w, %p;\nmov.u32 %x, words;\nadd.u32 %w, %w, %x;\n"
            "atom.shared.add.u32 %v, [%w], %t;  //!",
            2, "misaligned address", "of the block's shared memory"),
      other("local", "mov.u64 %c, own;\nadd.u64 %c, %c, %p;\nst.local.u32 [%c], %t;  //!", 2,
            "misaligned address", "of the block's local memory", false),
  };
}

std::vector<Case> the_rest() {
  return {
      other("trap", "trap;  //!", 0, "trap in kernel k, block (1,0,0)"),
      other("breakpoint", "brkpt;  //!", 0, "trap in kernel k, block (1,0,0)"),
      other(
          "assertion",
          "mov.u64 %c, text;\ncvta.global.u64 %c, %c;\n{ .param .b64 m; .param .b64 f; .param .b32 l; .param "
          ".b64 n; .param .b64 s;\nst.param.b64 [m], %c; st.param.b64 [f], %c; st.param.b32 [l], 7;\n"
          "st.param.b64 [n], %c; st.param.b64 [s], 1;\ncall.uni __assertfail, (m, f, l, n, s);  //!\n}",
          0, "assertion failed in kernel k, block (1,0,0)"),
      other("recursion", "call.uni deep, (%t);\n", 0, "stack overflow in kernel k, block (1,0,0)"),
      other("stack_allocation", "alloca.u64 %c, %p;  //!\nst.local.u32 [%c], %t;\nld.local.u32 %v, [%c];",
            16 << 20, "stack overflow in kernel k, block (1,0,0)"),
      other("function_pointer", "call %p, (), nothing;  //!", 1000,
            "invalid function pointer 0x3e8 in kernel k, block (1,0,0)"),
      other("null_function_pointer", "call %p, (), nothing;  //!", 0,
            "invalid function pointer 0x0 in kernel k, block (1,0,0)"),
      other("function_of_other_type", "mov.u64 %c, takes_two;\ncall %c, (), nothing;  //!", 0,
            "invalid function pointer"),
      other("barrier_number", "add.u32 %w, %t, 100;\nbar.sync %w, 32;  //!", 0,
            "illegal barrier in kernel k"),
      other("barrier_threads", "add.u32 %w, %t, 1;\nbar.sync 1, %w;  //!", 0, "illegal barrier in kernel k"),
      other("format_text",
            "{ .param .b64 f; .param .b64 a; .param .b32 r;\nst.param.b64 [f], %p; st.param.b64 [a], 0;\n"
            "call.uni (r), vprintf, (f, a);  //!\n}",
            kNowhere, "illegal address 0x500000 in kernel k, block (1,0,0)"),
      {"free_of_other_memory", "{ .param .b64 a;\nst.param.b64 [a], %p;\ncall.uni free, (a);  //!\n}",
       Pointer::into_buffer, 64, "illegal address PTR in kernel k, block (1,0,0)", "free", true},
      other("free_twice",
            "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64;\ncall.uni (r), malloc, (n);\n"
            "ld.param.b64 %c, [r]; }\n{ .param .b64 a; st.param.b64 [a], %c;\ncall.uni free, (a); }\n"
            "{ .param .b64 a;\nst.param.b64 [a], %c;\ncall.uni free, (a);  //!\n}",
            0, "illegal address 0x", "free"),
  };
}

struct BlockKind {
  const char* name;
  std::string first;  ///< a barrier that makes the kernel one of that kind
};
const BlockKind kKinds[] = {{"loops", ""}, {"regions", "bar.sync 0;"}, {"fibers", "barrier.sync 1, 64;"}};

std::string program(const Case& c, const BlockKind& kind) {
  return std::string(R"(.version 8.4
.target sm_90
.address_size 64
.file 1 "fault.cu"
.file 2 "inner.h"
.const .align 4 .b8 numbers[64] = {1, 2, 3};
.global .align 1 .b8 text[8] = {104, 101, 108, 112, 0};
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.extern .func free (.param .b64 a);
.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.func takes_two (.param .b32 a, .param .b64 b) { ret; }
.func deep (.reg .b32 %n)
{
  .local .align 4 .b8 much[256];
  .reg .b32 %m;
  st.local.u32 [much], %n;
  add.u32 %m, %n, 1;
  .loc 2 5 3, function_name $name, inlined_at 1 22 7
  call.uni deep, (%m);  //!deep
  ld.local.u32 %m, [much];
  st.local.u32 [much+4], %m;
  ret;
}
.visible .entry k (.param .u64 p, .param .u64 out)
{
  .reg .pred %is, %here;
  .reg .b16 %h;
  .reg .b32 %t, %v, %w, %x, %y, %block;
  .reg .f32 %f, %g;
  .reg .b64 %p, %q, %c, %d;
  .reg .b128 %b;
  .shared .align 16 .b8 words[256];
  .local .align 16 .b8 own[64];
  .loc 1 10 1
  ld.param.u64 %p, [p];
  ld.param.u64 %q, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %v, 0;
  mov.u64 %c, 0;
  mov.b128 %b, {%c, %c};
  mov.f32 %f, 0f00000000;
  mov.f32 %g, 0f00000000;
  nothing: .callprototype _ ();
  )") + kind.first +
         R"(
  setp.eq.u32 %is, %t, 37;
  setp.eq.and.u32 %is, %block, 1, %is;
  @!%is bra DONE;
  .loc 2 5 3, function_name $name, inlined_at 1 22 7
)" + c.body +
         R"(
  .loc 1 30 1
  st.global.u32 [%q], %v;
DONE:
  ret;
}
.visible .entry fine (.param .u64 out)
{
  .reg .b32 %t;
  .reg .b64 %q, %o;
  ld.param.u64 %q, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 4;
  add.s64 %q, %q, %o;
  st.global.u32 [%q], %t;
  ret;
}
.section .debug_str
{
$name:
.b8 105, 110, 110, 101, 114, 0
}
)";
}

/// Number of the line with the mark; the case's own before that of `deep`.
std::string marked_line(const std::string& program) {
  std::size_t at = program.find("//!\n");
  if (at == std::string::npos) at = program.find("//!deep");
  return std::to_string(1 + std::count(program.begin(), program.begin() + static_cast<long>(at), '\n'));
}

class FaultTable : public KernelTest {
 protected:
  void check_all(const std::vector<Case>& cases) {
    for (const Case& c : cases)
      for (const BlockKind& kind : kKinds) {
        SCOPED_TRACE(std::string(c.name) + ", " + kind.name);
        check(c, program(c, kind));
        close();
      }
  }

  std::string run_alone(const std::string& text) {
    auto memory = buffer(std::vector<int>(kWords));
    return run_case(text, 0, memory);
  }

  void run_well(const std::string& body) {
    auto memory = buffer(std::vector<int>(kWords));
    auto module = device().load(program({.body = body}, kKinds[0]), "fine");
    ASSERT_TRUE(module.ok()) << module.error().to_string();
    auto report = try_run(*module->kernel("k"), {.grid = {2}, .block = {64}}, std::uint64_t{5}, memory);
    EXPECT_TRUE(report.ok()) << report.error().to_string();
  }

  std::string run_case(const std::string& text, std::uint64_t p, const raddle::Buffer<int>& memory) {
    auto module = device().load(text, "fault");
    if (!module.ok()) {
      ADD_FAILURE() << module.error().to_string();
      return {};
    }
    const raddle::LaunchConfig config{.grid = {2}, .block = {64}};
    auto report = try_run(*module->kernel("k"), config, p, memory);
    if (report.ok()) {
      ADD_FAILURE() << "no fault";
      return {};
    }
    return report.error().message;
  }

 private:
  void check(const Case& c, const std::string& text) {
    auto memory = buffer(std::vector<int>(kWords));
    std::uint64_t p = c.number;
    if (c.from != Pointer::is_number) p += memory.address().value;
    if (c.from == Pointer::past_buffer) p += kWords * sizeof(int);
    const std::string message = run_case(text, p, memory);
    std::string begins = c.begins;
    if (auto at = begins.find("PTR"); at != std::string::npos) {
      char number[32];
      std::snprintf(number, sizeof number, "%#llx", static_cast<unsigned long long>(p));
      begins.replace(at, 3, number);
    }
    EXPECT_THAT(message, StartsWith(begins));
    EXPECT_EQ(device().synchronize().error().code, raddle::ErrorCode::kernel_fault);
    EXPECT_THAT(message, HasSubstr(c.tells));
    EXPECT_THAT(message, HasSubstr(" in kernel k, block (1,0,0)"));
    EXPECT_THAT(message, HasSubstr("PTX line " + marked_line(text) + " (inner.h:5 inlined at fault.cu:22)"));
    const bool exact = message.find(", thread (37,0,0)") != std::string::npos;
    const bool may_be_warp =
        !interpreted() && !c.lane_known && message.find(", thread (") == std::string::npos;
    EXPECT_TRUE(exact || (may_be_warp && message.find(": warp 1: ") != std::string::npos)) << message;
    EXPECT_EQ(device().synchronize().error().message, message) << "the device keeps its error";
    expect_works();
  }

  /// Another device of this process.
  void expect_works() {
    auto next = raddle::Device::open(options_);
    ASSERT_TRUE(next.ok());
    auto module = next->load(program({.name = "", .body = "//!\n"}, kKinds[0]), "fine");
    ASSERT_TRUE(module.ok()) << module.error().to_string();
    auto out = next->buffer(std::vector<int>(64));
    auto launch = module->kernel("fine")->launch({.grid = {1}, .block = {64}}, *out);
    ASSERT_TRUE(launch.ok() && launch->wait().ok());
    EXPECT_EQ(contents(*out)[63], 63);
  }
};
ON_EVERY_ENGINE(FaultTable);

// proves: K-12d, K-12e, K-12f
TEST_P(FaultTable, WildAccesses) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "an atomic access that faults inside ThreadSanitizer keeps a lock of ThreadSanitizer's";
#endif
  check_all(accesses());
}
// proves: K-12d, K-12e
TEST_P(FaultTable, MisalignedAccesses) { check_all(alignment()); }
// proves: K-12d, K-12e
TEST_P(FaultTable, LoneAccessesOfSharedMemory) { check_all(lone_accesses()); }
// proves: K-12d, K-12e, K-20c
TEST_P(FaultTable, TrapsStacksCallsBarriersAndTheHeap) { check_all(the_rest()); }

TEST_P(FaultTable, ATimeLimitSaysWhereAWarpWas) {
  options_.time_limit = std::chrono::milliseconds(50);
  for (const BlockKind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const std::string message = run_alone(program({.body = "L:\nadd.u32 %v, %v, 1;  //!\nbra L;"}, kind));
    EXPECT_THAT(message, StartsWith("time limit exceeded in kernel k, block (1,0,0), PTX line "));
    EXPECT_THAT(message, HasSubstr(" (inner.h:5 inlined at fault.cu:22): warp 1: the limit is 50 ms"));
    close();
  }
}

TEST_P(FaultTable, ADeadlockSaysWhereAWarpWaits) {
  const BlockKind kind{"fibers",
                       "setp.lt.u32 %is, %t, 32;\n@%is bra LOW;\nbarrier.sync 2, 64;\nbra GO;\nLOW:\n"
                       "barrier.sync 3, 64;  //!\nGO:"};
  const std::string text = program({.body = ""}, kind), message = run_alone(text);
  EXPECT_THAT(message, StartsWith("deadlock in kernel k, block ("));
  EXPECT_THAT(message, HasSubstr("PTX line " + marked_line(text) +
                                 " (fault.cu:10): warp 0: 64 threads wait at barriers that no other thread"));
}

// All 32 lanes take part and one is wrong: code that handles several lanes per turn of its loop.
// proves: K-12d
TEST_P(FaultTable, SharedAtomicsOfWholeWarpsNameTheThread) {
  unsigned turn = 0;
  for (const char* body : {"atom.shared.add.u32 %v, [%w], %t;", "red.shared.inc.u32 [%w], 7;",
                           "atom.shared.exch.b64 %c, [%w], %d;", "atom.shared.cas.b32 %v, [%w], %t, %v;",
                           "red.shared.add.f32 [%w], %f;"})
    for (const unsigned wrong : {32u, 37u, 46u, 63u}) {
      const BlockKind& kind = kKinds[turn++ % std::size(kKinds)];
      SCOPED_TRACE(std::string(body) + " in thread " + std::to_string(wrong) + ", " + kind.name);
      const std::string text = program({.body = body}, {"", kind.first + R"(
  setp.ne.u32 %is, %block, 1;
  @%is bra DONE;
  mov.u32 %w, words;
  and.b32 %x, %t, 15;
  mad.lo.u32 %w, %x, 8, %w;
  cvt.u32.u64 %x, %p;
  setp.eq.u32 %is, %t, %x;
  @%is mov.u32 %w, 0x00f00000;
  )" + body + "  //!\n  bra DONE;"});
      const std::string message = run_case(text, wrong, buffer(std::vector<int>(kWords)));
      EXPECT_THAT(message, StartsWith("illegal address 0x"));
      EXPECT_THAT(message,
                  HasSubstr(", thread (" + std::to_string(wrong) + ",0,0), PTX line " + marked_line(text)));
      EXPECT_THAT(message, HasSubstr("offset 0xf00000 of the block's shared memory"));
      close();
    }
}

// A thread in each of the host's vectors that make up a warp.
// proves: K-12d
TEST_P(FaultTable, LoneAccessesNameAnyThread) {
  unsigned turn = 0;
  for (const char* body :
       {"4, %w;\n@%is ld.volatile.shared.u32 %v, [%w];", "4, %w;\n@%is st.volatile.shared.u32 [%w], %t;",
        "8, %w;\n@%is ld.volatile.shared.u64 %d, [%w];", "8, %w;\n@%is st.volatile.shared.u64 [%w], %q;"})
    for (const unsigned wrong : {32u, 45u, 54u, 63u}) {
      const BlockKind& kind = kKinds[turn++ % std::size(kKinds)];
      SCOPED_TRACE(std::string(body) + " in thread " + std::to_string(wrong) + ", " + kind.name);
      const std::string text = program({.body = ""}, {"", kind.first + R"(
  setp.ne.u32 %is, %block, 1;
  @%is bra DONE;
  cvt.u32.u64 %x, %p;
  setp.eq.u32 %is, %t, %x;
  mov.u32 %w, 0x00f00000;
  mad.lo.u32 %w, %t, )" + body + "  //!\n  bra DONE;"});
      const std::string message = run_case(text, wrong, buffer(std::vector<int>(kWords)));
      EXPECT_THAT(message, StartsWith("illegal address 0x"));
      EXPECT_THAT(message,
                  HasSubstr(", thread (" + std::to_string(wrong) + ",0,0), PTX line " + marked_line(text)));
      const unsigned offset = 0xf00000 + wrong * static_cast<unsigned>(body[0] - '0');
      EXPECT_THAT(message, HasSubstr(fmt::format("offset {:#x} of the block's shared memory", offset)));
      close();
    }
}

// PTX leaves the results of such divisions open; none may stop a kernel.
TEST_P(FaultTable, DivisionsDoNotFault) {
  run_well(
      "mov.u32 %w, 0;\nmov.s32 %x, 0x80000000;\nmov.s32 %y, -1;\ndiv.s32 %v, %t, %w;\nrem.u32 %w, %t, %w;\n"
      "add.u32 %v, %v, %w;\ndiv.s32 %w, %x, %y;\nadd.u32 %v, %v, %w;\nrem.s32 %w, %x, %y;\n"
      "add.u32 %v, %v, %w;\nmov.u64 %c, 0;\ndiv.u64 %d, %p, %c;\nmov.s64 %c, -1;\n"
      "mov.s64 %p, 0x8000000000000000;\nrem.s64 %c, %p, %c;\nadd.u64 %d, %d, %c;\ncvt.u32.u64 %w, %d;\n"
      "add.u32 %v, %v, %w;");
}

}  // namespace
