// Any bytes: the parser answers with a module or with an error that has a place, and what it accepts survives
// printing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptx/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using raddle::ptx::Module;
  raddle::Result<Module> module = raddle::ptx::parse({reinterpret_cast<const char*>(data), size}, "fuzz.ptx");
  if (!module) {
    if (module.error().where.line == 0 || module.error().message.empty()) std::abort();
    return 0;
  }
  for (raddle::ptx::FunctionId id = 0; id < module->functions.size(); ++id)
    if (module->functions[id].is_entry && !module->functions[id].is_declaration)
      raddle::ptx::analyze(*module, id);
  const std::string printed = raddle::ptx::print(*module);
  const raddle::Result<Module> again = raddle::ptx::parse(printed, "printed.ptx");
  if (!again || raddle::ptx::print(*again) != printed) std::abort();
  return 0;
}
