// What a kernel needs and whether it can run, in the API's words; and source positions of PTX lines.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "machine/shape/host.h"
#include "ptx/link.h"
#include "ptx/parser.h"
#include "runtime/device_impl.h"

namespace raddle {
namespace {

KernelParameter describe_parameter(const ptx::Variable& variable) {
  return {variable.name, std::string(isa::type_name(variable.type)), variable.size, variable.offset,
          variable.is_pointer};
}

/// Everything that keeps a kernel from running, at once (K-17, K-18).
std::vector<std::string> obstacles(const ptx::Module& program, const ptx::Function& function,
                                   const ptx::KernelNeeds& needs) {
  std::vector<std::string> list;
  for (const ptx::Unsupported& item : needs.unsupported) {
    list.push_back(fmt::format("line {}: {} ({} time{}): {}", ptx::line_name(program, item.first_line),
                               item.what, item.count, item.count == 1 ? "" : "s", item.reason));
  }
  for (const std::string& name : needs.unresolved)
    list.push_back(fmt::format("function {} is not defined", name));
  const ptx::PerformanceDirectives& directives = function.directives;
  if (directives.blocksareclusters && (directives.reqntid[0] == 0 || directives.reqnctapercluster[0] == 0))
    list.push_back(".blocksareclusters without .reqntid and .reqnctapercluster");
  return list;
}

/// As many as ptxas would take: what the code needs, within what an SM gives a thread, the text allows, and
/// leaves room for the blocks that the text promises.
std::uint32_t registers_of(const ptx::KernelNeeds& needs, const ptx::PerformanceDirectives& directives) {
  constexpr std::uint32_t kMost = 255, kOfAnSm = 65536, kUnit = 8;
  std::uint32_t registers = std::min(needs.registers, kMost);
  if (directives.maxnreg != 0) registers = std::min(registers, directives.maxnreg);
  const auto& block = directives.reqntid[0] != 0 ? directives.reqntid : directives.maxntid;
  std::uint64_t threads = std::max(1u, directives.minnctapersm);
  for (const std::uint32_t extent : block) threads *= std::max(1u, extent);
  if (threads > 1 && threads <= kOfAnSm / kUnit)
    registers = std::min(registers, static_cast<std::uint32_t>(kOfAnSm / threads / kUnit * kUnit));
  return registers;
}

}  // namespace

KernelInfo describe(const ptx::Module& program, ptx::FunctionId id) {
  const ptx::Function& function = program.functions[id];
  const ptx::KernelNeeds needs = ptx::analyze(program, id);
  const ptx::SharedLayout shared = ptx::shared_layout(program, id);
  KernelInfo info;
  info.name = function.name;
  for (const ptx::VariableId parameter : function.parameters)
    info.parameters.push_back(describe_parameter(program.variables[parameter]));
  info.parameter_bytes = function.parameter_bytes;
  info.registers = registers_of(needs, function.directives);
  info.barriers = needs.barriers;
  info.static_shared_bytes = shared.static_bytes;
  info.local_bytes_per_thread = needs.local_bytes;
  info.constant_bytes = needs.const_bytes;
  info.uses_dynamic_shared = shared.has_dynamic;
  info.required_block = extents(function.directives.reqntid);
  info.largest_block = extents(function.directives.maxntid);
  info.required_cluster = extents(function.directives.reqnctapercluster);
  info.largest_cluster = function.directives.maxclusterrank;
  info.needs_cluster = function.directives.explicitcluster;
  info.blocks_are_clusters = function.directives.blocksareclusters;
  info.lets_dependents_begin = needs.lets_dependents_begin;
  info.calls_device_runtime = needs.calls_device_runtime;
  info.ptx_capability = ptx::target_capability(program);
  info.unsupported = obstacles(program, function, needs);
  return info;
}

void fill_occupancy(machine::GridWork& grid, const KernelInfo& info, std::uint32_t threads,
                    std::uint64_t dynamic_shared) {
  grid.threads_per_block = threads;
  grid.registers = info.registers;
  grid.shared_model_bytes = exec::kReservedShared + info.static_shared_bytes + dynamic_shared;
}

std::unique_ptr<Kernel::Impl> describe_kernel(Module::Impl& module, ptx::FunctionId id) {
  auto kernel = std::make_unique<Kernel::Impl>();
  kernel->module = &module;
  kernel->id = id;
  kernel->info = describe(module.program, id);
  kernel->shared = ptx::shared_layout(module.program, id);
  if (!kernel->info.unsupported.empty()) {
    kernel->unusable.message = fmt::format("kernel '{}' cannot run:", kernel->info.name);
    for (const std::string& item : kernel->info.unsupported) kernel->unusable.message += "\n  " + item;
  }
  return kernel;
}

Dim3 Kernel::suggested_block() const {
  const KernelInfo& info = impl_->info;
  if (info.required_block.x != 0) return info.required_block;
  const Dim3 bound = info.largest_block;
  if (bound.y > 1 || bound.z > 1) return {bound.x, bound.y, std::max(1u, bound.z)};
  std::uint32_t threads = std::min(256u, bound.x != 0 ? bound.x : 256u);
  const std::uint64_t cache = machine::host_info().l1_data_bytes;
  while (threads > 32 && info.static_shared_bytes + threads * info.local_bytes_per_thread > cache)
    threads = (threads - 1) / 32 * 32;
  return {threads, 1, 1};
}

std::string source_of_line(const void* owner, std::uint32_t ptx_line) {
  const ptx::Module& program = static_cast<const Module::Impl*>(owner)->program;
  for (const ptx::Function& function : program.functions) {
    for (const ptx::Instruction& instruction : function.instructions) {
      if (instruction.line != ptx_line || instruction.location == ptx::kNone) continue;
      std::string text;
      for (std::uint32_t at = instruction.location; at != ptx::kNone; at = program.locations[at].inlined_at) {
        const ptx::Location& location = program.locations[at];
        const std::string file = location.file < program.files.size() ? program.files[location.file] : "?";
        fmt::format_to(std::back_inserter(text), "{}{}:{}", text.empty() ? "" : " inlined at ", file,
                       location.line);
      }
      return text;
    }
  }
  // Lines of linked modules count through all texts; say which text it is.
  if (!program.parts.empty()) return ptx::line_name(program, ptx_line);
  return {};
}

}  // namespace raddle
