#include "linking/device_library.h"

namespace raddle::linking {

// A handle is the address of the grid's workspace, which only a cooperative launch has (%envreg1:%envreg2,
// zeroed): word 1 counts arrivals. All blocks add 1 but the first, which adds what makes the sum 2^31, so
// that the top bit turns over when the last has come.
const std::string_view kDeviceLibrary = R"(.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %p;
  .reg .b32 %scope, %low, %high;
  .reg .b64 %handle;
  ld.param.u32 %scope, [scope];
  mov.b32 %high, %envreg1;
  mov.b32 %low, %envreg2;
  mov.b64 %handle, {%low, %high};
  setp.eq.u32 %p, %scope, 1;
  selp.b64 %handle, %handle, 0, %p;
  st.param.b64 [handle], %handle;
  ret;
}
.visible .func (.param .b32 error) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %p, %others;
  .reg .b32 %x, %y, %z, %first, %blocks, %add, %before, %now;
  .reg .b64 %workspace;
  ld.param.u64 %workspace, [handle];
  setp.eq.u64 %p, %workspace, 0;
  @%p bra NO_GRID;
  barrier.sync 0;
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %z, %tid.z;
  or.b32 %first, %x, %y;
  or.b32 %first, %first, %z;
  setp.ne.u32 %others, %first, 0;
  @%others bra ARRIVED;
  mov.u32 %x, %nctaid.x;
  mov.u32 %y, %nctaid.y;
  mov.u32 %z, %nctaid.z;
  mul.lo.u32 %blocks, %x, %y;
  mul.lo.u32 %blocks, %blocks, %z;
  sub.u32 %blocks, 0x80000001, %blocks;
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  mov.u32 %z, %ctaid.z;
  or.b32 %first, %x, %y;
  or.b32 %first, %first, %z;
  setp.eq.u32 %p, %first, 0;
  selp.b32 %add, %blocks, 1, %p;
  fence.acq_rel.gpu;
  atom.add.release.gpu.u32 %before, [%workspace+4], %add;
WAIT:
  ld.acquire.gpu.u32 %now, [%workspace+4];
  xor.b32 %now, %now, %before;
  setp.ge.s32 %p, %now, 0;
  @%p bra WAIT;
  fence.acq_rel.gpu;
ARRIVED:
  barrier.sync 0;
  st.param.b32 [error], 0;
  ret;
NO_GRID:
  st.param.b32 [error], 1;
  ret;
}
.visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .b32 %flags, %error;
  .reg .b64 %handle;
  .param .b64 same_handle;
  .param .b32 same_flags, result;
  ld.param.u64 %handle, [handle];
  ld.param.u32 %flags, [flags];
  st.param.b64 [same_handle], %handle;
  st.param.b32 [same_flags], %flags;
  call (result), cudaCGSynchronizeGrid, (same_handle, same_flags);
  ld.param.b32 %error, [result];
  st.param.b32 [error], %error;
  ret;
}
.visible .func (.param .b32 error) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle)
{
  .reg .pred %p;
  .reg .b32 %x, %y, %size;
  .reg .b64 %to;
  mov.u32 %size, %ntid.x;
  mov.u32 %y, %ntid.y;
  mul.lo.u32 %size, %size, %y;
  mov.u32 %y, %ntid.z;
  mul.lo.u32 %size, %size, %y;
  mov.u32 %x, %nctaid.x;
  mul.lo.u32 %size, %size, %x;
  mov.u32 %x, %nctaid.y;
  mul.lo.u32 %size, %size, %x;
  mov.u32 %x, %nctaid.z;
  mul.lo.u32 %size, %size, %x;
  ld.param.u64 %to, [threads];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], %size;
  ld.param.u64 %to, [grids];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], 1;
  st.param.b32 [error], 0;
  ret;
}
.visible .func (.param .b32 error) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle)
{
  .reg .pred %p;
  .reg .b32 %block, %rank, %size, %x, %y;
  .reg .b64 %to;
  mov.u32 %block, %ctaid.z;
  mov.u32 %x, %nctaid.y;
  mov.u32 %y, %ctaid.y;
  mad.lo.u32 %block, %block, %x, %y;
  mov.u32 %x, %nctaid.x;
  mov.u32 %y, %ctaid.x;
  mad.lo.u32 %block, %block, %x, %y;
  mov.u32 %rank, %tid.z;
  mov.u32 %x, %ntid.y;
  mov.u32 %y, %tid.y;
  mad.lo.u32 %rank, %rank, %x, %y;
  mov.u32 %size, %ntid.x;
  mov.u32 %y, %tid.x;
  mad.lo.u32 %rank, %rank, %size, %y;
  mul.lo.u32 %size, %size, %x;
  mov.u32 %x, %ntid.z;
  mul.lo.u32 %size, %size, %x;
  mad.lo.u32 %rank, %block, %size, %rank;
  ld.param.u64 %to, [thread];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], %rank;
  ld.param.u64 %to, [grid];
  setp.ne.u64 %p, %to, 0;
  @%p st.u32 [%to], 0;
  st.param.b32 [error], 0;
  ret;
}
)";

}  // namespace raddle::linking
