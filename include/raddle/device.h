// Raddle's own extension for kernels: questions that CUDA cannot express (W-15), and queue tasks
// (docs/tasks.md). CUDA C++ code includes it, compiled to PTX by `raddle cc` or `nvcc -ptx`; PTX declares
//   .extern .func (.param .b32 answer) raddle_cluster_info (.param .b32 level, .param .b32 value);
#pragma once

#include "raddle/task_record.h"

namespace raddle {

/// What raddle_cluster_info() answers. Levels count from 0, the outermost of the launch's clusters of
/// clusters (LaunchConfig::clusters); CUDA's clusters are one level, the innermost. The outermost level of a
/// cooperative grid is the whole grid.
enum class ClusterValue : unsigned {
  depth,   ///< levels of nesting; 0: a plain grid
  domain,  ///< the level's part of the machine, a raddle::Level as a number
  id_x,    ///< the block's cluster of the level, among all of that level in the grid
  id_y,
  id_z,
  extent_x,  ///< of a cluster of the level: in clusters of the next one, of the innermost in blocks
  extent_y,
  extent_z,
  rank,      ///< of the block in its cluster of the level, in the order in which blocks are launched
  size,      ///< blocks in it
  sm,        ///< that the block is on
  gpc,       ///< that the SM is in
  local_id,  ///< of the innermost cluster, among those that are resident in its GPC
};

}  // namespace raddle

#if defined(__CUDACC__) || defined(__CUDA__)
/// Where the calling block is. `level` counts for domain to size only.
/// @param value  a raddle::ClusterValue
/// @returns all ones if there is no value: a level that the grid lacks, a local id without clusters
extern "C" __device__ unsigned raddle_cluster_info(unsigned level, unsigned value);

namespace raddle {
__device__ inline unsigned cluster_info(ClusterValue value, unsigned level = 0) {
  return raddle_cluster_info(level, static_cast<unsigned>(value));
}
}  // namespace raddle

// Of the task that the calling block is of. A queue is named by the address of its task's record, 0 is the
// block's own; an append holds for the calling thread alone, so mostly one thread of a block calls it.
extern "C" __device__ unsigned long long raddle_task_record();
extern "C" __device__ unsigned long long raddle_queue_position();
extern "C" __device__ unsigned raddle_queue_entry(void* to, unsigned long long bytes);
extern "C" __device__ unsigned raddle_queue_append(const void* queue, const void* entry,
                                                   unsigned long long bytes);
extern "C" __device__ unsigned raddle_queue_append_task(const void* queue, const void* record);
extern "C" __device__ unsigned raddle_queue_close(const void* queue);

namespace raddle {
/// A number that no other launch of the address space has. All blocks of a task see the same.
__device__ inline unsigned long long task_id() {
  unsigned long long id;
  asm("mov.u64 %0, %%gridid;" : "=l"(id));
  return id;
}
/// The record that the task was launched from, which may have been overwritten since; null: none.
__device__ inline TaskRecord* task_record() { return reinterpret_cast<TaskRecord*>(raddle_task_record()); }

/// Of the block's entry among all that were appended to its queue, from 0 on; all ones: of no queue task.
__device__ inline unsigned long long queue_position() { return raddle_queue_position(); }
/// The block's entry: a copy of what lay in its slot when the block started. Asserts that it is an Entry.
template <class Entry>
__device__ Entry queue_entry() {
  Entry entry;
  if (!raddle_queue_entry(&entry, sizeof entry)) __trap();
  return entry;
}
/// @param queue  the record of a queue task that has been launched; null: the block's own
template <class Entry>
__device__ Append append(const Entry& entry, const TaskRecord* queue = nullptr) {
  return static_cast<Append>(raddle_queue_append(queue, &entry, sizeof entry));
}
/// An entry that launches the task of a record, as a child of the queue's task, when its turn comes.
__device__ inline Append append_task(const TaskRecord* record, const TaskRecord* queue = nullptr) {
  return static_cast<Append>(raddle_queue_append_task(queue, record));
}
/// Entries that have been appended are worked off; no more are taken. @returns done, or refused: no such
/// queue
__device__ inline Append close_queue(const TaskRecord* queue = nullptr) {
  return static_cast<Append>(raddle_queue_close(queue));
}
}  // namespace raddle
#endif
