// Streams that wait for values in memory and write them (cuStreamWaitValue, cuStreamWriteValue,
// cuStreamBatchMemOp). Host, kernels and other streams may be on the other side. A wait occupies no worker
// and no other stream: a thread of the device looks at the values that streams wait for.
#include <vector>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

constexpr unsigned kWaitFlush = 1u << 30, kWaitConditions = 3;

WordCondition::Comparison comparison_of(unsigned flags) {
  switch (flags & kWaitConditions) {
    case WAIT_VALUE_EQ:
      return WordCondition::Comparison::equal;
    case WAIT_VALUE_AND:
      return WordCondition::Comparison::any_common_bit;
    case WAIT_VALUE_NOR:
      return WordCondition::Comparison::any_bit_in_neither;
    default:
      return WordCondition::Comparison::reached;
  }
}

/// One operation, in one form for all calls.
struct Operation {
  enum { wait, write, nothing } kind;
  unsigned bytes;
  CUdeviceptr address;
  std::uint64_t value;
  unsigned flags;
};

Status check(const std::shared_ptr<Context>& context, const Operation& operation) {
  if (operation.kind == Operation::nothing) return CUDA_SUCCESS;
  AddressInfo info;
  if (operation.address == 0 || operation.address % operation.bytes != 0 ||
      !find_address(context, operation.address, info) ||
      operation.bytes > info.base + info.bytes - operation.address)
    return CUDA_ERROR_INVALID_VALUE;
  const CUmemAccess_flags access = operation.kind == Operation::wait ? ACCESS_READ : ACCESS_READ_WRITE;
  if (info.shared != nullptr &&
      !Process::instance().memory.allows(operation.address, operation.bytes, access))
    return CUDA_ERROR_INVALID_VALUE;
  const unsigned known =
      operation.kind == Operation::wait ? kWaitFlush | kWaitConditions : WRITE_VALUE_NO_BARRIER;
  return (operation.flags & ~known) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status append(const std::shared_ptr<Context>& context, raddle::Stream& stream, const Operation& operation) {
  if (operation.kind == Operation::wait) {
    stream.wait({reinterpret_cast<void*>(operation.address), operation.bytes, comparison_of(operation.flags),
                 operation.value});
  } else if (operation.kind == Operation::write) {
    AddressInfo info;
    RowFill fill{{operation.address}, operation.value, operation.bytes, 1};
    if (find_address(context, operation.address, info) && info.context != nullptr)
      fill.device = &info.context->device;
    TRY(stream.fill(fill));
  }
  return CUDA_SUCCESS;
}

Status append_all(const std::shared_ptr<Context>& context, Stream& stream,
                  const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) TRY(check(context, operation));
  stream.order();
  for (const Operation& operation : operations) TRY(append(context, stream.stream, operation));
  return CUDA_SUCCESS;
}

/// Writes have a fence in front of them; only the first form of the calls can do without.
Status check_write_flags(unsigned flags, bool first_form) {
  return flags == 0 || (first_form && flags == WRITE_VALUE_NO_BARRIER) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
}

Status write(const std::shared_ptr<Context>& context, Stream& stream, const Operation& operation,
             bool first_form) {
  TRY(check_write_flags(operation.flags, first_form));
  return append_all(context, stream, {operation});
}

Answer<std::vector<Operation>> read_batch(unsigned count, const CUstreamBatchMemOpParams* parameters,
                                          unsigned flags, bool first_form) {
  constexpr unsigned kMost = 256;
  if (count == 0 || count > kMost || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Operation> operations;
  for (const CUstreamBatchMemOpParams* each = parameters; each != parameters + count; ++each) {
    const auto& [operation, address, value, operation_flags, alias] = each->value;
    switch (each->operation) {
      case MEM_OP_WAIT_VALUE_32:
      case MEM_OP_WAIT_VALUE_64:
        operations.push_back(
            {Operation::wait, operation == MEM_OP_WAIT_VALUE_32 ? 4u : 8u, address, value, operation_flags});
        break;
      case MEM_OP_WRITE_VALUE_32:
      case MEM_OP_WRITE_VALUE_64:
        TRY(check_write_flags(operation_flags, first_form));
        operations.push_back({Operation::write, operation == MEM_OP_WRITE_VALUE_32 ? 4u : 8u, address, value,
                              operation_flags});
        break;
      case MEM_OP_FLUSH_REMOTE_WRITES:  // memory is coherent, and a stream's work in order
        if (each->flags_only.flags != 0) return CUDA_ERROR_INVALID_VALUE;
        break;
      case MEM_OP_BARRIER:
        if (first_form || each->flags_only.flags > 1) return CUDA_ERROR_INVALID_VALUE;
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return operations;
}

}  // namespace

namespace entry {

Status cuStreamWaitValue32(Here context, In<Stream> stream, CUdeviceptr address, std::uint32_t value,
                           unsigned flags) {
  return append_all(context, *stream, {{Operation::wait, 4, address, value, flags}});
}
Status cuStreamWaitValue32_v2(Here context, In<Stream> stream, CUdeviceptr address, std::uint32_t value,
                              unsigned flags) {
  return cuStreamWaitValue32(context, stream, address, value, flags);
}
Status cuStreamWaitValue64(Here context, In<Stream> stream, CUdeviceptr address, std::uint64_t value,
                           unsigned flags) {
  return append_all(context, *stream, {{Operation::wait, 8, address, value, flags}});
}
Status cuStreamWaitValue64_v2(Here context, In<Stream> stream, CUdeviceptr address, std::uint64_t value,
                              unsigned flags) {
  return cuStreamWaitValue64(context, stream, address, value, flags);
}

Status cuStreamWriteValue32(Here context, In<Stream> stream, CUdeviceptr address, std::uint32_t value,
                            unsigned flags) {
  return write(context, *stream, {Operation::write, 4, address, value, flags}, true);
}
Status cuStreamWriteValue32_v2(Here context, In<Stream> stream, CUdeviceptr address, std::uint32_t value,
                               unsigned flags) {
  return write(context, *stream, {Operation::write, 4, address, value, flags}, false);
}
Status cuStreamWriteValue64(Here context, In<Stream> stream, CUdeviceptr address, std::uint64_t value,
                            unsigned flags) {
  return write(context, *stream, {Operation::write, 8, address, value, flags}, true);
}
Status cuStreamWriteValue64_v2(Here context, In<Stream> stream, CUdeviceptr address, std::uint64_t value,
                               unsigned flags) {
  return write(context, *stream, {Operation::write, 8, address, value, flags}, false);
}

Status cuStreamBatchMemOp(Here context, In<Stream> stream, unsigned count,
                          CUstreamBatchMemOpParams* parameters, unsigned flags) {
  TRY_ASSIGN(const auto operations, read_batch(count, parameters, flags, true));
  return append_all(context, *stream, operations);
}
Status cuStreamBatchMemOp_v2(Here context, In<Stream> stream, unsigned count,
                             CUstreamBatchMemOpParams* parameters, unsigned flags) {
  TRY_ASSIGN(const auto operations, read_batch(count, parameters, flags, false));
  return append_all(context, *stream, operations);
}

}  // namespace entry
}  // namespace raddle::driver
