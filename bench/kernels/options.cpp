#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "names.h"
#include "parallel.h"

namespace bench {
namespace {

using raddle::Error;
using raddle::Result;

constexpr const char* kUsage =
    "options: --quick --widths --json FILE --against RESULTS.json --factor F --systems NAME,... "
    "--kernels NAME,... --runs N --cores N";

template <class T>
Result<T> number(const std::string& option, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  return Error::invalid("{} wants a number from {} to {}, not '{}'", option, least, most, text);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// The items of the list, each of which has to be one of `known`.
Result<std::vector<std::string>> names(const std::string& option, const std::string& list,
                                       std::span<const std::string_view> known) {
  std::vector<std::string> items = split(list);
  for (const std::string& item : items) {
    if (std::find(known.begin(), known.end(), item) == known.end())
      return Error::invalid("{} knows no '{}', but {}", option, item, fmt::join(known, ", "));
  }
  return items;
}

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> all;
  for (const Kernel kernel : all_kernels()) all.push_back(kernel_name(kernel));
  return all;
}

Result<void> set(Options& options, const std::string& option, const std::string& value) {
  if (option == "--json") {
    options.json = value;
  } else if (option == "--against") {
    options.against = value;
  } else if (option == "--systems") {
    TRY_ASSIGN(options.systems, names(option, value, system_names()));
  } else if (option == "--kernels") {
    TRY_ASSIGN(const std::vector<std::string> wanted, names(option, value, kernel_names()));
    std::erase_if(options.kernels, [&](Kernel kernel) {
      return std::find(wanted.begin(), wanted.end(), kernel_name(kernel)) == wanted.end();
    });
  } else if (option == "--runs") {
    TRY_ASSIGN(options.runs, number(option, value, 1, 1000));
  } else if (option == "--cores") {
    TRY_ASSIGN(core_count(), number(option, value, 1u, 1024u));
  } else if (option == "--factor") {
    TRY_ASSIGN(options.factor, number(option, value, 0.01, 1.0));
  } else {
    return Error::invalid("unknown option {}; {}", option, kUsage);
  }
  return {};
}

/// What is compared unless --systems says it: rivals do not matter to a comparison with earlier results.
std::vector<std::string> usual_systems(const Options& options) {
  if (options.widths)
    return {"raddle-avx512", "raddle-avx2", "raddle-sse42", "openmp-avx512", "openmp-avx2", "openmp-sse42"};
  if (!options.against.empty()) return {"raddle-jit"};
  return {"raddle-jit", "pocl", "openmp", "library"};
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  options.kernels.assign(all_kernels().begin(), all_kernels().end());
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      options.quick = true;
      options.runs = std::min(options.runs, 5);
    } else if (option == "--widths") {
      options.widths = true;
    } else if (!option.starts_with("--") || i + 1 < argc) {
      TRY(set(options, option, i + 1 < argc ? argv[++i] : ""));
    } else {
      TRY(set(options, option, ""));
      return Error::invalid("{} wants a value; {}", option, kUsage);
    }
  }
  if (options.widths && (!options.against.empty() || !options.systems.empty()))
    return Error::invalid("--widths chooses its systems, and compares with no earlier results");
  if (options.systems.empty()) options.systems = usual_systems(options);
  if (!options.against.empty() && options.systems.front() != "raddle-jit")
    return Error::invalid("--against compares raddle-jit, which has to be the first of --systems");
  return options;
}

}  // namespace bench
