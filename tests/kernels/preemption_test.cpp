// Kernels that are preempted in the middle: registers, shared memory and barriers are as they were when they
// go on, on either engine and whatever the kind of their blocks.
#include <numeric>

#include "kernel_test.h"

namespace {

constexpr unsigned kLowThreads = 96, kLowBlocks = 4;

/// `low`: each thread keeps a number in a register and one in shared memory, waits in a loop until the flag
/// is set, and adds both to its word. `high`: overwrites as much shared memory, and sets the flag.
constexpr const char* kLowAndHigh = R"(.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry low(.param .u64 out, .param .u64 flag) {
  .reg .u64 %rd<8>;
  .reg .u32 %r<12>;
  .reg .pred %p<4>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [flag];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r2, %r1, 96, %r0;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd0, %rd2;
  mov.u64 %rd4, room;
  mul.wide.u32 %rd5, %r0, 4;
  add.u64 %rd6, %rd4, %rd5;
  add.u32 %r3, %r2, 1000;
  st.shared.u32 [%rd6+16], %r3;
  mul.lo.u32 %r4, %r2, 3;
  @before@
wait:
  @within@
  setp.eq.u32 %p0, %r5, 0;
  @%p0 bra wait;
  @after@
  ld.shared.u32 %r6, [%rd6+16];
  add.u32 %r7, %r6, %r4;
  red.global.add.u32 [%rd3], %r7;
  ret;
}
.visible .entry high(.param .u64 flag) {
  .reg .u64 %rd<4>;
  .reg .u32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd0, [flag];
  mov.u32 %r0, %tid.x;
  mov.u64 %rd1, room;
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.shared.u32 [%rd3+16], 77;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra end;
  mov.u32 %r1, 1;
  st.volatile.global.u32 [%rd0], %r1;
end:
  ret;
})";

struct PreemptedForm {
  const char *name, *before, *within, *after;
};
constexpr const char* kLookAtFlag = "ld.volatile.global.u32 %r5, [%rd1];";
constexpr PreemptedForm kPreemptedForms[] = {
    {"loops", "", kLookAtFlag, ""},
    {"regions", "bar.sync 0;", kLookAtFlag, "bar.sync 0;"},
    {"fibers", "setp.ne.u32 %p1, %r0, 0;",
     "@%p1 bra read; ld.volatile.global.u32 %r8, [%rd1]; st.shared.u32 [room], %r8;\nread: bar.sync 0; "
     "ld.shared.u32 %r5, [room]; bar.sync 0;",
     ""},
};

std::string text_of_form(const PreemptedForm& form) {
  std::string text = kLowAndHigh;
  const auto put = [&](const std::string& mark, const char* by) {
    text.replace(text.find(mark), mark.size(), by);
  };
  put("@before@", form.before), put("@within@", form.within), put("@after@", form.after);
  return text;
}

class PreemptedKernels : public KernelTest {
 protected:
  PreemptedKernels() {
    options_.shape = "tiny";
    options_.distributor.task_slots = 1;
    options_.distributor.preemptive = true;
    options_.time_limit = std::chrono::seconds(60);
  }

  void preempt(const PreemptedForm& form) {
    SCOPED_TRACE(form.name);
    load_text(text_of_form(form));
    auto low = module().kernel("low"), high = module().kernel("high");
    ASSERT_TRUE(low.ok() && high.ok());
    auto out = buffer(std::vector<unsigned>(kLowBlocks * kLowThreads)),
         flag = buffer(std::vector<unsigned>(1));
    auto urgent = device().stream(-1), other = device().stream(0);
    raddle::LaunchConfig config{.grid = {kLowBlocks}, .block = {kLowThreads}, .shared_bytes = 100u << 10};
    config.stream = &*other, config.tells_begin = true;
    auto waits = low->launch(config, out, flag);
    ASSERT_TRUE(waits.ok()) << waits.error().to_string();
    other->record_begin().wait();
    config.grid = {2}, config.stream = &*urgent;
    run(*high, config, flag);
    auto report = waits->wait();
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    const std::vector<unsigned> found = contents(out);
    for (unsigned i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i + 1000 + 3 * i) << i;
  }
};

ON_EVERY_ENGINE(PreemptedKernels);

// proves: A-4g
TEST_P(PreemptedKernels, GoOnWhereTheyWere) {
  for (const unsigned workers : {1u, 2u}) {
    options_.workers = workers;
    for (const PreemptedForm& form : kPreemptedForms) preempt(form);
    close();
  }
  options_.workers = 0;
  options_.deterministic = 5;
  for (const PreemptedForm& form : kPreemptedForms) preempt(form);
}

}  // namespace
