// Reads the comments of a test file; the PTX itself is left to the parser under test.
#include "isa/harness/test_file.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isa/harness/value.h"

namespace raddle::testing {
namespace {

/// "name(a, b)" -> name and the list; the parenthesis must close at the end of `text`.
bool split_call(std::string_view text, std::string& name, std::vector<std::string>& arguments) {
  auto open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return false;
  name = trim(text.substr(0, open));
  arguments = split_list(text.substr(open + 1, text.size() - open - 2));
  return !name.empty();
}

Result<RunLine> read_run(std::string_view text, bool is_warp, unsigned line) {
  RunLine run;
  run.line = line;
  run.is_warp = is_warp;
  text = trim(text);
  if (text.starts_with('@')) {
    auto space = text.find(' ');
    run.mask =
        static_cast<std::uint32_t>(std::strtoul(std::string(text.substr(1, space - 1)).c_str(), nullptr, 0));
    text = trim(text.substr(space));
  }
  auto equals = text.find("==");
  std::string_view call = trim(text.substr(0, equals));
  if (!split_call(call, run.callee, run.arguments))
    return Error::invalid("expected 'name(operands) == results'");
  if (equals != std::string_view::npos) run.results = split_list(text.substr(equals + 2));
  return run;
}

Result<KernelLine> read_kernel(std::string_view text, unsigned line) {
  KernelLine kernel;
  kernel.line = line;
  for (std::string_view option : {"block=", "cluster=", "faults=", "only="}) {
    auto at = text.find(option);
    if (at == std::string_view::npos) continue;
    std::string value(text.substr(at + option.size()));
    value = value.substr(0, value.find(' '));
    if (option == "block=")
      kernel.block = static_cast<unsigned>(std::atoi(value.c_str()));
    else if (option == "cluster=")
      kernel.cluster = static_cast<unsigned>(std::atoi(value.c_str()));
    else if (option == "faults=")
      kernel.expected_fault = value;
    else
      kernel.only = value;
  }
  text = trim(text.substr(
      0, std::min({text.find("block="), text.find("cluster="), text.find("faults="), text.find("only=")})));
  auto arrow = text.find("->");
  std::string_view call = trim(text.substr(0, arrow));
  if (!split_call(call, kernel.name, kernel.arguments))
    return Error::invalid("expected 'name(types) -> types'");
  if (arrow != std::string_view::npos) kernel.results = split_list(text.substr(arrow + 2));
  return kernel;
}

Result<void> read_comment(TestFile& file, std::string_view line, unsigned number) {
  auto after = [&](std::string_view mark) {
    auto at = line.find(mark);
    return at == std::string_view::npos ? std::string_view{} : trim(line.substr(at + mark.size()));
  };
  if (auto text = after("// run:"); !text.empty()) {
    TRY_ASSIGN(RunLine run, read_run(text, false, number));
    file.runs.push_back(std::move(run));
  } else if (auto warp = after("// warp:"); !warp.empty()) {
    TRY_ASSIGN(RunLine run, read_run(warp, true, number));
    file.runs.push_back(std::move(run));
  } else if (auto kernel = after("// kernel:"); !kernel.empty()) {
    TRY_ASSIGN(KernelLine k, read_kernel(kernel, number));
    file.kernels.push_back(std::move(k));
  } else if (auto rows = after("// rows:"); !rows.empty()) {
    file.rows = split_list(rows, ' ');
  } else if (auto reject = after("// reject:"); !reject.empty()) {
    file.rejects.push_back({number, std::string(reject.substr(0, reject.find(' ')))});
  } else if (line.find("// error:") != std::string_view::npos) {
    file.errors.push_back({number, std::string(after("// error:"))});
  }
  return {};
}

}  // namespace

std::vector<std::string> split_list(std::string_view text, char separator) {
  std::vector<std::string> items;
  int depth = 0;
  std::size_t begin = 0;
  text = trim(text);
  if (text.empty()) return items;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      items.emplace_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (std::string_view("([{<").find(text[i]) != std::string_view::npos) {
      ++depth;
    } else if (std::string_view(")]}>").find(text[i]) != std::string_view::npos) {
      --depth;
    }
  }
  return items;
}

Result<std::vector<std::string>> expand_lanes(std::string_view text, unsigned lanes) {
  text = trim(text);
  if (!text.starts_with('[')) return std::vector<std::string>(lanes, std::string(text));
  std::vector<std::string> values;
  for (const std::string& item : split_list(text.substr(1, text.size() - 2))) {
    if (auto dots = item.find(".."); dots != std::string::npos) {
      long first = std::strtol(item.c_str(), nullptr, 0),
           last = std::strtol(item.c_str() + dots + 2, nullptr, 0);
      for (long v = first;; v += first <= last ? 1 : -1) {
        values.push_back(fmt::format("{}", v));
        if (v == last) break;
      }
    } else if (auto star = item.find('*'); star != std::string::npos) {
      values.insert(values.end(), static_cast<std::size_t>(std::atoi(item.c_str() + star + 1)),
                    std::string(trim(std::string_view(item).substr(0, star))));
    } else {
      values.push_back(item);
    }
  }
  if (values.size() != lanes) return Error::invalid("{} values for {} lanes", values.size(), lanes);
  return values;
}

std::string test_file_of(const std::string& root, const isa::Row& row) {
  const std::string folder = fmt::format("{}/{}", root, row.chapter);
  const std::string own = fmt::format("{}/{}.ptx", folder, row.id);
  if (std::filesystem::exists(own) || !std::filesystem::exists(folder)) return own;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto file = read_test_file(entry.path().string());
    if (file.ok() && std::ranges::count(file->rows, row.id) != 0) return entry.path().string();
  }
  return own;
}

Result<TestFile> read_test_file(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return Error::make(ErrorCode::io, "cannot read {}", path);
  std::ostringstream content;
  content << stream.rdbuf();
  TestFile file;
  file.path = path;
  file.text = content.str();
  std::filesystem::path p(path);
  file.row = p.stem().string();
  file.chapter = p.parent_path().filename().string();
  unsigned number = 0;
  std::string line;
  for (stream.clear(), stream.seekg(0); std::getline(stream, line);) {
    ++number;
    if (auto read = read_comment(file, line, number); !read.ok()) {
      read.error().where = {path, number, 1};
      return read.error();
    }
  }
  return file;
}

}  // namespace raddle::testing
