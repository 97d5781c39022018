// kernelwright model plan: what of a model's training fits into a GPU's memory.

#include <fmt/format.h>

#include <iostream>

#include "agents/episode/agent_files.h"
#include "app/cli/model_command.h"
#include "base/table.h"
#include "model/decoder/presets.h"
#include "model/gpu/memory_plan.h"

namespace kw::cli {
namespace {

struct PlanArguments {
  std::string model;
  std::string method = "qlora";
  double gpu_memory_gib = 24;
  std::int64_t rank = 16;
  std::string moment_bits = "32";
};

// Passes over sequences of one length.
struct ContextFit {
  std::int64_t context = 0;
  std::int64_t kept_rows = 0;  // tokens of a pass that computes nothing twice
  std::int64_t most_rows = 0;  // of one that keeps as little as it can
  std::int64_t answers = 0;    // that a decoder beside the trainer holds at a time
};

struct ModelPlan {
  ModelDescription model;
  TrainerShape shape;
  std::vector<MemoryPiece> pieces;
  std::int64_t limit = 0, left = 0;  // left: for passes; below 0: the model alone does not fit
  std::vector<ContextFit> fits;
};

constexpr std::int64_t shortest = 512;
// A decoder takes two fifths of what is free when it is made (model/gpu/decoder_pages.h).
std::int64_t cache_tokens(const ModelPlan& plan) {
  return std::max<std::int64_t>(0, plan.left * 2 / 5 / cache_bytes_of_token(plan.model));
}

Result<ModelDescription> description_of(const std::string& name) {
  for (const std::string_view preset : preset_names())
    if (preset == name) return preset_description(name, 2048);
  KW_TRY(const AgentFiles opened, open_agents(name));
  return opened.base.description();
}

Result<ModelPlan> make_plan(const PlanArguments& arguments) {
  ModelPlan plan;
  KW_TRY(plan.model, description_of(arguments.model));
  plan.shape.model = plan.model;
  KW_TRY(plan.shape.method, training_method(arguments.method));
  if (plan.shape.method != TrainingMethod::full) {
    plan.shape.adapter_parameters = adapter_parameters(plan.model, arguments.rank);
    plan.shape.adapter_ranks = projection_count * arguments.rank;
    plan.shape.eight_bit = arguments.moment_bits == "8";
  } else if (arguments.moment_bits == "8") {
    return Error{"on a GPU, moments of 8 bits are for adapters", "--method qlora or lora", {}};
  }
  plan.limit = static_cast<std::int64_t>(arguments.gpu_memory_gib * 1024) << 20;
  plan.pieces = fixed_memory(plan.shape);
  plan.pieces.push_back({"CUDA itself", memory_outside_allocator});
  plan.left = plan.limit - sum_of(plan.pieces);
  for (std::int64_t context = shortest; context <= std::max(plan.model.context, shortest); context *= 2) {
    plan.fits.push_back({context, most_rows(plan.shape, plan.left, Kept::products, context, context),
                         most_rows(plan.shape, plan.left, Kept::input, context, context),
                         cache_tokens(plan) / context});
  }
  return plan;
}

Json json_of(const PlanArguments& arguments, const ModelPlan& plan) {
  Json pieces = Json::array(), fits = Json::array();
  for (const MemoryPiece& piece : plan.pieces) pieces.push_back({{"name", piece.name}, {"bytes", piece.bytes}});
  for (const ContextFit& fit : plan.fits)
    fits.push_back({{"context", fit.context},
                    {"tokens_without_recomputation", fit.kept_rows},
                    {"tokens", fit.most_rows},
                    {"answers", fit.answers}});
  return {{"model", arguments.model},
          {"method", arguments.method},
          {"parameters", parameter_count(plan.model)},
          {"limit_bytes", plan.limit},
          {"left_bytes", plan.left},
          {"fits", plan.left > 0 && plan.fits.front().most_rows > 0},
          {"pieces", pieces},
          {"passes", fits}};
}

std::string rows_text(std::int64_t rows, std::int64_t context) {
  return rows == 0 ? "none" : fmt::format("{} = {} x {}", rows, rows / context, context);
}

void print_plan(const PlanArguments& arguments, const ModelPlan& plan) {
  std::cout << fmt::format("{} with {} parameters, {} within {:g} GiB\n\n", arguments.model,
                           parameter_count(plan.model), arguments.method, arguments.gpu_memory_gib);
  Table table({"always there", "bytes"}, {Align::left, Align::right});
  for (const MemoryPiece& piece : plan.pieces) table.add({piece.name, bytes_text(static_cast<double>(piece.bytes))});
  table.add({"left for passes", plan.left > 0 ? bytes_text(static_cast<double>(plan.left)) : "nothing"});
  std::cout << table.text() << "\n";
  if (plan.left <= 0 || plan.fits.front().most_rows == 0) {
    std::cout << fmt::format("It does not fit: not even a pass over {} tokens.\n", shortest);
    return;
  }
  Table passes({"length of a sequence", "tokens of a pass, nothing twice", "tokens at most, with recomputation",
                "answers beside it"},
               {Align::right, Align::right, Align::right, Align::right});
  for (const ContextFit& fit : plan.fits)
    passes.add({std::to_string(fit.context), rows_text(fit.kept_rows, fit.context),
                rows_text(fit.most_rows, fit.context), std::to_string(fit.answers)});
  std::cout
      << passes.text()
      << "\nA step may have any number of passes (sft.pass, rl.pass: tokens of one). Answers: so many of this length\n"
         "a decoder on the same weights holds, in two fifths of what is left; passes beside it get the rest.\n";
}

}  // namespace

void add_model_plan_command(CLI::App& model, Context& context) {
  auto* plan = model.add_subcommand("plan", "What of a model's training fits into a GPU's memory; needs no GPU");
  add_json_flag(*plan, context);
  auto arguments = std::make_shared<PlanArguments>();
  plan->add_option("MODEL", arguments->model, "a shape (qwen2.5-coder-7b), or a model's files")->required();
  plan->add_option("--method", arguments->method, "what is trained: full, lora, or qlora (a base in 4 bits)")
      ->capture_default_str()
      ->check(CLI::IsMember({"full", "lora", "qlora"}));
  plan->add_option("--gpu-memory", arguments->gpu_memory_gib, "GiB that may be taken")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 4096.0));
  plan->add_option("--rank", arguments->rank, "rank of an adapter on all seven projections")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  plan->add_option("--moment-bits", arguments->moment_bits, "bits of the optimizer's moments")
      ->capture_default_str()
      ->check(CLI::IsMember({"32", "8"}));
  plan->footer("Example:\n  kernelwright model plan qwen2.5-coder-7b --method qlora --gpu-memory 24");
  plan->callback([&context, arguments] {
    const auto made = make_plan(*arguments);
    if (!made.ok()) return fail(context, made.error());
    if (context.json) return print_json(json_of(*arguments, *made));
    print_plan(*arguments, *made);
  });
}

}  // namespace kw::cli
