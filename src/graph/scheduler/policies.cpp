#include "graph/scheduler/policy.h"

namespace raddle::graph {

Result<std::unique_ptr<Policy>> find_policy(const Problem& problem, const SchedulerOptions& options) {
  if (options.policy == "fastest") return make_fastest(problem, options);
  if (options.policy == "least_memory") return make_least_memory(problem);
  if (options.policy == "program_order") return make_program_order();
  if (options.policy == "random_order") return make_random_order(options.seed);
  return Error::make(ErrorCode::not_found,
                     "no policy is called '{}'; there are fastest, least_memory, program_order, random_order",
                     options.policy);
}

}  // namespace raddle::graph
