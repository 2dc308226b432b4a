// Programmatic dependent launches: what a grid may do before the one before it has ended, and what it may not.

using Word = unsigned;

__device__ Word look(const Word* flag) { return *const_cast<const volatile Word*>(flag); }
__device__ void wait_for(const Word* flag) {
  while (look(flag) == 0) {
  }
}
__device__ unsigned number() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Calls for its dependents, waits for one of them, and writes what they may read only when it has ended. Blocks from
// `silent` on end at once, without a call.
extern "C" __global__ void primary(const Word* flag, Word* data, unsigned silent) {
  if (blockIdx.x < silent) {
    cudaTriggerProgrammaticLaunchCompletion();
    wait_for(flag);
    for (unsigned i = 0; i < 2000; ++i) look(flag);  // dependents would be here before it
  }
  data[number()] = number() + 1;
}

// The same without a call for dependents.
extern "C" __global__ void unaware(const Word* flag, Word* data) {
  wait_for(flag);
  data[number()] = number() + 1;
}

extern "C" __global__ void dependent(Word* flag, const Word* data, Word* out) {
  if (number() == 0) atomicExch(flag, 1);
  cudaGridDependencySynchronize();
  out[number()] = data[number()];
}

// With a barrier, and a wait behind it.
extern "C" __global__ void dependent_in_regions(Word* flag, const Word* data, Word* out) {
  __shared__ Word own[64];
  if (number() == 0) atomicExch(flag, 1);
  own[threadIdx.x] = number();
  __syncthreads();
  cudaGridDependencySynchronize();
  out[own[blockDim.x - 1 - threadIdx.x]] = data[own[blockDim.x - 1 - threadIdx.x]];
}

// Its last warp is what the primary waits for; those before it wait for the primary.
extern "C" __global__ void last_warp_first(Word* flag, const Word* data, Word* out) {
  if (threadIdx.x / 32 + 1 == blockDim.x / 32) atomicExch(flag, 1);
  cudaGridDependencySynchronize();
  out[number()] = data[number()];
}

// Half of each warp waits for the primary, which waits for the other half.
extern "C" __global__ void half_a_warp_first(Word* flag, const Word* data, Word* out) {
  if (threadIdx.x % 2 == 0) {
    cudaGridDependencySynchronize();
    out[number()] = data[number()];
  } else {
    for (unsigned i = 0; i < threadIdx.x; ++i) look(flag);
    atomicExch(flag, 1);
  }
}

// In the middle of a chain: lets the next one begin, and ends without waiting.
extern "C" __global__ void pass_on() { cudaTriggerProgrammaticLaunchCompletion(); }

// Says that it runs, and waits for nobody.
extern "C" __global__ void tell(Word* flag) { atomicExch(flag, 1); }

extern "C" __global__ void copy(const Word* data, Word* out) { out[number()] = data[number()]; }

// Faults once a dependent has begun, which waits for it in a loop.
extern "C" __global__ void fail(const Word* flag) {
  cudaTriggerProgrammaticLaunchCompletion();
  wait_for(flag);
  __trap();
}
extern "C" __global__ void wait_forever(Word* flag, const Word* never) {
  atomicExch(flag, 1);
  wait_for(never);
}
