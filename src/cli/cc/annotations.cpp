// Annotations in LLVM's assembly. Five kinds of lines matter:
//   @.str = ... c"raddle.cluster_dims\00" ...           a name
//   @.args = ... { i32, i32 } { i32 2, i32 1 } ...      arguments
//   @llvm.global.annotations = ... { ptr @kernel, ptr @.str, ptr @.str1, i32 2, ptr @.args }, ...
//   call void @llvm.var.annotation.p0.p0(ptr %0, ptr @.str, ...)   in a kernel, of a parameter passed by
//   value
//   @x = ... global i32 3, section "raddle.managed", align 4       a managed variable
#include "cli/cc/annotations.h"

#include <fmt/format.h>

#include <regex>
#include <set>
#include <vector>

#include "cli/cc/assembly.h"

namespace raddle::cli {
namespace {

using View = std::string_view;

/// The numbers of `{ i32, i32 } { i32 2, i32 1 }`.
std::vector<std::string> numbers_of(View line) {
  std::vector<std::string> numbers;
  static const std::regex kNumber("i32 (-?[0-9]+)");
  const std::string text(line);
  for (std::sregex_iterator at(text.begin(), text.end(), kNumber), end; at != end; ++at)
    numbers.push_back((*at)[1]);
  return numbers;
}

class Lowering {
 public:
  explicit Lowering(View code) : lines_(lines_of(code)) {}

  Annotated run() {
    for (View line : lines_) read_constant(line);
    std::string kernel, parameters;
    for (View line : lines_) {
      if (line.starts_with("@llvm.global.annotations")) {
        read_functions(line);
        continue;
      }
      if (line.starts_with("@") && line.find(kManagedMark) != View::npos) {
        append_managed(line);
        continue;
      }
      if (line.starts_with("define ")) {
        kernel = word_after(line, "@", "(");
        parameters = line.substr(line.find('('));
      }
      if (line.find("call void @llvm.var.annotation") != View::npos &&
          read_parameter(line, kernel, parameters))
        continue;
      if (line.starts_with("!nvvm.annotations = !{")) line = take_list(line);
      result_.code.append(line).push_back('\n');
    }
    append_metadata();
    return std::move(result_);
  }

 private:
  void read_constant(View line) {
    if (!line.starts_with("@.str") && !line.starts_with("@.args")) return;
    const std::string name(line.substr(0, line.find(' ')));
    if (line.find("c\"raddle.") != View::npos) names_[name] = word_after(line, "c\"raddle.", "\\\"");
    if (line.starts_with("@.args")) arguments_[name] = numbers_of(line);
  }

  void read_functions(View line) {
    static const std::regex kEntry(
        "\\{ ptr (@[^ ,]+), ptr (@[^ ,]+), ptr [^ ,]+, i32 [0-9]+, ptr ([^ ,]+) \\}");
    const std::string text(line);
    for (std::sregex_iterator at(text.begin(), text.end(), kEntry), end; at != end; ++at) {
      const std::string function = (*at)[1], name = names_[(*at)[2]];
      std::vector<std::string> numbers = arguments_[(*at)[3]];
      if (name == "cluster_dims") {
        numbers.resize(3, "1");
        result_.clusters[function.substr(1)] = fmt::format("{}, {}, {}", numbers[0], numbers[1], numbers[2]);
      } else if (name == "maxnreg" && !numbers.empty()) {
        nodes_.push_back(fmt::format("!{{ptr {}, !\"maxnreg\", i32 {}}}", function, numbers[0]));
      }
    }
  }

  void append_managed(View line) {
    const std::size_t mark = line.find(kManagedMark);
    result_.code.append(line.substr(0, mark)).append(line.substr(mark + kManagedMark.size())).push_back('\n');
    const View name = line.substr(0, line.find(' '));
    result_.has_managed = true;
    nodes_.push_back(fmt::format("!{{ptr addrspace(1) {}, !\"managed\", i32 1}}", name));
  }

  /// True if the annotation is ours: then its line goes.
  bool read_parameter(View line, const std::string& kernel, const std::string& parameters) {
    const std::string name(word_after(line, ", ptr ", ","));
    if (names_[name] != "grid_constant") return false;
    const std::string value(word_after(line, "(ptr ", ","));  // %0, or a local copy's name for a scalar
    int index = 0;
    static const std::regex kParameter("byval\\([^)]*\\)[^,]* (%[0-9A-Za-z._]+)[,)]|(,)");
    for (std::sregex_iterator at(parameters.begin(), parameters.end(), kParameter), end; at != end; ++at) {
      const std::string match = at->str();
      if ((*at)[1] == value) constants_[kernel].insert(index + 1);
      if (match.back() == ',') ++index;
    }
    return true;
  }

  View take_list(View line) {
    list_ = std::string(line.substr(0, line.rfind('}')));
    return {};
  }

  void append_metadata() {
    for (const auto& [kernel, indices] : constants_) {
      std::string list;
      for (int index : indices) list += fmt::format("{}i32 {}", list.empty() ? "" : ", ", index);
      nodes_.push_back(fmt::format("!{{ptr @{}, !\"grid_constant\", !{{{}}}}}", kernel, list));
    }
    if (nodes_.empty() && list_.empty()) return;
    if (list_.empty()) list_ = "!nvvm.annotations = !{";
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      list_ += fmt::format("{}!{}", list_.ends_with('{') ? "" : ", ", kFirstNode + i);
    result_.code += list_ + "}\n";
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      result_.code += fmt::format("!{} = {}\n", kFirstNode + i, nodes_[i]);
  }

  static constexpr std::size_t kFirstNode = 1'000'000;  ///< above the numbers that clang gives
  std::vector<View> lines_;
  Annotated result_;
  std::map<std::string, std::string> names_;                   ///< @.str -> cluster_dims
  std::map<std::string, std::vector<std::string>> arguments_;  ///< @.args -> numbers
  std::map<std::string, std::set<int>> constants_;             ///< kernel -> parameters, from 1
  std::vector<std::string> nodes_;
  std::string list_;
};

}  // namespace

Annotated lower_annotations(View code) { return Lowering(code).run(); }

std::string with_clusters(View ptx, const std::map<std::string, std::string>& clusters) {
  std::string result(ptx);
  for (const auto& [kernel, size] : clusters) {
    const std::size_t entry = result.find(".entry " + kernel + "(");
    if (entry == std::string::npos) continue;
    const std::size_t body = result.find("\n{", entry);
    if (body != std::string::npos)
      result.insert(body, fmt::format("\n.explicitcluster\n.reqnctapercluster {}", size));
  }
  return result;
}

}  // namespace raddle::cli
