#include "agents/reward/reward.h"

#include <charconv>
#include <iostream>

#include <fmt/format.h>

#include "app/cli/command.h"
#include "kernel/judge/verdict_file.h"

namespace kw::cli {
namespace {

struct RewardArguments {
  std::string verdict;
  std::string shape = "gated";
  std::string role;
  std::string given;
  double target = 0;
  std::string baseline = std::string(name_of(Baseline::naive));
  std::vector<std::string> weights;
  bool gate = false;
  bool no_gate = false;
  bool logarithmic = false;
};

Result<void> set_weight_from(RewardShape& shape, const std::string& text) {
  const std::size_t equals = text.find('=');
  const Error wrong{fmt::format("'{}' is no weight", text), "write --weight speed=0.5", {}};
  if (equals == std::string::npos) return wrong;
  const auto kind = reward_term_from_string(text.substr(0, equals));
  if (!kind) return Error{fmt::format("there is no term '{}'", text.substr(0, equals)), "see docs/reward.md", {}};
  double weight = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + equals + 1, end, weight);
  if (read.ec != std::errc() || read.ptr != end) return wrong;
  shape.set_weight(*kind, weight);
  return {};
}

Result<RewardShape> shape_from(const RewardArguments& arguments, std::optional<AgentRole> role) {
  KW_TRY(RewardShape shape, reward_shape(arguments.shape, role));
  if (arguments.gate) shape.gate = true;
  if (arguments.no_gate) shape.gate = false;
  if (arguments.logarithmic) shape.speed_scale = SpeedScale::logarithmic;
  if (arguments.target != 0) shape.target_speedup = arguments.target;
  shape.baseline = baseline_from_name(arguments.baseline).value_or(Baseline::naive);
  for (const std::string& weight : arguments.weights) KW_TRY_VOID(set_weight_from(shape, weight));
  KW_TRY_VOID(check_shape(shape));
  return shape;
}

Result<RewardBreakdown> reward_from(const RewardArguments& arguments) {
  std::optional<AgentRole> role;
  if (!arguments.role.empty()) role = agent_role_from_string(arguments.role);
  KW_TRY(const RewardShape shape, shape_from(arguments, role));
  KW_TRY(const Verdict verdict, read_verdict_file(arguments.verdict));
  std::optional<GivenKernel> given;
  if (!arguments.given.empty()) {
    KW_TRY(const Verdict before, read_verdict_file(arguments.given));
    if (before.task != verdict.task)
      return Error{fmt::format("the verdicts are of different tasks: {} and {}", before.task, verdict.task), "", {}};
    given = given_kernel(before);
  }
  return reward_of(verdict, shape, given, role);
}

void run_reward(Context& context, const RewardArguments& arguments) {
  const auto reward = reward_from(arguments);
  if (!reward.ok()) return fail(context, reward.error());
  if (context.json) {
    print_json(kw::to_json(*reward));
  } else {
    std::cout << to_table(*reward);
  }
  context.exit_code = reward->zeroed ? exit_not_good : exit_good;
}

}  // namespace

void add_reward_command(CLI::App& app, Context& context) {
  auto* reward = app.add_subcommand("reward", "The reward of a verdict, term by term");
  auto arguments = std::make_shared<RewardArguments>();
  add_json_flag(*reward, context);
  reward->add_option("VERDICT.json", arguments->verdict, "what judge --json prints; - reads standard input")
      ->required();
  reward->add_option("--shape", arguments->shape, "which formula")
      ->check(CLI::IsMember(reward_shape_names()))
      ->capture_default_str();
  reward->add_option("--role", arguments->role, "whose reward; default: the published weights")
      ->check(CLI::IsMember({"generator", "optimizer"}));
  reward->add_option("--given", arguments->given, "the verdict of the kernel that the Optimizer started from");
  reward->add_option("--target", arguments->target, "speedup over the baseline that earns a full speed reward");
  reward
      ->add_option("--baseline", arguments->baseline, "what speedups are stated against; given: the kernel of --given")
      ->check(CLI::IsMember({"naive", "given", "pytorch", "pytorch_tf32"}))
      ->capture_default_str();
  reward->add_option("--weight", arguments->weights, "change a weight, as in speed=0.5; may be repeated");
  reward->add_flag("--gate", arguments->gate, "zero unless the kernel compiles and is correct, whatever the formula");
  reward->add_flag("--no-gate", arguments->no_gate, "no gate, whatever the formula")->excludes("--gate");
  reward->add_flag("--logarithmic", arguments->logarithmic, "speed on a logarithmic scale");
  reward->footer(
      "Examples:\n"
      "  kernelwright judge softmax my.cu --json > v.json; kernelwright reward v.json\n"
      "  kernelwright reward new.json --given old.json --role optimizer --shape weighted\n"
      "Exit codes: 0 a reward, 1 zero by the gate or an exploit flag, 2 bad usage or no verdict.");
  reward->callback([&context, arguments] { run_reward(context, *arguments); });
}

}  // namespace kw::cli
