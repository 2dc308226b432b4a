#include "waiting_kernels.h"

#include <string_view>
#include <utility>

namespace {

/// Puts the flag at [%at] into %seen.
struct Read {
  const char* name;
  const char* text;
  bool shared = false;
};

constexpr Read kReads[] = {
    {"plain", "ld.global.u32 %seen, [%at];"},
    {"volatile", "ld.volatile.global.u32 %seen, [%at];"},
    {"acquire_gpu", "ld.acquire.gpu.global.u32 %seen, [%at];"},
    {"atomic_or", "atom.global.or.b32 %seen, [%at], 0;"},
    {"generic", "ld.u32 %seen, [%at];"},
    {"weak", "ld.weak.global.u32 %seen, [%at];"},
    {"byte", "ld.global.u8 %seen, [%at];"},
    {"ca", "ld.global.ca.u32 %seen, [%at];"},
    {"cg", "ld.global.cg.u32 %seen, [%at];"},
    {"cs", "ld.global.cs.u32 %seen, [%at];"},
    {"lu", "ld.global.lu.u32 %seen, [%at];"},
    {"cv", "ld.global.cv.u32 %seen, [%at];"},
    {"hinted", "ld.global.L1::no_allocate.u32 %seen, [%at];"},
    {"fenced", "fence.acq_rel.gpu; ld.global.u32 %seen, [%at];"},
    {"volatile_generic", "ld.volatile.u32 %seen, [%at];"},
    {"volatile_byte", "ld.volatile.global.u8 %seen, [%at];"},
    {"relaxed_cta", "ld.relaxed.cta.global.u32 %seen, [%at];"},
    {"relaxed_cluster", "ld.relaxed.cluster.global.u32 %seen, [%at];"},
    {"relaxed_gpu", "ld.relaxed.gpu.global.u32 %seen, [%at];"},
    {"relaxed_sys", "ld.relaxed.sys.global.u32 %seen, [%at];"},
    {"acquire_cta", "ld.acquire.cta.global.u32 %seen, [%at];"},
    {"acquire_cluster", "ld.acquire.cluster.global.u32 %seen, [%at];"},
    {"acquire_sys", "ld.acquire.sys.u32 %seen, [%at];"},
    {"mmio", "ld.mmio.relaxed.sys.global.u32 %seen, [%at];"},
    {"atomic_add", "atom.global.add.u32 %seen, [%at], 0;"},
    {"atomic_cas", "atom.acquire.gpu.global.cas.b32 %seen, [%at], 0, 0;"},
    {"atomic_max", "atom.relaxed.sys.max.u32 %seen, [%at], 0;"},
    // The address is made anew in each turn, and the same: no analysis sees that it waits.
    {"moving", "add.u64 %at, %at, %zero; ld.global.u32 %seen, [%at];"},
    {"shared", "ld.shared.u32 %seen, [%at];", true},
    {"shared_volatile", "ld.volatile.shared.u32 %seen, [%at];", true},
    {"shared_acquire", "ld.acquire.cta.shared.u32 %seen, [%at];", true},
    {"shared_atomic", "atom.shared.or.b32 %seen, [%at], 0;", true},
};

/// The loop, where READ stands for a read. SET is what follows the loop: it sets the unit's own flag and
/// stores what the thread held. `functions` stands before the kernel, NAME for its name.
struct Exit {
  const char* name;
  const char* loop;
  const char* functions = "";
};

constexpr const char* kReading = R"(
.func (.param .b32 result) NAME_read(.param .b64 from) {
  .reg .b64 %at, %zero; .reg .b32 %seen;
  mov.u64 %zero, 0; ld.param.u64 %at, [from]; READ st.param.b32 [result], %seen; ret;
})";
constexpr const char* kWaits = R"(
.func NAME_wait(.param .b64 from) {
  .reg .b64 %at, %zero; .reg .b32 %seen; .reg .pred %p;
  mov.u64 %zero, 0; ld.param.u64 %at, [from];
again: READ setp.eq.u32 %p, %seen, 0; @%p bra again;
  ret;
})";

const Exit kExits[] = {
    {"branch", "again: READ setp.eq.u32 %p, %seen, 0; @%p bra again;"},
    {"break", "again: READ setp.ne.u32 %p, %seen, 0; @%p bra done; bra.uni again; done:"},
    {"unrolled",
     "again: READ setp.ne.u32 %p, %seen, 0; @%p bra done; READ setp.ne.u32 %p, %seen, 0; @%p bra done; "
     "bra.uni "
     "again; done:"},
    // The flag's value reaches the exit through a branch, through a guard, through arithmetic.
    {"chosen", R"(
again: READ setp.ne.u32 %p, %seen, 0; @%p bra set;
  mov.u32 %state, 0; bra.uni look;
set: mov.u32 %state, 7;
look: setp.eq.u32 %p, %state, 0; @%p bra again;)"},
    {"guarded", R"(
again: READ mov.u32 %state, 0; setp.ne.u32 %p, %seen, 0; @%p mov.u32 %state, 1;
  setp.eq.u32 %p, %state, 0; @%p bra again;)"},
    {"computed",
     "again: READ and.b32 %state, %seen, 1; xor.b32 %state, %state, 1; setp.ne.u32 %p, %state, 0; "
     "@%p bra again;"},
    {"indexed",
     "again: READ min.u32 %state, %seen, 1; ways: .branchtargets again, done; brx.idx %state, ways; done:"},
    {"returns", "again: READ setp.eq.u32 %p, %seen, 0; @%p bra again; SET ret;"},
    {"returns_inside", "again: READ setp.ne.u32 %p, %seen, 0; @!%p bra again; SET ret; never: bra again;"},
    {"guarded_return", R"(
again: READ setp.eq.u32 %p, %seen, 0; @%p bra next; SET
next: setp.ne.u32 %p, %seen, 0; @%p ret; bra.uni again;)"},
    {"guarded_exit", R"(
again: READ setp.eq.u32 %p, %seen, 0; @%p bra next; SET
next: setp.ne.u32 %p, %seen, 0; @%p exit; bra.uni again;)"},
    {"nested", R"(
  mov.u32 %round, 0;
outer:
again: READ setp.eq.u32 %p, %seen, 0; @%p bra again;
  add.u32 %round, %round, 1; setp.lt.u32 %q, %round, 3; @%q bra outer;)"},
    {"around_another", R"(
again: mov.u32 %round, 0;
count: add.u32 %round, %round, 1; setp.lt.u32 %q, %round, 5; @%q bra count;
  READ setp.eq.u32 %p, %seen, 0; @%p bra again;)"},
    {"tries", R"(
again: mov.u32 %round, 0;
try: READ setp.ne.u32 %p, %seen, 0; @%p bra done;
  add.u32 %round, %round, 1; setp.lt.u32 %q, %round, 4; @%q bra try;
  nanosleep.u32 50; bra.uni again;
done:)"},
    {"entered_inside", R"(
  and.b32 %state, %t, 1; setp.eq.u32 %q, %state, 0; @%q bra middle;
again: add.u32 %state, %state, 1;
middle: READ setp.eq.u32 %p, %seen, 0; @%p bra again;)"},
    {"reading_callee", R"(
again: { .param .b64 from; .param .b32 result; st.param.b64 [from], %at; call.uni (result), NAME_read, (from);
  ld.param.b32 %seen, [result]; } setp.eq.u32 %p, %seen, 0; @%p bra again;)",
     kReading},
    {"register_callee", "again: call (%seen), NAME_get, (%at); setp.eq.u32 %p, %seen, 0; @%p bra again;", R"(
.func (.reg .b32 %seen) NAME_get(.reg .b64 %at) {
  .reg .b64 %zero; mov.u64 %zero, 0; READ ret;
})"},
    {"waiting_callee", "{ .param .b64 from; st.param.b64 [from], %at; call.uni NAME_wait, (from); }", kWaits},
    {"guarded_call",
     "setp.ne.u64 %q, %at, 0; { .param .b64 from; st.param.b64 [from], %at; @%q call NAME_wait, (from); }",
     kWaits},
    // Half of the lanes go the one way, half the other: into one function.
    {"divergent_callee", R"(
  and.b32 %state, %t, 1; setp.eq.u32 %q, %state, 0; @%q bra even;
  { .param .b64 from; st.param.b64 [from], %at; call NAME_wait, (from); } bra.uni met;
even: { .param .b64 from; st.param.b64 [from], %at; call NAME_wait, (from); }
met:)",
     kWaits},
    {"deep_callee", R"(
  { .param .b64 from; .param .b32 result; st.param.b64 [from], %at; call (result), NAME_outer, (from);
    ld.param.b32 %seen, [result]; } mov.u32 %state, %seen;)",
     R"(
.func (.param .b32 result) NAME_inner(.param .b64 from) {
  .local .align 4 .b32 kept; .reg .b64 %at, %zero; .reg .b32 %seen; .reg .pred %p;
  mov.u64 %zero, 0; ld.param.u64 %at, [from];
again: READ st.local.u32 [kept], %seen; setp.eq.u32 %p, %seen, 0; @%p bra again;
  ld.local.u32 %seen, [kept]; st.param.b32 [result], %seen; ret;
}
.func (.param .b32 result) NAME_outer(.param .b64 from) {
  .reg .b64 %a; .reg .b32 %v; .local .align 8 .b64 saved;
  ld.param.u64 %a, [from]; st.local.u64 [saved], %a;
  { .param .b64 on; .param .b32 back; st.param.b64 [on], %a; call (back), NAME_inner, (on);
    ld.param.b32 %v, [back]; }
  st.param.b32 [result], %v; ret;
})"},
    {"indirect_callee", R"(
  mov.u64 %fn, NAME_read;
again: { .param .b64 from; .param .b32 result; st.param.b64 [from], %at;
  kind: .callprototype (.param .b32 _) _ (.param .b64 _);
  call (result), %fn, (from), kind; ld.param.b32 %seen, [result]; } setp.eq.u32 %p, %seen, 0; @%p bra again;)",
     kReading},
    {"indirect_wait", R"(
  mov.u64 %fn, NAME_wait;
  { .param .b64 from; st.param.b64 [from], %at; kind: .callprototype _ (.param .b64 _);
    call %fn, (from), kind; })",
     kWaits},
    {"recursion", R"(
  { .param .b64 from; .param .b32 depth; st.param.b64 [from], %at; st.param.b32 [depth], 3;
    call.uni NAME_down, (from, depth); })",
     R"(
.func NAME_down(.param .b64 from, .param .b32 depth) {
  .reg .b64 %at, %zero; .reg .b32 %seen, %d; .reg .pred %p;
  mov.u64 %zero, 0; ld.param.u64 %at, [from]; ld.param.u32 %d, [depth];
  setp.eq.u32 %p, %d, 0; @%p bra again;
  sub.u32 %d, %d, 1;
  { .param .b64 on; .param .b32 left; st.param.b64 [on], %at; st.param.b32 [left], %d;
    call.uni NAME_down, (on, left); }
  ret;
again: READ setp.eq.u32 %p, %seen, 0; @%p bra again;
  ret;
})"},
    {"trap", "again: READ setp.eq.u32 %p, %seen, 0; @%p bra again; trap;"},
    {"guarded_trap", "again: READ setp.ne.u32 %p, %seen, 0; @%p trap; bra.uni again;"},
};

/// The code before and after the loop, which decides the kind of the kernel's blocks.
struct Kind {
  const char* name;
  const char* before = "";
  const char* after = "";
};

constexpr Kind kBlockKinds[] = {
    {"loops"},
    {"regions", "bar.sync 0;", "bar.sync 0;"},
    {"fibers", "barrier.sync 1;", "barrier.sync 1;"},
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

constexpr const char* kKernel = R"(
.visible .entry NAME(.param .u64 flags, .param .u64 held, .param .u32 group) {
  .reg .b64 %at, %out, %mine, %fn, %zero; .reg .pred %p, %q;
  .reg .b32 %t, %b, %n, %unit, %seen, %state, %round, %hold, %group;
  ld.param.u64 %at, [flags]; ld.param.u64 %out, [held]; ld.param.u32 %group, [group];
  mov.u64 %zero, 0; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
  mad.lo.u32 %unit, %b, %n, %t;
  mul.wide.u32 %mine, %unit, 4; add.u64 %out, %out, %mine;
  mul.lo.u32 %hold, %unit, 2654435761;
  mov.u32 %state, 1; st.volatile.global.u32 [%out], %state;
  div.u32 %unit, %unit, %group;
  mul.wide.u32 %mine, %unit, 4; FLAGS
  BEFORE
  LOOP
  SET
  ret;
})";
constexpr const char* kGlobalFlags = "add.u64 %mine, %mine, %at; add.u64 %at, %mine, 4;";
/// The unit after the block's last one has ended before it began.
constexpr const char* kSharedFlags = R"(
  .shared .align 4 .b32 NAME_cells[1025];
  mov.u64 %at, NAME_cells; add.u64 %mine, %mine, %at; add.u64 %at, %mine, 4;
  mov.u32 %state, 0; st.shared.u32 [%mine], %state;
  add.u32 %state, %t, 1; setp.eq.u32 %p, %state, %n; mov.u32 %state, 1; @%p st.shared.u32 [%at], %state;
  bar.sync 0;)";
constexpr const char* kSet = R"(
  mov.u32 %state, 1; st.volatile.SPACE.u32 [%mine], %state;
  AFTER
  st.volatile.global.u32 [%out], %hold;)";

void add(WaitingKernels& all, const Read& read, const Exit& exit, const Kind& kind) {
  WaitingKernel kernel{.name = std::string(read.name) + "_" + exit.name + "_" + kind.name,
                       .in_block = read.shared};
  const std::string_view ending = exit.name;
  kernel.traps = ending.ends_with("trap");
  kernel.meets = *kind.after != '\0' || read.shared;
  kernel.is_hidden = std::string_view(read.name) == "moving";
  if (kernel.is_hidden) kernel.kind = kind.name;
  // Functions take generic addresses.
  std::string text = replaced(exit.functions, "READ", read.text) + kKernel;
  text = replaced(text, "LOOP", replaced(exit.loop, "READ", read.text));
  text = replaced(text, "FLAGS", read.shared ? kSharedFlags : kGlobalFlags);
  text = replaced(replaced(text, "SET", kSet), "SPACE", read.shared ? "shared" : "global");
  text = replaced(replaced(text, "BEFORE", kind.before), "AFTER", kind.after);
  all.text += replaced(text, "NAME", kernel.name);
  all.kernels.push_back(std::move(kernel));
}

}  // namespace

WaitingKernels waiting_kernels() {
  WaitingKernels all{.text = ".version 8.0\n.target sm_90\n.address_size 64\n", .kernels = {}};
  const Read &plain = kReads[0], &volatile_read = kReads[1];
  for (const Read& read : kReads) add(all, read, kExits[0], kBlockKinds[0]);
  for (const Exit& exit : kExits) {
    if (&exit != &kExits[0])
      for (const Read& read : {plain, volatile_read, kReads[2], kReads[3]})
        add(all, read, exit, kBlockKinds[0]);
    for (const Kind& kind : {kBlockKinds[1], kBlockKinds[2]}) add(all, volatile_read, exit, kind);
  }
  for (const Kind& kind : {kBlockKinds[1], kBlockKinds[2]})
    for (const Read& read : kReads)
      if (&read != &volatile_read) add(all, read, kExits[0], kind);
  return all;
}
