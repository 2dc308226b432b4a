// Raddle's own extension for kernels: questions that CUDA cannot express (W-15). CUDA C++ code includes it,
// compiled to PTX by `raddle cc` or `nvcc -ptx`; PTX declares
//   .extern .func (.param .b32 answer) raddle_cluster_info (.param .b32 level, .param .b32 value);
#pragma once

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
#endif
