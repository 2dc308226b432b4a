// Clusters of blocks (sm_90) and launches that depend on the one before, as C functions.
// Source: CUDA C++ Programming Guide, "Thread Block Clusters", "Programmatic Dependent Launch"; PTX ISA,
// "barrier.cluster".
#pragma once

#include "raddle/cuda/device/attributes.h"
#include "raddle/cuda/vector_types.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
RADDLE_DEVICE void __cluster_barrier_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
RADDLE_DEVICE void __cluster_barrier_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
RADDLE_DEVICE void __cluster_barrier_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
RADDLE_DEVICE void __threadfence_cluster() { asm volatile("fence.sc.cluster;" ::: "memory"); }
RADDLE_DEVICE dim3 __clusterDim() {
  return dim3(__nvvm_read_ptx_sreg_cluster_nctaid_x(), __nvvm_read_ptx_sreg_cluster_nctaid_y(),
              __nvvm_read_ptx_sreg_cluster_nctaid_z());
}
RADDLE_DEVICE dim3 __clusterRelativeBlockIdx() {
  return dim3(__nvvm_read_ptx_sreg_cluster_ctaid_x(), __nvvm_read_ptx_sreg_cluster_ctaid_y(),
              __nvvm_read_ptx_sreg_cluster_ctaid_z());
}
RADDLE_DEVICE dim3 __clusterIdx() {
  return dim3(__nvvm_read_ptx_sreg_clusterid_x(), __nvvm_read_ptx_sreg_clusterid_y(),
              __nvvm_read_ptx_sreg_clusterid_z());
}
RADDLE_DEVICE dim3 __clusterGridDimInClusters() {
  return dim3(__nvvm_read_ptx_sreg_nclusterid_x(), __nvvm_read_ptx_sreg_nclusterid_y(),
              __nvvm_read_ptx_sreg_nclusterid_z());
}
RADDLE_DEVICE unsigned int __clusterRelativeBlockRank() { return __nvvm_read_ptx_sreg_cluster_ctarank(); }
RADDLE_DEVICE unsigned int __clusterSizeInBlocks() { return __nvvm_read_ptx_sreg_cluster_nctarank(); }
RADDLE_DEVICE unsigned int __clusterDimIsSpecified() { return __nvvm_is_explicit_cluster(); }
/// Where `address`, in this block's shared memory, is in that of the block `rank`.
RADDLE_DEVICE void* __cluster_map_shared_rank(const void* address, unsigned int rank) {
  void* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(address), "r"(rank));
  return there;
}
RADDLE_DEVICE unsigned int __cluster_query_shared_rank(const void* address) {
  unsigned int rank;
  asm("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(address));
  return rank;
}

/// Waits until the launches that this one may overlap with are over, and their writes are seen.
RADDLE_DEVICE void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// This block does not mind if the launch behind this one starts.
RADDLE_DEVICE void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif
