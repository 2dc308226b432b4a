// The subcommands of `raddle`: options in, exit status out. main.cpp fills the options from the command line;
// each command has a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace raddle::cli {

/// Exit statuses, the same for every subcommand (docs/cli.md).
enum ExitStatus : int {
  kSuccess = 0,
  kExpectationFailed = 1,  ///< `run --expect` did not hold
  kUsage = 2,              ///< wrong command line
  kInvalid = 3,            ///< malformed PTX, file or argument; something not found; a file could not be read
  kUnsupported = 4,        ///< well-formed, but Raddle cannot run it
  kFault = 5,              ///< the kernel faulted
  kTimeout = 6,            ///< the time limit was reached
  kOutOfMemory = 7,
  kInterrupted = 130,  ///< Ctrl-C
};

struct InspectOptions {
  std::string file;
  std::string shape = "h200";  ///< machine whose architecture decides between several modules
  std::string extract;         ///< directory for the modules' texts; empty: describe them
  bool json = false;
};
int inspect(const InspectOptions& options);

struct IsaOptions {
  std::string mnemonic;  ///< empty: all
  bool markdown = false;
  std::string tests = "";  ///< directory of <chapter>/<row>.ptx test files, for the coverage page
};
int isa(const IsaOptions& options);

/// The machine that `run` and `device` open.
struct MachineOptions {
  std::string shape = "h200";
  std::string policy = "lake";  ///< of the work distributor
  std::string distributor;      ///< its other options, as text; likewise below
  std::string simd;             ///< widest vectors of the JIT; empty: the host's
  std::string engine;           ///< empty: the default one
  std::string tier;             ///< of the JIT: quick, balanced, optimised; empty: by size, then by use
  std::string code_cache;       ///< directory, or `off`; empty: the user's
  unsigned workers = 0;         ///< 0: one per usable core
  std::optional<std::uint64_t> deterministic;  ///< seed
  std::string asynchrony;                      ///< as machine::parse_asynchrony reads it
  std::string matrix_arithmetic;               ///< as exec::parse_matrix_arithmetic reads it
  std::string translation;                     ///< as machine::parse_translation reads it
  std::string placement;                       ///< as machine::parse_placement reads it
  std::string tlb;                             ///< as machine::parse_mmu_spec reads it
  std::string server;                          ///< as DeviceOptions::server
};

struct DeviceCommandOptions {
  MachineOptions machine;
  bool json = false;
  bool dump = false;  ///< print the shape file and nothing else
};
int device(const DeviceCommandOptions& options);

/// `raddle serve`: one device for many processes.
struct ServeOptions {
  MachineOptions machine;
  std::string socket;
  unsigned clients = 64;
  std::uint64_t memory_bytes = 0;      ///< of each client; 0: as much as the machine has
  std::uint32_t sms = 0;               ///< that each client's blocks use at one time; 0: all
  std::uint64_t kernel_time_ms = 0;    ///< of each launch; 0: no limit
  std::string contexts;                ///< as machine::parse_contexts reads it
  std::vector<std::string> instances;  ///< as serve::parse_instance reads them
};
int serve(const ServeOptions& options);

/// `raddle top`: what a server and its clients do.
struct TopOptions {
  std::string socket;  ///< empty: as RADDLE_SERVER says
  std::uint64_t interval_ms = 1000;
  bool once = false;  ///< print it as text and end
  bool json = false;  ///< likewise, as JSON
};
int top(const TopOptions& options);

struct CompileOptions {
  MachineOptions machine;
  std::string file;
  std::vector<std::string> kernels;  ///< empty: all
  std::string block;                 ///< empty for what suits each kernel
};
int compile(const CompileOptions& options);

struct DoctorOptions {
  std::string file;            ///< a path, or a name in PATH
  std::string shape = "h200";  ///< machine whose architecture decides
};
int doctor(const DoctorOptions& options);

struct OccupancyOptions {
  std::string file, kernel;           ///< kernel: empty if the file has only one
  std::string block;                  ///< empty for what suits the kernel
  std::uint64_t shared_bytes = 0;     ///< dynamic shared memory per block
  std::vector<std::string> clusters;  ///< [LEVEL:]X[xY[xZ]], outermost first; empty: what the kernel requires
  std::vector<std::string> shapes{"h200"};
  std::string policy = "lake", distributor;
  bool multicast = false;
  bool json = false;
};
int occupancy(const OccupancyOptions& options);

struct DistributeOptions {
  std::string shape = "h200";
  std::string trace, show, example;  ///< one of these: a load, recorded decisions, an example
  std::string policies = "lake";     ///< with commas between them, or `all`
  std::string placements;            ///< with commas between them; empty: what the load says
  bool json = false;
  std::string decisions;       ///< file, or `table`; empty: not wanted; likewise below
  std::string timeline, html;  ///< files
  bool all_refusals = false;
  std::uint64_t most_steps = 20000;  ///< kept for views
  std::string distributor;
  bool rasterise = true;
  std::uint64_t tick = 1;
};
int distribute(const DistributeOptions& options);

/// `raddle graph run` and `raddle graph show`: a task graph's program in Lua.
struct GraphOptions {
  MachineOptions machine;
  std::string file;
  std::vector<std::string> parameters;  ///< NAME=VALUE
  std::string policy = "fastest", target = "device";
  std::string history;  ///< a file; empty: nothing is kept
  std::uint64_t seed = 1, memory_limit = 0, working_set = 0, most_instructions = 200'000'000;
  bool report = false;    ///< times of each run
  std::string page, dot;  ///< files; empty: not wanted
  bool dry = false;       ///< schedule only
};
int graph(const GraphOptions& options);

struct RecordOptions {
  std::string load = "load.json";
  std::string decisions;           ///< file; empty: not wanted
  std::vector<std::string> words;  ///< the program and its arguments
};
/// Makes devices of this process, and of programs that it starts, record their launches.
/// @errors io
Result<void> record_launches(const std::string& load, const std::string& decisions);
/// exec() of a program, recording what it launches.
int record(const RecordOptions& options);

struct CompareOptions {
  std::string placements = "wide,deep";  ///< with commas between them
  bool json = false;
  std::vector<std::string> words;  ///< the program and its arguments
};
/// Runs a program once under each placement and prints what the runs measured.
int compare(const CompareOptions& options);

/// Runs a command with Raddle's libraries; does not return if that succeeds.
int exec(const std::vector<std::string>& words);
/// Compiles CUDA C++ with clang.
int cc(const std::vector<std::string>& words);
/// Runs nvcc so that it links Raddle's runtime; does not return if that succeeds.
int nvcc(const std::vector<std::string>& words);
/// The stand-in for NVIDIA's assembler; also what the command does when it is called by the name `ptxas`.
int ptxas(const std::vector<std::string>& words);

struct RunOptions {
  MachineOptions machine;
  std::string file, kernel;              ///< kernel: empty if the file has only one
  std::string grid = "1", block;         ///< block: empty for what suits the kernel
  std::uint64_t shared_bytes = 0;        ///< dynamic shared memory
  bool cooperative = false;              ///< all blocks resident at once
  std::vector<std::string> clusters;     ///< [LEVEL:]X[,Y[,Z]], outermost first
  bool spread = false;                   ///< at most one block of a cluster per SM
  std::uint64_t heap_bytes = 8 << 20;    ///< for malloc
  std::uint32_t stack_bytes = 16 << 10;  ///< per thread
  double time_limit = 0;                 ///< seconds, 0: none
  double tolerance = 0;
  std::string record, decisions;  ///< files; empty: not wanted
  std::string tlb_sweep;          ///< a file for hit rates over TLB sizes, instead of results; likewise
  std::vector<std::string> arguments, outputs, expectations, prints;
};
int run(const RunOptions& options);

}  // namespace raddle::cli
