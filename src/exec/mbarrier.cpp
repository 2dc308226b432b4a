#include "exec/mbarrier.h"

#include "base/assert.h"

namespace raddle::exec {

const char* describe(MbarrierProblem problem) {
  switch (problem) {
    case MbarrierProblem::none:
      return "";
    case MbarrierProblem::not_initialised:
      return "no mbarrier was initialised at this address";
    case MbarrierProblem::count_out_of_range:
      return "an mbarrier counts 1 to 1,048,575 arrivals";
    case MbarrierProblem::too_many_arrivals:
      return "more arrivals than the phase of the mbarrier lacks";
    case MbarrierProblem::transactions_overflow:
      return "the transaction count of the mbarrier would leave -1,048,575 to 1,048,575 bytes";
    case MbarrierProblem::would_complete:
      return "mbarrier.arrive.noComplete would complete the phase";
  }
  RADDLE_UNREACHABLE("problem of an mbarrier");
}

MbarrierResult change_mbarrier(std::atomic<std::uint64_t>& word, MbarrierOperation operation,
                               std::uint32_t count, std::uint32_t bytes) {
  using enum MbarrierOperation;
  switch (operation) {
    case init:
      return {.problem = init_mbarrier(word, count)};
    case invalidate:
      return {.problem = invalidate_mbarrier(word)};
    case expect:
      return expect_transactions(word, bytes);
    case complete:
      return complete_transactions(word, bytes);
    case expect_arrival:
      return change_mbarrier(word, [](Mbarrier& object) { return object.expect_arrival(); });
    case arrive_expected:
      return change_mbarrier(word, [](Mbarrier& object) {
        const auto problem = object.expect_arrival();
        return problem == MbarrierProblem::none ? object.arrive(1) : problem;
      });
    default:
      return arrive_at_mbarrier(word, {.count = count,
                                       .transactions = bytes,
                                       .drops = operation == drop || operation == drop_no_complete,
                                       .may_complete = operation == arrive || operation == drop});
  }
}

}  // namespace raddle::exec
