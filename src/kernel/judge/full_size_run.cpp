#include "kernel/judge/full_size_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace kw {
namespace {

// Warp instructions; ten million take about a second of one core.
constexpr double audit_part = 0.25;            // of what is left of the judgement's budget, to execute everything
constexpr double cheap_whole = 250e3;          // a plan that takes no more is executed as a whole
constexpr double sample_instructions = 500e3;  // after that, no further elements are looked at
constexpr double spread_instructions = 300e3;  // blocks at random, to see whether all do as much
constexpr std::size_t most_spread = 400;
constexpr double skim_all_instructions = 6e6;
constexpr std::int64_t skim_limit = 400'000;                 // of one block
constexpr std::size_t first_targets = 3, most_targets = 16;  // elements that blocks are looked for
constexpr std::size_t most_writers = 4096;                   // of one element
constexpr std::size_t most_lacking = 200'000;                // addresses that are looked up in a round
constexpr std::uint64_t kept_input_bytes = FullSizeInput::most_kept_bytes;
constexpr std::uint64_t held_input_bytes = 64u << 20;  // until the time has been modelled, too
constexpr int most_rounds = 40;                        // of launches that need each other's results

// Global atomics whose result is used: what a block does depends on how many came before it.
bool takes_turns(const Program& program) {
  return std::any_of(program.functions.begin(), program.functions.end(), [](const FunctionCode& function) {
    return std::any_of(function.atomics.begin(), function.atomics.end(), [](const AtomicAccess& atomic) {
      return atomic.returns && atomic.memory.space != PtxSpace::shared;
    });
  });
}

enum class Missing { never, may_be };  // whether somebody must have written what was read

// The end of the range that holds the address; 0: none does.
std::uint64_t end_of_range(const std::vector<AddressRange>& sorted, std::uint64_t address) {
  const auto behind =
      std::upper_bound(sorted.begin(), sorted.end(), address,
                       [](std::uint64_t place, const AddressRange& range) { return place < range.begin; });
  return behind != sorted.begin() && address < std::prev(behind)->end ? std::prev(behind)->end : 0;
}

// Numbers from memory that may be addresses.
bool loads_wide_integers(const Program& program) {
  return std::any_of(program.origins.begin(), program.origins.end(), [](const auto& origin) {
    const std::string& form = origin.form;
    const bool wide = form.find("u64") != form.npos || form.find("s64") != form.npos || form.find("b64") != form.npos;
    return wide && form.starts_with("ld") && !form.starts_with("ld.param");
  });
}

}  // namespace

FullSizeRun::FullSizeRun(const Task& task, const KernelBuild& build, const LoadedModule& module, const SizedPlan& sized,
                         std::shared_ptr<const FullSizeTruth> truth, std::uint64_t seed, WorkBudget* budget)
    : task_(task),
      build_(build),
      module_(module),
      sized_(sized),
      truth_(std::move(truth)),
      random_(seed),
      budget_(budget) {
  outcome_.audit.sizes = sized.sizes;
  if (truth_->mix) outcome_.audit.inputs = name_of(*truth_->mix);
}

FullSizeRun::~FullSizeRun() {
  for (const auto& input : truth_->inputs) input->forget_beyond(kept_input_bytes);
}

Result<PreparedPlan> FullSizeRun::prepare() const {
  InputContents inputs;
  for (const auto& input : truth_->inputs) {
    KW_TRY(auto pages, input->pages());
    inputs.push_back(std::move(pages));
  }
  return prepare_with_real_inputs(task_, sized_, module_, build_.compiled.kernels, inputs, budget_);
}

double FullSizeRun::left() const { return most_instructions - spent_; }

VerdictFinding FullSizeRun::finding(std::string kind, std::string message, std::string advice) const {
  VerdictFinding made;
  made.kind = std::move(kind);
  made.message = std::move(message);
  made.advice = std::move(advice);
  const auto launches = sized_.plan.launches();
  if (!launches.empty()) made.line = launches.back()->where.line;
  return made;
}

FullSizeRun::Found FullSizeRun::settle(VerdictStatus status, VerdictFinding found) {
  outcome_.status = status;
  outcome_.findings.push_back(std::move(found));
  return Found::settled;
}

FullSizeRun::Found FullSizeRun::give_up(const std::string& reason) {
  outcome_.audit.method = "not checked";
  outcome_.audit.assumed.push_back(reason);
  return settle(
      VerdictStatus::unsupported,
      finding("full_size_not_checked",
              fmt::format("the values at {} cannot be checked here: {}", to_string(sized_.sizes), reason),
              "Let each block do its own part of the output, with less work for each; or judge it on a GPU."));
}

FullSizeOutcome FullSizeRun::check(bool whole) {
  if (budget_ != nullptr) units_before_ = budget_->spent();
  if (const auto looked = look_at_plan(); !looked.ok()) {
    give_up(looked.error().message);
    return std::move(outcome_);
  }
  Found found = Found::lost;
  if (!one_after_the_other_) {
    learn_maps();
    found = run_targets(choose_targets(first_targets));
    if (found == Found::right) {
      if (work_of_everything() <= cheap_whole) {
        found = Found::lost;
      } else {
        const double each = std::max(spent_, 1.0) / static_cast<double>(first_targets);
        const auto more = static_cast<std::size_t>(
            std::clamp((sample_instructions - spent_) / each, 0.0, static_cast<double>(most_targets - first_targets)));
        if (more > 0) found = run_targets(choose_targets(more));
        if (found == Found::right) found = run_spread();
      }
    }
  }
  if (found == Found::lost) {
    run_everything();
  } else if (found == Found::right && whole) {
    audit_everything();
  }
  skimmed_ = {};
  for (const auto& input : truth_->inputs) input->forget_beyond(held_input_bytes);
  return std::move(outcome_);
}

// Warp instructions of the whole plan, as the blocks that were run let expect.
double FullSizeRun::work_of_everything() const {
  double sum = 0;
  for (const auto& [step, map] : maps_) {
    double mean = map.skimmed_instructions();
    if (const auto known = blocks_.find(step); known != blocks_.end() && !known->second.empty()) {
      mean = 0;
      for (const auto& [number, block] : known->second)
        mean += static_cast<double>(block.warp_instructions) / static_cast<double>(known->second.size());
    }
    sum += mean * static_cast<double>(map.blocks());
  }
  return sum;
}

// For a verdict that is right already; that it is too much work says nothing against the kernel. The performance model
// goes on with the sampled blocks, so that a kernel's time does not depend on whether it was audited.
void FullSizeRun::audit_everything() {
  FullSizeOutcome sampled = outcome_;
  const auto executed = executed_;
  const auto blocks = blocks_;
  bool affordable = work_of_everything() < left();
  if (budget_ != nullptr) {
    const double units = static_cast<double>(budget_->spent() - units_before_) / std::max(spent_, 1.0);
    affordable = affordable && work_of_everything() * units < static_cast<double>(budget_->left()) * audit_part;
  }
  if (!affordable) {
    outcome_.audit.assumed.push_back("the other blocks do the same: to execute them all takes too much work");
    return;
  }
  const Found found = run_everything();
  if (found != Found::right && outcome_.status != VerdictStatus::unsupported) return;
  if (found == Found::right) sampled.audit = outcome_.audit;
  outcome_ = std::move(sampled);
  executed_ = executed;
  blocks_ = blocks;
}

// Where outputs and scratch memory lie, and whether single blocks can be run at all.
Result<void> FullSizeRun::look_at_plan() {
  KW_TRY(skimmed_, prepare());
  KW_TRY_VOID(module_.place_variables(*skimmed_.memory));  // launches may leave something in them for the next
  for (const auto& allocation : skimmed_.memory->allocations()) {
    const AddressRange range{allocation->base, allocation->base + allocation->bytes};
    if (allocation->name.rfind("output ", 0) == 0) outputs_.push_back(range);
    if (allocation->right == MemoryAccessRight::read_write) arrays_.push_back(range);
    finds_pointers_ = finds_pointers_ || allocation->name.starts_with("__");
  }
  for (std::size_t i = 0; i < skimmed_.steps.size(); ++i) {
    const auto* launch = std::get_if<ProfiledLaunch>(&skimmed_.steps[i]);
    if (launch == nullptr) continue;
    KW_TRY(const Program* program, module_.program(launch->arguments.kernel));
    one_after_the_other_ =
        one_after_the_other_ || program->spins || launch->arguments.cooperative || takes_turns(*program);
    finds_pointers_ = finds_pointers_ || loads_wide_integers(*program);
    const auto& grid = launch->arguments.grid;
    outcome_.audit.blocks += std::uint64_t{grid[0]} * grid[1] * grid[2];
  }
  for (std::size_t i = 0; i < task_.outputs.size(); ++i) {
    KW_TRY(const std::int64_t elements, task_.outputs[i].elements_at(sized_.sizes));
    outcome_.audit.elements += static_cast<std::uint64_t>(elements);
  }
  return {};
}

void FullSizeRun::learn_maps() {
  for (std::size_t i = 0; i < skimmed_.steps.size(); ++i) {
    const auto* launch = std::get_if<ProfiledLaunch>(&skimmed_.steps[i]);
    if (launch == nullptr) continue;
    auto& map = maps_.emplace(i, BlockMap(launch->arguments.grid, arrays_)).first->second;
    map.learn([&](const std::vector<std::uint64_t>& blocks) { return skim(i, blocks); }, random_);
  }
}

std::optional<std::map<std::uint64_t, BlockFootprint>> FullSizeRun::skim(std::size_t step,
                                                                         const std::vector<std::uint64_t>& blocks) {
  const auto& launch = std::get<ProfiledLaunch>(skimmed_.steps[step]);
  FootprintRecorder recorder(*skimmed_.memory, FootprintRecorder::Depth::skim);
  RunOptions options;
  options.profiling = true;
  options.observer = &recorder;
  options.only_blocks = blocks;
  options.budget = budget_;
  RunLimits limits;
  limits.warp_instructions = skim_limit * static_cast<std::int64_t>(blocks.size());
  const auto ran = module_.run(*skimmed_.memory, launch.arguments, limits, options);
  skimmed_.memory->discard_writes();
  if (!ran.ok()) return std::nullopt;
  spent_ += static_cast<double>(ran->statistics.warp_instructions);
  if (ran->status == RunStatus::timeout || ran->status == RunStatus::unsupported) return std::nullopt;
  return recorder.take();
}

std::uint64_t FullSizeRun::address_of(std::size_t output, std::int64_t element) const {
  return outputs_[output].begin + static_cast<std::uint64_t>(element) * bytes_of(task_.outputs[output].dtype);
}

// The first and the last element of each output, which have edges, and others at random.
std::vector<FullSizeRun::Target> FullSizeRun::choose_targets(std::size_t wanted) {
  std::vector<Target> targets;
  for (std::size_t i = 0; i < truth_->places.size(); ++i) {
    const auto& places = truth_->places[i];
    if (places.empty()) continue;
    std::vector<std::int64_t> chosen;
    for (std::size_t k = 0; k < wanted; ++k)
      chosen.push_back(
          places[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(places.size()) - 1))]);
    if (executed_.empty()) chosen.back() = random_.integer(0, 1) == 0 ? places.front() : places.back();
    for (const std::int64_t element : chosen) targets.push_back({i, element, address_of(i, element)});
  }
  return targets;
}

// Every block of an earlier step that may have written there.
FullSizeRun::Writing FullSizeRun::add_writers(std::uint64_t address, std::size_t before_step, Selection& selection,
                                              std::uint64_t& end) {
  bool found = false;
  end = ~std::uint64_t{0};
  std::vector<std::size_t> doubtful;
  for (auto& [step, map] : maps_) {
    if (step >= before_step) break;
    if (map.about(address) != BlockMap::Knowledge::known && !may_reach(step, address)) continue;
    if (map.about(address) == BlockMap::Knowledge::irregular &&
        !map.learn_everything([&, at = step](const std::vector<std::uint64_t>& blocks) { return skim(at, blocks); },
                              std::min(skim_all_instructions, left())))
      return Writing::unknown;
    if (map.about(address) == BlockMap::Knowledge::never_written) {
      doubtful.push_back(step);
      continue;
    }
    const auto writers = map.writers(address, most_writers);
    if (writers.blocks.size() >= most_writers) return Writing::unknown;
    selection[step].blocks.insert(writers.blocks.begin(), writers.blocks.end());
    found = found || !writers.blocks.empty();
    end = std::min(end, writers.end);
  }
  // Written by few blocks, perhaps, none of which was looked at.
  for (auto step = doubtful.rbegin(); step != doubtful.rend() && !found; ++step) {
    BlockMap& map = maps_.at(*step);
    if (!map.learn_everything([&](const std::vector<std::uint64_t>& blocks) { return skim(*step, blocks); },
                              std::min(skim_all_instructions, left())))
      return Writing::unknown;
    const auto writers = map.writers(address, most_writers);
    selection[*step].blocks.insert(writers.blocks.begin(), writers.blocks.end());
    found = !writers.blocks.empty();
    end = std::min(end, writers.end);
  }
  return found ? Writing::somebody : Writing::nobody;
}

// Whether the block has read what another block of the same launch writes. Run beside a few others alone, it may find
// there what the host has cleared, and so find out that it is looked at.
bool FullSizeRun::reads_of_others(std::size_t step, std::uint64_t block, const BlockFootprint& footprint,
                                  std::size_t& looked_up) {
  BlockMap& map = maps_.at(step);
  for (const AddressRange& range : footprint.loaded)
    for (std::uint64_t address = range.begin, end = 0; address < range.end; address = end) {
      if (++looked_up > most_lacking || (budget_ != nullptr && !budget_->may_go_on())) return true;
      if (map.about(address) == BlockMap::Knowledge::irregular &&
          !map.learn_everything([&](const std::vector<std::uint64_t>& blocks) { return skim(step, blocks); },
                                std::min(skim_all_instructions, left())))
        return true;
      const auto writers = map.writers(address, 2);
      for (const std::uint64_t writer : writers.blocks)
        if (writer != block) return true;
      end = std::max(writers.end, address + 1);
    }
  return false;
}

// Whether a launch has an address of the same array. What it has none of it cannot write, unless it finds one
// somewhere.
bool FullSizeRun::may_reach(std::size_t step, std::uint64_t address) const {
  if (finds_pointers_) return true;
  const auto holds = [](const AddressRange& array, std::uint64_t place) {
    constexpr std::uint64_t beside = 4096;  // pointers to the element before the first, and the like
    return place + beside >= array.begin && place < array.end + beside;
  };
  const auto array = std::ranges::find_if(
      arrays_, [&](const AddressRange& range) { return address >= range.begin && address < range.end; });
  const auto* launch = std::get_if<ProfiledLaunch>(&skimmed_.steps[step]);
  if (array == arrays_.end() || launch == nullptr) return true;
  for (const std::string& parameter : launch->arguments.parameters)
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= parameter.size(); at += 4) {
      std::uint64_t value = 0;
      std::memcpy(&value, parameter.data() + at, sizeof value);
      if (holds(*array, value)) return true;
    }
  return false;
}

// What executed blocks have read: its writers are executed too. Somebody must have written what is undefined; what the
// host has cleared may stay as it is. And what they have written is written by all launches that do so, or a later one
// would read what an earlier one left.
bool FullSizeRun::add_lacking(const Execution& execution, Selection& selection, bool& grown) {
  std::size_t looked_up = 0, looked_beside = 0;
  const auto count = [&] {
    std::size_t blocks = 0;
    for (const auto& [step, selected] : selection) blocks += selected.blocks.size();
    return blocks;
  };
  std::vector<AddressRange> written;  // by executed blocks of earlier steps: who else writes there is found below
  const auto add_writers_of = [&](const std::vector<AddressRange>& ranges, std::size_t before_step, Missing missing) {
    std::uint64_t end = 0;
    for (const AddressRange& range : ranges)
      for (std::uint64_t address = range.begin; address < range.end; address = end) {
        if (missing == Missing::may_be && (end = end_of_range(written, address)) > address) continue;
        if (++looked_up > most_lacking) return false;
        const Writing writing = add_writers(address, before_step, selection, end);
        if (writing == Writing::unknown || (missing == Missing::never && writing == Writing::nobody)) return false;
      }
    return true;
  };
  const std::size_t before = count();
  for (const auto& [step, blocks] : execution.seen) {
    for (const auto& [number, footprint] : blocks) {
      if (!add_writers_of(footprint.lacked, step, Missing::never)) return false;
      if (reads_of_others(step, number, footprint, looked_beside)) return false;
      if (maps_.size() == 1) continue;
      if (!add_writers_of(footprint.loaded, step, Missing::may_be)) return false;
      if (!add_writers_of(footprint.stored, skimmed_.steps.size(), Missing::never)) return false;
    }
    for (const auto& [number, footprint] : blocks)
      written.insert(written.end(), footprint.stored.begin(), footprint.stored.end());
    join_ranges(written);
  }
  grown = count() > before;
  return true;
}

FullSizeRun::Found FullSizeRun::run_targets(const std::vector<Target>& targets) {
  Selection selection;
  std::uint64_t end = 0;
  for (const Target& target : targets)
    if (add_writers(target.address, skimmed_.steps.size(), selection, end) != Writing::somebody) return Found::lost;
  for (int round = 0; round < most_rounds; ++round) {
    for (const auto& [step, selected] : selection)
      if (2 * selected.blocks.size() > maps_.at(step).blocks() && selected.blocks.size() > 16) return Found::lost;
    auto execution = execute(selection);
    if (!execution.ok()) return give_up(execution.error().message);
    spent_ += execution->instructions;
    bool lacking = false, grown = false;
    for (const auto& [step, blocks] : execution->seen)
      for (const auto& [number, footprint] : blocks) lacking = lacking || !footprint.lacked.empty();
    if (!add_lacking(*execution, selection, grown) || (lacking && !grown)) return Found::lost;
    if (grown) continue;
    const Found found = judge_execution(*execution, targets, false);
    if (found == Found::right) remember(selection, *execution);
    return found;
  }
  return Found::lost;
}

// Other blocks of a plan of one launch, the first and the last among them: does one of them do much more, or something
// wrong? Of several launches single blocks have not what they need.
FullSizeRun::Found FullSizeRun::run_spread() {
  if (maps_.size() != 1 || executed_.size() != 1) return Found::right;
  const auto step = maps_.begin()->first;
  const std::uint64_t blocks = maps_.begin()->second.blocks();
  const double each = work_of_everything() / static_cast<double>(blocks);
  const auto wanted = static_cast<std::size_t>(
      std::clamp(spread_instructions / std::max(each, 1.0), 2.0, static_cast<double>(most_spread)));
  if (each * static_cast<double>(wanted) > left() / 2) return Found::right;
  Selection selection;
  std::set<std::uint64_t>& chosen = selection[step].blocks;
  chosen = {0, blocks - 1};
  for (std::size_t i = 2; i < wanted; ++i)
    chosen.insert(static_cast<std::uint64_t>(random_.integer(0, static_cast<std::int64_t>(blocks) - 1)));
  auto execution = execute(selection);
  if (!execution.ok()) return give_up(execution.error().message);
  spent_ += execution->instructions;
  std::size_t looked_up = 0;
  for (const auto& [number, footprint] : execution->seen[step]) {
    if (reads_of_others(step, number, footprint, looked_up)) return Found::lost;
    if (!footprint.lacked.empty()) return Found::right;
  }
  const Found found = judge_execution(*execution, {}, false);
  if (found == Found::right) remember(selection, *execution);
  return found;
}

FullSizeRun::Found FullSizeRun::run_everything() {
  Selection selection;
  for (std::size_t i = 0; i < skimmed_.steps.size(); ++i)
    if (std::holds_alternative<ProfiledLaunch>(skimmed_.steps[i])) selection[i].all = true;
  auto execution = execute(selection);
  if (!execution.ok()) return give_up(execution.error().message);
  spent_ += execution->instructions;
  const Found found = judge_execution(*execution, {}, true);
  if (found == Found::right) {
    executed_.clear();
    blocks_.clear();
    remember(selection, *execution);
    outcome_.audit.method = "everything was executed";
  }
  return found;
}

}  // namespace kw
