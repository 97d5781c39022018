// Tokens a second that the CPU generates, alone and in batches, and how much of what the machine can do that is:
// weights and keys/values read at the memory's speed, multiply-adds at the vector units' speed, both measured in the
// same run.
//   build/src/model/rollout/rollout_bench [--model FILE.gguf|FOLDER] [--tokens N] [--prompt N] [--batch N] [--threads
//   N]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>

#include "base/random.h"
#include "model/arithmetic/linear.h"
#include "model/decoder/model_files.h"
#include "model/decoder/presets.h"
#include "model/rollout/cpu_decoder.h"
#include "model/rollout/rollout.h"
#include "model/rollout/sampler.h"

namespace {

using namespace kw;
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// With one thread, processor time: what else runs on the machine counts less. Threads that wait for each other spin, so
// with several only the time of the wall says anything.
double seconds_now(const ThreadTeam& team) { return team.size() == 1 ? cpu_seconds() : wall_seconds(); }

template <class Body>
double best_seconds(const ThreadTeam& team, int rounds, const Body& body) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double start = seconds_now(team);
    body();
    best = std::min(best, seconds_now(team) - start);
  }
  return best;
}

// Reading so many bytes again and again: a small model stays in a cache and is read at the cache's speed.
double measure_bytes_per_s(ThreadTeam& team, double bytes) {
  constexpr std::size_t parts = 64;
  const std::size_t part_words = std::max<std::size_t>(16, static_cast<std::size_t>(bytes) / 8 / parts / 16 * 16);
  const std::vector<std::uint64_t> memory(part_words * parts, 3);
  std::vector<std::uint64_t> sums(parts);
  const int passes = 1 + static_cast<int>(1e8 / bytes);
  const double seconds = best_seconds(team, 4, [&] {
    for (int pass = 0; pass < passes; ++pass) {
      team.run(parts, [&](std::int64_t part) {
        const std::uint64_t* from = memory.data() + static_cast<std::size_t>(part) * part_words;
        std::uint64_t lanes[16] = {};
        for (std::size_t i = 0; i < part_words; i += 16) {
          for (std::size_t l = 0; l < 16; ++l) lanes[l] += from[i + l];
        }
        for (const std::uint64_t lane : lanes) sums[static_cast<std::size_t>(part)] += lane;
      });
    }
  });
  if (sums[0] == 1) fmt::print("\n");  // the sums are used
  return static_cast<double>(memory.size() * 8) * passes / seconds;
}

double measure_flops(ThreadTeam& team) {
  constexpr std::int64_t size = 768;
  const std::vector<float> x(size * size, 0.5f);
  std::vector<float> y(size * size);
  const PackedWeight weight = PackedWeight::from_floats(x, size, size);
  const double product =
      best_seconds(team, 8, [&] { linear(team, {x.data(), size, y.data(), size, size}, weight, nullptr); });
  return 2.0 * size * size * size / product;
}

struct Run {
  std::int64_t batch = 1, prompt = 64, tokens = 128;
};

void bench(ThreadTeam& team, const std::string& name, CpuDecoder& decoder, double peak_flops, const Run& run) {
  const ModelDescription& model = decoder.description();
  Random random(1);
  std::vector<GenerationRequest> requests;
  for (std::int64_t i = 0; i < run.batch; ++i) {
    GenerationRequest request;
    for (std::int64_t n = 0; n < run.prompt; ++n) {
      request.prompt.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
    }
    request.max_tokens = run.tokens;
    request.rule.seed = random.next();
    requests.push_back(request);
  }
  Rollout rollout(decoder);
  for (GenerationRequest& request : requests) {
    if (!rollout.submit(request).ok()) return;
  }
  const double start = seconds_now(team);
  while (rollout.statistics().sampled_tokens < run.batch) {
    if (!rollout.advance().ok()) return;
  }
  const double prompt_s = seconds_now(team) - start;
  const std::int64_t before = rollout.statistics().sampled_tokens;
  const double decode_start = seconds_now(team), wall_start = wall_seconds();
  std::int64_t steps = 0;
  double best_step = 1e9;  // steps are short, so the best one is nearly undisturbed by whatever else runs
  for (; !rollout.idle(); ++steps) {
    const double step_start = seconds_now(team);
    const std::int64_t had = rollout.statistics().sampled_tokens;
    if (!rollout.advance().ok()) return;
    const auto made = static_cast<double>(rollout.statistics().sampled_tokens - had);
    best_step = std::min(best_step, (seconds_now(team) - step_start) * static_cast<double>(run.batch) / made);
  }
  const double decode_s = seconds_now(team) - decode_start;
  const double wall_s = wall_seconds() - wall_start;
  const auto decoded = static_cast<double>(rollout.statistics().sampled_tokens - before);

  // What a step of the whole batch needs at least. Weights are read once, keys and values of every sequence.
  const auto batch = static_cast<double>(run.batch);
  const double context = static_cast<double>(run.prompt) + static_cast<double>(run.tokens) / 2;
  const double kv_bytes = batch * context * static_cast<double>(decoder.page_bytes()) / 16;
  const double bytes = static_cast<double>(decoder.weight_bytes()) + kv_bytes;
  const double products = static_cast<double>(parameter_count(model)) -
                          (model.tied_embeddings ? 0.0 : static_cast<double>(model.vocabulary * model.hidden));
  const double flops =
      batch * (2 * products + 4 * context * static_cast<double>(model.layers * model.heads * model.head_dim));
  const double memory_s = bytes / measure_bytes_per_s(team, bytes), compute_s = flops / peak_flops;
  fmt::print("{:<14} {:>5} {:>6} {:>9.0f} {:>9.0f} {:>9.0f} {:>9.0f} {:>8.2f} {:>8.2f} {:>8.2f} {:>6.0f} %\n", name,
             run.batch, team.size(), static_cast<double>(run.batch * run.prompt) / prompt_s, decoded / wall_s,
             decoded / decode_s, batch / best_step, decode_s / static_cast<double>(steps) * 1e3, memory_s * 1e3,
             compute_s * 1e3, 100 * std::max(memory_s, compute_s) / (decode_s / static_cast<double>(steps)));
  std::fflush(stdout);
}

void bench_sampler(const ThreadTeam& team) {
  SamplerScratch scratch;
  for (const std::int64_t vocabulary : {2048, 49152, 151936}) {
    Random random(2);
    std::vector<float> logits(static_cast<std::size_t>(vocabulary));
    for (float& value : logits) value = static_cast<float>(3 * random.normal());
    fmt::print("sampler, {:>6} logits:", vocabulary);
    for (const auto& named : {std::pair{"greedy", SamplingRule{0, 0, 1, 1}},
                              {"plain", {1, 0, 1, 1}},
                              {"top_k 50", {1, 50, 1, 1}},
                              {"top_p 0.95", {1, 0, 0.95f, 1}}}) {
      std::int64_t index = 0;
      const double time =
          best_seconds(team, 30, [&] { sample_token(logits.data(), vocabulary, named.second, index++, scratch); });
      fmt::print("  {} {:.0f} us", named.first, time * 1e6);
    }
    fmt::print("\n");
  }
}

int run_bench(int argc, char** argv) {
  std::string model_path;
  Run run;
  std::int64_t only_batch = 0;
  int threads = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--model") model_path = argv[i + 1];
    if (option == "--tokens") run.tokens = std::atoll(argv[i + 1]);
    if (option == "--prompt") run.prompt = std::atoll(argv[i + 1]);
    if (option == "--batch") only_batch = std::atoll(argv[i + 1]);
    if (option == "--threads") threads = std::atoi(argv[i + 1]);
  }
  ThreadTeam team(threads);
  const double peak_flops = measure_flops(team);
  fmt::print("{} threads, memory {:.1f} GB/s, products {:.0f} GFLOP/s\n", team.size(),
             measure_bytes_per_s(team, 128e6) * 1e-9, peak_flops * 1e-9);
  if (model_path.empty()) bench_sampler(team);
  fmt::print("prompts of {} tokens, answers of {}\n", run.prompt, run.tokens);
  fmt::print("{:<14} {:>5} {:>6} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8}\n", "model", "batch", "thread",
             "prompt/s", "wall/s", "tok/s", "best", "step ms", "memory", "flops", "of roof");
  const std::vector<std::int64_t> batches =
      only_batch > 0 ? std::vector<std::int64_t>{only_batch} : std::vector<std::int64_t>{1, 16, 64};
  const auto run_all = [&](const std::string& name, CpuDecoder& decoder) {
    for (const std::int64_t batch : batches) {
      run.batch = batch;
      bench(team, name, decoder, peak_flops, run);
    }
  };
  if (!model_path.empty()) {
    const auto files = ModelFiles::open(model_path);
    if (!files.ok()) {
      fmt::print(stderr, "{}\n", to_string(files.error()));
      return 1;
    }
    auto decoder = make_cpu_decoder(team, *files);
    if (!decoder.ok()) {
      fmt::print(stderr, "{}\n", to_string(decoder.error()));
      return 1;
    }
    run_all(std::filesystem::path(model_path).stem().string().substr(0, 14), **decoder);
    return 0;
  }
  for (const char* name : {"tiny-1m", "tiny-3m"}) {
    const auto description = preset_description(name, 2048);
    auto decoder = make_cpu_decoder(team, initial_parameters(team, *description, 1));
    if (!decoder.ok()) return 1;
    run_all(name, **decoder);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_bench(argc, argv);
  } catch (const std::exception& failure) {
    std::fputs(failure.what(), stderr);
    return 1;
  }
}
