// What a program sees of a kernel's fault: for each kind, in a process of its own, the results of the launch, of the wait for it, of
// the next call and of cudaGetLastError, and whether a kernel still runs after cudaDeviceReset.
#include <cassert>
#include <cooperative_groups.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

namespace {

__device__ unsigned char bytes[64];
__device__ __noinline__ int depth(int n) {
  volatile int frame[64];
  frame[n % 64] = n;
  return n == 0 ? 0 : (depth(n - 1) * 3) ^ frame[n % 64];
}
__device__ int (*volatile missing)(int);

__global__ void fault(int kind, char* memory, int n) {
  extern __shared__ unsigned char dynamic[];
  volatile unsigned char local[32];
  switch (kind) {
    case 0: *reinterpret_cast<volatile int*>(0ull) = 1; break;
    case 1: *reinterpret_cast<volatile int*>(memory + 1) = 1; break;                     // misaligned, global
    case 2: *reinterpret_cast<volatile int*>(dynamic + 2) = 1; break;                    // misaligned, shared
    case 3: dynamic[(1 << 20) + n] = 1; break;                                           // beyond shared memory
    case 4: local[n << 24] = 1; break;                       // beyond local memory
    case 5: __trap(); break;
    case 6: assert(n == 1234); break;
    case 7: asm volatile("brkpt;"); break;
    case 8: *reinterpret_cast<volatile int*>(0x7ffffffffff0ull) = 1; break;              // nothing is mapped there
    case 9: *reinterpret_cast<volatile int*>(0x8000000000000000ull) = 1; break;          // not canonical
    case 10: bytes[0] = static_cast<unsigned char>(depth(n)); break;                     // the stack runs out
    case 11: bytes[0] = static_cast<unsigned char>(missing(n)); break;                   // a call of null
    case 12: atomicAdd(reinterpret_cast<int*>(memory + 2), 1); break;                    // misaligned, atomic
    case 13: *reinterpret_cast<volatile int4*>(memory + 8); break;
    case 14: memory[n] = static_cast<char>(*reinterpret_cast<volatile unsigned char*>(16ull)); break;
    case 15: asm volatile("st.shared.u32 [%0], 1;" ::"r"(0x40000000)); break;
    case 16: asm volatile("{.reg .b32 r; mapa.shared::cluster.u32 r, %0, 5; st.shared::cluster.u32 [r], 1;}" ::"r"(0)); break;  // no such CTA
    case 17: asm volatile("mbarrier.init.shared.b64 [%0], 0;" ::"r"(0)); break;
    case 18: asm volatile("mbarrier.init.shared.b64 [%0], 1048576;" ::"r"(0)); break;
    case 19: asm volatile("{.reg .b64 s; mbarrier.init.shared.b64 [%0], 1; mbarrier.arrive.shared.b64 s, [%0], 5;}" ::"r"(0)); break;
    case 20: asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::"r"(16), "l"(memory + 8), "r"(0)); break;
    case 21: asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %3, [%2];" ::"r"(16), "l"(memory), "r"(0), "r"(n + 21)); break;
    case 22: asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::"r"(16), "l"(16ull), "r"(0)); break;
    case 23: asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(128), "l"(memory), "r"(0), "r"(0)); break;
    case 24: asm volatile("barrier.sync %0;" ::"r"(n + 17)); break;
    case 25: bytes[0] = static_cast<unsigned char>(n / (n - n)); break;                  // no fault
    case 26: free(memory); break;
    case 27: asm volatile("prefetch.global.L1 [%0];" ::"l"(16ull)); break;               // no fault
    case 28: asm volatile("discard.global.L2 [%0], 128;" ::"l"(memory + 64)); break;
    case 29: asm volatile("st.global.u32 [%0], 1;" ::"l"(memory + (1 << 22))); break;    // beyond the allocation's 2 MiB
    case 30: asm volatile("st.global.u32 [%0], 1;" ::"l"(memory + 256)); break;          // beyond it, in the same page
    case 31: asm volatile("nanosleep.u32 2000000;"); break;                              // no fault
    default: break;
  }
}
constexpr int kKinds = 32;

__global__ void well(int* out) { *out = 7; }

void probe(int kind) {
  char* memory;
  NEEDED(cudaMalloc(&memory, 256));
  fault<<<1, 32, 1024>>>(kind, memory, kind == 10 ? 1 << 24 : 3);
  const cudaError_t launched = cudaGetLastError(), waited = cudaDeviceSynchronize();
  void* more = nullptr;
  const cudaError_t next = cudaMalloc(&more, 16), last = cudaGetLastError(), again = cudaGetLastError();
  const cudaError_t reset = cudaDeviceReset();
  int *out = nullptr, value = 0;
  const cudaError_t after = cudaMalloc(&out, sizeof *out);
  if (after == cudaSuccess) {
    well<<<1, 1>>>(out);
    cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost);
  }
  std::printf("fault %d: launch %d wait %d next %d last %d again %d reset %d after %d value %d\n", kind, launched, waited, next, last, again,
              reset, after, value);
  std::fflush(stdout);
}

}  // namespace

int main() {
  for (int kind = 0; kind < kKinds; ++kind) {
    const pid_t child = fork();
    if (child == 0) {
      std::freopen("/dev/null", "w", stderr);  // what assert prints
      alarm(20);
      probe(kind);
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::printf("fault %d: status %d\n", kind, status), std::fflush(stdout);
  }
}
