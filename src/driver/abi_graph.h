// The part of the driver API's binary interface that is about graphs and captures. Included by abi.h, which
// has the basic types.
#pragma once

#include "driver/abi_memory.h"

namespace raddle::driver {

using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUuserObject = struct CUuserObject_st*;
using CUgraphConditionalHandle = std::uint64_t;

enum CUgraphNodeType : int {
  NODE_KERNEL = 0,
  NODE_MEMCPY = 1,
  NODE_MEMSET = 2,
  NODE_HOST = 3,
  NODE_GRAPH = 4,
  NODE_EMPTY = 5,
  NODE_WAIT_EVENT = 6,
  NODE_EVENT_RECORD = 7,
  NODE_EXT_SEMAS_SIGNAL = 8,
  NODE_EXT_SEMAS_WAIT = 9,
  NODE_MEM_ALLOC = 10,
  NODE_MEM_FREE = 11,
  NODE_BATCH_MEM_OP = 12,
  NODE_CONDITIONAL = 13
};

struct CUDA_KERNEL_NODE_PARAMS_v1 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};

struct CUDA_KERNEL_NODE_PARAMS : CUDA_KERNEL_NODE_PARAMS_v1 {
  CUkernel kern;
  CUcontext ctx;
};

struct CUDA_MEMCPY_NODE_PARAMS {
  int flags, reserved;
  CUcontext copyCtx;
  CUDA_MEMCPY3D copyParams;
};

struct CUDA_MEMSET_NODE_PARAMS_v1 {
  CUdeviceptr dst;
  std::size_t pitch;
  unsigned value, elementSize;
  std::size_t width, height;
};

struct CUDA_MEMSET_NODE_PARAMS : CUDA_MEMSET_NODE_PARAMS_v1 {
  CUcontext ctx;
};

struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void* userData;
};

enum CUgraphChildGraphNodeOwnership : int { CHILD_GRAPH_CLONE = 0, CHILD_GRAPH_MOVE = 1 };

struct CUDA_CHILD_GRAPH_NODE_PARAMS {
  CUgraph graph;
  CUgraphChildGraphNodeOwnership ownership;
};

struct CUDA_EVENT_NODE_PARAMS {
  CUevent event;
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
  CUmemPoolProps poolProps;
  const CUmemAccessDesc* accessDescs;
  std::size_t accessDescCount, bytesize;
  CUdeviceptr dptr;
};

struct CUDA_MEM_FREE_NODE_PARAMS {
  CUdeviceptr dptr;
};

struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
  CUcontext ctx;
  unsigned count;
  CUstreamBatchMemOpParams* paramArray;
  unsigned flags;
};

enum CUgraphConditionalNodeType : int { CONDITIONAL_IF = 0, CONDITIONAL_WHILE = 1, CONDITIONAL_SWITCH = 2 };

struct CUDA_CONDITIONAL_NODE_PARAMS {
  CUgraphConditionalHandle handle;
  CUgraphConditionalNodeType type;
  unsigned size;
  CUgraph* phGraph_out;
  CUcontext ctx;
};

struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY_NODE_PARAMS memcpy;
    CUDA_MEMSET_NODE_PARAMS memset;
    CUDA_HOST_NODE_PARAMS host;
    CUDA_CHILD_GRAPH_NODE_PARAMS graph;
    CUDA_EVENT_NODE_PARAMS eventWait;
    CUDA_EVENT_NODE_PARAMS eventRecord;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUDA_MEM_FREE_NODE_PARAMS free;
    CUDA_BATCH_MEM_OP_NODE_PARAMS memOp;
    CUDA_CONDITIONAL_NODE_PARAMS conditional;
  };
  long long reserved2;
};

enum : unsigned char { DEPENDENCY_DEFAULT = 0, DEPENDENCY_PROGRAMMATIC = 1 };
/// Ports of kernel nodes, at the beginning of an edge.
enum : unsigned char { PORT_DEFAULT = 0, PORT_PROGRAMMATIC = 1, PORT_LAUNCH_ORDER = 2 };

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
  bool operator==(const CUgraphEdgeData&) const = default;
};

enum : unsigned long long {
  INSTANTIATE_AUTO_FREE_ON_LAUNCH = 1,
  INSTANTIATE_UPLOAD = 2,
  INSTANTIATE_DEVICE_LAUNCH = 4,
  INSTANTIATE_USE_NODE_PRIORITY = 8
};

enum CUgraphInstantiateResult : int {
  INSTANTIATE_SUCCESS = 0,
  INSTANTIATE_ERROR = 1,
  INSTANTIATE_INVALID_STRUCTURE = 2,
  INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED = 3,
  INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED = 4,
  INSTANTIATE_CONDITIONAL_HANDLE_UNUSED = 5
};

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
  std::uint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  CUgraphInstantiateResult result_out;
};

enum CUgraphExecUpdateResult : int {
  UPDATE_SUCCESS = 0,
  UPDATE_ERROR = 1,
  UPDATE_TOPOLOGY_CHANGED = 2,
  UPDATE_NODE_TYPE_CHANGED = 3,
  UPDATE_FUNCTION_CHANGED = 4,
  UPDATE_PARAMETERS_CHANGED = 5,
  UPDATE_NOT_SUPPORTED = 6,
  UPDATE_UNSUPPORTED_FUNCTION_CHANGE = 7,
  UPDATE_ATTRIBUTES_CHANGED = 8
};

struct CUgraphExecUpdateResultInfo {
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode, errorFromNode;
};

enum CUgraphMem_attribute : int {
  GRAPH_MEM_USED_CURRENT = 0,
  GRAPH_MEM_USED_HIGH = 1,
  GRAPH_MEM_RESERVED_CURRENT = 2,
  GRAPH_MEM_RESERVED_HIGH = 3
};

enum : unsigned {
  CONDITION_ASSIGN_DEFAULT = 1,
  USER_OBJECT_NO_DESTRUCTOR_SYNC = 1,
  USER_OBJECT_MOVE = 1,
  DEBUG_DOT_VERBOSE = 1
};

enum CUstreamCaptureStatus : int { CAPTURE_NONE = 0, CAPTURE_ACTIVE = 1, CAPTURE_INVALIDATED = 2 };
enum CUstreamCaptureMode : int { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 };
enum : unsigned { CAPTURE_ADD_DEPENDENCIES = 0, CAPTURE_SET_DEPENDENCIES = 1 };
/// Flags of cuEventRecordWithFlags and cuStreamWaitEvent.
enum : unsigned { EVENT_EXTERNAL = 1 };

/// Values of kernel nodes' attributes are those of launches'.
using CUkernelNodeAttrValue = decltype(CUlaunchAttribute::value);

}  // namespace raddle::driver
