#include "learn/rl/step_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "model/decoder/pass_work.h"

namespace kw {
namespace {

double ratio(double part, double all) { return all > 0 ? part / all : 0; }

// Whichever of arithmetic and memory takes longer is the limit.
StepPart rollout_part(const StepWork& work, const MachineRoof& roof) {
  StepPart part{.name = "rollout",
                .seconds = work.generating_s,
                .alone_s = std::max(0.0, work.generating_s - work.both_s),
                .unit = "",
                .limited_by = ""};
  const bool from_memory = work.rollout.working_bytes > roof.cache_bytes;
  const double compute_s = ratio(work.rollout.flops, roof.flops);
  const double memory_s = from_memory ? ratio(work.rollout.bytes, roof.bytes_per_s) : 0;
  const bool memory_binds = memory_s > compute_s;
  part.rate = ratio(memory_binds ? work.rollout.bytes : work.rollout.flops, work.generating_s);
  part.limit = memory_binds ? roof.bytes_per_s : roof.flops;
  part.unit = memory_binds ? "B/s" : "FLOP/s";
  part.limited_by = memory_binds ? "memory" : "arithmetic";
  return part;
}

}  // namespace

RolloutWork rollout_work(const ModelDescription& model, const std::vector<ExperiencedAnswer>& answers,
                         std::int64_t decoder_steps, const DecoderBytes& decoder) {
  std::vector<std::size_t> all(answers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  UpdateOptions in_one_pass;
  in_one_pass.pass_tokens = std::numeric_limits<std::int64_t>::max();
  RolloutWork work;
  for (const AnswerPass& pass : pack_answers(answers, all, [](AgentRole) { return -1; }, in_one_pass))
    work.flops += forward_flops(model, pass.batch);
  double positions = 0;  // that were looked at
  for (const ExperiencedAnswer& answer : answers) {
    const auto prompt = static_cast<double>(answer.prompt.size()), made = static_cast<double>(answer.tokens.size());
    positions += made * prompt + made * (made + 1) / 2;
  }
  const auto steps = static_cast<double>(decoder_steps);
  work.bytes = steps * decoder.weights + positions * decoder.of_position;
  work.working_bytes = ratio(work.bytes, steps);
  return work;
}

void add_step(StepWork& work, const StepConversations& held, const RolloutWork& rollout, const UpdateReport& update,
              double update_s) {
  work.generating_s += held.seconds.generating;
  work.judging_s += held.seconds.judging;
  work.both_s += held.seconds.both;
  work.conversations_s += held.wall_s;
  work.update_s += update_s;
  work.rollout.flops += rollout.flops;
  work.rollout.bytes += rollout.bytes;
  work.rollout.working_bytes = std::max(work.rollout.working_bytes, rollout.working_bytes);
  work.update_flops += update.flops;
  work.judged += held.judged;
}

StepBound bound_of(const StepWork& work, const MachineRoof& roof) {
  StepBound bound;
  bound.step_s = work.conversations_s + work.update_s;
  bound.both_s = work.both_s;
  bound.parts.push_back(rollout_part(work, roof));
  bound.parts.push_back({.name = "judge",
                         .seconds = work.judging_s,
                         .alone_s = std::max(0.0, work.judging_s - work.both_s),
                         .rate = ratio(static_cast<double>(work.judged), work.judging_s),
                         .limit = work.judge_kernels_per_s,
                         .unit = "kernels/s",
                         .limited_by = "the judge alone"});
  bound.parts.push_back({.name = "update",
                         .seconds = work.update_s,
                         .alone_s = work.update_s,
                         .rate = ratio(work.update_flops, work.update_s),
                         .limit = roof.flops,
                         .unit = "FLOP/s",
                         .limited_by = "arithmetic"});
  const double at_work = work.generating_s + work.judging_s - work.both_s;
  bound.other_s = std::max(0.0, work.conversations_s - at_work);
  double longest = work.both_s;
  bound.bound = "rollout and judge";
  for (const StepPart& part : bound.parts)
    if (part.alone_s > longest) {
      longest = part.alone_s;
      bound.bound = part.name;
    }
  bound.bound_share = ratio(longest, bound.step_s);
  return bound;
}

}  // namespace kw
