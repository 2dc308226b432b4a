// Text of a kernel's fault, one fact per clause so that a person finds the thread and the line at once.
#include "exec/fault.h"

#include <fmt/format.h>

#include <iterator>

#include "base/assert.h"

namespace raddle::exec {

std::string_view fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "no fault";
    case FaultKind::illegal_address:
      return "illegal address";
    case FaultKind::misaligned_address:
      return "misaligned address";
    case FaultKind::illegal_instruction:
      return "illegal instruction";
    case FaultKind::trap:
      return "trap";
    case FaultKind::assertion:
      return "assertion failed";
    case FaultKind::stack_overflow:
      return "stack overflow";
    case FaultKind::illegal_barrier:
      return "illegal barrier";
    case FaultKind::deadlock:
      return "deadlock";
    case FaultKind::timeout:
      return "time limit exceeded";
    case FaultKind::cancelled:
      return "cancelled";
    case FaultKind::division:
      return "division fault";
    case FaultKind::invalid_function:
      return "invalid function pointer";
    case FaultKind::unsupported:
      return "unsupported operation";
    case FaultKind::out_of_memory:
      return "out of memory";
    case FaultKind::invalid_handle:
      return "invalid texture or surface handle";
    case FaultKind::illegal_cluster_address:
      return "illegal cluster address";
    case FaultKind::server_lost:
      return "the server that ran it has gone";
    case FaultKind::invalid_task:
      return "invalid task record";
  }
  RADDLE_UNREACHABLE("fault kind");
}

namespace {
bool names_address(FaultKind kind) {
  return kind == FaultKind::illegal_address || kind == FaultKind::misaligned_address ||
         kind == FaultKind::invalid_function || kind == FaultKind::invalid_handle ||
         kind == FaultKind::illegal_cluster_address;
}
}  // namespace

std::optional<std::uint64_t> misaligned_from(std::uint64_t address) {
  constexpr unsigned kUserBits = 47;
  for (unsigned bits = 1; bits <= 6; ++bits) {
    const std::uint64_t low = address & ((1u << bits) - 1), was = address - (low << (64 - bits));
    if (low != 0 && was >> kUserBits == 0) return was;
  }
  return {};
}

std::string Fault::to_string() const {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{}", fault_name(kind));
  if (names_address(kind) && address_known) fmt::format_to(out, " {:#x}", address);
  text += place();
  if (!detail.empty()) text += ": " + detail;
  return text;
}

std::string Fault::place() const {
  std::string text;
  auto out = std::back_inserter(text);
  if (!kernel.empty()) fmt::format_to(out, " in kernel {}", kernel);
  if (block_known) fmt::format_to(out, ", block ({},{},{})", ctaid[0], ctaid[1], ctaid[2]);
  if (thread_known) fmt::format_to(out, ", thread ({},{},{})", tid[0], tid[1], tid[2]);
  if (ptx_line != 0) fmt::format_to(out, ", PTX line {}", ptx_line);
  if (!source.empty()) fmt::format_to(out, " ({})", source);
  return text;
}

}  // namespace raddle::exec
