// `raddle occupancy`: how many blocks and clusters of a kernel a machine runs at once, what limits them, and
// which size of cluster suits it; for several machines side by side. Answered by the rule that places blocks
// (W-13).
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/argument.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/host.h"
#include "cli/images.h"
#include "cli/launch.h"
#include "cli/machine_options.h"
#include "machine/distributor/distributor.h"
#include "machine/shape/shape_file.h"
#include "ptx/parser.h"
#include "runtime/device_impl.h"

namespace raddle::cli {
namespace {

using machine::GridKind;
using nlohmann::ordered_json;
constexpr std::uint64_t kMostBlocks = 1 << 20;  // of a cluster

struct Question {
  KernelInfo kernel;
  std::uint32_t threads = 0;
  std::uint64_t shared_bytes = 0;  // dynamic
  GridKind kind;                   // plain without clusters
  std::string policy;
  DistributorOptions distributor;
};

struct SizeAnswer {
  std::uint32_t blocks = 0;  // of a cluster
  std::uint64_t clusters = 0;
};

struct Answer {
  machine::MachineShape shape;
  std::uint32_t blocks_per_sm = 0;
  std::vector<std::string> limits;   // resources that allow no block more
  std::uint64_t blocks = 0;          // of a plain grid, at once
  std::uint64_t clusters = 0;        // of the kind asked for
  std::vector<SizeAnswer> sizes;     // clusters along x
  std::uint32_t best = 0, most = 0;  // cluster sizes; 0: not even one block fits
};

Result<KernelInfo> find_kernel(const std::vector<fatbin::PtxImage>& images, const std::string& wanted) {
  std::vector<KernelInfo> all;
  for (const fatbin::PtxImage& image : images) {
    TRY_ASSIGN(const ptx::Module module, ptx::parse(image.text, image.name));
    for (ptx::FunctionId id = 0; id < module.functions.size(); ++id)
      if (module.functions[id].is_entry && !module.functions[id].is_declaration)
        all.push_back(describe(module, id));
  }
  std::vector<std::string> names;
  for (const KernelInfo& kernel : all) names.push_back(kernel.name);
  if (wanted.empty() && all.size() != 1)
    return Error::invalid("--kernel is needed; the file has: {}", fmt::join(names, ", "));
  for (KernelInfo& kernel : all)
    if (wanted.empty() || kernel.name == wanted || demangle(kernel.name) == wanted) return std::move(kernel);
  return Error::make(ErrorCode::not_found, "no kernel '{}'; the file has: {}", wanted,
                     fmt::join(names, ", "));
}

std::uint64_t volume(const Dim3& extent) {
  return std::uint64_t{extent.x} * std::max(extent.y, 1u) * std::max(extent.z, 1u);
}

GridKind one_level(const Dim3& cluster) {
  GridKind kind;
  kind.depth = 1;
  kind.levels[0] = {machine::Level::gpc, {cluster.x, std::max(cluster.y, 1u), std::max(cluster.z, 1u)}};
  return kind;
}

Result<GridKind> parse_kind(const std::vector<std::string>& clusters, const Dim3& required) {
  GridKind kind;
  if (clusters.empty() && volume(required) > 1) kind = one_level(required);
  for (const std::string& text : clusters) {
    TRY_ASSIGN(const ClusterLevel level, parse_cluster_level(text));
    if (std::ranges::max(level.extent) > kMostBlocks)
      return Error::invalid("--cluster {}: more than {} blocks", text, kMostBlocks);
    if (kind.depth != 0 && kind.levels[kind.depth - 1].domain >= level.domain)
      return Error::invalid("--cluster {}: must lie in a level inside that of the one before it", text);
    kind.levels[kind.depth++] = level;
    if (kind.ctas_per_cluster() > kMostBlocks)
      return Error::invalid("--cluster {}: more than {} blocks", text, kMostBlocks);
  }
  return kind;
}

Result<Question> parse_question(const OccupancyOptions& options) {
  Question question{.policy = options.policy};
  TRY_ASSIGN(question.distributor, distributor_options(options.distributor));
  TRY_ASSIGN(const auto images, read_images(options.file, options.shapes.front()));
  TRY_ASSIGN(question.kernel, find_kernel(images, options.kernel));
  question.shared_bytes = options.shared_bytes;
  const std::uint64_t required = volume(question.kernel.required_block),
                      most = volume(question.kernel.largest_block);
  std::uint64_t threads = required != 0 ? required : most != 0 ? std::min<std::uint64_t>(most, 256) : 256;
  if (!options.block.empty()) {
    TRY_ASSIGN(const auto block, parse_extents(options.block, "block"));
    threads = std::uint64_t{block[0]} * block[1] * block[2];
  }
  if (threads > 1024) return Error::invalid("a block of {} threads exceeds 1024", threads);
  question.threads = static_cast<std::uint32_t>(threads);
  TRY_ASSIGN(question.kind, parse_kind(options.clusters, question.kernel.required_cluster));
  if (options.multicast) question.kind.mode = machine::DistributionMode::multicast;
  return question;
}

void count_blocks(const Question& question, const machine::Distributor& distributor,
                  const machine::CtaNeeds& needs, Answer& answer) {
  const machine::SmLimits& sm = answer.shape.sm;
  if (question.threads > sm.threads_per_block) answer.limits.push_back("threads per block");
  if (question.kernel.static_shared_bytes + question.shared_bytes > sm.shared_per_block)
    answer.limits.push_back("shared memory per block");
  if (!answer.limits.empty()) return;
  answer.blocks_per_sm = distributor.most_per_sm(needs);
  if (answer.blocks_per_sm < machine::slots_per_sm(sm, needs)) answer.limits.emplace_back("cap");
  for (const machine::SlotLimit& limit : machine::slot_limits(sm, needs))
    if (limit.slots == answer.blocks_per_sm) answer.limits.emplace_back(limit.resource);
}

/// Sizes that CUDA programs try, up to what kernels may have: the best keeps most blocks running, the larger
/// of equals.
void try_sizes(const Question& question, const machine::Distributor& distributor,
               const machine::CtaNeeds& needs, Answer& answer) {
  std::uint64_t most_blocks = 0;
  for (std::uint32_t size = 1; size <= kLargestClusterSize; size *= 2) {
    if (question.kernel.largest_cluster != 0 && size > question.kernel.largest_cluster) break;
    GridKind kind = size == 1 ? GridKind{} : one_level({size, 1, 1});
    kind.mode = question.kind.mode;
    const std::uint64_t clusters = distributor.most_active(kind, needs);
    answer.sizes.push_back({size, clusters});
    if (clusters == 0) continue;
    answer.most = size;
    if (clusters * size < most_blocks) continue;
    most_blocks = clusters * size;
    answer.best = size;
  }
}

Result<Answer> answer(const Question& question, const std::string& shape) {
  Answer answer;
  TRY_ASSIGN(answer.shape, machine::find_shape(shape));
  machine::GridWork block;
  fill_occupancy(block, question.kernel, question.threads, question.shared_bytes);
  const machine::CtaNeeds needs = machine::needs_of(block, answer.shape.sm);
  TRY_ASSIGN(auto policy, machine::make_policy(question.policy));
  TRY(machine::check(question.distributor, answer.shape));
  const machine::Distributor distributor(answer.shape, std::move(policy), question.distributor);
  count_blocks(question, distributor, needs, answer);
  if (answer.blocks_per_sm == 0) return answer;
  answer.blocks = distributor.most_active({}, needs);
  answer.clusters = distributor.most_active(question.kind, needs);
  try_sizes(question, distributor, needs, answer);
  return answer;
}

std::string kind_text(const GridKind& kind) {
  if (kind.is_plain()) return "none";
  std::vector<std::string> levels;
  for (unsigned i = 0; i < kind.depth; ++i) {
    const machine::ClusterLevel& level = kind.levels[i];
    levels.push_back(fmt::format("{}:{}x{}x{}", machine::level_name(level.domain), level.extent[0],
                                 level.extent[1], level.extent[2]));
  }
  return fmt::format("{}{}", fmt::join(levels, " of "),
                     kind.mode == machine::DistributionMode::multicast ? ", one block per SM" : "");
}

void print_text(const Question& question, const std::vector<Answer>& answers) {
  fmt::print("kernel {}: {} threads a block, {} registers a thread, {} static and {} dynamic shared memory\n",
             demangle(question.kernel.name), question.threads, question.kernel.registers,
             human_bytes(question.kernel.static_shared_bytes), human_bytes(question.shared_bytes));
  fmt::print("clusters: {}; policy {}\n\n", kind_text(question.kind), question.policy);
  fmt::print("{:<16} {:>5} {:>9} {:>9} {:>9} {:>9}  {}\n", "machine", "SMs", "blocks/SM", "blocks",
             "clusters", "in them", "limited by");
  for (const Answer& answer : answers) {
    const auto of_clusters = [&](std::uint64_t count) {
      return question.kind.is_plain() ? "-" : fmt::format("{}", count);
    };
    fmt::print("{:<16} {:>5} {:>9} {:>9} {:>9} {:>9}  {}\n", answer.shape.name, answer.shape.sm_count(),
               answer.blocks_per_sm, answer.blocks, of_clusters(answer.clusters),
               of_clusters(answer.clusters * question.kind.ctas_per_cluster()),
               fmt::join(answer.limits, ", "));
  }
  fmt::print("\nclusters at once by their size in blocks, confined to a GPC\n{:<16}", "machine");
  for (std::uint32_t size = 1; size <= kLargestClusterSize; size *= 2) fmt::print(" {:>9}", size);
  fmt::print("  best\n");
  for (const Answer& answer : answers) {
    fmt::print("{:<16}", answer.shape.name);
    auto known = answer.sizes.begin();
    for (std::uint32_t size = 1; size <= kLargestClusterSize; size *= 2)
      fmt::print(" {:>9}", known != answer.sizes.end() ? fmt::format("{}", known++->clusters) : "-");
    fmt::print("  {}\n", answer.best);
  }
  for (const Answer& answer : answers)
    if (const std::string warning = answer.shape.warning(); !warning.empty())
      fmt::print("\nwarning: {}\n", warning);
}

ordered_json to_json(const Question& question, const Answer& answer) {
  ordered_json sizes = ordered_json::array();
  for (const SizeAnswer& size : answer.sizes)
    sizes.push_back({{"blocks", size.blocks}, {"clusters", size.clusters}});
  return {{"shape", answer.shape.name},
          {"sms", answer.shape.sm_count()},
          {"blocks_per_sm", answer.blocks_per_sm},
          {"limited_by", answer.limits},
          {"active_blocks", answer.blocks},
          {"active_clusters", answer.clusters},
          {"blocks_in_clusters", answer.clusters * question.kind.ctas_per_cluster()},
          {"cluster_sizes", sizes},
          {"best_cluster_size", answer.best},
          {"largest_cluster_size", answer.most},
          {"largest_portable_cluster", answer.shape.largest_portable_cluster()},
          {"warning", answer.shape.warning()}};
}

void print_json(const Question& question, const std::vector<Answer>& answers) {
  ordered_json document = {{"kernel", question.kernel.name},
                           {"threads", question.threads},
                           {"registers", question.kernel.registers},
                           {"static_shared_bytes", question.kernel.static_shared_bytes},
                           {"dynamic_shared_bytes", question.shared_bytes},
                           {"cluster", kind_text(question.kind)},
                           {"blocks_per_cluster", question.kind.ctas_per_cluster()},
                           {"policy", question.policy},
                           {"machines", ordered_json::array()}};
  for (const Answer& answer : answers) document["machines"].push_back(to_json(question, answer));
  fmt::print("{}\n", document.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

int occupancy(const OccupancyOptions& options) {
  const Result<Question> question = parse_question(options);
  if (!question) return report(question.error());
  std::vector<Answer> answers;
  for (const std::string& shape : options.shapes) {
    Result<Answer> answered = answer(*question, shape);
    if (!answered) return report(answered.error());
    answers.push_back(std::move(*answered));
  }
  options.json ? print_json(*question, answers) : print_text(*question, answers);
  return kSuccess;
}

}  // namespace raddle::cli
