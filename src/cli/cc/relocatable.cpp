#include "cli/cc/relocatable.h"

#include <fmt/format.h>

#include "cli/cc/assembly.h"
#include "ptx/device_services.h"
#include "ptx/parser.h"

namespace raddle::cli {
namespace {

constexpr std::string_view kRegister = "@__cudaRegisterLinkedBinary_";

/// `c"..."` of the assembly.
std::string quoted(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\')
      text += c;
    else
      text.append({'\\', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return text;
}

/// Assembler text for the host: what the module defines and what it lacks.
class Symbols {
 public:
  void add(std::string_view name, ptx::Linkage linkage, bool is_here) {
    if (linkage == ptx::Linkage::none) return;
    if (!is_here)
      text_ += fmt::format(".quad raddle.device.{}\n", name);
    else
      text_ += fmt::format("{0} raddle.device.{1}\nraddle.device.{1}: .byte 0\n",
                           linkage == ptx::Linkage::visible ? ".globl" : ".weak", name);
  }
  std::string assembly() const {
    std::string lines;
    const std::string all = ".pushsection .raddle.device,\"\",@progbits\n" + text_ + ".popsection\n";
    for (std::string_view line : lines_of(all)) lines += fmt::format("module asm \"{}\"\n", quoted(line));
    return lines;
  }

 private:
  std::string text_;
};

/// Functions that are there without a definition: the machine's, the device library's and libdevice's.
bool is_provided(std::string_view name) {
  return ptx::names_device_service(name) || name.starts_with("cudaCG") || name.starts_with("__nv_");
}

Result<std::string> symbols_of(std::string_view ptx) {
  TRY_ASSIGN(const ptx::Module module, ptx::parse(ptx, "<device code>"));
  Symbols symbols;
  for (const ptx::Function& function : module.functions)
    if (!function.is_entry && !(function.is_declaration && is_provided(function.name)))
      symbols.add(function.name, function.linkage, !function.is_declaration);
  for (const ptx::Variable& variable : module.variables) {
    const bool is_global = variable.space == ptx::Space::global || variable.space == ptx::Space::const_;
    if (is_global && variable.function == ptx::kNone)
      symbols.add(variable.name, variable.linkage, variable.linkage != ptx::Linkage::extern_);
  }
  return symbols.assembly();
}

}  // namespace

std::map<std::string, std::string> unique_names(std::string_view host) {
  std::map<std::string, std::string> names;
  for (std::string_view line : lines_of(host)) {
    if (!line.starts_with("@") || line.find(" = private unnamed_addr constant ") == std::string_view::npos)
      continue;
    const std::string unique(word_after(line, " c\"", "\\\""));
    for (const char* mark : {"__static__", "__intern__"})
      if (const std::size_t at = unique.rfind(mark); at != std::string::npos && at > 0)
        names[unique.substr(0, at)] = unique;
  }
  return names;
}

std::string with_names(std::string_view ptx, const std::map<std::string, std::string>& names) {
  const auto is_of_word = [](char c) { return is_of_name(c) && c != '.' && c != '-'; };
  std::string result;
  for (std::size_t at = 0; at < ptx.size();) {
    std::size_t end = at;
    while (end < ptx.size() && is_of_word(ptx[end])) ++end;
    if (end == at) ++end;
    const std::string word(ptx.substr(at, end - at));
    const auto found = names.find(word);
    result += found == names.end() ? word : found->second;
    at = end;
  }
  return result;
}

Result<std::string> make_relocatable(std::string_view host, std::string_view ptx,
                                     std::string_view container) {
  TRY_ASSIGN(const std::string symbols, symbols_of(ptx));
  std::string result;
  for (std::string_view line : lines_of(host)) {
    if (line.starts_with("@") && line.ends_with(", section \"__nv_relfatbin\", align 8")) {
      result += fmt::format("{} = private constant [{} x i8] c\"{}\", section \"__nv_relfatbin\", align 8\n",
                            line.substr(0, line.find(' ')), container.size(), quoted(container));
    } else if (const std::size_t at = line.find(kRegister); at != std::string_view::npos) {
      if (line.starts_with("declare ")) continue;  // it is defined here
      const std::size_t end = line.find('(', at);
      result.append(line.substr(0, at))
          .append("@raddle_register_linked")
          .append(line.substr(end))
          .push_back('\n');
    } else if (!line.starts_with("@__fatbinwrap_")) {  // a name that two files of one name would share
      result.append(line).push_back('\n');
    }
    if (line.starts_with("target triple")) result += symbols;
  }
  return result;
}

}  // namespace raddle::cli
