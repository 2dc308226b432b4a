// See absent_lanes.h. Every thread of a block of 42 runs a chain of collectives, before each of which some
// lanes leave the kernel; who leaves when, member masks and values are data, so that one kernel serves all
// cases.
#include "isa/absent_lanes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "isa/enumerate.h"
#include "isa/harness/exclusions.h"

namespace raddle::testing {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr unsigned kThreads = 42, kWarps = 2, kSlots = 64;
constexpr std::uint32_t kSame = 7;      ///< the value where all lanes hold one
constexpr std::uint32_t kStays = 1000;  ///< leaves before no step
constexpr std::size_t kSpellings = 12;  ///< of a row
constexpr std::size_t kChain =
    4;  ///< steps of one kernel: places where lanes meet cost the square of their number
constexpr unsigned kStepWords = 4;  ///< of input: member masks of the warps, then their lowest living lanes

/// The first result if all lanes hold kSame (predicates: true), by spelling.
struct Known {
  std::string_view row, spelling;
  std::uint32_t (*result)(std::uint32_t living);  ///< null: the row has no result
};
constexpr Known kKnown[] = {
    {"vote_sync", "vote.sync.all.pred", [](std::uint32_t) { return 1u; }},
    {"vote_sync_ballot", "vote.sync.ballot.b32", [](std::uint32_t living) { return living; }},
    {"vote", "vote.all.pred", [](std::uint32_t) { return 1u; }},
    {"vote_ballot", "vote.ballot.b32", [](std::uint32_t living) { return living; }},
    {"match_any", "match.any.sync.b32", [](std::uint32_t living) { return living; }},
    {"match_all", "match.all.sync.b32", [](std::uint32_t living) { return living; }},
    {"activemask", "activemask.b32", [](std::uint32_t living) { return living; }},
    {"redux", "redux.sync.add.u32",
     [](std::uint32_t living) { return kSame * static_cast<std::uint32_t>(std::popcount(living)); }},
    {"elect", "elect.sync",
     [](std::uint32_t living) { return static_cast<std::uint32_t>(std::countr_zero(living)); }},
    {"shfl_sync", "shfl.sync.idx.b32", [](std::uint32_t) { return kSame; }},
    {"shfl", "shfl.idx.b32", [](std::uint32_t) { return kSame; }},
    {"bar_warp_sync", "bar.warp.sync", nullptr},
    {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32", nullptr},
};

const Known* known_of(const isa::Row& row) {
  for (const Known& known : kKnown)
    if (known.row == row.id) return &known;
  return nullptr;
}

/// One collective of the chain.
struct Step {
  const isa::Opcode* opcode = nullptr;
  std::string text, after;          ///< the instruction; the code that turns predicates into numbers
  unsigned results = 0, first = 0;  ///< the first is the kernel's result number `first`
};

/// Registers that a kernel or function of the chain has: sources by what they are, results as numbers.
constexpr const char* kRegisters =
    ".reg .pred %a, %q<2>;\n.reg .b32 %u<2>;\nand.b32 %u0, %value, 1;\nsetp.ne.u32 %a, %u0, 0;\n";

std::string operand_text(Step& step, const isa::OperandSpec& spec) {
  const isa::Type type = case_operand_type(*step.opcode, spec);
  if (spec.is_destination) {
    const unsigned k = step.results++;
    if (type != isa::Type::pred) return fmt::format("%u{}", k);
    step.after += fmt::format("selp.u32 %u{}, 1, 0, %q{};\n", k, k);
    return fmt::format("%q{}", k);
  }
  if (spec.names_members) return "%members";
  if (spec.name == "count") return "64";
  // Shuffles read their own lane or the lowest living one: of a lane that is absent they read what it may be.
  if (spec.name == "b") return step.opcode->has(isa::Mod::idx) ? "%lowest" : "0";
  if (spec.name == "c") return step.opcode->has(isa::Mod::up) ? "0" : "31";
  if (type == isa::Type::pred) return "%a";
  return isa::bit_size(type) == 64 ? "%wide" : "%value";
}

std::vector<Step> steps_of(const isa::Row& row) {
  std::vector<Step> steps;
  for (const std::string& text : isa::all_spellings(row, kSpellings)) {
    const isa::Opcode* opcode = *isa::resolve(text);
    for (const isa::Form* form : matching_forms(*opcode))
      for (const std::vector<bool>& present : operand_choices(*form)) {
        Step step{.opcode = opcode, .text = text};
        for (std::size_t i = 0; i < form->operands.size(); ++i) {
          const isa::OperandSlot& slot = form->operands[i];
          if (slot.optional && !present[i]) continue;
          step.text += i == 0 ? " " : slot.joined ? "|" : ", ";
          step.text += operand_text(step, *find_operand(row, slot.name));
        }
        steps.push_back(std::move(step));
      }
  }
  return steps;
}

/// The collective in a function of its own.
std::string function_text(const Step& step, std::size_t number) {
  return fmt::format(
      ".func (.reg .b32 %r0, .reg .b32 %r1) step{} (.reg .b32 %value, .reg .b64 %wide, .reg .b32 %members, "
      ".reg .b32 %lowest)\n{{\n{}{};\n{}mov.u32 %r0, %u0;\nmov.u32 %r1, %u1;\nret;\n}}\n",
      number, kRegisters, step.text, step.after);
}

std::string kernel_text(const std::vector<Step>& steps, bool in_functions) {
  std::string text = ".version 8.7\n.target sm_90a\n.address_size 64\n";
  for (std::size_t k = 0; in_functions && k < steps.size(); ++k) text += function_text(steps[k], k);
  text += fmt::format(R"(.visible .entry test(.param .u64 out, .param .u64 in)
{{
.reg .pred %gone;
.reg .b32 %thread, %warp, %leave, %value, %members, %lowest, %n;
.reg .b64 %out, %in, %own, %step, %wide;
ld.param.b64 %out, [out];
ld.param.b64 %in, [in];
mov.u32 %thread, %tid.x;
shr.u32 %warp, %thread, 5;
mad.wide.u32 %own, %thread, 4, %in;
mad.wide.u32 %out, %thread, 4, %out;
mad.wide.u32 %step, %warp, 4, %in;
ld.global.u32 %leave, [%own];
ld.global.u32 %value, [%own+{}];
mul.wide.u32 %wide, %value, 0x10001;
{})",
                      4 * kSlots, kRegisters);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const std::size_t at = 4 * (2 * kSlots + kStepWords * k);
    text += fmt::format(
        "setp.eq.u32 %gone, %leave, {};\n@%gone bra LEAVE;\nld.global.u32 %members, [%step+{}];\n"
        "ld.global.u32 %lowest, [%step+{}];\n",
        k, at, at + 4 * kWarps);
    text += in_functions ? fmt::format("call (%u0, %u1), step{}, (%value, %wide, %members, %lowest);\n", k)
                         : fmt::format("{};\n{}", steps[k].text, steps[k].after);
    for (unsigned r = 0; r < steps[k].results; ++r)
      text += fmt::format("st.global.u32 [%out+{}], %u{};\n", 4 * kSlots * (steps[k].first + r), r);
  }
  return text +
         "ret;\nLEAVE:\nmov.u32 %n, 50;\nMORE:\nsub.u32 %n, %n, 1;\nsetp.ne.u32 %gone, %n, 0;\n"
         "@%gone bra MORE;\nexit;\n}\n";
}

/// The lanes that leave before each step, and the values of all lanes.
struct Scene {
  const char* name;
  std::uint32_t (*leaves)(unsigned lane, unsigned steps);
};
constexpr Scene kScenes[] = {
    {"all stay", [](unsigned, unsigned) { return kStays; }},
    {"lanes from 10 on leave", [](unsigned lane, unsigned) { return lane < 10 ? kStays : 0; }},
    {"the lowest five lanes leave", [](unsigned lane, unsigned) { return lane > 4 ? kStays : 0; }},
    {"odd lanes leave one by one",
     [](unsigned lane, unsigned steps) { return lane % 2 == 0 ? kStays : lane * 5 % steps; }},
    {"all but one leave", [](unsigned lane, unsigned) { return lane == 9 ? kStays : 0; }},
};

std::uint32_t living(const Scene& scene, unsigned warp, unsigned step, unsigned steps) {
  std::uint32_t lanes = 0;
  for (unsigned lane = 0; lane < 32 && warp * 32 + lane < kThreads; ++lane)
    if (scene.leaves(lane, steps) > step) lanes |= 1u << lane;
  return lanes;
}

class Test {
 public:
  Test(const isa::Row& row, std::vector<Step> steps, const std::vector<NamedEngine>& engines,
       bool in_functions, Report& report)
      : row_(row),
        engines_(engines),
        place_(in_functions ? "function" : "kernel"),
        report_(report),
        steps_(std::move(steps)) {
    for (Step& step : steps_) {
      step.first = results_;
      results_ += step.results;
    }
    text_ = kernel_text(steps_, in_functions);
  }

  void run() {
    auto kernel = CompiledKernel::create(text_, "test", engines_, {kThreads, 1, 1});
    if (!kernel.ok()) return report_.fail(fmt::format("{}: {}\n{}", name(), kernel.error().message, text_));
    for (const Scene& scene : kScenes)
      for (const bool same : {true, false}) {
        const Words expected = outputs(*kernel, 0, scene, same, 0);
        if (same) check_known(scene, expected);
        for (std::size_t e = 0; e < engines_.size(); ++e)
          for (const std::uint32_t absent : {0u, 0x55555555u, ~0u})
            compare(outputs(*kernel, e, scene, same, absent), expected, e, scene, absent);
      }
  }

 private:
  std::string name() const { return fmt::format("{}: absent lanes in a {}", row_.id, place_); }

  /// @param absent  lanes that member masks name beside the living
  Words outputs(const CompiledKernel& kernel, std::size_t engine, const Scene& scene, bool same,
                std::uint32_t absent) {
    const auto count = static_cast<unsigned>(steps_.size());
    Words in(2 * kSlots + kStepWords * count), out(std::max(1u, results_) * kSlots, 0xdeadbeef);
    for (unsigned t = 0; t < kThreads; ++t) {
      in[t] = scene.leaves(t % 32, count);
      in[kSlots + t] = same ? kSame : (t * 2654435761u >> 29);
    }
    for (unsigned k = 0; k < count; ++k)
      for (unsigned w = 0; w < kWarps; ++w) {
        const std::uint32_t lanes = living(scene, w, k, count);
        in[2 * kSlots + kStepWords * k + w] = lanes | absent;
        in[2 * kSlots + kStepWords * k + kWarps + w] =
            static_cast<std::uint32_t>(std::countr_zero(lanes)) & 31;
      }
    if (!kernel.compile_error(engine).empty()) {
      report_.fail(fmt::format("{}: {}: {}", name(), engines_[engine].name, kernel.compile_error(engine)));
      return out;
    }
    const Outcome outcome = kernel.run(engine, {argument(reinterpret_cast<std::uint64_t>(out.data())),
                                                argument(reinterpret_cast<std::uint64_t>(in.data()))});
    if (!outcome.ok())
      report_.fail(fmt::format("{}: {}: {}: {}", name(), engines_[engine].name, scene.name, outcome.problem));
    return out;
  }

  void compare(const Words& out, const Words& expected, std::size_t engine, const Scene& scene,
               std::uint32_t absent) {
    for (const Step& step : steps_)
      for (unsigned i = step.first * kSlots; i < (step.first + step.results) * kSlots; ++i) {
        ++report_.checks;
        if (out[i] == expected[i]) continue;
        return report_.fail(fmt::format(
            "{}: {}: {}: {}: naming {:#x} beside the living gives thread {} {:#x}, not {:#x}, as result {}",
            name(), engines_[engine].name, scene.name, step.text, absent, i % kSlots, out[i], expected[i],
            i / kSlots - step.first));
      }
  }

  void check_known(const Scene& scene, const Words& out) {
    const Known& known = *known_of(row_);
    for (unsigned k = 0; k < steps_.size(); ++k) {
      const Step& step = steps_[k];
      if (step.opcode->text != known.spelling) continue;
      for (unsigned t = 0; known.result && t < kThreads; ++t) {
        const std::uint32_t lanes = living(scene, t / 32, k, static_cast<unsigned>(steps_.size()));
        if ((lanes >> t % 32 & 1) == 0) continue;
        const std::uint32_t is = out[step.first * kSlots + t], must = known.result(lanes);
        ++report_.checks;
        if (is == must) continue;
        return report_.fail(fmt::format("{}: {}: {}: thread {} has {:#x}, not {:#x}", name(), scene.name,
                                        step.text, t, is, must));
      }
    }
  }

  const isa::Row& row_;
  const std::vector<NamedEngine>& engines_;
  const char* place_;
  Report& report_;
  std::vector<Step> steps_;
  unsigned results_ = 0;
  std::string text_;
};

}  // namespace

void test_absent_lanes(const isa::Row& row, const std::vector<NamedEngine>& engines, Report& report) {
  if (row.text->scope != isa::Scope::warp) return;
  if (find_exclusion(row, "absent lanes")) return;
  if (known_of(row) == nullptr)
    return report.fail(fmt::format("{}: tests/isa/absent_lanes.cpp knows no result of it by hand", row.id));
  const std::vector<Step> steps = steps_of(row);
  const Known& known = *known_of(row);
  if (std::none_of(steps.begin(), steps.end(),
                   [&](const Step& s) { return s.opcode->text == known.spelling; }))
    return report.fail(fmt::format("{}: absent lanes: no step is {}", row.id, known.spelling));
  for (auto from = steps.begin(); from != steps.end();) {
    const auto to = from + std::min<std::ptrdiff_t>(kChain, steps.end() - from);
    for (const bool in_functions : {false, true}) Test(row, {from, to}, engines, in_functions, report).run();
    from = to;
  }
}

}  // namespace raddle::testing
