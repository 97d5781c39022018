#include "learn/data/judged_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agents/grammar/mutation.h"
#include "base/hash.h"
#include "base/random.h"
#include "kernel/task/task_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

struct JudgedKernel {
  Level level = Level::naive;
  std::string text;
  Verdict verdict;
};

constexpr std::uint64_t varied_style = 1;

std::uint64_t variant_of(std::uint64_t seed, std::uint64_t index, double formulas) {
  if (formulas <= 0) return varied_style;
  return Random(seed ^ 0x7374796c65u, index).uniform() < formulas ? formula_style : varied_style;
}

class TaskJudging {
 public:
  TaskJudging(Judge& judge, const ExampleStream& stream, std::uint64_t index, const JudgedTaskOptions& options)
      : judge_(judge),
        stream_(stream),
        options_(options),
        drawn_(stream.task_at(index)),
        task_(task_json(drawn_.task)),
        variant_(variant_of(stream.options().seed, index, options.formulas)) {}

  Json run() {
    const std::vector<Level> levels = levels_of(drawn_.problem);
    std::uint64_t judged_right = 0;
    for (const Level level : levels) {
      JudgedKernel kernel{level, stream_.kernel_for(drawn_, level, variant_), {}};
      kernel.verdict = judge_.judge(drawn_.task, kernel.text, drawn_.task.name);
      if (!kernel.verdict.correct) {
        ++dropped_[fmt::format("{} is {}", name_of(level), to_string(kernel.verdict.status))];
        continue;
      }
      ++judged_right;
      if (options_.held_out_code.count(kernel.verdict.ptx_fingerprint) > 0) {
        ++dropped_["code of a held-out task of the suite"];
        continue;
      }
      right_.push_back(std::move(kernel));
    }
    for (const JudgedKernel& kernel : right_) {
      add_generate(kernel);
      add_report(kernel, "");
    }
    add_optimise();
    add_repairs();
    Json dropped = Json::object();
    for (const auto& [reason, times] : dropped_) dropped[reason] = times;
    return {{"index", drawn_.index},
            {"written", levels.size()},
            {"right", judged_right},
            {"examples", examples_},
            {"dropped", dropped}};
  }

 private:
  // Who made it and how it can be made again.
  Json line(const char* kind, const JudgedKernel& kernel) const {
    const StreamOptions& stream = stream_.options();
    Json json{{"kind", kind},
              {"seed", stream.seed},
              {"index", drawn_.index},
              {"split", name_of(stream.split)},
              {"writer", name_of(drawn_.problem.family)},
              {"level", name_of(kernel.level)},
              {"structure", drawn_.structure},
              {"fingerprint", kernel.verdict.fingerprint},
              {"ptx_fingerprint", kernel.verdict.ptx_fingerprint},
              {"task", task_}};
    if (variant_ == formula_style) json["style"] = "formulas";
    return json;
  }

  void add_generate(const JudgedKernel& kernel) {
    Json json = line("generate", kernel);
    json["target"] = kernel.text;
    json["speedup_naive"] = kernel.verdict.speedup_naive ? Json(*kernel.verdict.speedup_naive) : Json();
    examples_.push_back(std::move(json));
  }

  void add_report(const JudgedKernel& kernel, const std::string& mistake) {
    Json json = line("report", kernel);
    if (!mistake.empty()) json["mistake"] = mistake;
    json["kernel"] = kernel.text;
    json["verdict"] = verdict_extract(kernel.verdict);
    examples_.push_back(std::move(json));
  }

  // From every kernel to the fastest, and to the next faster one where that is another.
  void add_optimise() {
    std::vector<const JudgedKernel*> timed;
    for (const JudgedKernel& kernel : right_)
      if (kernel.verdict.time_us) timed.push_back(&kernel);
    std::stable_sort(timed.begin(), timed.end(), [](const JudgedKernel* a, const JudgedKernel* b) {
      return *a->verdict.time_us > *b->verdict.time_us;
    });
    for (std::size_t i = 0; i < timed.size(); ++i) {
      const JudgedKernel* last = nullptr;
      for (std::size_t j = i + 1; j < timed.size(); ++j) {
        const double gain = *timed[i]->verdict.time_us / *timed[j]->verdict.time_us;
        const bool next = last == nullptr, fastest = j + 1 == timed.size();
        if (gain < options_.least_gain || !(next || fastest)) continue;
        last = timed[j];
        Json json = line("optimise", *timed[i]);
        json["kernel"] = timed[i]->text;
        json["verdict"] = verdict_extract(timed[i]->verdict);
        json["target_level"] = name_of(timed[j]->level);
        json["target"] = timed[j]->text;
        json["target_fingerprint"] = timed[j]->verdict.fingerprint;
        json["gain"] = gain;
        examples_.push_back(std::move(json));
      }
    }
  }

  void add_repairs() {
    if (right_.empty()) return;
    Random random(stream_.options().seed ^ 0x6d757461u, drawn_.index);
    for (int i = 0; i < options_.mutants; ++i) {
      const auto at = random.integer(0, static_cast<std::int64_t>(right_.size()) - 1);
      const JudgedKernel& original = right_[static_cast<std::size_t>(at)];
      const auto mutant = mutate(original.text, random);
      if (!mutant) continue;
      JudgedKernel broken{original.level, mutant->kernel, judge_.judge(drawn_.task, mutant->kernel, drawn_.task.name)};
      const VerdictStatus status = broken.verdict.status;
      if (status == VerdictStatus::correct) {
        ++dropped_["mistake " + mutant->kind + " did no harm"];
        continue;
      }
      if (status == VerdictStatus::unsupported || status == VerdictStatus::internal_error) {
        ++dropped_[fmt::format("mistake is {}", to_string(status))];
        continue;
      }
      Json json = line("repair", broken);
      // Text that cannot be read has no fingerprint; the text itself tells it apart.
      if (broken.verdict.fingerprint.empty()) json["fingerprint"] = fmt::format("{:016x}", checksum64(broken.text));
      json["mistake"] = mutant->kind;
      json["kernel"] = broken.text;
      json["verdict"] = verdict_extract(broken.verdict);
      json["target"] = original.text;
      json["target_fingerprint"] = original.verdict.fingerprint;
      examples_.push_back(std::move(json));
      add_report(broken, mutant->kind);
    }
  }

  Judge& judge_;
  const ExampleStream& stream_;
  const JudgedTaskOptions& options_;
  const DrawnTask drawn_;
  const Json task_;
  const std::uint64_t variant_;
  std::vector<JudgedKernel> right_;
  Json examples_ = Json::array();
  std::map<std::string, int> dropped_;
};

}  // namespace

nlohmann::ordered_json judged_task_json(Judge& judge, const ExampleStream& stream, std::uint64_t index,
                                        const JudgedTaskOptions& options) {
  return TaskJudging(judge, stream, index, options).run();
}

nlohmann::ordered_json verdict_extract(Verdict verdict) {
  verdict.times.clear();
  verdict.terms.clear();
  verdict.counters.clear();
  verdict.stages_ms.clear();
  verdict.feedback.clear();
  // How long judging took is not the kernel's doing, and would make two stores of the same stream differ.
  verdict.compile_ms = 0;
  verdict.judge_ms = 0;
  verdict.from_cache = false;
  if (verdict.correct) verdict.cases.clear();
  return to_json(verdict);
}

}  // namespace kw
