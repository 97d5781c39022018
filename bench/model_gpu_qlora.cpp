// LoRA and QLoRA side by side on random weights of a real shape: training with the driver's word on memory, decoding,
// whether sampled and scored log-probabilities agree, and whether the loss goes the same way on the expanded base.
#include <cinttypes>

#include "model/gpu/memory_plan.h"
#include "model_gpu_bench.h"

namespace kw {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;
double in_gib(std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(gib); }

// Normal numbers from one pool, shifted for each piece: what is measured does not depend on them, and 30 GB of fresh
// ones would take longer than all else.
Parameters pooled_model(ThreadTeam& team, const ModelDescription& model) {
  Parameters parameters(model);
  std::vector<float> pool(std::size_t{1} << 24);
  constexpr std::int64_t piece = 1 << 20;
  team.run(static_cast<std::int64_t>(pool.size()) / piece, [&](std::int64_t part) {
    Random random(1, static_cast<std::uint64_t>(part));
    for (std::int64_t i = 0; i < piece; ++i)
      pool[static_cast<std::size_t>(part * piece + i)] = static_cast<float>(random.normal());
  });
  const float residual = 0.02f / std::sqrt(2.0f * static_cast<float>(model.layers));
  for (const ParameterLayout::Place& place : parameters.layout.places) {
    const std::string& name = place.tensor.name;
    const auto values = parameters.at(place.offset, element_count(place.tensor.shape).value());
    if (place.tensor.shape.size() != 2) {
      std::ranges::fill(values, name.ends_with(".bias") ? 0.0f : 1.0f);
      continue;
    }
    const float size = name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") ? residual : 0.02f;
    const auto count = static_cast<std::int64_t>(values.size());
    team.run((count + piece - 1) / piece, [&](std::int64_t part) {
      Random random(2, static_cast<std::uint64_t>(place.offset + part));
      const auto shift = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(pool.size()) - piece));
      for (std::int64_t i = part * piece; i < std::min(count, (part + 1) * piece); ++i)
        values[static_cast<std::size_t>(i)] = size * pool[shift + static_cast<std::size_t>(i - part * piece)];
    });
  }
  return parameters;
}

struct Case {
  const char* what = "";
  bool packed = false, eight_bit = false;
  std::int64_t passes = 1;  // of a step: each has its share of the sequences
  bool limited = false;

  bool has_trainer_of(const Case& other) const {
    return packed == other.packed && eight_bit == other.eight_bit && limited == other.limited;
  }
};

struct Measured {
  double tokens_per_s = 0, loss = 0;
};

class Comparison {
 public:
  Comparison(ThreadTeam& team, const Arguments& arguments, const std::string& name)
      : arguments_(arguments), model_(require(preset_description(name, own_vocabulary))) {
    const double made = seconds_of([&] { parameters_.emplace(pooled_model(team, model_)); });
    const double quantised = seconds_of([&] { base_.emplace(quantise_base(team, *parameters_)); });
    std::printf("%s: %.1f s for random weights, %.1f s to quantise them\n", name.c_str(), made, quantised);
    using enum Projection;
    adapters_.push_back(make_adapter(model_, "r16", 16, 32, {q, k, v, o, gate, up, down}, 1));
  }

  Measured train(const Case& c) {
    make_trainer(c);
    Trainer* trainer = trainer_.get();
    std::vector<PackedBatch> passes;
    for (std::int64_t i = 0; i < c.passes; ++i)
      passes.push_back(random_batch(model_, arguments_.sequences / c.passes, arguments_.length, 0));
    Measured measured;
    const auto step = [&] {
      measured.loss = 0;
      for (const PackedBatch& batch : passes) {
        const auto scores = require(trainer->forward(batch));
        measured.loss -= mean_of(scores.log_prob) / static_cast<double>(passes.size());
        require(trainer->backward(mean_loss(scores)));
      }
      require(trainer->step(1e-4));
    };
    step();
    step();
    gpu_trainer_profile(*trainer);
    const int steps = arguments_.on_cpu ? 1 : 3;
    const double seconds = seconds_of([&] {
                             for (int i = 0; i < steps; ++i) step();
                           }) /
                           steps;
    measured.tokens_per_s = static_cast<double>(arguments_.sequences * arguments_.length) / seconds;
    std::printf("| %s | %" PRId64 " x %" PRId64 " | %.1f | %.0f | %.4f |", c.what, c.passes,
                arguments_.sequences / c.passes * arguments_.length, seconds * 1e3, measured.tokens_per_s,
                measured.loss);
    if (!arguments_.on_cpu) {
      const GpuMemory memory = require(gpu_memory());
      std::printf(" %.2f | %.2f | %.2f |", in_gib(memory.device_used), in_gib(memory.most_reserved),
                  in_gib(memory.most_allocated));
      if (c.limited) {
        const auto [planned, again] = plan_of(c);
        std::printf(" %.2f, %.0f %% of a forward pass twice |", in_gib(planned), 100 * again);
      }
    }
    std::printf("\n");
    if (arguments_.profile) std::printf("%s", gpu_trainer_profile(*trainer).c_str());
    std::fflush(stdout);
    return measured;
  }

  // Tokens a second for each batch size.
  std::vector<double> decode(bool packed, bool profile, bool rounded_codes = false) {
    constexpr std::int64_t context = 1024;
    GpuDecoderOptions options;
    options.cache_bytes = (arguments_.on_cpu ? 1 : 8) * gib;
    options.on_cpu = arguments_.on_cpu;
    options.profile = profile;
    options.rounded_codes = rounded_codes;
    const auto decoder =
        packed ? require(make_gpu_decoder(*base_, {}, options)) : require(make_gpu_decoder(*parameters_, {}, options));
    std::vector<double> rates;
    for (const std::int64_t batch : profile ? std::vector<std::int64_t>{1} : arguments_.batches) {
      const int steps = arguments_.on_cpu ? 2 : profile ? 4 : 50;
      Sequences sequences(*decoder, batch, context, steps + 10);
      for (int i = 0; i < (arguments_.on_cpu ? 1 : 8); ++i) sequences.step(*decoder, 1);
      if (profile) gpu_decoder_profile(*decoder);
      const double seconds = seconds_of([&] {
                               for (int i = 0; i < steps; ++i) sequences.step(*decoder, 1);
                             }) /
                             steps;
      rates.push_back(static_cast<double>(batch) / seconds);
    }
    if (profile) std::printf("four steps of one row:\n%s", gpu_decoder_profile(*decoder).c_str());
    return rates;
  }

  const ModelDescription& model() const { return model_; }
  // 4.127 bits for the linear layers, bf16 for what else a step reads.
  double packed_bytes() const {
    TrainerShape shape;
    shape.model = model_;
    shape.method = TrainingMethod::qlora;
    const auto pieces = fixed_memory(shape);
    const std::int64_t unread = model_.tied_embeddings ? 0 : model_.vocabulary * model_.hidden * 2;
    return static_cast<double>(pieces[0].bytes + pieces[1].bytes - unread);
  }

  // What tensors take at the most by the plan, and how much of a forward pass is computed twice.
  std::pair<std::int64_t, double> plan_of(const Case& c) const {
    TrainerShape shape;
    shape.model = model_;
    shape.method = TrainingMethod::qlora;
    shape.adapter_parameters = adapters_.front().layout.size;
    shape.adapter_ranks = projection_count * 16;
    shape.eight_bit = c.eight_bit;
    const std::int64_t fixed = sum_of(fixed_memory(shape)), sequences = arguments_.sequences / c.passes;
    const std::int64_t rows = sequences * arguments_.length;
    const std::int64_t limit = static_cast<std::int64_t>(arguments_.gpu_memory_gib * 1024) << 20;
    const PassPlan plan =
        plan_pass(shape, {rows, rows - sequences, sequences}, limit - memory_outside_allocator - fixed).plan;
    return {fixed + plan.bytes, plan.recomputed(model_)};
  }

 private:
  // The one that is there may do: reading 30 GB of floats once more takes longer than the steps.
  void make_trainer(const Case& c) {
    if (trainer_ && made_for_.has_trainer_of(c)) return;
    trainer_.reset();
    TrainingOptions training;
    training.train_base = false;
    OptimizerOptions optimizer;
    optimizer.eight_bit = c.eight_bit;
    GpuOptions options;
    options.on_cpu = arguments_.on_cpu;
    options.profile = arguments_.profile;
    if (c.limited) options.memory_bytes = static_cast<std::int64_t>(arguments_.gpu_memory_gib * 1024) << 20;
    trainer_ = c.packed ? require(make_gpu_trainer(*base_, adapters_, training, optimizer, options))
                        : require(make_gpu_trainer(*parameters_, adapters_, training, optimizer, options));
    made_for_ = c;
  }

  const Arguments& arguments_;
  ModelDescription model_;
  std::optional<Parameters> parameters_;
  std::optional<Nf4Base> base_;
  std::vector<Adapter> adapters_;
  std::unique_ptr<Trainer> trainer_;
  Case made_for_;
};

// A small model: the same steps on the packed base and on its expansion; and what is sampled against what is scored.
void compare_small(ThreadTeam& team, const Arguments& arguments, const std::string& name) {
  const ModelDescription model = require(preset_description(name, own_vocabulary));
  const Nf4Base base = quantise_base(team, initial_parameters(team, model, 1));
  using enum Projection;
  const std::vector<Adapter> adapters{make_adapter(model, "r16", 16, 32, {q, k, v, o, gate, up, down}, 1)};
  TrainingOptions training;
  training.train_base = false;
  GpuOptions options;
  options.on_cpu = arguments.on_cpu;
  auto packed = require(make_gpu_trainer(base, adapters, training, {}, options));
  auto expanded = require(make_gpu_trainer(expand_base(base), adapters, training, {}, options));
  const PackedBatch batch = random_batch(model, 4, arguments.on_cpu ? 32 : 256, 0);
  double most = 0, first = 0, last = 0;
  const int steps = arguments.on_cpu ? 3 : 50;
  for (int step = 0; step < steps; ++step) {
    double losses[2];
    for (Trainer* trainer : {packed.get(), expanded.get()}) {
      const auto scores = require(trainer->forward(batch));
      losses[trainer == packed.get() ? 0 : 1] = -mean_of(scores.log_prob);
      require(trainer->backward(mean_loss(scores)));
      require(trainer->step(1e-3));
    }
    most = std::max(most, std::abs(losses[0] - losses[1]));
    if (step == 0) first = losses[0];
    last = losses[0];
  }
  std::printf("%s, %d steps: loss %.4f to %.4f, at most %.2e from that on the expanded base\n", name.c_str(), steps,
              first, last, most);
  for (const auto& [rows, rounded] : {std::pair{1, false}, {8, false}, {32, false}, {1, true}, {8, true}}) {
    GpuDecoderOptions decoding;
    decoding.rounded_codes = rounded;
    decoding.page_count = 1024;
    decoding.most_rows = 64;
    auto decoder = require(make_gpu_decoder(*packed, decoding));
    const int tokens = arguments.on_cpu ? 3 : 100;
    Sequences sequences(*decoder, rows, 0, tokens);
    for (int i = 0; i < tokens; ++i) sequences.step(*decoder, 1);
    std::vector<float> sampled, scored;
    for (std::size_t s = 0; s < sequences.tokens.size(); ++s) {
      PackedBatch one;
      one.tokens = sequences.tokens[s];
      one.starts = {0, static_cast<std::int64_t>(one.tokens.size())};
      one.scored.assign(one.tokens.size(), 1);
      one.scored[0] = 0;
      const auto scores = require(packed->score(one));
      scored.insert(scored.end(), scores.log_prob.begin(), scores.log_prob.end());
      sampled.insert(sampled.end(), sequences.log_probs[s].begin(), sequences.log_probs[s].end());
    }
    const Difference d = difference(sampled, scored);
    std::printf("sampled against scored, NF4%s, %d at a time: mean %.2e, largest %.2e\n",
                rounded ? " with rounded codes" : "", rows, d.mean, d.most);
  }
  std::fflush(stdout);
}

}  // namespace

void qlora(ThreadTeam& team, const Arguments& arguments) {
  std::printf("\n## QLoRA\n");
  compare_small(team, arguments, arguments.on_cpu ? "tiny-1m" : "small-30m");
  const std::string name = arguments.models_or({"qwen2.5-coder-7b"}).front();
  Comparison comparison(team, arguments, name);

  std::printf(
      "\n### Decoding at a context of 1024\n| batch | bf16 tok/s | NF4 tok/s | ratio | NF4's share of bandwidth | "
      "codes rounded, ratio |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const auto wide = comparison.decode(false, false), narrow = comparison.decode(true, false),
             rounded = comparison.decode(true, false, true);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const auto batch = static_cast<double>(arguments.batches[i]);
    const double cache = batch * 1050 * static_cast<double>(cache_bytes_of_token(comparison.model()));
    const double share = (comparison.packed_bytes() + cache) * narrow[i] / batch / bytes_per_second;
    std::printf("| %.0f | %.0f | %.0f | %.2f | %.1f %% | %.2f |\n", batch, wide[i], narrow[i], narrow[i] / wide[i],
                100 * share, rounded[i] / wide[i]);
  }
  if (arguments.profile) comparison.decode(true, true);

  std::printf("\n### Training, adapters of rank 16, %" PRId64 " x %" PRId64 " tokens a step; limit %.1f GiB\n",
              arguments.sequences, arguments.length, arguments.gpu_memory_gib);
  std::printf(
      "| what | passes | ms a step | tok/s | loss | driver GiB | reserved GiB | allocated GiB | planned GiB |\n");
  std::printf("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  const std::int64_t passes = arguments.sequences;
  const Measured lora = comparison.train({.what = "LoRA"});
  comparison.train({.what = "LoRA, short passes", .passes = passes});
  const Measured free = comparison.train({.what = "QLoRA", .packed = true});
  const Measured whole = comparison.train({.what = "QLoRA, limited", .packed = true, .limited = true});
  const Measured split =
      comparison.train({.what = "QLoRA, limited, short passes", .packed = true, .passes = passes, .limited = true});
  comparison.train({.what = "QLoRA, limited, short passes, 8-bit moments",
                    .packed = true,
                    .eight_bit = true,
                    .passes = passes,
                    .limited = true});
  const auto share = [&](const Measured& measured) { return 100 * measured.tokens_per_s / lora.tokens_per_s; };
  std::printf("\nof LoRA's rate: %.1f %% without a limit, %.1f %% within it in one pass, %.1f %% in short ones\n",
              share(free), share(whole), share(split));
}

}  // namespace kw
