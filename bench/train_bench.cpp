// Training speed of the model on the CPU: forward, backward and step on random tokens.
//   train_bench [PRESET] [SEQUENCES] [TOKENS] [VOCABULARY] [SECONDS] [THREADS] [OPTIMIZER]
// Counts 6 multiply-adds' worth of FLOP for each parameter and token, and those of attention: 12 * hidden of the heads
// * (tokens + 1) / 2 for each layer and token, as causal attention needs them.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/arithmetic/linear.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/presets.h"

namespace {

using namespace kw;
using Clock = std::chrono::steady_clock;

// Of all threads of this process: on a busy machine, with one thread, the number to compare.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What a plain product of the model's widest layer reaches at the same moment.
double product_gflops(ThreadTeam& team, std::int64_t rows, std::int64_t in, std::int64_t out) {
  std::vector<float> x(static_cast<std::size_t>(rows * in), 0.5f), w(static_cast<std::size_t>(out * in), 0.25f),
      y(static_cast<std::size_t>(rows * out));
  const PackedWeight weight = PackedWeight::from_floats(w, out, in);
  double best = 1e9;
  for (const auto start = Clock::now(); seconds_since(start) < 0.5;) {
    const auto one = Clock::now();
    linear(team, {x.data(), in, y.data(), out, rows}, weight, nullptr);
    best = std::min(best, seconds_since(one));
  }
  return 2e-9 * static_cast<double>(rows * in * out) / best;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  const std::string preset = argument(1, "tiny-1m");
  const std::int64_t sequences = std::stoll(argument(2, "8")), tokens = std::stoll(argument(3, "256"));
  const std::int64_t vocabulary = std::stoll(argument(4, "2048"));
  const double limit_s = std::stod(argument(5, "3"));
  ThreadTeam team(std::stoi(argument(6, "0")));
  OptimizerOptions optimizer;
  const auto kind = optimizer_kind(argument(7, "adamw"));
  if (!kind.ok()) {
    fmt::print(stderr, "{}\n", to_string(kind.error()));
    return 1;
  }
  optimizer.kind = *kind;

  const auto description = preset_description(preset, vocabulary);
  if (!description.ok()) {
    fmt::print(stderr, "{}\n", to_string(description.error()));
    return 1;
  }
  auto trainer = make_cpu_trainer(team, initial_parameters(team, *description, 1), {}, {}, optimizer).value();
  PackedBatch batch;
  Random random(2);
  batch.starts.push_back(0);
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t i = 0; i < tokens; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, description->vocabulary - 1)));
      batch.scored.push_back(i > 0 ? 1 : 0);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  const auto scored = static_cast<std::size_t>(sequences * (tokens - 1));
  ScoreGradients gradients;
  gradients.log_prob.assign(scored, -1.0f / static_cast<float>(scored));

  struct Times {
    double forward_s, backward_s, step_s;
    double all() const { return forward_s + backward_s + step_s; }
  };
  std::vector<Times> times;
  double least_cpu_s = 1e9;
  for (const auto start = Clock::now(); times.size() < 3 || seconds_since(start) < limit_s;) {
    Times one{};
    const double cpu_start = cpu_seconds();
    auto part = Clock::now();
    if (!trainer->forward(batch).ok()) return 1;
    one.forward_s = seconds_since(part);
    part = Clock::now();
    if (!trainer->backward(gradients).ok()) return 1;
    one.backward_s = seconds_since(part);
    part = Clock::now();
    if (!trainer->step(1e-4).ok()) return 1;
    one.step_s = seconds_since(part);
    times.push_back(one);
    least_cpu_s = std::min(least_cpu_s, cpu_seconds() - cpu_start);
  }
  std::ranges::sort(times, {}, &Times::all);
  const auto count = static_cast<double>(sequences * tokens);
  const auto parameters = static_cast<double>(parameter_count(*description));
  const double attention = 12.0 *
                           static_cast<double>(description->layers * description->heads * description->head_dim) *
                           static_cast<double>(tokens + 1) / 2;
  const double flop = count * (6 * parameters + attention);
  const double product = product_gflops(team, sequences * tokens, description->hidden, description->intermediate);
  fmt::print("{}: {:.2f} M parameters, {} x {} tokens, {} threads, {} steps\n", preset, parameters / 1e6, sequences,
             tokens, team.size(), times.size());
  for (const auto& [name, one] : {std::pair{"best", times.front()}, {"median", times[times.size() / 2]}}) {
    fmt::print(
        "{:>7}: {:8.0f} tok/s {:7.1f} GFLOP/s ({:.0f} % of a product's {:.0f}); forward {:.1f} ms, backward "
        "{:.1f} ms, step {:.1f} ms\n",
        name, count / one.all(), flop / one.all() / 1e9, 100 * flop / one.all() / 1e9 / product, product,
        1e3 * one.forward_s, 1e3 * one.backward_s, 1e3 * one.step_s);
  }
  fmt::print("    CPU: {:8.0f} tok/s of CPU time at best\n", count / least_cpu_s);
  return 0;
}
