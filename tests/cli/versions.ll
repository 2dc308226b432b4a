; A kernel with a call, a barrier, shared memory, inline assembly and line information, for clang to write as PTX of any version.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@cells = internal addrspace(3) global [128 x float] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
define float @scale(float %x) noinline !dbg !7 {
  %y = fmul float %x, 3.0, !dbg !10
  ret float %y, !dbg !10
}
define void @k(ptr addrspace(1) %out) !dbg !8 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !11
  %f = uitofp i32 %t to float, !dbg !11
  %g = call float @scale(float %f), !dbg !11
  %p = getelementptr [128 x float], ptr addrspace(3) @cells, i32 0, i32 %t
  store float %g, ptr addrspace(3) %p, !dbg !11
  call void @llvm.nvvm.barrier0(), !dbg !11
  %o = xor i32 %t, 1
  %q = getelementptr [128 x float], ptr addrspace(3) @cells, i32 0, i32 %o
  %h = load float, ptr addrspace(3) %q, !dbg !11
  %i = call i32 asm sideeffect "{ .reg .u32 r; mov.u32 r, $1; add.u32 $0, r, 5; }", "=r,r"(i32 %t), !dbg !12
  %j = uitofp i32 %i to float
  %s = fadd float %h, %j, !dbg !12
  %at = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %s, ptr addrspace(1) %at, !dbg !12
  ret void, !dbg !12
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!2, !3}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !4, producer: "test", emissionKind: FullDebug)
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 2}
!4 = !DIFile(filename: "k.cu", directory: "/src")
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = distinct !DISubprogram(name: "scale", scope: !4, file: !4, line: 3, type: !5, unit: !1, spFlags: DISPFlagDefinition)
!8 = distinct !DISubprogram(name: "k", scope: !4, file: !4, line: 7, type: !5, unit: !1, spFlags: DISPFlagDefinition)
!10 = !DILocation(line: 4, scope: !7)
!11 = !DILocation(line: 8, scope: !8)
!12 = !DILocation(line: 9, scope: !8)
