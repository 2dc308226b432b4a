// `raddle inspect`: what each kernel of a file needs, and everything in it that Raddle cannot run, before any
// launch.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/host.h"
#include "cli/images.h"
#include "ptx/parser.h"

namespace raddle::cli {
namespace {

using nlohmann::ordered_json;

struct Kernel {
  ptx::FunctionId id;
  const ptx::Function* function;
  ptx::KernelNeeds needs;
};

/// One unsupported thing over the whole module: where it was met first, how often, which kernels reach it.
struct Missing {
  ptx::Unsupported part;
  std::vector<std::string> kernels;
};

std::vector<Kernel> kernels_of(const ptx::Module& module) {
  std::vector<Kernel> kernels;
  for (ptx::FunctionId id = 0; id < module.functions.size(); ++id) {
    const ptx::Function& function = module.functions[id];
    if (function.is_entry && !function.is_declaration)
      kernels.push_back({id, &function, ptx::analyze(module, id)});
  }
  return kernels;
}

bool reaches(const Kernel& kernel, ptx::FunctionId function) {
  const auto& callees = kernel.needs.callees;
  return kernel.id == function || std::find(callees.begin(), callees.end(), function) != callees.end();
}

void merge(std::vector<Missing>& all, const ptx::Unsupported& part, const std::vector<std::string>& kernels) {
  auto same = [&](const Missing& m) { return m.part.what == part.what && m.part.reason == part.reason; };
  auto found = std::find_if(all.begin(), all.end(), same);
  if (found == all.end()) {
    all.push_back({part, kernels});
    return;
  }
  found->part.count += part.count;
  found->part.first_line = std::min(found->part.first_line, part.first_line);
  for (const std::string& kernel : kernels)
    if (std::find(found->kernels.begin(), found->kernels.end(), kernel) == found->kernels.end())
      found->kernels.push_back(kernel);
}

/// Counted per function, so that a function that two kernels call is not counted twice.
std::vector<Missing> missing_in(const ptx::Module& module, const std::vector<Kernel>& kernels) {
  std::vector<Missing> all;
  for (ptx::FunctionId id = 0; id < module.functions.size(); ++id) {
    std::vector<std::string> users;
    for (const Kernel& kernel : kernels)
      if (reaches(kernel, id)) users.push_back(kernel.function->name);
    for (const ptx::Unsupported& part : module.functions[id].unsupported) merge(all, part, users);
  }
  std::sort(all.begin(), all.end(),
            [](const Missing& a, const Missing& b) { return a.part.first_line < b.part.first_line; });
  return all;
}

/// A module and the findings in it.
struct Inspected {
  explicit Inspected(ptx::Module&& parsed)
      : module(std::move(parsed)), kernels(kernels_of(module)), missing(missing_in(module, kernels)) {}
  Inspected(Inspected&&) = default;  // the kernels point into the module's vectors, which keep their place

  ptx::Module module;
  std::vector<Kernel> kernels;
  std::vector<Missing> missing;
};

bool runnable(const Kernel& kernel) {
  return kernel.needs.unsupported.empty() && kernel.needs.unresolved.empty();
}

/// "256x1x1", or empty when not given.
std::string extents(const std::uint32_t (&value)[3]) {
  return value[0] ? fmt::format("{}x{}x{}", value[0], std::max(1u, value[1]), std::max(1u, value[2]))
                  : std::string();
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string shared_text(const ptx::KernelNeeds& needs) {
  std::vector<std::string> parts;
  if (needs.static_shared) parts.push_back(human_bytes(needs.static_shared) + " static");
  if (needs.has_extern_shared) parts.push_back("dynamic (as the launch says)");
  return join(parts, " + ");
}

std::string notes_text(const ptx::KernelNeeds& needs) {
  std::vector<std::string> notes;
  if (needs.has_atomics) notes.push_back("atomics");
  if (needs.may_wait_on_memory) notes.push_back("may wait on memory");
  if (needs.is_recursive) notes.push_back("recursive");
  if (needs.has_indirect_calls) notes.push_back("indirect calls");
  if (needs.uses_textures) notes.push_back("textures");
  return join(notes, ", ");
}

std::string barrier_text(const ptx::KernelNeeds& needs) {
  if (!needs.has_barrier) return "";
  return needs.barriers == 16 ? "up to 16 (chosen at run time)" : fmt::format("{}", needs.barriers);
}

std::string cluster_text(const ptx::PerformanceDirectives& directives) {
  if (directives.reqnctapercluster[0] != 0)
    return extents(directives.reqnctapercluster) +
           (directives.blocksareclusters ? " (required; grids count clusters)" : " (required)");
  std::string text =
      directives.maxclusterrank != 0 ? fmt::format("at most {} blocks", directives.maxclusterrank) : "";
  if (directives.explicitcluster) text += text.empty() ? "to be given at launch" : ", to be given at launch";
  return text;
}

void print_kernel(const Kernel& kernel) {
  const ptx::KernelNeeds& needs = kernel.needs;
  const ptx::PerformanceDirectives& directives = kernel.function->directives;
  auto line = [](const char* name, const std::string& value) {
    if (!value.empty()) fmt::print("  {:<12} {}\n", name, value);
  };
  fmt::print("\nkernel {}\n", kernel.function->name);
  if (std::string plain = demangle(kernel.function->name); plain != kernel.function->name)
    line("source name", plain);
  line("registers", fmt::format("{} (32-bit, live at once)", needs.registers));
  line("parameters",
       fmt::format("{} in {}", kernel.function->parameters.size(), human_bytes(needs.parameter_bytes)));
  line("shared", shared_text(needs));
  line("local", needs.local_bytes ? human_bytes(needs.local_bytes) + " per thread" : "");
  line("constant", needs.const_bytes ? human_bytes(needs.const_bytes) : "");
  line("barriers", barrier_text(needs));
  line("block", directives.reqntid[0]   ? extents(directives.reqntid) + " (required)"
                : directives.maxntid[0] ? "at most " + extents(directives.maxntid)
                                        : "");
  line("cluster", cluster_text(directives));
  line("uses", notes_text(needs));
  line("unresolved", join(needs.unresolved, ", "));
  if (!needs.unsupported.empty())
    line("cannot run", fmt::format("{} unsupported parts, listed below", needs.unsupported.size()));
}

void print_missing(const std::vector<Missing>& all) {
  if (all.empty()) return;
  fmt::print("\nunsupported\n");
  for (const Missing& missing : all) {
    fmt::print("  {} {}: first at line {}, {} time{}, in {}\n",
               missing.part.unknown ? "unknown instruction" : "not there yet:", missing.part.what,
               missing.part.first_line, missing.part.count, missing.part.count == 1 ? "" : "s",
               missing.kernels.empty() ? "no kernel" : join(missing.kernels, ", "));
    if (!missing.part.reason.empty()) fmt::print("    {}\n", missing.part.reason);
  }
}

ordered_json to_json(const ptx::Unsupported& part) {
  return {{"what", part.what},
          {"reason", part.reason},
          {"first_line", part.first_line},
          {"count", part.count},
          {"unknown", part.unknown}};
}

ordered_json extents_json(const std::uint32_t (&value)[3]) {
  if (value[0] == 0) return nullptr;
  return {value[0], std::max(1u, value[1]), std::max(1u, value[2])};
}

ordered_json to_json(const Kernel& kernel) {
  const ptx::KernelNeeds& needs = kernel.needs;
  const ptx::PerformanceDirectives& directives = kernel.function->directives;
  ordered_json unsupported = ordered_json::array(), largest_cluster = nullptr;
  if (directives.maxclusterrank != 0) largest_cluster = directives.maxclusterrank;
  for (const ptx::Unsupported& part : needs.unsupported) unsupported.push_back(to_json(part));
  return {{"name", kernel.function->name},
          {"source_name", demangle(kernel.function->name)},
          {"line", kernel.function->line},
          {"runnable", runnable(kernel)},
          {"registers", needs.registers},
          {"parameters", kernel.function->parameters.size()},
          {"parameter_bytes", needs.parameter_bytes},
          {"static_shared_bytes", needs.static_shared},
          {"dynamic_shared", needs.has_extern_shared},
          {"local_bytes_per_thread", needs.local_bytes},
          {"constant_bytes", needs.const_bytes},
          {"barriers", needs.has_barrier ? needs.barriers : 0},
          {"atomics", needs.has_atomics},
          {"may_wait_on_memory", needs.may_wait_on_memory},
          {"recursive", needs.is_recursive},
          {"indirect_calls", needs.has_indirect_calls},
          {"textures", needs.uses_textures},
          {"required_block", extents_json(directives.reqntid)},
          {"maximal_block", extents_json(directives.maxntid)},
          {"cluster", extents_json(directives.reqnctapercluster)},
          {"largest_cluster", largest_cluster},
          {"needs_cluster", directives.explicitcluster},
          {"blocks_are_clusters", directives.blocksareclusters},
          {"unresolved", needs.unresolved},
          {"unsupported", unsupported}};
}

ordered_json to_json(const Inspected& inspected) {
  const ptx::Module& module = inspected.module;
  ordered_json document = {{"file", module.name},
                           {"ptx_version", fmt::format("{}.{}", module.version / 10, module.version % 10)},
                           {"target", module.target},
                           {"host", to_json(describe_host())},
                           {"kernels", ordered_json::array()},
                           {"unsupported", ordered_json::array()}};
  for (const Kernel& kernel : inspected.kernels) document["kernels"].push_back(to_json(kernel));
  for (const Missing& missing : inspected.missing) {
    ordered_json entry = to_json(missing.part);
    entry["kernels"] = missing.kernels;
    document["unsupported"].push_back(entry);
  }
  return document;
}

/// One object per module; a list of them where there are several.
void print_json(const std::vector<Inspected>& all) {
  ordered_json document = ordered_json::array();
  for (const Inspected& inspected : all) document.push_back(to_json(inspected));
  if (all.size() == 1) document = ordered_json(document[0]);
  fmt::print("{}\n", document.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_text(const Inspected& inspected) {
  const ptx::Module& module = inspected.module;
  fmt::print("{}: PTX {}.{} for {}, {} kernel{}\n", module.name, module.version / 10, module.version % 10,
             module.target, inspected.kernels.size(), inspected.kernels.size() == 1 ? "" : "s");
  for (const Kernel& kernel : inspected.kernels) print_kernel(kernel);
  print_missing(inspected.missing);
}

/// Reports every error of a text.
int report_all(const std::vector<Error>& errors, std::string_view text) {
  int status = kSuccess;
  for (const Error& error : errors) status = report(error, text);
  return status;
}

Result<void> extract(const std::vector<fatbin::PtxImage>& images, const std::string& directory) {
  for (const fatbin::PtxImage& image : images) {
    const std::filesystem::path path =
        std::filesystem::path(directory) / std::filesystem::path(image.name).filename();
    std::ofstream file(path, std::ios::binary);
    file.write(image.text.data(), static_cast<std::streamsize>(image.text.size()));
    if (!file.flush()) return Error::make(ErrorCode::io, "cannot write {}", path.string());
    fmt::print("{}\n", path.string());
  }
  return {};
}

}  // namespace

int inspect(const InspectOptions& options) {
  Result<std::vector<fatbin::PtxImage>> images = read_images(options.file, options.shape);
  if (!images) return report(images.error());
  if (!options.extract.empty()) {
    Result<void> done = extract(*images, options.extract);
    return done ? int{kSuccess} : report(done.error());
  }
  std::vector<Inspected> all;
  for (const fatbin::PtxImage& image : *images) {
    std::vector<Error> diagnostics;
    Result<ptx::Module> module = ptx::parse(image.text, image.name, &diagnostics);
    if (!module)
      return report_all(diagnostics.empty() ? std::vector{module.error()} : diagnostics, image.text);
    all.emplace_back(std::move(*module));
  }
  if (options.json) {
    print_json(all);
  } else {
    fmt::print("host: {}\n", to_string(describe_host()));
    for (const Inspected& inspected : all) print_text(inspected);
  }
  return std::all_of(all.begin(), all.end(),
                     [](const Inspected& inspected) {
                       return std::all_of(inspected.kernels.begin(), inspected.kernels.end(), runnable);
                     })
             ? kSuccess
             : kUnsupported;
}

}  // namespace raddle::cli
