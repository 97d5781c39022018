// Trainer and decoder on a GPU: right, and how fast. Random weights; sizes of real models.
//   model_gpu_bench [correct] [decode] [prefill] [train] [qlora] [--models a,b] [--batches 1,64,256] [--profile]
//   [--recompute]
//     [--sequences 8] [--length 2048] [--attention flash|cudnn|flash-fast|cudnn-fast]
//     [--cpu: the same code on CPU tensors, to try the program; give a tiny model]
// Shares are of an H200: 4.8 TB/s, and 790 TFLOP/s that large bf16 products reach on it.
#include <sstream>

#include "kernel/reference/worker.h"
#include "model/decoder/cpu_trainer.h"
#include "model_gpu_bench.h"

namespace kw {
namespace {

void check(ThreadTeam& team, const Arguments& arguments) {
  const auto line = [](const char* what, const Difference& d) {
    std::printf("| %s | %.2e | %.2e |\n", what, d.mean, d.most);
  };
  const std::string name = arguments.models_or({"small-30m"}).front();
  std::printf("\n## Right: %s\n| what | mean difference | largest |\n| --- | --- | --- |\n", name.c_str());
  const Parameters parameters = random_model(team, name);
  const PackedBatch batch = random_batch(parameters.description, 4, 128, -1);
  const auto gradient_norm = [&](Trainer& trainer) {
    require(trainer.backward(mean_loss(require(trainer.forward(batch)))));
    return require(trainer.step(1e-4)).gradient_norm;
  };
  auto cpu = require(make_cpu_trainer(team, parameters, {}, {}, {}));
  const auto wanted = require(cpu->score(batch));
  const double wanted_norm = gradient_norm(*cpu);
  for (const bool exact : {true, false}) {
    GpuOptions options;
    options.precision = exact ? GpuPrecision::float32 : GpuPrecision::bf16;
    options.on_cpu = arguments.on_cpu;
    auto gpu = require(make_gpu_trainer(parameters, {}, {}, {}, options));
    line(exact ? "log-probs, float32 against the CPU's trainer" : "log-probs, bf16 against the CPU's trainer",
         difference(require(gpu->score(batch)).log_prob, wanted.log_prob));

    GpuDecoderOptions decoding;
    decoding.page_count = 256;
    for (const bool graphs : {true, false}) {
      decoding.graphs = graphs;
      auto decoder = require(make_gpu_decoder(*gpu, decoding));
      Sequences sequences(*decoder, 8, 0, 100);
      for (int i = 0; i < 100; ++i) sequences.step(*decoder, 1);
      std::vector<float> sampled, scored;
      for (std::size_t s = 0; s < sequences.tokens.size(); ++s) {
        PackedBatch one;
        one.tokens = sequences.tokens[s];
        one.starts = {0, static_cast<std::int64_t>(one.tokens.size())};
        one.scored.assign(one.tokens.size(), 1);
        one.scored[0] = 0;
        const auto scores = require(gpu->score(one));
        scored.insert(scored.end(), scores.log_prob.begin(), scores.log_prob.end());
        sampled.insert(sampled.end(), sequences.log_probs[s].begin(), sequences.log_probs[s].end());
      }
      line(exact ? (graphs ? "sampled against scored, float32, graphs" : "sampled against scored, float32")
                 : (graphs ? "sampled against scored, bf16, graphs" : "sampled against scored, bf16"),
           difference(sampled, scored));
    }
    const double off = std::abs(gradient_norm(*gpu) / wanted_norm - 1);
    line(exact ? "the gradient's norm, float32 against the CPU's, relative" : "the gradient's norm, bf16, relative",
         {off, off});
  }
}

void decode(ThreadTeam& team, const Arguments& arguments) {
  constexpr std::int64_t context = 1024;
  std::printf("\n## Decoding at a context of %lld\n", static_cast<long long>(context));
  std::printf("| model | batch | ms a step | tok/s | share of bandwidth |\n| --- | --- | --- | --- | --- |\n");
  for (const std::string& name :
       arguments.models_or({"small-30m", "smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"})) {
    const Parameters parameters = random_model(team, name);
    const ModelDescription& model = parameters.description;
    GpuDecoderOptions options;
    options.cache_bytes = std::int64_t{arguments.on_cpu ? 1 : 24} << 30;
    options.on_cpu = arguments.on_cpu;
    auto decoder = require(make_gpu_decoder(parameters, {}, options));
    for (const std::int64_t batch : arguments.batches) {
      const int steps = 60;
      Sequences sequences(*decoder, batch, context, steps + 10);
      for (int i = 0; i < 10; ++i) sequences.step(*decoder, 1);
      const double seconds = seconds_of([&] {
                               for (int i = 0; i < steps; ++i) sequences.step(*decoder, 1);
                             }) /
                             steps;
      const double cache_bytes =
          static_cast<double>(batch * (context + steps / 2) * model.layers * 2 * model.kv_heads * model.head_dim * 2);
      const double share = (static_cast<double>(weight_bytes(model)) + cache_bytes) / bytes_per_second / seconds;
      std::printf("| %s | %lld | %.3f | %.0f | %.1f %% |\n", name.c_str(), static_cast<long long>(batch), seconds * 1e3,
                  static_cast<double>(batch) / seconds, 100 * share);
      std::fflush(stdout);
      if (!arguments.profile) continue;
      GpuDecoderOptions profiled = options;
      profiled.cache_bytes = std::int64_t{12} << 30;
      profiled.profile = true;
      auto pieces = require(make_gpu_decoder(parameters, {}, profiled));
      Sequences again(*pieces, batch, context, 8);
      for (int i = 0; i < 2; ++i) again.step(*pieces, 1);
      gpu_decoder_profile(*pieces);
      for (int i = 0; i < 4; ++i) again.step(*pieces, 1);
      std::printf("four steps, piece by piece (each with the cost of an event):\n%s",
                  gpu_decoder_profile(*pieces).c_str());
    }
  }
}

void prefill(ThreadTeam& team, const Arguments& arguments) {
  std::printf("\n## Prompts of 1024 tokens, 8 at a time\n| model | tok/s |\n| --- | --- |\n");
  for (const std::string& name : arguments.models_or({"qwen2.5-coder-0.5b"})) {
    const Parameters parameters = random_model(team, name);
    GpuDecoderOptions options;
    options.on_cpu = arguments.on_cpu;
    if (arguments.on_cpu) options.page_count = 8 * 64;
    auto decoder = require(make_gpu_decoder(parameters, {}, options));
    std::vector<std::int32_t> tokens(1024, 5);
    std::vector<std::vector<std::int32_t>> pages(8);
    std::vector<DecoderRow> rows(8);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (int p = 0; p < 64; ++p) pages[i].push_back(static_cast<std::int32_t>(i * 64) + p);
      rows[i].tokens = tokens;
      rows[i].pages = pages[i];
      rows[i].sample = true;
    }
    require(decoder->step(rows));
    const double seconds = seconds_of([&] {
                             for (int i = 0; i < 5; ++i) require(decoder->step(rows));
                           }) /
                           5;
    std::printf("| %s | %.0f |\n", name.c_str(), 8 * 1024 / seconds);
  }
}

void train(ThreadTeam& team, const Arguments& arguments) {
  const std::int64_t length = arguments.length, sequences = arguments.sequences;
  std::printf("\n## Training, %lld sequences of %lld\n", static_cast<long long>(sequences),
              static_cast<long long>(length));
  std::printf("| model | what | ms a step | tok/s | share of flops | loss |\n| --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : arguments.models_or({"qwen2.5-coder-0.5b"})) {
    const Parameters parameters = random_model(team, name);
    const ModelDescription& model = parameters.description;
    for (const bool full : {true, false}) {
      using enum Projection;
      std::vector<Adapter> adapters;
      if (!full) adapters.push_back(make_adapter(model, "r16", 16, 32, {q, k, v, o, gate, up, down}, 1));
      TrainingOptions training;
      training.train_base = full;
      training.recompute = arguments.recompute;
      GpuOptions options;
      options.profile = arguments.profile;
      options.on_cpu = arguments.on_cpu;
      auto trainer = require(make_gpu_trainer(parameters, adapters, training, {}, options));
      const PackedBatch batch = random_batch(model, sequences, length, full ? -1 : 0);
      double loss = 0;
      const auto step = [&] {
        const auto scores = require(trainer->forward(batch));
        loss = -mean_of(scores.log_prob);
        require(trainer->backward(mean_loss(scores)));
        require(trainer->step(1e-4));
      };
      step();
      step();
      gpu_trainer_profile(*trainer);
      const int steps = 4;
      const double seconds = seconds_of([&] {
                               for (int i = 0; i < steps; ++i) step();
                             }) /
                             steps;
      const double tokens = static_cast<double>(sequences * length) / seconds;
      const double flops = (full ? 6.0 : 4.0) * static_cast<double>(parameter_count(model)) +
                           6.0 * static_cast<double>(model.layers * model.heads * model.head_dim * length);
      std::printf("| %s | %s | %.1f | %.0f | %.1f %% | %.4f |\n", name.c_str(), full ? "full" : "LoRA r16",
                  seconds * 1e3, tokens, 100 * tokens * flops / flops_per_second, loss);
      if (arguments.profile) std::printf("%s", gpu_trainer_profile(*trainer).c_str());
      std::fflush(stdout);
    }
  }
}

template <class Add>
void split(const char* text, Add add) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) add(part);
}

}  // namespace
}  // namespace kw

int main(int count, char** values) {
  if (const auto code = kw::run_if_reference_worker(count, values)) return *code;
  kw::Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string argument = values[i];
    if (argument == "--profile") {
      arguments.profile = true;
    } else if (argument == "--cpu") {
      arguments.on_cpu = true;
    } else if (argument == "--sequences" && i + 1 < count) {
      arguments.sequences = std::stoll(values[++i]);
    } else if (argument == "--length" && i + 1 < count) {
      arguments.length = std::stoll(values[++i]);
    } else if (argument == "--attention" && i + 1 < count) {
      ::setenv("KERNELWRIGHT_ATTENTION", values[++i], 1);
    } else if (argument == "--gpu-memory" && i + 1 < count) {
      arguments.gpu_memory_gib = std::stod(values[++i]);
    } else if (argument == "--recompute") {
      arguments.recompute = true;
    } else if (argument == "--models" && i + 1 < count) {
      kw::split(values[++i], [&](const std::string& part) { arguments.models.push_back(part); });
    } else if (argument == "--batches" && i + 1 < count) {
      arguments.batches.clear();
      kw::split(values[++i], [&](const std::string& part) { arguments.batches.push_back(std::stoll(part)); });
    } else {
      arguments.sections.push_back(argument);
    }
  }
  std::printf("# %s\n", arguments.on_cpu ? "CPU tensors" : kw::require(kw::model_gpu_name()).c_str());
  kw::ThreadTeam team;
  if (arguments.wants("correct")) kw::check(team, arguments);
  if (arguments.wants("decode")) kw::decode(team, arguments);
  if (arguments.wants("prefill")) kw::prefill(team, arguments);
  if (arguments.wants("train")) kw::train(team, arguments);
  if (!arguments.sections.empty() && arguments.wants("qlora")) kw::qlora(team, arguments);
}
