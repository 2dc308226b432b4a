#include "driver/results.h"

#include <cstdio>

#include "base/call_trace.h"
#include "driver/logs.h"

namespace raddle::driver {

const char* result_name(CUresult result) {
  switch (result) {
#define RESULT(name, number, text) \
  case name:                       \
    return #name;
#include "driver/results.def"
#undef RESULT
  }
  return nullptr;
}

const char* result_text(CUresult result) {
  switch (result) {
#define RESULT(name, number, text) \
  case name:                       \
    return text;
#include "driver/results.def"
#undef RESULT
  }
  return nullptr;
}

namespace {

CUresult result_of_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return CUDA_ERROR_INVALID_VALUE;
    case ErrorCode::unsupported:
      return CUDA_ERROR_NOT_SUPPORTED;
    case ErrorCode::not_found:
      return CUDA_ERROR_NOT_FOUND;
    case ErrorCode::out_of_memory:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case ErrorCode::too_large:
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    case ErrorCode::invalid_cluster:
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    case ErrorCode::kernel_fault:
      return CUDA_ERROR_LAUNCH_FAILED;
    case ErrorCode::timeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case ErrorCode::server:
      return CUDA_ERROR_MPS_RPC_FAILURE;
    case ErrorCode::io:
      return CUDA_ERROR_FILE_NOT_FOUND;
  }
  return CUDA_ERROR_UNKNOWN;
}

CUresult result_of_fault(FaultKind kind) {
  switch (kind) {
    case FaultKind::illegal_address:
    case FaultKind::invalid_handle:
    case FaultKind::illegal_cluster_address:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case FaultKind::misaligned_address:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case FaultKind::illegal_instruction:
    case FaultKind::illegal_barrier:
    case FaultKind::unsupported:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case FaultKind::assertion:
      return CUDA_ERROR_ASSERT;
    case FaultKind::stack_overflow:
      return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case FaultKind::timeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case FaultKind::invalid_function:
      return CUDA_ERROR_INVALID_PC;
    case FaultKind::out_of_memory:
      return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case FaultKind::server_lost:
      return CUDA_ERROR_MPS_RPC_FAILURE;
    default:  // trap, deadlock, and what has no name in CUDA
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace

CUresult result_of(const Error& error) {
  if (base::traces_calls()) fmt::print(stderr, "raddle: {}\n", error.to_string());
  log_error(error.to_string());
  return result_of_code(error.code);
}

Status sticky_result(Context& context) {
  const std::optional<Failure> fault = context.device.failure();
  if (!fault) return CUDA_SUCCESS;
  if (!context.reported.exchange(true)) fmt::print(stderr, "raddle: {}\n", fault->text);
  return result_of_fault(fault->kind);
}

Status result_after_wait(Context& context) {
  if (context.destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return sticky_result(context);
}

}  // namespace raddle::driver
