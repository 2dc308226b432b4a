// `raddle`: the command line. Says which subcommands and options there are (CLI11) and calls the one chosen.
// To add a subcommand: an options struct and a function in commands.h, a file beside this one, a block here.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>

#include "base/count.h"
#include "cli/commands.h"

namespace raddle::cli {
namespace {

using Action = std::function<int()>;

/// A wrong value, as CLI11 reports it: the option's name and the reason.
CLI::ValidationError wrong(const std::string& option, const Error& error) {
  return CLI::ValidationError(option, error.message);
}

/// An option whose value is a count (base/count.h).
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& name, Count& value, const std::string& help,
                       std::uint64_t least = 0, std::uint64_t most = std::numeric_limits<Count>::max()) {
  const auto read = [=, &value](const std::string& text) {
    const auto count = parse_count(text, least, most);
    if (!count) throw wrong(name, count.error());
    value = static_cast<Count>(*count);
  };
  return command.add_option_function<std::string>(name, read, help)
      ->type_name("COUNT")
      ->default_str(format_count(value));
}

/// An option whose value is a number with decimals, not negative.
void add_real(CLI::App& command, const std::string& name, double& value, const std::string& help,
              double most) {
  const auto read = [=, &value](const std::string& text) {
    const auto real = parse_real(text, 0, most);
    if (!real) throw wrong(name, real.error());
    value = *real;
  };
  command.add_option_function<std::string>(name, read, help)
      ->type_name("NUMBER")
      ->default_str(fmt::format("{}", value));
}

constexpr double kMostSeconds = 1e9;  // in nanoseconds it still fits 64 bits

constexpr const char* kFileHelp = "PTX, a fat binary, or a program or object file that nvcc made";

void add_inspect(CLI::App& app, InspectOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("inspect", "say what each kernel of a file needs, and the parts that cannot run");
  command->add_option("file", options.file, kFileHelp)->required();
  command->add_option("--shape", options.shape, "machine whose architecture decides between several modules")
      ->capture_default_str();
  command->add_option("--extract", options.extract, "write the modules' PTX into this directory instead");
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

void add_distributor(CLI::App& command, std::string& text) {
  command.add_option("--distributor", text,
                     "options of the work distributor, with commas between them: cap_per_sm=N, "
                     "cap_per_sm.POLICY=N, grid_cap_per_sm=N, patience=N, credits=N, sm_order=SM[-SM][:...], "
                     "ties=load|waiting|priority, task_slots=N, turn=N, preemptive=0|1, work_kinds=N, "
                     "share_every=N, active_pool=N, pending_pool=N");
}

void preset(std::string& option, const char* variable) {
  if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') option = value;
}

/// The environment variables mean the same as to programs on the driver.
void add_machine(CLI::App& command, MachineOptions& options) {
  preset(options.shape, "RADDLE_DEVICE");
  preset(options.policy, "RADDLE_POLICY");
  preset(options.distributor, "RADDLE_DISTRIBUTOR");
  preset(options.engine, "RADDLE_ENGINE");
  preset(options.asynchrony, "RADDLE_ASYNC");
  preset(options.matrix_arithmetic, "RADDLE_MMA");
  preset(options.translation, "RADDLE_MMU");
  preset(options.placement, "RADDLE_PLACEMENT");
  preset(options.tlb, "RADDLE_TLB");
  command
      .add_option("--shape", options.shape, "machine that is modelled: h200, a100, tiny, host, or FILE.json")
      ->capture_default_str();
  command.add_option("--policy", options.policy, "of the work distributor: which SM runs which block")
      ->capture_default_str();
  add_distributor(command, options.distributor);
  command.add_option("--engine", options.engine, "interp or jit; the JIT where it is built in, if not given")
      ->check(CLI::IsMember({"interp", "jit"}));
  command.add_option("--simd", options.simd, "widest vectors of the JIT; the host's, if not given")
      ->check(CLI::IsMember({"avx512", "avx2", "sse42"}));
  command
      .add_option("--tier", options.tier,
                  "of the JIT; kernels start balanced, large ones quick, and become optimised, if not given")
      ->check(CLI::IsMember({"quick", "balanced", "optimised"}));
  command.add_option("--code-cache", options.code_cache,
                     "directory of compiled code, or off; RADDLE_CACHE or ~/.cache/raddle, if not given");
  add_count(command, "--workers", options.workers, "kernel-running threads; 0: one per usable core");
  command.add_option(
      "--async", options.asynchrony,
      "when asynchronous copies land: eager, lazy, random or random:SEED; RADDLE_ASYNC or eager, if "
      "not given");
  command.add_option(
      "--mma", options.matrix_arithmetic,
      "how matrices of floats are multiplied: reference, hopper as H100 does, or fast; RADDLE_MMA or "
      "reference, if not given");
  command.add_option("--placement", options.placement,
                     "over how many SMs: wide, deep, auto, auto_per_task; RADDLE_PLACEMENT or as the policy "
                     "has it, if not given");
  command.add_option(
      "--mmu", options.translation,
      "how kernels' addresses become memory: direct, windowed, which lets no access leave "
      "the device's memory, or modelled, by page tables and TLBs; RADDLE_MMU or direct, if not "
      "given");
  command.add_option(
      "--tlb", options.tlb,
      "of a modelled device, as l1=32,l2=512:8:lru: entries, ways and replacement of the SMs' "
      "TLBs (l1), the GPCs' (l2), the walker's cache (walk), and of caches in lines (virtual, "
      "physical); tables=host puts page tables into the host's memory; RADDLE_TLB or that, if not given");
}

void add_device(CLI::App& app, DeviceCommandOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("device", "describe the modelled machine, its engine and the host below it");
  add_machine(*command, options.machine);
  auto* json = command->add_flag("--json", options.json, "print JSON");
  command->add_flag("--dump", options.dump, "print the machine as a shape file")->excludes(json);
  command->callback([&] { action = [&] { return device(options); }; });
}

void add_serve(CLI::App& app, ServeOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "serve", "share one device among the programs of several processes (RADDLE_SERVER=PATH)");
  add_machine(*command, options.machine);
  command->add_option("--socket", options.socket, "path of the socket to listen at")->required();
  add_count(*command, "--clients", options.clients, "most programs at once");
  add_count(*command, "--memory", options.memory_bytes,
            "device memory of each program, in bytes; takes K, M and G; the machine's, if not given");
  add_count(*command, "--sms", options.sms, "that each program's blocks use at one time; 0: all");
  add_count(*command, "--kernel-time", options.kernel_time_ms,
            "of a launch, in milliseconds, before it is stopped; 0: no limit");
  command->add_option("--contexts", options.contexts,
                      "how device contexts share the machine, for programs with RADDLE_SERVER=PATH#@CONTEXT: "
                      "queued, one at a time, or concurrent; there is one for all, if not given");
  command
      ->add_option("--instance", options.instances,
                   "a part of the machine with SMs and memory of its own, NAME=gpcs:2,memory:8G or "
                   "NAME=sms:4,memory:1G,clients:2, for programs with RADDLE_SERVER=PATH#NAME; may be given "
                   "several times")
      ->take_all()
      ->allow_extra_args(false);
  command->callback([&] { action = [&] { return serve(options); }; });
}

void add_top(CLI::App& app, TopOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("top", "watch a server: its clients, what they have, and what runs where");
  command->add_option("--socket", options.socket, "path of the server's socket; RADDLE_SERVER, if not given");
  add_count(*command, "--interval", options.interval_ms, "milliseconds between two looks", 10, 1000000);
  command->add_flag("--once", options.once, "print what is there now, and end");
  command->add_flag("--json", options.json, "likewise, as JSON");
  command->callback([&] { action = [&] { return top(options); }; });
}

void add_compile(CLI::App& app, CompileOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("compile", "compile kernels of a file into the code cache ahead of time");
  add_machine(*command, options.machine);
  command->add_option("file", options.file, kFileHelp)->required();
  command->add_option("--kernel", options.kernels, "only this kernel; may be given several times")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--block", options.block,
                      "threads per block: X[,Y[,Z]]; what suits each kernel, if not given");
  command->callback([&] { action = [&] { return compile(options); }; });
}

void add_run(CLI::App& app, RunOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("run", "run a kernel of a file on buffers, and check what it computed");
  add_machine(*command, options.machine);
  command->add_option("--server", options.machine.server,
                      "socket of a `raddle serve` whose machine and engine run the kernel");
  command->add_option("file", options.file, kFileHelp)->required();
  command->add_option("--kernel", options.kernel, "kernel; not needed where the file has only one");
  command->add_option("--grid", options.grid, "blocks: X[,Y[,Z]]")->capture_default_str();
  command->add_option("--block", options.block,
                      "threads per block: X[,Y[,Z]]; what suits the kernel, if not given");
  add_count(*command, "--shared", options.shared_bytes, "dynamic shared memory per block in bytes; takes K");
  command->add_flag("--cooperative", options.cooperative,
                    "all blocks resident at once, with a workspace for grid-wide barriers");
  command
      ->add_option("--cluster", options.clusters,
                   "blocks per cluster: X[,Y[,Z]]; or, outermost first, LEVEL:X[,Y[,Z]] for clusters of "
                   "clusters (set, gpu, ugpu, gpc, cpc, tpc, sm)")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--spread", options.spread, "at most one block of a cluster per SM (multicast mode)");
  add_count(*command, "--heap", options.heap_bytes, "for malloc in the kernel, in bytes; takes K, M and G");
  add_count(*command, "--stack", options.stack_bytes,
            "per thread, for recursion and calls by pointer, in bytes; takes K");
  command
      ->add_option("--arg", options.arguments,
                   "next argument: buf:TYPE:COUNT[=FILL], buf:TYPE=FILE.npy, or TYPE:VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--out", options.outputs,
                   "INDEX=FILE.npy: write a buffer after the run; arguments count from 0")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--expect", options.expectations,
                   "INDEX=FILL or INDEX=FILE.npy: what a buffer must hold after the run")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--print", options.prints, "INDEX: print a buffer's first elements after the run")
      ->take_all()
      ->allow_extra_args(false);
  add_real(*command, "--tolerance", options.tolerance, "of --expect for floats: relative, absolute below 1",
           std::numeric_limits<double>::max());
  command->add_option("--record", options.record,
                      "write the launch to this file, for raddle distribute --trace");
  command->add_option("--decisions", options.decisions,
                      "write the work distributor's decisions to this file");
  command->add_option(
      "--tlb-sweep", options.tlb_sweep,
      "run with TLBs of many sizes (--mmu=modelled), and write how often they had the page to "
      "this HTML file");
  add_real(*command, "--time-limit", options.time_limit, "stop the kernel after so many seconds; 0: never",
           kMostSeconds);
  command->add_flag("--deterministic{0}")
      ->description("one worker, order drawn from a seed: --deterministic[=SEED]")
      ->each([&](const std::string& text) {
        const auto seed = parse_count(text);
        if (!seed) throw wrong("--deterministic", seed.error());
        options.machine.deterministic = *seed;
      });
  command->footer(
      "FILL is zeros, iota, random, random:SEED, a number or FILE.npy. docs/cli.md has an example.");
  command->callback([&] { action = [&] { return run(options); }; });
}

void add_distribute(CLI::App& app, DistributeOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "distribute", "run the work distributor alone on a load, compare policies, look at its decisions");
  command->add_option("--shape", options.shape, "machine that is modelled")->capture_default_str();
  auto* sources = command->add_option_group("source", "what it runs or shows");
  sources->add_option("--trace", options.trace, "load: grids with their arrivals and durations (JSON)");
  sources->add_option("--show", options.show, "decisions that were recorded: show them, run nothing");
  sources->add_option("--example", options.example, "a worked example, step by step")
      ->check(CLI::IsMember({"lake", "cluster", "nested"}));
  sources->require_option(1);
  auto* policies =
      command
          ->add_option("--policy", options.policies, "policies to compare, with commas between them, or all")
          ->capture_default_str();
  command
      ->add_option(
          "--placement", options.placements,
          "placements to compare, with commas between them, instead of those of the load: wide, deep, "
          "auto, auto_per_task")
      ->excludes(policies);
  command->add_flag("--json", options.json, "print JSON");
  command->add_option("--decisions", options.decisions,
                      "write decisions to this file (JSON lines), or print them: table");
  command->add_option("--timeline", options.timeline,
                      "write a timeline for Perfetto or chrome://tracing to this file");
  command->add_option("--html", options.html, "write a page that animates the decisions to this file");
  command->add_flag("--all-refusals", options.all_refusals,
                    "keep every refusal of a cluster that waits, not the first only");
  add_count(*command, "--most-steps", options.most_steps, "decisions that are kept to be shown");
  add_distributor(*command, options.distributor);
  add_count(*command, "--tick", options.tick,
            "the distributor hears of arrivals and ends at multiples of this time only", 1,
            std::uint64_t{1} << 50);
  command->add_flag("!--no-rasterise", options.rasterise,
                    "do not count decompositions of deltas: a little faster");
  command->footer("docs/distributor.md says how loads are written and what is measured.");
  command->callback([&] { action = [&] { return distribute(options); }; });
}

void add_record(CLI::App& app, RecordOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "record",
      "run a program on Raddle's libraries and write down its launches: raddle record -o load.json -- ./app");
  command->add_option("-o,--output", options.load, "load, for raddle distribute --trace")
      ->capture_default_str();
  command->add_option("--decisions", options.decisions,
                      "the work distributor's decisions, for raddle distribute --show");
  command->prefix_command();
  command->callback([command, &options, &action] {
    options.words = command->remaining();
    action = [&] { return record(options); };
  });
}

void add_compare(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "run a program under several placements and compare the runs: raddle compare -- ./app");
  command->add_option("--placement", options.placements, "placements, with commas between them")
      ->capture_default_str();
  command->add_flag("--json", options.json, "print JSON");
  command->prefix_command();
  command->callback([command, &options, &action] {
    options.words = command->remaining();
    action = [&] { return compare(options); };
  });
}

void add_occupancy(CLI::App& app, OccupancyOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "occupancy",
      "say how many blocks and clusters of a kernel a machine runs at once, and what limits them");
  command->add_option("file", options.file, kFileHelp)->required();
  command->add_option("--kernel", options.kernel, "kernel; not needed where the file has only one");
  command->add_option("--block", options.block,
                      "threads per block: X[,Y[,Z]]; what suits the kernel, if not given");
  add_count(*command, "--shared", options.shared_bytes, "dynamic shared memory per block in bytes; takes K");
  command
      ->add_option("--cluster", options.clusters,
                   "blocks of a cluster: X[xY[xZ]]; nested: LEVEL:X[xY[xZ]] several times, outermost first")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--shape", options.shapes, "machine, a preset or FILE.json; several to compare them")
      ->take_all()
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("--policy", options.policy, "that places blocks")->capture_default_str();
  add_distributor(*command, options.distributor);
  command->add_flag("--multicast", options.multicast, "at most one block of a cluster on an SM");
  command->add_flag("--json", options.json, "print JSON");
  command->callback([&] { action = [&] { return occupancy(options); }; });
}

void add_doctor(CLI::App& app, DoctorOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "say whether a program runs here: its CUDA runtime, device code, kernels, missing calls");
  command->add_option("file", options.file, "program, library or object file")->required();
  command->add_option("--shape", options.shape, "machine whose architecture decides")->capture_default_str();
  command->callback([&] { action = [&] { return doctor(options); }; });
}

void add_graph_options(CLI::App& command, GraphOptions& options, Action& action) {
  command.add_option("program", options.file, "a program in Lua (docs/graphs.md)")->required();
  command.add_option("--param", options.parameters, "NAME=VALUE, what param(\"NAME\") answers; several")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--scheduling", options.policy, "fastest, least_memory, program_order, random_order")
      ->capture_default_str();
  add_count(command, "--seed", options.seed, "of random_order");
  command.add_option("--target", options.target, "device, compute (no graphics), host, gpu")
      ->capture_default_str();
  command.add_option("--history", options.history, "file in which measured times are kept between runs");
  add_count(command, "--memory", options.memory_limit,
            "most transient memory, in bytes; 0: what the device has");
  add_count(command, "--working-set", options.working_set, "transient memory to aim at, in bytes; 0: none");
  add_count(command, "--instructions", options.most_instructions, "of Lua that the program may execute");
  command.add_option("--dot", options.dot, "write the last graph for Graphviz into this file");
  command.add_flag("--dry", options.dry, "schedule what the program builds, and run nothing");
  add_machine(command, options.machine);
  command.callback([&] { action = [&] { return graph(options); }; });
}

void add_graph(CLI::App& app, GraphOptions& options, GraphOptions& show, Action& action) {
  CLI::App* command = app.add_subcommand("graph", "run or show the task graphs that a program builds");
  command->require_subcommand(1);
  CLI::App* run = command->add_subcommand("run", "run a program and the graphs that it builds");
  add_graph_options(*run, options, action);
  run->add_flag("--report", options.report, "print what each run of a graph took");
  run->add_option("--html", options.page, "write a page of the graphs and their schedules into this file");
  CLI::App* shown = command->add_subcommand("show", "the same, and write the page");
  show.page = "graph.html";
  add_graph_options(*shown, show, action);
  shown->add_option("--html", show.page, "file of the page")->capture_default_str();
}

/// A subcommand whose words are all another program's.
void add_passing(CLI::App& app, const char* name, const char* what,
                 int (*function)(const std::vector<std::string>&), Action& action) {
  CLI::App* command = app.add_subcommand(name, what);
  command->prefix_command()->set_help_flag();
  command->callback([command, function, &action] {
    action = [command, function] { return function(command->remaining()); };
  });
}

/// In the order in which CLI11 wants them, the last first. The -- after which `record` and `compare` are
/// given a program is left out: the program's own words begin with its name, and CLI11 would stop there.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end() && (words.front() == "record" || words.front() == "compare")) words.erase(dashes);
  std::reverse(words.begin(), words.end());
  return words;
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
  DeviceCommandOptions device_options;
  CompileOptions compile_options;
  ServeOptions serve_options;
  RunOptions run_options;
  DoctorOptions doctor_options;
  add_inspect(app, inspect_options, action);
  add_isa(app, isa_options, action);
  add_device(app, device_options, action);
  add_compile(app, compile_options, action);
  add_serve(app, serve_options, action);
  TopOptions top_options;
  add_top(app, top_options, action);
  add_run(app, run_options, action);
  add_doctor(app, doctor_options, action);
  OccupancyOptions occupancy_options;
  add_occupancy(app, occupancy_options, action);
  DistributeOptions distribute_options;
  RecordOptions record_options;
  add_record(app, record_options, action);
  CompareOptions compare_options;
  add_compare(app, compare_options, action);
  add_distribute(app, distribute_options, action);
  GraphOptions graph_options, graph_show_options;
  add_graph(app, graph_options, graph_show_options, action);
  add_passing(app, "exec", "run a program on Raddle's libraries: raddle exec ./app arguments", exec, action);
  add_passing(app, "cc", "compile CUDA C++ with clang, without NVIDIA's toolkit", cc, action);
  add_passing(app, "nvcc", "compile by NVIDIA's nvcc, linked with Raddle's runtime", nvcc, action);
  add_passing(app, "ptxas", "check PTX and wrap it into a cubin that Raddle runs, as NVIDIA's ptxas would",
              ptxas, action);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& error) {  // CLI11 reports by exceptions; they end here
    return app.exit(error) == 0 ? kSuccess : kUsage;
  }
  return action();
}

}  // namespace
}  // namespace raddle::cli

int main(int argc, char** argv) {
  // Compilers call the assembler by its name, and programs nvcc by its (build/libexec/raddle).
  const std::filesystem::path name = argc > 0 ? std::filesystem::path(argv[0]).filename() : "";
  if (name == "ptxas") return raddle::cli::ptxas({argv + 1, argv + argc});
  if (name == "nvcc") return raddle::cli::nvcc({argv + 1, argv + argc});
  return raddle::cli::run_command_line(argc, argv);
}
