// See dot.h.
#include "driver/graph/dot.h"

#include <fmt/format.h>

#include <fstream>

namespace raddle::driver {
namespace {

constexpr const char* kTypeNames[] = {
    "KERNEL",       "MEMCPY",       "MEMSET",           "HOST",           "GRAPH",     "EMPTY",
    "WAIT_EVENT",   "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE",
    "BATCH_MEM_OP", "CONDITIONAL"};

struct Describe {
  std::string operator()(const KernelNode& node) const {
    const CUDA_KERNEL_NODE_PARAMS& p = node.params;
    return fmt::format("{}\\n<<<({}, {}, {}), ({}, {}, {}), {}>>>", node.function->name, p.gridDimX,
                       p.gridDimY, p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes);
  }
  std::string operator()(const CopyNode& node) const {
    return fmt::format("{} x {} x {} bytes", node.params.WidthInBytes, node.params.Height, node.params.Depth);
  }
  std::string operator()(const FillNode& node) const {
    return fmt::format("{:#x} = {} ({} x {} of {} bytes)", node.params.dst, node.params.value,
                       node.params.width, node.params.height, node.params.elementSize);
  }
  std::string operator()(const HostNode& node) const {
    return fmt::format("function {}", fmt::ptr(reinterpret_cast<const void*>(node.params.fn)));
  }
  std::string operator()(const AllocationNode& node) const {
    return fmt::format("{:#x}: {} bytes", node.memory->address, node.memory->bytes);
  }
  std::string operator()(const FreeNode& node) const { return fmt::format("{:#x}", node.memory->address); }
  std::string operator()(const BatchNode& node) const {
    return fmt::format("{} operations", node.operations.size());
  }
  std::string operator()(const ConditionalNode& node) const {
    constexpr const char* kNames[] = {"IF", "WHILE", "SWITCH"};
    return fmt::format("{} {:#x}", kNames[node.type], node.handle);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

/// Names of kernels may have quotation marks in their templates' arguments.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string name_of(const GraphNode& node) {
  return fmt::format("n{:x}", reinterpret_cast<std::uintptr_t>(node.handle));
}

void print(std::ostream& out, const Graph& graph, bool is_verbose, const std::string& indent) {
  const auto part = [&](const Graph& inner, const std::string& label) {
    out << indent << fmt::format("subgraph cluster_{:x} {{\n", reinterpret_cast<std::uintptr_t>(inner.handle))
        << indent << "  label=\"" << label << "\";\n";
    print(out, inner, is_verbose, indent + "  ");
    out << indent << "}\n";
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = *graph.nodes[i];
    const std::string more = std::visit(Describe{}, node.work);
    const bool says_more = !more.empty() && (is_verbose || std::holds_alternative<KernelNode>(node.work));
    out << indent
        << fmt::format("{} [shape=\"box\", label=\"{}\\n{}{}{}\"];\n", name_of(node), i,
                       kTypeNames[type_of(node.work)], says_more ? "\\n" : "", says_more ? quoted(more) : "");
    if (const auto* child = std::get_if<ChildNode>(&node.work))
      part(*child->graph, fmt::format("{}: child", i));
    if (const auto* conditional = std::get_if<ConditionalNode>(&node.work))
      for (std::size_t body = 0; body < conditional->bodies.size(); ++body)
        part(*conditional->bodies[body], fmt::format("{}: body {}", i, body));
  }
  for (const auto& node : graph.nodes)
    for (const auto& [from, data] : node->dependencies)
      out << indent
          << fmt::format(
                 "{} -> {}{};\n", name_of(*from), name_of(*node),
                 data.from_port == PORT_DEFAULT ? "" : fmt::format(" [label=\"port {}\"]", data.from_port));
}

}  // namespace

Status print_dot(const Graph& graph, const char* path, unsigned flags) {
  std::ofstream out(path);
  out << "digraph dot {\n";
  print(out, graph, (flags & DEBUG_DOT_VERBOSE) != 0, "  ");
  out << "}\n";
  out.flush();
  return out ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

}  // namespace raddle::driver
