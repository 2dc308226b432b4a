// What copies of a tensor's block move, and which are illegal: for maps, boxes and starts that differ from an ordinary one in one thing each, where in
// shared memory (of stores: in the tensor) each 16 bytes of the tensor (of shared memory) land. tests/golden/h200_tensor_copies.txt has an H200's answers.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "probe.h"
#include "units.h"

namespace {

constexpr unsigned kShared = 40960, kUnits = 1 << 18, kBase = 1 << 14;  // bytes; units of 16 bytes of the tensor's memory, and its first
constexpr unsigned kFromShared = 0x80000000;
constexpr unsigned kWorkers = 16;

enum What { kLoad, kStore, kPrefetch, kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kWhats };
constexpr const char* kNames[] = {"load", "store", "prefetch", "add", "min", "max", "inc", "dec", "and", "or", "xor"};

struct Question {
  What what = kLoad;
  bool im2col = false;
  unsigned type = CU_TENSOR_MAP_DATA_TYPE_UINT16, interleave = 0, swizzle = 0, rank = 3;
  cuuint64_t sizes[5] = {16, 4, 4, 4, 4}, strides[4] = {20 * 16, 400 * 16, 4000 * 16, 20000 * 16};
  cuuint32_t box[5] = {8, 1, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
  int lower[3] = {}, upper[3] = {};
  cuuint32_t channels = 8, pixels = 1;
  int start[5] = {};
  unsigned short offsets[3] = {};
};

#define AT3 "r"(q.start[0]), "r"(q.start[1]), "r"(q.start[2])
#define AT5 AT3, "r"(q.start[3]), "r"(q.start[4])
#define C1 "{%2}"
#define C3 "{%2,%3,%4}"
#define C4 "{%2,%3,%4,%5}"
#define C5 "{%2,%3,%4,%5,%6}"
#define TENSOR "cp.async.bulk.tensor."
#define REDUCE(op) "cp.reduce.async.bulk.tensor.1d.global.shared::cta." op ".tile.bulk_group [%0, " C1 "], [%1];"

__device__ void load(const CUtensorMap& map, const Question& q, unsigned to, unsigned barrier) {
#define TO ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%1], [%0, "
#define COLUMN ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%1], [%0, "
#define OPERANDS "l"(&map), "r"(to), AT5, "r"(barrier), "h"(q.offsets[0]), "h"(q.offsets[1]), "h"(q.offsets[2])
  if (!q.im2col && q.rank == 3) asm volatile(TENSOR "3d" TO C3 "], [%7];" ::OPERANDS : "memory");
  if (!q.im2col && q.rank == 4) asm volatile(TENSOR "4d" TO C4 "], [%7];" ::OPERANDS : "memory");
  if (!q.im2col && q.rank == 5) asm volatile(TENSOR "5d" TO C5 "], [%7];" ::OPERANDS : "memory");
  if (q.im2col && q.rank == 3) asm volatile(TENSOR "3d" COLUMN C3 "], [%7], {%8};" ::OPERANDS : "memory");
  if (q.im2col && q.rank == 4) asm volatile(TENSOR "4d" COLUMN C4 "], [%7], {%8,%9};" ::OPERANDS : "memory");
  if (q.im2col && q.rank == 5) asm volatile(TENSOR "5d" COLUMN C5 "], [%7], {%8,%9,%10};" ::OPERANDS : "memory");
}

__device__ void store(const CUtensorMap& map, const Question& q, unsigned from) {
#define FROM ".global.shared::cta.tile.bulk_group [%0, "
#define FROM_COLUMN ".global.shared::cta.im2col_no_offs.bulk_group [%0, "
#define PLACES "l"(&map), "r"(from), AT5
  if (q.what == kStore && !q.im2col && q.rank == 3) asm volatile(TENSOR "3d" FROM C3 "], [%1];" ::PLACES : "memory");
  if (q.what == kStore && !q.im2col && q.rank == 4) asm volatile(TENSOR "4d" FROM C4 "], [%1];" ::PLACES : "memory");
  if (q.what == kStore && !q.im2col && q.rank == 5) asm volatile(TENSOR "5d" FROM C5 "], [%1];" ::PLACES : "memory");
  if (q.what == kStore && q.im2col && q.rank == 3) asm volatile(TENSOR "3d" FROM_COLUMN C3 "], [%1];" ::PLACES : "memory");
  if (q.what == kStore && q.im2col && q.rank == 4) asm volatile(TENSOR "4d" FROM_COLUMN C4 "], [%1];" ::PLACES : "memory");
  if (q.what == kStore && q.im2col && q.rank == 5) asm volatile(TENSOR "5d" FROM_COLUMN C5 "], [%1];" ::PLACES : "memory");
  if (q.what == kPrefetch && !q.im2col) asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, " C3 "];" ::PLACES : "memory");
  if (q.what == kPrefetch && q.im2col) asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%0, " C3 "], {0};" ::PLACES : "memory");
  if (q.what == kAdd) asm volatile(REDUCE("add") ::PLACES : "memory");
  if (q.what == kMin) asm volatile(REDUCE("min") ::PLACES : "memory");
  if (q.what == kMax) asm volatile(REDUCE("max") ::PLACES : "memory");
  if (q.what == kInc) asm volatile(REDUCE("inc") ::PLACES : "memory");
  if (q.what == kDec) asm volatile(REDUCE("dec") ::PLACES : "memory");
  if (q.what == kAnd) asm volatile(REDUCE("and") ::PLACES : "memory");
  if (q.what == kOr) asm volatile(REDUCE("or") ::PLACES : "memory");
  if (q.what == kXor) asm volatile(REDUCE("xor") ::PLACES : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

/// @param expected  bytes of a load, none: it is not waited for
__global__ void copy(const __grid_constant__ CUtensorMap map, Question q, unsigned* out, unsigned expected, unsigned* done) {
  extern __shared__ __align__(1024) unsigned box[];
  __shared__ alignas(8) unsigned long long barrier;
  for (unsigned i = 0; i < kShared / 4; ++i) box[i] = q.what == kLoad ? kUntouched : kFromShared + i;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(box)), at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async;" ::"r"(at) : "memory");
  if (q.what != kLoad) return store(map, q, to);
  if (expected != 0) asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" ::"r"(at), "r"(expected) : "memory");
  load(map, q, to, at);
  for (int i = 0; i < 100; ++i) __nanosleep(1000);
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(*done) : "r"(at) : "memory");
  for (unsigned i = 0; i < kShared / 4; ++i) out[i] = const_cast<volatile unsigned*>(box)[i];
}

cuuint32_t elements_of_unit(unsigned type) {
  constexpr unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return 16 / bytes[type];
}

Question made(bool im2col, unsigned interleave, unsigned rank, What what = kLoad) {
  Question q;
  q.what = what, q.im2col = im2col, q.interleave = interleave, q.rank = rank, q.pixels = im2col ? 12 : 1;
  if (interleave == 2) {
    q.swizzle = 1;
    for (auto& stride : q.strides) stride *= 2;
  }
  return q;
}

/// Starts, steps and extents, one at a time.
void ask_dimensions(std::vector<Question>& all, bool im2col, unsigned interleave, unsigned rank) {
  const auto add = [&](What what, auto change) {
    Question q = made(im2col, interleave, rank, what);
    change(q);
    all.push_back(q);
  };
  for (What what : {kLoad, kStore})
    for (unsigned d = 0; d < rank; ++d) {
      for (int at : {-1, 1, 3, 4, 100})
        add(what, [&](Question& q) { q.start[d] = at * (d == 0 && interleave == 0 ? 8 : 1), q.box[d] = d == 0 ? 8 : 3; });
      for (unsigned step : {2u, 3u})
        for (int at : {0, 1}) add(what, [&](Question& q) { q.steps[d] = step, q.start[d] = d == 0 && interleave == 0 ? 0 : at, q.box[d] = d == 0 ? 16 : 4; });
      for (unsigned extent : {2u, 3u})
        if (!im2col && d != 0) add(what, [&](Question& q) { q.box[d] = extent; });
    }
  for (unsigned d = 0; im2col && d < rank - 2; ++d) {
    const unsigned at = d + (interleave == 0);
    add(kLoad, [&](Question& q) { q.offsets[d] = 1; });
    add(kLoad, [&](Question& q) { q.lower[d] = -1, q.start[at] = -1; });
    add(kLoad, [&](Question& q) { q.lower[d] = -1, q.start[at] = -2; });
    add(kLoad, [&](Question& q) { q.upper[d] = -1; });
    add(kLoad, [&](Question& q) { q.upper[d] = -1, q.start[at] = 3; });
    add(kLoad, [&](Question& q) { q.lower[d] = -1, q.upper[d] = 1, q.start[at] = -1; });
    add(kLoad, [&](Question& q) { q.lower[d] = -1, q.steps[at] = 2, q.start[at] = -1; });
  }
  for (unsigned pixels : {1u, 20u, 60u, 200u})
    if (im2col) add(kLoad, [&](Question& q) { q.pixels = pixels, q.sizes[0] = interleave ? 3 : 16; });
}

std::vector<Question> questions() {
  std::vector<Question> all;
  for (bool im2col : {false, true})
    for (unsigned interleave : {0u, 1u, 2u})
      for (unsigned rank : {3u, 4u, 5u}) {
        ask_dimensions(all, im2col, interleave, rank);
        if (rank == 4) continue;
        for (unsigned type : {0u, 2u, 4u, 8u}) {
          Question q = made(im2col, interleave, rank);
          q.type = type, q.box[0] = q.channels = elements_of_unit(type);
          all.push_back(q);
        }
        for (unsigned channels : {16u, 24u, 64u}) {
          Question q = made(im2col, interleave, rank);
          q.channels = q.box[0] = channels;
          all.push_back(q);
        }
        for (unsigned swizzle : {0u, 1u, 2u, 3u}) {
          Question q = made(im2col, interleave, rank, rank == 3 ? kLoad : kStore);
          q.swizzle = swizzle, q.box[0] = swizzle == 1 && interleave == 0 ? 16 : 24, q.sizes[0] = 32, q.pixels = 24;
          all.push_back(q);
        }
      }
  for (What what : {kLoad, kStore, kPrefetch})
    for (bool im2col : {false, true})
      for (int at : {-9, -8, -4, 1, 2, 4, 6, 8, 12, 16, 17, 20, 24}) {
        Question q = made(im2col, 0, 3, what);
        q.start[0] = at, q.sizes[0] = at % 8 == 0 ? 16 : 64;
        all.push_back(q);
      }
  for (int at : {-1, 4}) {
    Question q = made(true, 0, 3, kPrefetch);
    q.start[1] = at;
    all.push_back(q);
  }
  for (unsigned type = 0; type < 13; ++type)
    for (int what = kAdd; what < kWhats; ++what) {
      Question q = made(false, 0, 1, static_cast<What>(what));
      q.type = type, q.box[0] = elements_of_unit(type);
      all.push_back(q);
    }
  return all;
}

/// What differs from a question's usual values.
template <class T, std::size_t n>
void list(const char* name, const T (&values)[n], const T (&usual)[n]) {
  if (std::memcmp(values, usual, sizeof usual) == 0) return;
  std::printf(" %s", name);
  for (const T& value : values) std::printf(" %lld", static_cast<long long>(value));
}
template <class T>
void list(const char* name, T value, T usual) {
  if (value != usual) std::printf(" %s %lld", name, static_cast<long long>(value));
}
void print(const Question& q) {
  const Question usual;
  std::printf("%s %s", kNames[q.what], q.im2col ? "im2col" : "tile");
  list("type", q.type, usual.type), list("interleave", q.interleave, usual.interleave), list("swizzle", q.swizzle, usual.swizzle);
  list("rank", q.rank, usual.rank), list("sizes", q.sizes, usual.sizes), list("strides", q.strides, usual.strides), list("box", q.box, usual.box);
  list("steps", q.steps, usual.steps), list("lower", q.lower, usual.lower), list("upper", q.upper, usual.upper), list("pixels", q.pixels, usual.pixels);
  list("channels", q.channels, usual.channels), list("start", q.start, usual.start), list("offsets", q.offsets, usual.offsets);
  std::printf(":");
}

/// @returns whether the process can ask more
bool ask(const Question& q) {
  print(q);
  NEEDED(cudaFree(nullptr));
  std::vector<unsigned> numbers(kUnits * 4ull), landed(kShared / 4);
  for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = i;
  unsigned *tensor, *out, *done;
  NEEDED(cudaMalloc(&tensor, kUnits * 16ull));
  NEEDED(cudaMalloc(&out, kShared));
  NEEDED(cudaMalloc(&done, 4));
  NEEDED(cudaMemcpy(tensor, numbers.data(), kUnits * 16ull, cudaMemcpyHostToDevice));
  NEEDED(cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  CUtensorMap map{};
  const auto type = static_cast<CUtensorMapDataType>(q.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(q.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(q.swizzle);
  const CUresult encoded = q.im2col ? cuTensorMapEncodeIm2col(&map, type, q.rank, tensor + kBase * 4, q.sizes, q.strides, q.lower, q.upper, q.channels, q.pixels, q.steps, interleave,
                                                              swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
                                    : cuTensorMapEncodeTiled(&map, type, q.rank, tensor + kBase * 4, q.sizes, q.strides, q.box, q.steps, interleave, swizzle,
                                                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (encoded != CUDA_SUCCESS) return std::printf(" refused\n"), true;
  copy<<<1, 1, kShared>>>(map, q, out, 0, done);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess)
    return std::printf(error == cudaErrorIllegalInstruction ? " illegal\n" : " error %d\n", error), false;
  if (q.what == kLoad) {
    NEEDED(cudaMemcpy(landed.data(), out, kShared, cudaMemcpyDeviceToHost));
    unsigned written = 0;
    std::printf("%s", units_of(landed.data(), landed.size(), kBase, written).c_str());
    copy<<<1, 1, kShared>>>(map, q, out, written, done);
    unsigned is_done = 0;
    NEEDED(cudaMemcpy(&is_done, done, 4, cudaMemcpyDeviceToHost));
    if (is_done == 0) std::printf(" but counts other bytes");
  } else if (q.what == kStore) {
    std::vector<unsigned> after(numbers.size());
    NEEDED(cudaMemcpy(after.data(), tensor, kUnits * 16ull, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < after.size(); i += 4)
      if (after[i] != i) std::printf(" %d=%u", static_cast<int>(i / 4) - static_cast<int>(kBase), (after[i] - kFromShared) / 4);
  } else {
    std::printf(" legal");
  }
  std::printf("\n");
  for (void* const memory : {static_cast<void*>(tensor), static_cast<void*>(out), static_cast<void*>(done)}) NEEDED(cudaFree(memory));
  return true;
}

}  // namespace

/// An illegal copy ends its process's context, so what follows it has another process.
int main() {
  const auto all = questions();
  void* const shared = mmap(nullptr, kWorkers * sizeof(std::size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const next = static_cast<std::size_t*>(shared);
  std::FILE* answers[kWorkers];
  for (unsigned w = 0; w < kWorkers; ++w) {
    answers[w] = std::tmpfile();
    const std::size_t end = all.size() * (w + 1) / kWorkers;
    next[w] = all.size() * w / kWorkers;
    if (fork() != 0) continue;
    dup2(fileno(answers[w]), 1);
    while (next[w] < end) {
      if (const pid_t child = fork(); child != 0) {
        waitpid(child, nullptr, 0);
        continue;
      }
      while (next[w] < end) {
        const bool goes_on = ask(all[next[w]++]);
        std::fflush(stdout);
        if (!goes_on) break;
      }
      _exit(0);
    }
    _exit(0);
  }
  while (wait(nullptr) > 0) {
  }
  for (std::FILE* const answer : answers) {
    std::rewind(answer);
    for (int c; (c = std::fgetc(answer)) != EOF;) std::putchar(c);
  }
}
