#pragma once
// Test code: a landscape instead of a judge. A kernel's time follows from its constants by a formula, so that a search
// has something to find, and a thousand verdicts cost nothing.

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <thread>

#include "agents/agent/kernel_constants.h"
#include "agents/episode/episode_test_support.h"
#include "agents/search/search.h"
#include "base/random.h"

namespace kw {

inline std::string landscape_kernel(int tile, int depth, const std::string& body = "y[0] = x[tile] * depth;") {
  return "constexpr int tile = " + std::to_string(tile) + ";\nconstexpr int depth = " + std::to_string(depth) +
         ";\n__global__ void k(const float* x, float* y) { " + body + " }\n" +
         "extern \"C\" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {\n" +
         "  k<<<rows, tile, 0, stream>>>(x, y);\n}\n";
}

// 10 us at tile = 128 and depth = 16, and a fifth more for each doubling away from that; wrong at tile = 512.
inline double landscape_distance(const std::string& kernel) {
  double distance = 0;
  for (const KernelConstant& constant : kernel_constants(kernel)) {
    const double level = std::log2(static_cast<double>(constant.value));
    if (constant.name == "tile") distance += std::abs(level - 7);
    if (constant.name == "depth") distance += std::abs(level - 4);
  }
  return distance;
}

inline Verdict landscape_verdict(const std::string& kernel) {
  Verdict verdict;
  const double distance = landscape_distance(kernel);
  bool wrong = false;
  for (const KernelConstant& constant : kernel_constants(kernel))
    wrong = wrong || (constant.name == "tile" && constant.value == 512);
  verdict.status = wrong ? VerdictStatus::wrong : VerdictStatus::correct;
  verdict.correct = !wrong;
  verdict.compiled = true;
  verdict.limiter = distance > 4 ? "latency" : "dram bandwidth";
  verdict.time_source = "modelled";
  if (!wrong) verdict.time_us = 10 * std::pow(1.2, distance);
  if (!wrong) verdict.speedup_naive = 100 / *verdict.time_us;
  return verdict;
}

class LandscapeScorer : public KernelScorer {
 public:
  // Verdicts come late and in a random order, as from many judges.
  explicit LandscapeScorer(std::uint64_t disorder = 0, bool measures = false)
      : random_(disorder), late_(disorder != 0), measures_(measures) {}
  ~LandscapeScorer() override { deliver(); }

  // The model sees no mistakes: at tile = 512 it says how long a right kernel would take.
  std::vector<KernelLook> look_at(const std::vector<std::string>& kernels, bool model) override {
    looked += kernels.size();
    std::vector<KernelLook> looks;
    looks.reserve(kernels.size());
    for (const std::string& kernel : kernels)
      looks.push_back({kernel, model ? 10 * std::pow(1.2, landscape_distance(kernel)) : 0, 0});
    return looks;
  }
  void judge(const std::string& kernel, Done done) override {
    ++judged;
    give(std::move(done), landscape_verdict(kernel));
  }
  bool measures() const override { return measures_; }
  // The model is right up to a factor, and measurements are noisy.
  void measure(const std::string& kernel, Done done) override {
    ++measured;
    Verdict verdict = landscape_verdict(kernel);
    if (verdict.time_us) {
      const double us = *verdict.time_us * 1.3 * (1 + 0.01 * random_.uniform(-1, 1));
      verdict.time_us = us;
      verdict.time_interval_us = Interval{us * 0.98, us * 1.02};
      verdict.time_source = "measured";
    }
    give(std::move(done), std::move(verdict));
  }
  void drop_waiting() override {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }

  std::size_t looked = 0, judged = 0, measured = 0;

 private:
  void give(Done done, Verdict verdict) {
    auto shared = std::make_shared<const Verdict>(std::move(verdict));
    if (!late_) return done(std::move(shared));
    {
      const std::lock_guard lock(mutex_);
      waiting_.emplace_back(std::move(done), std::move(shared));
    }
    if (!thread_.joinable())
      thread_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          deliver();
        }
      });
  }
  void deliver() {
    std::vector<std::pair<Done, std::shared_ptr<const Verdict>>> now;
    {
      const std::lock_guard lock(mutex_);
      now.swap(waiting_);
      for (std::size_t i = now.size(); i > 1; --i)
        std::swap(now[i - 1], now[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
    for (auto& [done, verdict] : now) done(std::move(verdict));
  }

  Random random_;
  bool late_, measures_;
  std::mutex mutex_;
  std::vector<std::pair<Done, std::shared_ptr<const Verdict>>> waiting_;
  std::jthread thread_;
};

// All that a search decided, as text to compare.
inline std::string decisions(const SearchOutcome& outcome) {
  std::string text = fmt::format("{} verdicts, {} measurements, {} twins, {} rounds, ended by {}, best {}\n",
                                 outcome.verdicts, outcome.measurements, outcome.twins, outcome.rounds,
                                 to_string(outcome.end), outcome.best.value_or(-1));
  for (const Candidate& candidate : outcome.candidates)
    text += fmt::format("{} {} {} '{}' {} {}\n", candidate.number, to_string(candidate.proposal.from),
                        candidate.proposal.parent, candidate.proposal.change, candidate.time ? candidate.time->us : 0,
                        candidate.proposal.kernel);
  for (const SearchGain& gain : outcome.gains)
    text += fmt::format("{} at {} ({}): {}\n", gain.candidate, gain.verdicts, gain.measurements, gain.us);
  for (const Niche& niche : outcome.niches)
    text += fmt::format("{} {} {}\n", niche.strategies, niche.limiter, fmt::join(niche.members, " "));
  return text;
}

}  // namespace kw
