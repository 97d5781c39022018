// Ranks on GPUs: what they cost, whether their gradients are right, and what of them travels during the backward pass.
// scripts/gpu_ranks.py runs all of it. Each prints one line of JSON; several ranks on one card need
// KERNELWRIGHT_RANKS_SHARE_GPU=1.
//   gpu_ranks_bench cost     [--model M] [--method full|lora] [--sequences 8] [--length 1024] [--steps 12]
//     one process: steps of a trainer without ranks and of one with a single rank, by turns
//   gpu_ranks_bench gradient --ranks N --out FOLDER [--precision bf16|float32]
//     N processes (0: a trainer without ranks) sum the gradient of eight batches; FOLDER gets it as a first moment
//   gpu_ranks_bench compare --out FOLDER --against FOLDER
//     two such gradients
//   gpu_ranks_bench overlap  --ranks N
//     when each bucket was sent and summed, and when the backward pass ended
// --emulated: on CPU tensors, to try the program; ranks of several processes need a real NCCL and a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernel/gpu/gpu_choice.h"
#include "kernel/reference/worker.h"
#include "model/decoder/presets.h"
#include "model/distributed/local_ranks.h"
#include "model/distributed/nccl.h"
#include "model/distributed/slots.h"
#include "model/gpu/model_gpu.h"
#include "model/weights/safetensors.h"

namespace kw {
namespace {

constexpr std::int64_t vocabulary = 4096, all_slots = 8;

struct Arguments {
  std::string section, model = "small-30m", method = "full", precision = "bf16", out, against;
  std::int64_t sequences = 8, length = 1024;
  int steps = 12, ranks = 0;
  bool emulated = false;
};

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "failed: %s\n", to_string(error).c_str());
  std::exit(1);
}
template <class T>
T require(Result<T> result) {
  if (!result.ok()) stop(result.error());
  return std::move(result).value();
}
void require(const Result<void>& result) {
  if (!result.ok()) stop(result.error());
}

struct Model {
  Parameters parameters;
  std::vector<Adapter> adapters;
};

Model make_model(const Arguments& arguments) {
  using enum Projection;
  ThreadTeam team;
  const ModelDescription description = require(preset_description(arguments.model, vocabulary));
  Model model{initial_parameters(team, description, 1), {}};
  if (arguments.method != "lora") return model;
  model.adapters.push_back(make_adapter(description, "lora", 16, 32, {q, k, v, o, gate, up, down}, 1));
  Random random(3);  // B begins at zero, and A has no gradient then
  for (float& value : model.adapters[0].values) value += static_cast<float>(0.01 * random.normal());
  return model;
}

PackedBatch batch_of(const Arguments& arguments, const ModelDescription& model, std::uint64_t seed) {
  Random random(seed);
  PackedBatch batch;
  batch.starts = {0};
  for (std::int64_t s = 0; s < arguments.sequences; ++s) {
    for (std::int64_t i = 0; i < arguments.length; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
      batch.scored.push_back(i > 0);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  if (arguments.method == "lora") batch.adapter.assign(static_cast<std::size_t>(arguments.sequences), 0);
  return batch;
}

std::unique_ptr<Trainer> make_trainer(const Arguments& arguments, const Model& model, Communicator* ranks,
                                      const OptimizerOptions& optimizer = {}) {
  TrainingOptions training;
  training.train_base = arguments.method != "lora";
  training.ranks = ranks;
  GpuOptions options;
  options.precision = arguments.precision == "float32" ? GpuPrecision::float32 : GpuPrecision::bf16;
  options.on_cpu = arguments.emulated;
  options.trace_exchange = arguments.section == "overlap";
  return require(make_gpu_trainer(model.parameters, model.adapters, training, optimizer, options, 1));
}

void backward(Trainer& trainer, const PackedBatch& batch, double tokens, bool last) {
  const TokenScores scores = require(trainer.forward(batch));
  ScoreGradients gradients;
  gradients.log_prob.assign(scores.log_prob.size(), static_cast<float>(-1 / tokens));
  if (last) trainer.last_backward_follows();
  require(trainer.backward(gradients));
}

double seconds_of_step(Trainer& trainer, const PackedBatch& batch) {
  const auto start = std::chrono::steady_clock::now();
  backward(trainer, batch, static_cast<double>(batch.tokens.size()), true);
  require(trainer.step(1e-4));
  // A step has ended when the next scores can be read.
  PackedBatch one;
  one.tokens = {1, 2};
  one.starts = {0, 2};
  one.scored = {0, 1};
  require(trainer.score(one));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void cost(const Arguments& arguments) {
  const auto ranks = require(Communicator::join(RankPlace{}));
  const Model model = make_model(arguments);
  const PackedBatch batch = batch_of(arguments, model.parameters.description, 2);
  const auto alone = make_trainer(arguments, model, nullptr), one = make_trainer(arguments, model, ranks.get());
  for (int i = 0; i < 3; ++i) {
    seconds_of_step(*alone, batch);
    seconds_of_step(*one, batch);
  }
  std::vector<double> without, with, ratios;
  for (int i = 0; i < arguments.steps; ++i) {
    without.push_back(seconds_of_step(*alone, batch));
    with.push_back(seconds_of_step(*one, batch));
    ratios.push_back(with.back() / without.back());
  }
  fmt::print(
      R"({{"section": "cost", "model": "{}", "method": "{}", "tokens": {}, "without_ms": {:.3f}, "with_ms": {:.3f}, )"
      R"("ratio": {:.4f}, "ratio_of_pairs": {:.4f}}})"
      "\n",
      arguments.model, arguments.method, batch.tokens.size(), 1e3 * middle(without), 1e3 * middle(with),
      middle(with) / middle(without), middle(ratios));
}

// AdamW without memory: after one step its first moment is the gradient.
void gradient(const Arguments& arguments, Communicator* ranks) {
  OptimizerOptions optimizer;
  optimizer.beta1 = optimizer.beta2 = 0;
  optimizer.clip_norm = 0;
  const Model model = make_model(arguments);
  const auto trainer = make_trainer(arguments, model, ranks, optimizer);
  // A first step connects the ranks; in the second one gradients are sent while they are computed.
  double norm = 0;
  for (int step = 0; step < 2; ++step) {
    const ShareRange own = own_slots(all_slots, ranks);
    for (std::int64_t slot = own.begin; slot < own.end; ++slot) {
      const PackedBatch batch = batch_of(arguments, model.parameters.description, static_cast<std::uint64_t>(slot));
      backward(*trainer, batch, static_cast<double>(all_slots) * static_cast<double>(batch.tokens.size()),
               slot + 1 == own.end);
    }
    norm = require(trainer->step(step == 0 ? 0 : 1e-4)).gradient_norm;
  }
  require(trainer->save_state(arguments.out));
  if (!is_first(ranks)) return;
  fmt::print(
      R"({{"section": "gradient", "model": "{}", "method": "{}", "precision": "{}", "ranks": {}, "norm": {:.9g}}})"
      "\n",
      arguments.model, arguments.method, arguments.precision, arguments.ranks, norm);
}

// Every first moment of a state, one after the other.
std::vector<float> first_moments(const std::string& folder) {
  std::vector<float> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file = require(SafetensorsFile::open(entry.path()));
    for (const TensorView& tensor : file.tensors()) {
      if (!tensor.name.ends_with(".first_moment")) continue;
      const std::vector<float> values = require(read_floats(tensor));
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

void compare(const Arguments& arguments) {
  const std::vector<float> found = first_moments(arguments.out), wanted = first_moments(arguments.against);
  if (found.size() != wanted.size() || found.empty()) stop({"these are gradients of different things", "", {}});
  double difference = 0, size = 0, worst = 0, most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double apart = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    difference += apart * apart;
    size += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    worst = std::max(worst, std::abs(apart));
    most = std::max(most, std::abs(static_cast<double>(wanted[i])));
  }
  if (size == 0) stop({"the gradient is nothing at all", "", {}});
  fmt::print(R"({{"section": "compare", "elements": {}, "error": {:.6g}, "worst": {:.6g}}})"
             "\n",
             found.size(), std::sqrt(difference / size), worst / most);
}

void overlap(const Arguments& arguments, Communicator* ranks) {
  const Model model = make_model(arguments);
  const PackedBatch batch =
      batch_of(arguments, model.parameters.description, static_cast<std::uint64_t>(rank_number(ranks)));
  const auto trainer = make_trainer(arguments, model, ranks);
  double seconds = 0;
  for (int i = 0; i < std::min(arguments.steps, 4); ++i) seconds = seconds_of_step(*trainer, batch);
  if (!is_first(ranks)) return;
  std::string report = gpu_exchange_report(*trainer);
  std::cerr << report;
  std::string lines;
  for (const char letter : report) lines += letter == '\n' ? std::string("\\n") : std::string(1, letter);
  fmt::print(
      R"({{"section": "overlap", "model": "{}", "method": "{}", "ranks": {}, "step_ms": {:.1f}, "report": "{}"}})"
      "\n",
      arguments.model, arguments.method, arguments.ranks, 1e3 * seconds, lines);
}

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&]() -> std::string {
      if (i + 1 >= argc) stop({word + " needs a value", "", {}});
      return argv[++i];
    };
    if (word == "--model")
      arguments.model = next();
    else if (word == "--method")
      arguments.method = next();
    else if (word == "--precision")
      arguments.precision = next();
    else if (word == "--out")
      arguments.out = next();
    else if (word == "--against")
      arguments.against = next();
    else if (word == "--sequences")
      arguments.sequences = std::atol(next().c_str());
    else if (word == "--length")
      arguments.length = std::atol(next().c_str());
    else if (word == "--steps")
      arguments.steps = std::atoi(next().c_str());
    else if (word == "--ranks")
      arguments.ranks = std::atoi(next().c_str());
    else if (word == "--emulated")
      arguments.emulated = true;
    else if (word.starts_with("--") || !arguments.section.empty())
      stop({"what is " + word + "?", "", {}});
    else
      arguments.section = word;
  }
  return arguments;
}

int run(const Arguments& arguments) {
  if (arguments.section == "cost") {
    cost(arguments);
    return 0;
  }
  if (arguments.section == "compare") {
    compare(arguments);
    return 0;
  }
  const bool is_gradient = arguments.section == "gradient";
  if (!is_gradient && arguments.section != "overlap") stop({"cost, gradient, compare or overlap?", "", {}});
  const auto place = require(rank_place());
  if (!place && arguments.ranks > 0) return require(run_local_ranks(arguments.ranks));
  std::unique_ptr<Communicator> ranks;
  if (place) {
    choose_gpu_of_rank(place->local_rank);
    prepare_shared_gpu(place->rank);
    ranks = require(Communicator::join(*place));
  }
  is_gradient ? gradient(arguments, ranks.get()) : overlap(arguments, ranks.get());
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) try {
  // Which of the CPU's instructions work is found by this very program, started again.
  if (const auto code = kw::run_if_reference_worker(argc, argv)) return *code;
  return kw::run(kw::read(argc, argv));
} catch (const std::exception& problem) {
  std::fprintf(stderr, "gpu_ranks_bench: %s\n", problem.what());
  return 1;
}
