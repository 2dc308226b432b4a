// What the calls for one kind of node are given, as the call for all kinds takes it.
#pragma once

#include <memory>

#include "driver/abi.h"
#include "driver/objects.h"

namespace raddle::driver {

inline CUgraphNodeParams params_of(CUgraphNodeType type) {
  CUgraphNodeParams params{};
  params.type = type;
  return params;
}

inline CUgraphNodeParams params_of(const CUDA_KERNEL_NODE_PARAMS& given) {
  CUgraphNodeParams params = params_of(NODE_KERNEL);
  params.kernel = given;
  return params;
}
inline CUgraphNodeParams params_of(const CUDA_KERNEL_NODE_PARAMS_v1& given) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  static_cast<CUDA_KERNEL_NODE_PARAMS_v1&>(kernel) = given;
  return params_of(kernel);
}
inline CUgraphNodeParams params_of(const CUDA_MEMCPY3D& copy, const std::shared_ptr<Context>& context) {
  CUgraphNodeParams params = params_of(NODE_MEMCPY);
  params.memcpy.copyParams = copy;
  params.memcpy.copyCtx = context->handle;
  return params;
}
inline CUgraphNodeParams params_of(const CUDA_MEMSET_NODE_PARAMS_v1& given,
                                   const std::shared_ptr<Context>& context) {
  CUgraphNodeParams params = params_of(NODE_MEMSET);
  static_cast<CUDA_MEMSET_NODE_PARAMS_v1&>(params.memset) = given;
  params.memset.ctx = context->handle;
  return params;
}
inline CUgraphNodeParams params_of(const CUDA_HOST_NODE_PARAMS& given) {
  CUgraphNodeParams params = params_of(NODE_HOST);
  params.host = given;
  return params;
}
inline CUgraphNodeParams params_of_event(CUgraphNodeType type, CUevent event) {
  CUgraphNodeParams params = params_of(type);
  params.eventWait.event = event;  // that of a record lies there too
  return params;
}
inline CUgraphNodeParams params_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& given) {
  CUgraphNodeParams params = params_of(NODE_BATCH_MEM_OP);
  params.memOp = given;
  return params;
}

}  // namespace raddle::driver
