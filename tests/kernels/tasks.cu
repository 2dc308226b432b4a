// Kernels of queue tasks (include/raddle/device.h), and of tasks that records describe.
// nvcc: -rdc=true -I../../include
#include "raddle/device.h"

// Entries of the queues here.
struct Node {
  unsigned long long value;  // what to note, or how deep the tree is below
  unsigned long long more;   // entries to append
};

// Where it is in its grid, by block.
extern "C" __global__ void where(unsigned* out, unsigned factor) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == 0) out[block] = factor * (block + 1);
}

// What a block knows of itself: at the queue position 4 words.
extern "C" __global__ void who(unsigned long long* out) {
  __shared__ Node entry;
  if (threadIdx.x == 0) entry = raddle::queue_entry<Node>();
  const unsigned long long id = raddle::task_id(), position = raddle::queue_position();
  for (int i = 0; i < 50; ++i) __nanosleep(100);
  __syncthreads();
  const bool same = id == raddle::task_id() && position == raddle::queue_position();
  if (threadIdx.x != blockDim.x - 1) return;
  out[position * 4] = entry.value;
  out[position * 4 + 1] = same ? id : 0;
  out[position * 4 + 2] = reinterpret_cast<unsigned long long>(raddle::task_record());
  out[position * 4 + 3] = blockIdx.x;
}

// Counts entries, their sum, and how many of each value there were.
extern "C" __global__ void tally(unsigned long long* count, unsigned long long* sum, unsigned* seen) {
  const Node entry = raddle::queue_entry<Node>();
  if (threadIdx.x != 0) return;
  atomicAdd(count, 1ull);
  atomicAdd(sum, entry.value);
  if (seen != nullptr) atomicAdd(&seen[entry.value], 1u);
}

// A binary tree: every entry appends its children, or works on them itself while there is no room.
__device__ void visit(Node node, unsigned long long* visited, unsigned long long* full) {
  unsigned long long below[64], depth = 0;
  below[depth++] = node.value;
  while (depth != 0) {
    const unsigned long long level = below[--depth];
    atomicAdd(visited, 1ull);
    for (int child = 0; child < 2 && level != 0; ++child) {
      const raddle::Append appended = raddle::append(Node{level - 1, 0});
      if (appended == raddle::Append::done) continue;
      if (appended != raddle::Append::full) __trap();
      atomicAdd(full, 1ull);
      below[depth++] = level - 1;
    }
  }
}
extern "C" __global__ void tree(unsigned long long* visited, unsigned long long* full) {
  if (threadIdx.x == 0) visit(raddle::queue_entry<Node>(), visited, full);
}

// A producer: appends its numbers to a queue of another task, and tries again while that is full.
extern "C" __global__ void produce(const raddle::TaskRecord* queue, unsigned count, unsigned long long* refused) {
  const unsigned long long first = (blockIdx.x * blockDim.x + threadIdx.x) * static_cast<unsigned long long>(count);
  for (unsigned i = 0; i < count;) {
    const raddle::Append appended = raddle::append(Node{first + i, 0}, queue);
    if (appended == raddle::Append::done) ++i;
    if (appended == raddle::Append::full) __nanosleep(1000);
    if (appended == raddle::Append::closed || appended == raddle::Append::refused) {
      atomicAdd(refused, 1ull);
      return;
    }
  }
}

// Entry k appends a child for each of `more` records, and each child appends entries in turn.
extern "C" __global__ void with_children(const raddle::TaskRecord* child, unsigned long long* count,
                                         unsigned long long* sum) {
  const Node entry = raddle::queue_entry<Node>();
  if (threadIdx.x != 0) return;
  atomicAdd(count, 1ull);
  atomicAdd(sum, entry.value);
  for (unsigned long long i = 0; i < entry.more; ++i)
    while (raddle::append_task(child) == raddle::Append::full) __nanosleep(1000);
}

// What the calls answer that have nothing to do.
extern "C" __global__ void calls(unsigned* out, const raddle::TaskRecord* queue) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  const Node node{1, 2};
  out[0] = raddle::queue_position() == ~0ull;
  out[1] = raddle_queue_entry(out, 16);
  out[2] = static_cast<unsigned>(raddle::append(node));
  out[3] = static_cast<unsigned>(raddle::append(1ull, queue));
  out[4] = static_cast<unsigned>(raddle::append(node, queue));
  out[5] = static_cast<unsigned>(raddle::close_queue(queue));
  out[6] = static_cast<unsigned>(raddle::append(node, queue));
  out[7] = static_cast<unsigned>(raddle::close_queue());
  out[8] = raddle::task_record() == nullptr;
}

// Overwrites memory that is not its own business: its task's record and slots.
extern "C" __global__ void vandal(unsigned char* memory, unsigned bytes, unsigned long long* count) {
  const Node entry = raddle::queue_entry<Node>();
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) memory[i] = 0xa5;
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicAdd(count, 1ull);
  if (entry.more == 1) raddle::append(Node{0, 0});  // else the entry was overwritten before it was taken
}

// Appends from, or into, memory that is not there.
extern "C" __global__ void wild(const void* nowhere, unsigned what) {
  if (threadIdx.x != 3) return;
  if (what == 0) raddle_queue_append(nullptr, nowhere, 16);
  if (what == 1) raddle_queue_entry(const_cast<void*>(nowhere), 16);
  if (what == 2) raddle_queue_append_task(nullptr, nowhere);
}

// Notes in which order tasks ran.
extern "C" __global__ void note_order(unsigned* log, unsigned* count, unsigned who) {
  if (threadIdx.x == 0) log[atomicAdd(count, 1u)] = who;
}

// Says that it runs, behind the word by which somebody opens it.
extern "C" __global__ void gate(volatile unsigned* open) {
  open[1] = 1;
  while (*open == 0) __nanosleep(1000);
}
