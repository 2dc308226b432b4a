#include "cli/cc/managed.h"

#include <fmt/format.h>

#include <regex>
#include <vector>

#include "cli/cc/annotations.h"
#include "cli/cc/assembly.h"

namespace raddle::cli {
namespace {

/// The function that answers a variable's address: it loads the module at the first use, as nvcc's code does.
constexpr const char* kAddressOf = R"(
define internal ptr @raddle.managed(ptr %variable) {{
  %known = load ptr, ptr %variable, align 8
  %missing = icmp eq ptr %known, null
  br i1 %missing, label %load, label %done
load:
  %handle = load ptr, ptr {}, align 8
  %loaded = call i8 @__cudaInitModule(ptr %handle)
  %now = load ptr, ptr %variable, align 8
  ret ptr %now
done:
  ret ptr %known
}}
declare i8 @__cudaInitModule(ptr)
)";

class ManagedLowering {
 public:
  explicit ManagedLowering(std::string_view code) : lines_(lines_of(code)) {}

  Result<std::string> run(std::string_view handle) {
    for (std::string_view line : lines_)
      if (line.starts_with("@") && line.find(kManagedMark) != std::string_view::npos)
        names_.emplace_back(line.substr(0, line.find(' ')));
    bool in_function = false;
    for (std::string_view line : lines_) {
      if (line.starts_with("define ")) begin_function(line);
      if (line.starts_with("define "))
        in_function = true;
      else if (in_function)
        append_instruction(line);
      else
        TRY(append_global(line));
      if (line == "}") in_function = false;
    }
    result_ += fmt::format(kAddressOf, handle);
    return std::move(result_);
  }

 private:
  void begin_function(std::string_view line) {
    result_.append(line).push_back('\n');
    entry_ = result_.size();
  }

  /// `@x = dso_local global i32 undef, section "raddle.managed", align 4` becomes a pointer.
  Result<void> append_global(std::string_view line) {
    const std::size_t mark = line.find(kManagedMark);
    if (line.starts_with("@") && mark != std::string_view::npos) {
      const bool is_declaration = line.find("external ") < line.find("global ");
      const std::size_t type = line.find("global ") + 7;
      const bool is_comdat = line.find(", comdat", mark) != std::string_view::npos;
      result_ += fmt::format("{}{}{}, align 8\n", line.substr(0, type), is_declaration ? "ptr" : "ptr null",
                             is_comdat ? ", comdat" : "");
      return {};
    }
    // Lists of what is to be kept may name it; another variable's initial value may not.
    const bool is_value =
        line.starts_with("@") && !line.starts_with("@llvm.") && !line.starts_with("@__clang_gpu");
    for (const std::string& name : names_)
      if (is_value && find_name(line, name) != std::string_view::npos)
        return Error::unsupported(
            "{}: its initial value is the address of the managed variable {}, which is known when the "
            "program "
            "runs; assign it in a function",
            line.substr(1, line.find(' ') - 1), name.substr(1));
    result_.append(line).push_back('\n');
    return {};
  }

  void append_instruction(std::string_view line) {
    std::string text(line);
    static constexpr std::string_view kRegister = "call void @__cudaRegisterVar(";
    if (text.find(kRegister) != std::string::npos) {
      for (const std::string& name : names_)
        if (find_name(text, name) != std::string_view::npos)
          text.replace(text.find(kRegister), kRegister.size(),
                       "call void (ptr, ptr, ptr, ptr, i32, i64, i32, i32) @__cudaRegisterManagedVar(");
    } else {
      std::string before;
      replace_uses(text, before);
      place(before, text.find(" = phi ") != std::string::npos);
    }
    result_.append(text).push_back('\n');
  }

  /// What computes an instruction's values stands before it; before a phi, whose values come from other
  /// blocks, where the function begins.
  void place(const std::string& before, bool is_phi) {
    if (is_phi) {
      result_.insert(entry_, before);
      entry_ += before.size();
    } else {
      result_ += before;
    }
  }

  /// Each use of a variable's address becomes a value, which `before` computes.
  void replace_uses(std::string& line, std::string& before) {
    for (const std::string& name : names_)
      for (std::size_t at = find_name(line, name); at != std::string::npos; at = find_name(line, name)) {
        const std::string value = next_value();
        before += fmt::format("  {} = call ptr @raddle.managed(ptr {})\n", value, name);
        line.replace(at, name.size(), value);
        while (make_instruction(line, at, before)) {
        }
      }
  }

  /// Turns the constant expression around `at`, if there is one, into an instruction of its own:
  /// `getelementptr inbounds (i32, ptr %1, i64 2)`, `sub (i64 %1, i64 2)`.
  bool make_instruction(std::string& line, std::size_t& at, std::string& before) {
    int depth = 0;
    std::size_t open = at;
    while (open > 0 && (line[open] != '(' || depth-- > 0)) depth += line[open--] == ')';
    static const std::regex kExpression(
        "(getelementptr|ptrtoint|inttoptr|trunc|bitcast|addrspacecast|add|sub|mul|xor)( [a-z]+)* $");
    std::smatch match;
    const std::string head = line.substr(0, open);
    if (line[open] != '(' || !std::regex_search(head, match, kExpression)) return false;
    std::size_t close = open + 1, comma = 0;
    for (int inner = 1; inner > 0 && close < line.size(); ++close) {
      inner += (line[close] == '(') - (line[close] == ')');
      if (inner == 1 && line[close] == ',') comma = close;
    }
    std::string operands = line.substr(open + 1, close - open - 2);
    const bool is_arithmetic = match[1].length() == 3;
    if (is_arithmetic) {  // as an instruction it names its type once: i64 %1, i64 2
      const std::size_t second = comma - open + 1, end = operands.find(' ', second);
      operands.erase(second, end + 1 - second);
    }
    const std::string value = next_value();
    const auto begin = static_cast<std::size_t>(match.position(0));
    std::string instruction = fmt::format("  {} = {}{}\n", value, match.str(), operands);
    line.replace(begin, close - begin, value);
    at = begin;
    replace_uses(instruction, before);
    before += instruction;
    return true;
  }

  std::string next_value() { return fmt::format("%raddle.{}", count_++); }

  std::vector<std::string_view> lines_;
  std::vector<std::string> names_;  ///< @x
  std::string result_;
  std::size_t entry_ = 0;  ///< in result_: the first instruction of the function at hand
  int count_ = 0;
};

}  // namespace

Result<std::string> lower_managed(std::string_view code, std::string_view handle) {
  return ManagedLowering(code).run(handle);
}

}  // namespace raddle::cli
