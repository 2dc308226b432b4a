// `raddle`: the command line. Says which subcommands and options there are (CLI11) and calls the one chosen.
// To add a subcommand: an options struct and a function in commands.h, a file beside this one, a block here.
#include <CLI/CLI.hpp>
#include <functional>

#include "cli/commands.h"

namespace raddle::cli {
namespace {

using Action = std::function<int()>;

void add_inspect(CLI::App& app, InspectOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("inspect", "say what each kernel of a PTX file needs, and what of it cannot run");
  command->add_option("file", options.file, "PTX file")->required();
  command->add_flag("--json", options.json, "print JSON");
  command->callback([&] { action = [&] { return inspect(options); }; });
}

void add_isa(CLI::App& app, IsaOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("isa", "list the PTX instructions that Raddle knows, or show one");
  command->add_option("mnemonic", options.mnemonic, "instruction, e.g. add");
  command->add_flag("--markdown", options.markdown, "print the coverage page");
  command->add_option("--tests", options.tests,
                      "directory of the instructions' test files, for the coverage page");
  command->callback([&] { action = [&] { return isa(options); }; });
}

int run_command_line(int argc, char** argv) {
  CLI::App app("Raddle: a GPU made of software. Runs CUDA kernels (PTX) on CPU cores.", "raddle");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 success, 1 an expectation failed, 2 wrong command line, 3 invalid input, 4 "
      "unsupported,\n"
      "5 kernel fault, 6 time limit, 7 out of memory, 130 interrupted.");
  Action action;
  InspectOptions inspect_options;
  IsaOptions isa_options;
  add_inspect(app, inspect_options, action);
  add_isa(app, isa_options, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports by exceptions; they end here
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  return action();
}

}  // namespace
}  // namespace raddle::cli

int main(int argc, char** argv) { return raddle::cli::run_command_line(argc, argv); }
