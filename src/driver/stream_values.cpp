// Streams that wait for values in memory and write them (cuStreamWaitValue, cuStreamWriteValue,
// cuStreamBatchMemOp). Host, kernels and other streams may be on the other side. A wait occupies no worker
// and no other stream: a thread of the device looks at the values that streams wait for.
#include "driver/stream_values.h"

#include "driver/entry.h"
#include "driver/graph/capture.h"
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

MemoryOperation operation_of(const std::shared_ptr<Context>& context, const Operation& operation) {
  MemoryOperation made;
  if (operation.kind == Operation::wait) {
    made.wait = {reinterpret_cast<void*>(operation.address), operation.bytes, comparison_of(operation.flags),
                 operation.value};
  } else if (operation.kind == Operation::write) {
    AddressInfo info;
    made.write = RowFill{{operation.address}, operation.value, operation.bytes, 1};
    if (find_address(context, operation.address, info) && info.context != nullptr)
      made.write->device = &info.context->device;
  }
  return made;
}

/// The same in the words of the public structure, for a node of a graph.
CUstreamBatchMemOpParams describe(const Operation& operation) {
  const bool is_wide = operation.bytes == 8;
  CUstreamBatchMemOpParams params{};
  params.value = {operation.kind == Operation::wait
                      ? (is_wide ? MEM_OP_WAIT_VALUE_64 : MEM_OP_WAIT_VALUE_32)
                      : (is_wide ? MEM_OP_WRITE_VALUE_64 : MEM_OP_WRITE_VALUE_32),
                  operation.address, operation.value, operation.flags, 0};
  return params;
}

Status append_all(const std::shared_ptr<Context>& context, Stream& stream,
                  const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) TRY(check(context, operation));
  if (stream.is_capturing()) {
    BatchNode node{context};
    for (const Operation& operation : operations) node.operations.push_back(describe(operation));
    return capture(stream, std::move(node));
  }
  TRY(stream.order());
  for (const Operation& operation : operations) {
    const MemoryOperation made = operation_of(context, operation);
    if (made.wait) stream.stream.wait(*made.wait);
    if (made.write) TRY(stream.stream.fill(*made.write));
  }
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

Answer<std::vector<MemoryOperation>> memory_operations(const std::shared_ptr<Context>& context,
                                                       std::span<const CUstreamBatchMemOpParams> params,
                                                       unsigned flags) {
  TRY_ASSIGN(const auto operations,
             read_batch(static_cast<unsigned>(params.size()), params.data(), flags, false));
  std::vector<MemoryOperation> made;
  for (const Operation& operation : operations) {
    TRY(check(context, operation));
    made.push_back(operation_of(context, operation));
  }
  return made;
}

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
