"""raddle cc: its options, what it refuses, what clang says; whole programs are in tests/cuda_headers."""
import os
import subprocess
import unittest

from command import INVALID, RADDLE, UNSUPPORTED, CommandTest, tap

LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(RADDLE)), "lib")
# Programs that are not instrumented cannot load libraries that are.
RUNTIME_IS_THERE = not os.environ.get("RADDLE_SANITIZE") and os.path.exists(os.path.join(LIBRARIES, "libcudart_static.a"))
NO_RUNTIME = "Raddle's runtime is not built, or built with sanitizers"

KERNEL = """
#ifndef FACTOR
#define FACTOR 2
#endif
__global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }
"""


class Cc(CommandTest):
    def ptx(self, source, *options):
        self.succeeds("cc", "--ptx", self.write("a.cu", source), "-o", self.path("a.ptx"), *options)
        with open(self.path("a.ptx")) as file:
            return file.read()

    # proves: K-18d
    def test_ptx_runs(self):
        self.ptx(KERNEL)
        self.succeeds("run", self.path("a.ptx"), "--grid", 1, "--block", 32, "--arg", "buf:f32:32=3", "--expect", "0=6")

    def test_options_reach_clang(self):
        self.assertIn("0f40E00000", self.ptx(KERNEL, "-DFACTOR=7.0f"))
        self.assertIn(".target sm_80", self.ptx(KERNEL, "-arch=sm_80"))
        self.assertIn(".target sm_90a", self.ptx(KERNEL, "-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90a,code=sm_90a"))
        for standard in ("c++14", "c++20"):
            self.assertIn("malloc", self.ptx("__global__ void f(int** x) { *x = new int[9]; }", f"-std={standard}"))
        self.assertIn(".loc", self.ptx(KERNEL, "-lineinfo"))
        self.assertNotIn(".loc", self.ptx(KERNEL))
        fused = "__global__ void f(float* x) { *x = x[1] * x[2] + x[3]; }"
        self.assertIn("fma.rn.f32", self.ptx(fused))
        self.assertNotIn("fma.rn.f32", self.ptx(fused, "-fmad=false"))
        self.assertIn("ex2.approx", self.ptx("__global__ void f(float* x) { *x = expf(*x); }", "--use_fast_math"))

    def test_clusters_registers_and_constants_of_the_grid(self):
        text = self.ptx("struct P { int a[9]; };\n"
                        "__device__ int use(const int*);\n"
                        "__global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ P p, int* o) { o[0] = p.a[o[1]]; }\n"
                        "template <int n> __global__ void __cluster_dims__(n) __maxnreg__(40) t(int* o) { *o = n; }\n"
                        "template __global__ void t<4>(int*);").replace("\n", " ")
        self.assertRegex(text, r"\.entry _Z1k1PPi\([^{]*\.explicitcluster \.reqnctapercluster 2, 1, 1 \{")
        self.assertRegex(text, r"\.entry _Z1tILi4EEvPi\([^{]*\.maxnreg 40 .*\.explicitcluster \.reqnctapercluster 4, 1, 1 \{")
        self.assertNotIn(".local", text)  # the parameter is read where it is

    def test_textures_and_surfaces_become_instructions(self):
        text = self.ptx("__global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* o, uchar2* u, int* i) {\n"
                        "o[0] = tex2D<float4>(t, 1, 2); u[0] = tex1Dfetch<uchar2>(t, 3); i[0] = tex3D<int>(t, 1, 2, 3);\n"
                        "o[1] = tex2Dgather<float4>(t, 1, 2, 2); o[2].x = tex2DLayered<float>(t, 1, 2, 3);\n"
                        "o[3] = texCubemapLayered<float4>(t, 1, 2, 3, 4); o[4] = tex2DLod<float4>(t, 1, 2, 3);\n"
                        "tex3DGrad(&o[5], t, 1, 2, 3, o[6], o[7]);\n"
                        "surf2Dwrite(o[0], s, 16, 2); surf1Dwrite((unsigned char)3, s, 1, cudaBoundaryModeZero);\n"
                        "i[1] = surf3Dread<int>(s, 4, 2, 1, cudaBoundaryModeClamp); surf2DLayeredread(&o[1], s, 0, 1, 2); }")
        for form in (r"tex\.2d\.v4\.f32\.f32", r"tex\.1d\.v4\.u32\.s32", r"tex\.3d\.v4\.s32\.f32", r"tld4\.b\.2d\.v4\.f32\.f32", r"tex\.a2d\.v4\.f32\.f32",
                     r"tex\.acube\.v4\.f32\.f32", r"tex\.level\.2d\.v4\.f32\.f32", r"tex\.grad\.3d\.v4\.f32\.f32", r"sust\.b\.2d\.v2\.b64\.trap",
                     r"sust\.b\.1d\.b8\.zero", r"suld\.b\.3d\.b32\.clamp", r"suld\.b\.a2d\.v2\.b64\.trap"):
            self.assertRegex(text, form)
        self.assertNotIn("error", self.raddle("inspect", self.path("a.ptx"))[2])  # they are rows, done or not

    def test_asynchronous_copies_and_barriers_become_instructions(self):
        text = self.ptx("#include <cuda_pipeline_primitives.h>\n__global__ void k(int* s) {\n"
                        "__shared__ int here[4]; __shared__ __mbarrier_t b; __mbarrier_init(&b, 32);\n"
                        "__pipeline_memcpy_async(here, s, 16); __pipeline_commit(); __pipeline_wait_prior(1);\n"
                        "auto token = __mbarrier_arrive(&b); while (!__mbarrier_test_wait(&b, token)) {} s[9] = here[3]; }")
        for form in (r"mbarrier\.init\.shared\.b64", r"cp\.async\.cg\.shared\.global \[%r\d+\], \[%rd\d+\], 16", r"cp\.async\.commit_group",
                     r"cp\.async\.wait_group 1", r"mbarrier\.arrive\.shared\.b64", r"mbarrier\.test_wait\.shared\.b64"):
            self.assertRegex(text, form)
        self.assertNotIn("error", self.raddle("inspect", self.path("a.ptx"))[2])

    def test_what_clang_says_names_the_line(self):
        errors = self.fails(INVALID, "cc", "--ptx", self.write("wrong.cu", "__global__ void f(int* x) {\n  *x = nothing;\n}\n"))
        self.assertRegex(errors, r"wrong\.cu:2:\d+: error: use of undeclared identifier 'nothing'")

    def test_what_is_not_there_is_named(self):
        errors = self.fails(UNSUPPORTED, "cc", "-c", self.write("m.cu", "__managed__ int x;\nint* where = &x;\n__global__ void k() { x = 1; }\n"))
        self.assertRegex(errors, "where: its initial value is the address of the managed variable x,")
        source = self.write("a.cu", KERNEL)
        self.assertIn("-rdc=yes", self.fails(INVALID, "cc", "-rdc=yes", source))
        self.assertIn("-dlink takes objects", self.fails(INVALID, "cc", "-dlink", source))
        self.assertIn("sm_120", self.fails(UNSUPPORTED, "cc", "-arch=sm_120", source))
        self.assertIn("--cubin", self.fails(UNSUPPORTED, "cc", "--cubin", source))

    def test_headers_of_packages_are_found_where_python_or_cuda_has_them(self):
        source = self.write("a.cu", "#include <cub/no_such_thing.cuh>\n__global__ void k(int* x) { *x = value; }\n")
        none = {"CUDA_HOME": "", "CUDA_PATH": "", "VIRTUAL_ENV": "", "HOME": self.directory.name}
        errors = self.fails(INVALID, "cc", "--ptx", source, environment=none)
        self.assertRegex(errors, r"(?m)^raddle cc: cub/no_such_thing.cuh is part of CUB: install it by `pip install nvidia-cuda-cccl` for")
        self.assertNotIn("is part of", self.fails(INVALID, "cc", "--ptx", self.write("b.cu", "#include <other/no.h>\n"), environment=none))
        for folder in ("lib/python3.11/site-packages/nvidia/cu13/include/cccl", "lib/python3.9/site-packages/nvidia/cuda_cccl/include", "include"):
            root = os.path.join(self.directory.name, folder.replace("/", "_"))
            os.makedirs(os.path.join(root, folder, "cub"))
            os.makedirs(os.path.join(root, "bin"))
            os.symlink("/usr/bin/python3", os.path.join(root, "bin/python3"))
            with open(os.path.join(root, folder, "cub/no_such_thing.cuh"), "w") as file:
                file.write("__device__ const int value = 1;\n")
            path = os.pathsep.join([os.path.join(root, "bin"), os.environ["PATH"]])
            places = [{"CUDA_HOME": root}] if folder == "include" else [{"VIRTUAL_ENV": root}, {"PATH": path}]
            for place in places:
                self.succeeds("cc", "--ptx", source, "-o", self.path("a.ptx"), environment={**none, **place})

    def test_wrong_command_lines(self):
        source = self.write("a.cu", KERNEL)
        self.assertIn("--bogus", self.fails(INVALID, "cc", "--bogus", source))
        self.assertIn("needs a value", self.fails(INVALID, "cc", source, "-o"))
        self.assertIn("no source file", self.fails(INVALID, "cc", "-v"))
        self.assertIn("a.txt", self.fails(INVALID, "cc", "a.txt"))
        self.assertIn("-o names one file", self.fails(INVALID, "cc", "-c", source, source, "-o", self.path("x.o")))
        self.assertIn("gpu9", self.fails(INVALID, "cc", "-arch=gpu9", source))
        self.assertIn("raddle cc app.cu -o app", self.succeeds("cc", "--help"))

    @unittest.skipUnless(RUNTIME_IS_THERE, NO_RUNTIME)
    def test_the_runtime_can_be_linked_statically_and_options_reach_the_linker(self):
        source = self.write("m.cu", "#include <pthread.h>\n__global__ void k(int* x) { *x = max(*x, 4); }\n"
                            "int main() { int *p, n = min(2, 3); cudaMalloc(&p, 4); cudaMemcpy(p, &n, 4, cudaMemcpyHostToDevice);\n"
                            "k<<<1, 1>>>(p); cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost); return n == 4 ? 0 : 1; }\n")
        self.succeeds("cc", source, "-cudart=static", "-o", self.path("static"), "-Xcompiler", "-fsanitize=undefined,-fno-omit-frame-pointer")
        self.assertEqual(subprocess.run([self.path("static")], env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES}).returncode, 0)
        with open(self.path("static"), "rb") as file:
            program = file.read()
        self.assertNotIn(b"libcudart.so", program)
        self.assertIn(b"__ubsan", program)

    # proves: K-18d
    @unittest.skipUnless(RUNTIME_IS_THERE, NO_RUNTIME)
    def test_several_files_and_objects(self):
        self.write("kernels.h", "int scaled(int);\n")
        part = self.write("part.cu", '#include "kernels.h"\n__global__ void k(int* x) { *x *= 3; }\n'
                          "int scaled(int n) { int* p; cudaMalloc(&p, 4); cudaMemcpy(p, &n, 4, cudaMemcpyHostToDevice); k<<<1, 1>>>(p);\n"
                          "cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost); return n; }\n")
        main = self.write("main.cu", '#include "kernels.h"\n#include <cstdio>\nint plain(int);\n__global__ void unused() {}\n'
                          'int main() { std::printf("%d\\n", plain(scaled(14))); }\n')
        plain = self.write("plain.cpp", "#include <cuda_runtime.h>\nint plain(int n) { int *p, m = n; cudaMalloc(&p, 4); cudaMemcpy(p, &m, 4, cudaMemcpyDefault);\n"
                           "return cudaFree(p) == cudaSuccess ? m + make_int2(1, 2).x : -1; }\n")
        self.succeeds("cc", "-c", part, "-o", self.path("part.o"))
        self.succeeds("cc", main, plain, self.path("part.o"), "-I", self.directory.name, "-o", self.path("app"), "-O1", "-g")
        self.assertEqual(subprocess.run([self.path("app")], stdout=subprocess.PIPE, text=True).stdout, "43\n")
        self.assertIn("unused", self.succeeds("inspect", self.path("app")))


if __name__ == "__main__":
    tap.main()
