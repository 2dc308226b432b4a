"""raddle doctor, exec and nvcc, and the CMake toolchain file: programs that use CUDA, recognised, run, and built."""
import os
import shutil
import subprocess
import sys
import unittest
import unittest.mock

from command import INVALID, RADDLE, ROOT, UNSUPPORTED, USAGE, CommandTest, tap

LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(RADDLE)), "lib")
DATA = os.path.join(ROOT, "tests/data/fatbin")
TOOLKIT = os.path.dirname(os.path.dirname(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"))
COMPILER = "clang-19"  # which Raddle is built with
# Programs that are not instrumented cannot load libraries that are.
SANITIZED = os.environ.get("RADDLE_SANITIZE")
# Why a test cannot run here; empty if it can.
NO_LIBRARIES = "libraries built with sanitizers" if SANITIZED else ""
NO_RUNTIME = NO_LIBRARIES or ("" if shutil.which("nvcc") else "no nvcc on this machine") or (
    "" if os.path.exists(f"{LIBRARIES}/libcudart_static.a") else "Raddle's runtime is not built (ninja -C build programs)")
NO_NVRTC = NO_LIBRARIES or ("" if os.path.exists(f"{TOOLKIT}/include/nvrtc.h") else "no NVRTC of NVIDIA's toolkit on this machine")
NOT_ASKED = "" if os.environ.get("RADDLE_TEST_ALL") else "takes a minute; RADDLE_TEST_ALL=1 runs it"

# A program as nvcc links it is one with this section, in which the runtime is either called or contained.
SEGMENT = '__attribute__((section(".nvFatBinSegment"), used)) static long segment[3] = {1};\n'
NOTE = '__attribute__((section(".note.raddle"), used)) static const int note[5] = {7, 0, 1, 0x64646172, 0x656c};\n'
VERSION = """
#include <stdio.h>
int cuDriverGetVersion(int*);
int main(void) { int version = 0; cuDriverGetVersion(&version); printf("version %d\\n", version); return 0; }
"""
RTC = """
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char* source = "extern \\"C\\" __global__ void answer(int* p) { *p = 42; }";
  const char* options[] = {"--gpu-architecture=sm_90"};
  nvrtcProgram program;
  size_t bytes = 0;
  nvrtcCreateProgram(&program, source, "answer.cu", 0, 0, 0);
  if (nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS) return 1;
  nvrtcGetCUBINSize(program, &bytes);
  char* cubin = malloc(bytes);
  nvrtcGetCUBIN(program, cubin);
  CUcontext context; CUmodule module; CUfunction function; CUdeviceptr device; int host = 0;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  if (cuModuleLoadData(&module, cubin) != CUDA_SUCCESS) return 2;
  cuModuleGetFunction(&function, module, "answer");
  cuMemAlloc(&device, 4);
  void* parameters[] = {&device};
  cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0);
  cuMemcpyDtoH(&host, device, 4);
  printf("answer %d\\n", host);
  return 0;
}
"""
APP = """
#include <cstdio>
__global__ void answer(int* p) { *p = 42; }
int main() {
  int *device = nullptr, host = 0;
  cudaMalloc(&device, 4);
  answer<<<1, 1>>>(device);
  cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost);
  printf("answer %d\\n", host);
  return host != 42;
}
"""

# A capsule for each function, named by its type, as Cython makes them; these functions answer 17.
BINDINGS = """import ctypes
api = ctypes.pythonapi
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
wrong = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 17)
address = ctypes.cast(wrong, ctypes.c_void_p).value
name = b"cudaError_t (void)"
__pyx_capi__ = {symbol: api.PyCapsule_New(address, name, None) for symbol in ("_cudaDeviceSynchronize", "_cudaNoSuchCall")}
"""
BINDINGS_PROGRAM = """import ctypes, os, sys
from cuda.bindings._internal import runtime
api = ctypes.pythonapi
api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
def call(symbol):
    name = api.PyCapsule_GetName(runtime.__pyx_capi__[symbol])
    return ctypes.CFUNCTYPE(ctypes.c_int)(api.PyCapsule_GetPointer(runtime.__pyx_capi__[symbol], name))()
print(api.PyCapsule_GetName(runtime.__pyx_capi__["_cudaDeviceSynchronize"]).decode(), call("_cudaDeviceSynchronize"))
print(call("_cudaNoSuchCall"))
import sitecustomize
print(users_own, "packages" in sitecustomize.__file__)
"""


class Programs(CommandTest):
    def compile(self, name, source, *options):
        path = self.write(name + ".c", source)
        subprocess.run([COMPILER, path, "-o", self.path(name), *options], check=True)
        return self.path(name)

    def nvcc(self, name, source, *options, command=("nvcc",)):
        path = self.write(name + ".cu", source)
        subprocess.run([*command, path, "-o", self.path(name), *options], check=True)
        return self.path(name)

    def test_the_runtime_is_recognised(self):
        self.compile("libcudart.so.13", "void __cudaRegisterFatBinary(void) {}", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.13")
        shared = SEGMENT + "void __cudaRegisterFatBinary(void); int main(void) { __cudaRegisterFatBinary(); return 0; }"
        cases = (("nvidia", SEGMENT + "int main(void) { return 0; }", (), "NVIDIA's, linked in: does not run", UNSUPPORTED),
                 ("ours", SEGMENT + NOTE + "int main(void) { return 0; }", (), "Raddle's, linked in", 0),
                 ("shared", shared, (self.path("libcudart.so.13"),), "runtime: shared", None),
                 ("none", "int main(void) { return 0; }", (), "runtime: none", 0))
        for name, source, options, said, expected in cases:
            program = self.compile(name, source, *options)
            for stripped in (False, True):
                if stripped:
                    subprocess.run(["strip", program], check=True)
                status, output, errors = self.raddle("doctor", program)
                self.assertIn(said, output, name)
                self.assertIn(status, (expected, status if expected is None else expected), output + errors)

    def test_nvidias_runtime_is_refused_early(self):
        program = self.compile("app", SEGMENT + "int main(void) { return 0; }")
        errors = self.fails(UNSUPPORTED, "exec", program)
        self.assertIn("-cudart shared", errors)
        self.assertIn("raddle nvcc", errors)

    def test_doctor_reads_device_code(self):
        output = self.succeeds("doctor", f"{DATA}/plain.o")
        self.assertIn("device code 1: PTX 9.0 for sm_75, PTX 9.0 for sm_90", output)
        self.assertIn("1 of 1 kernels can run", output)
        with open(f"{DATA}/plain.o", "rb") as file:
            content = bytearray(file.read())
        at = content.find(b"\x50\xed\x55\xba") + 16
        size = int.from_bytes(content[at + 8:at + 16], "little") + int.from_bytes(content[at + 4:at + 8], "little")
        content[at] = content[at + size] = 2  # machine code, says each entry
        status, output, _ = self.raddle("doctor", self.write("cubins.o", bytes(content)))
        self.assertEqual(status, UNSUPPORTED)
        self.assertIn("there is no PTX in it, only machine code", output)
        self.fails(INVALID, "doctor", self.write("text", "no program"))

    def test_doctor_looks_into_packages(self):
        os.makedirs(self.path("package/lib"))
        open(self.path("package/__init__.py"), "w").close()
        for name, source in (("plain", "int plain(void) { return 0; }"), ("lib/nvidias", SEGMENT + "int held(void) { return 0; }"),
                             ("lib/ours", SEGMENT + NOTE + "int held(void) { return 0; }")):
            subprocess.run([COMPILER, self.write("source.c", source), "-shared", "-fPIC", "-o", self.path(f"package/{name}.so")], check=True)
        for given in ("package", "package/__init__.py"):
            status, output, errors = self.raddle("doctor", self.path(given))
            self.assertEqual(status, UNSUPPORTED, errors)
            self.assertIn("nvidias.so\nruntime: NVIDIA's, linked in: does not run", output)
            self.assertNotIn("plain.so", output)
            self.assertIn("3 shared objects, 2 of them for CUDA, of which 1 should run", output)
        os.remove(self.path("package/lib/nvidias.so"))
        self.succeeds("doctor", self.path("package"))

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_libraries_go_before_those_of_packages(self):
        """What a Python package finds by its own DT_RPATH or path would be NVIDIA's."""
        if not os.path.exists(f"{LIBRARIES}/libnvJitLink.so.13"):
            self.skipTest("Raddle's libraries are not built (ninja -C build programs)")
        environment = dict(os.environ, PATH=os.environ["PATH"])
        environment.pop("TRITON_PTXAS_PATH", None)
        environment["TRITON_PTXAS_BLACKWELL_PATH"] = "/my/ptxas"
        done = subprocess.run([RADDLE, "exec", "env"], capture_output=True, text=True, env=environment, timeout=60)
        variables = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        for library in ("libcudart.so.13", "libnvrtc.so.13", "libnvvm.so.4", "libnvJitLink.so.13"):
            self.assertIn(f"{LIBRARIES}/{library}", variables["LD_PRELOAD"].split(":"))
        self.assertNotIn("libcuda.so.1", variables["LD_PRELOAD"])
        tools = os.path.join(os.path.dirname(LIBRARIES), "libexec/raddle")
        self.assertEqual(variables["TRITON_PTXAS_PATH"], f"{tools}/ptxas")
        self.assertEqual(variables["TRITON_PTXAS_BLACKWELL_PATH"], "/my/ptxas")  # the user's own stays
        self.assertEqual(variables["PATH"].split(":")[0], tools)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_python_bindings_of_the_runtime_call_ours(self):
        """A module like cuda.bindings', whose capsules lead to functions of its own, and the user's own sitecustomize."""
        if not os.path.exists(f"{LIBRARIES}/libcudart.so.13"):
            self.skipTest("Raddle's libraries are not built (ninja -C build programs)")
        packages = os.path.join(self.directory.name, "packages")
        for folder in ("cuda", "cuda/bindings", "cuda/bindings/_internal", "cuda/bindings/_bindings"):
            os.makedirs(f"{packages}/{folder}")
            self.write(f"packages/{folder}/__init__.py", "")
        self.write("packages/sitecustomize.py", "import builtins\nbuiltins.users_own = True\n")
        for folder, module in (("_internal", "runtime"), ("_bindings", "cyruntime")):  # the latter before 13.4
            self.write(f"packages/cuda/bindings/{folder}/{module}.py", BINDINGS)
            program = self.write("program.py", BINDINGS_PROGRAM.replace("_internal", folder).replace("runtime", module))
            done = subprocess.run([RADDLE, "exec", sys.executable, program], capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, PYTHONPATH=packages, RADDLE_QUIET="1"))
            self.assertEqual(done.stdout.splitlines(), ["cudaError_t (void) 0", "17", "True True"], module + done.stderr)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_old_triton_gets_an_assembler_that_it_knows(self):
        if not os.path.exists(f"{LIBRARIES}/libcudart.so.13"):
            self.skipTest("Raddle's libraries are not built (ninja -C build programs)")
        packages = os.path.join(self.directory.name, "packages")
        program = self.write("program.py", "import os, triton\nprint(os.environ.get('RADDLE_PTXAS_RELEASE'))\n")
        for version, said in (("3.4.0", "12.6"), ("3.2.0+git1", "12.6"), ("3.10.0", "None"), ("3.5.0", "None")):
            shutil.rmtree(packages, ignore_errors=True)
            os.makedirs(f"{packages}/triton-{version}.dist-info")
            self.write("packages/triton.py", "")
            self.write(f"packages/triton-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: triton\nVersion: {version}\n")
            done = subprocess.run([RADDLE, "exec", sys.executable, program], capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, PYTHONPATH=packages))
            self.assertEqual(done.stdout, said + "\n", version + done.stderr)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_notices_can_be_silenced(self):
        program = self.compile("app", "int cuGraphicsUnregisterResource(void*); int cuInit(int);\n"
                                      "int main(void) { cuInit(0); cuGraphicsUnregisterResource(0); return cuGraphicsUnregisterResource(0) != 801; }",
                               f"-L{LIBRARIES}", "-lcuda")
        for quiet, told in (("", 1), ("1", 0)):
            done = subprocess.run([RADDLE, "exec", program], capture_output=True, text=True, env=dict(os.environ, RADDLE_QUIET=quiet), timeout=60)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("cuGraphicsUnregisterResource is not there yet: CUDA_ERROR_NOT_SUPPORTED (docs/generated/driver.md)"), told)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_only_nvidias_runtime_is_called_so(self):
        """Others of NVIDIA's libraries ask the driver for tables, too."""
        call = ("int cuInit(int); int cuGetExportTable(const void**, const void*);\n"
                "int main(void) { const void* table; char id[16] = {0}; cuInit(0); return cuGetExportTable(&table, id) != 500; }\n")
        name = '__attribute__((used)) static const char names[] = "\\0cudaErrorSoftwareValidityNotEstablished";\n'
        for source, told in ((call, 0), (name + call, 1)):
            program = self.compile("app", source, f"-L{LIBRARIES}", "-lcuda")
            done = subprocess.run([program], capture_output=True, text=True, env=dict(os.environ, LD_LIBRARY_PATH=LIBRARIES), timeout=60)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("contains NVIDIA's CUDA runtime"), told, done.stderr)

    @unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
    def test_cubins_of_nvcc_carry_ptx(self):
        source = self.write("answer.cu", 'extern "C" __global__ void answer(int* p) { *p = 42; }')
        for words in (("-arch=sm_90",), ("-gencode", "arch=compute_90,code=sm_90")):
            subprocess.run([RADDLE, "nvcc", "-cubin", *words, source, "-o", self.path("answer.cubin")], check=True)
            with open(self.path("answer.cubin"), "rb") as file:
                self.assertEqual(file.read(4), b"\x7fELF")
            output = self.succeeds("run", self.path("answer.cubin"), "--kernel", "answer", "--block", 1, "--arg", "buf:i32:1", "--print", 0)
            self.assertIn("42", output)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_doctor_names_missing_calls(self):
        program = self.compile("app", "int cuGraphicsUnregisterResource(void*); int cuInit(int);\n"
                                      "int main(void) { return cuInit(0) + cuGraphicsUnregisterResource(0); }", f"-L{LIBRARIES}", "-lcuda")
        status, output, _ = self.raddle("doctor", program)
        self.assertEqual(status, UNSUPPORTED)
        self.assertIn("not there yet: cuGraphicsUnregisterResource\n", output)
        if os.path.exists(f"{LIBRARIES}/libcudart.so"):
            program = self.compile("app", "int cudaGraphicsUnregisterResource(void*); int cudaFree(void*);\n"
                                          "int main(void) { return cudaFree(0) + cudaGraphicsUnregisterResource(0); }", f"-L{LIBRARIES}", "-lcudart")
            self.assertIn("not there yet: cudaGraphicsUnregisterResource\n", self.raddle("doctor", program)[1])

    def test_doctor_names_libraries_that_are_not_there(self):
        for library in ("libcudart.so.12", "libcublas.so.13"):
            self.compile(library, "void call(void) {}", "-shared", "-fPIC", f"-Wl,-soname,{library}")
            program = self.compile("app", "void call(void); int main(void) { call(); return 0; }", self.path(library))
            status, output, _ = self.raddle("doctor", program)
            self.assertEqual(status, UNSUPPORTED)
            self.assertIn(f"to do: {library} is ", output)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    # proves: K-15b
    def test_exec_finds_our_driver_before_another(self):
        os.mkdir(self.path("other"))
        self.compile("other/libcuda.so.1", "int cuDriverGetVersion(int* v) { *v = 1; return 0; }", "-shared", "-fPIC",
                     "-Wl,-soname,libcuda.so.1")
        other = self.path("other")
        for name, tags in (("rpath", "--disable-new-dtags"), ("runpath", "--enable-new-dtags")):
            program = self.compile(name, VERSION, f"{other}/libcuda.so.1", f"-Wl,{tags},-rpath,{other}")
            self.assertEqual(subprocess.run([program], capture_output=True, text=True).stdout, "version 1\n")
            self.assertEqual(self.succeeds("exec", program), "version 13000\n", name)

    @unittest.skipIf(NO_LIBRARIES, NO_LIBRARIES)
    def test_exec_passes_words_and_status(self):
        status, output, _ = self.raddle("exec", "sh", "-c", 'echo "$1" $LD_LIBRARY_PATH; exit 7', "sh", "--help me")
        self.assertEqual((status, output), (7, f"--help me {LIBRARIES}\n"))

    def test_exec_needs_a_command(self):
        self.assertIn("no command 'no-such-program'", self.fails(INVALID, "exec", "no-such-program"))
        self.fails(USAGE, "exec")

    def test_exec_checks_that_all_libraries_are_there(self):
        for name in ("libcuda.so.1", "libcudart.so.13"):
            self.write(name, "")
        with unittest.mock.patch.dict(os.environ, RADDLE_LIBRARY_PATH=self.directory.name):
            self.assertIn(f"no libnvJitLink.so.13 in {self.directory.name}", self.fails(INVALID, "exec", "true"))

    def test_nvcc_gets_our_libraries_and_ptx(self):
        script = self.write("nvcc", '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n')
        os.chmod(script, 0o755)
        done = subprocess.run([RADDLE, "nvcc", "-code=sm_90", "-arch=compute_90", "a b.cu", "--help"], capture_output=True, text=True,
                              env=dict(os.environ, RADDLE_NVCC=script))
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.splitlines(), [f"-L{LIBRARIES}", "-Xlinker", f"-rpath={LIBRARIES}", "-code=sm_90,compute_90",
                                                    "-arch=compute_90", "a b.cu", "--help"])

    @unittest.skipIf(NO_NVRTC, NO_NVRTC)
    # proves: K-18c
    def test_what_nvrtc_calls_machine_code_runs(self):
        # As built for NVIDIA's: its folder goes before LD_LIBRARY_PATH.
        folder = f"{TOOLKIT}/lib64"
        program = self.compile("rtc", RTC, f"-I{TOOLKIT}/include", f"-L{folder}", "-lnvrtc", f"-L{LIBRARIES}", "-lcuda",
                               f"-Wl,--disable-new-dtags,-rpath,{folder}")
        self.assertEqual(self.succeeds("exec", program), "answer 42\n")

    @unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
    def test_relocatable_code_is_linked(self):
        self.write("twice.cu", "__device__ int seed = 21;\n__device__ int twice(int x) { return 2 * x; }\n")
        program = self.nvcc("linked", APP.replace("*p = 42", "*p = twice(seed)").replace(
            "__global__", "extern __device__ int seed; __device__ int twice(int);\n__global__"), self.path("twice.cu"), "-rdc=true",
            "-arch=sm_90", command=(RADDLE, "nvcc"))
        self.assertEqual(subprocess.run([program], capture_output=True, text=True, timeout=60).stdout, "answer 42\n")
        self.assertIn("1 of 1 kernels can run", self.raddle("doctor", program)[1])

    @unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
    def test_programs_built_by_nvcc(self):
        program = self.nvcc("linked", APP, "-gencode", "arch=compute_90,code=sm_90", command=(RADDLE, "nvcc"))
        self.assertEqual(subprocess.run([program], capture_output=True, text=True, timeout=60).stdout, "answer 42\n")
        self.assertIn("it should run", self.succeeds("doctor", program))
        shared = self.nvcc("shared", APP, "-arch=sm_90", "-cudart", "shared")
        self.assertEqual(self.succeeds("exec", shared), "answer 42\n")
        nvidias = self.nvcc("nvidias", APP, "-arch=sm_90")
        self.assertIn("NVIDIA's, linked in", self.raddle("doctor", nvidias)[1])
        no_ptx = self.nvcc("no_ptx", APP, "-gencode", "arch=compute_90,code=sm_90", "-cudart", "shared")
        self.assertIn("no PTX in it", self.raddle("exec", no_ptx)[2])

    @unittest.skipIf(NO_RUNTIME or NOT_ASKED, NO_RUNTIME or NOT_ASKED)
    def test_cmake_projects(self):
        self.write("app.cu", APP)
        self.write("driver.cpp", '#include <cuda.h>\n#include <cstdio>\nint main() { int v = 0; cuDriverGetVersion(&v); printf("%d\\n", v); }')
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(app LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit REQUIRED)\n"
                                     "add_executable(app app.cu)\nadd_executable(with_target app.cu)\n"
                                     "target_link_libraries(with_target CUDA::cudart)\n"
                                     "add_executable(driver driver.cpp)\ntarget_link_libraries(driver CUDA::cuda_driver)\n")
        environment = dict(os.environ, CUDACXX=shutil.which("nvcc"))
        subprocess.run(["cmake", "-S", self.directory.name, "-B", self.path("build"), f"-DRADDLE_LIBRARY_DIR={LIBRARIES}",
                        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/RaddleToolchain.cmake"], check=True, stdout=subprocess.DEVNULL, env=environment)
        subprocess.run(["cmake", "--build", self.path("build")], check=True, stdout=subprocess.DEVNULL)
        for name, printed in (("app", "answer 42\n"), ("with_target", "answer 42\n"), ("driver", "13000\n")):
            self.assertEqual(subprocess.run([self.path(f"build/{name}")], capture_output=True, text=True).stdout, printed)


if __name__ == "__main__":
    tap.main()
