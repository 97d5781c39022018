#include "app/run_report/run_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/file.h"
#include "base/run_log/json_text.h"
#include "base/run_log/metric_lines.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t most_json_bytes = std::size_t{1} << 20;
constexpr std::size_t most_metrics_bytes = std::size_t{64} << 20;
constexpr std::size_t most_exams = 24;      // that are read; the first, the last and some in between
constexpr std::size_t most_files = 10'000;  // of a folder that are looked at
constexpr std::size_t most_timed_stages = 16;
constexpr std::size_t most_missing = 12;

constexpr std::array stage_names = {"sft", "compatibility", "rl"};

class Reader {
 public:
  explicit Reader(fs::path root) : root_(std::move(root)) {}

  Result<RunParts> read() {
    std::error_code failed;
    if (!fs::is_directory(root_, failed)) return Error{"there is no such folder", "", {root_.string(), 0, 0}};
    const fs::path whole = fs::weakly_canonical(root_, failed);
    parts_.name = (failed || whole.filename().empty() ? root_.filename() : whole.filename()).string();
    bool pipeline = exists(root_ / "pipeline.json");
    for (const char* name : stage_names) pipeline = pipeline || exists(root_ / name / "metrics.jsonl");
    if (pipeline)
      read_pipeline();
    else
      read_single();
    const bool nothing = parts_.stages.empty() && parts_.evaluations.empty() && parts_.timed.empty();
    if (nothing && !exists(root_ / "config.json"))
      return Error{
          "this folder holds no training run", "kernelwright runs list shows what there is", {root_.string(), 0, 0}};
    if (parts_.missing.size() > most_missing) {
      const std::size_t more = parts_.missing.size() - most_missing;
      parts_.missing.resize(most_missing);
      parts_.missing.push_back(fmt::format("and {} more", more));
    }
    return std::move(parts_);
  }

 private:
  static bool exists(const fs::path& path) {
    std::error_code failed;
    return fs::exists(path, failed);
  }

  std::string shown(const fs::path& path) const { return path.lexically_relative(root_).string(); }
  void lacks(const fs::path& path, const std::string& why) {
    parts_.missing.push_back(fmt::format("{}: {}", shown(path), why));
  }

  Json read_json(const fs::path& path, bool expected) {
    if (!exists(path)) {
      if (expected) lacks(path, "is not there");
      return {};
    }
    const auto text = read_file(path, most_json_bytes);
    if (!text.ok()) return lacks(path, text.error().message), Json();
    auto json = parse_bounded_ordered_json(*text, stored_json);
    if (!json.ok()) return lacks(path, "is damaged"), Json();
    return std::move(*json);
  }

  // step-00000020.json, by step.
  std::vector<std::pair<std::int64_t, fs::path>> numbered(const fs::path& folder, std::string_view ending) {
    std::vector<std::pair<std::int64_t, fs::path>> found;
    std::error_code failed;
    std::size_t seen = 0;
    for (fs::directory_iterator entry(folder, failed);
         !failed && entry != fs::directory_iterator() && ++seen < most_files; entry.increment(failed)) {
      const std::string name = entry->path().filename().string();
      if (!name.starts_with("step-") || !name.ends_with(ending)) continue;
      const std::string digits = name.substr(5, name.size() - 5 - std::min(name.size() - 5, ending.size()));
      const bool number =
          !digits.empty() && digits.size() < 18 && digits.find_first_not_of("0123456789") == std::string::npos;
      if (number) found.emplace_back(std::stoll(digits), entry->path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void read_metrics(StageParts& stage) {
    const fs::path file = stage.folder / "metrics.jsonl";
    if (!exists(file)) return lacks(file, "is not there: no curves");
    const auto lines = read_metric_lines(file, most_metrics_bytes);
    if (!lines.ok()) return lacks(file, lines.error().message);
    if (lines->unreadable > 0) lacks(file, fmt::format("{} lines cannot be read", lines->unreadable));
    for (const LoggedLine& line : lines->lines)
      for (const auto& [name, value] : line.metrics) stage.metrics[name].emplace_back(line.step, value);
    for (auto& [name, series] : stage.metrics)
      std::stable_sort(series.begin(), series.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  void read_exams(StageParts& stage) {
    auto files = numbered(stage.folder / "exams", ".json");
    if (files.size() > most_exams) {
      std::vector<std::pair<std::int64_t, fs::path>> some;
      for (std::size_t i = 0; i < most_exams; ++i) some.push_back(files[i * (files.size() - 1) / (most_exams - 1)]);
      files = std::move(some);
    }
    for (const auto& [step, file] : files) {
      auto evaluation = read_evaluation(file);
      if (evaluation.ok())
        stage.exams.push_back({step, std::move(evaluation).value()});
      else
        lacks(file, evaluation.error().message);
    }
    for (const auto& [step, file] : numbered(stage.folder / "exams", ".jsonl")) stage.papers.push_back(file);
    for (const auto& [step, file] : numbered(stage.folder / "conversations", ".db"))
      stage.conversations.push_back(file);
  }

  StageParts read_stage(const fs::path& folder, const std::string& name) {
    StageParts stage;
    stage.name = name;
    stage.folder = folder;
    stage.configuration = read_json(folder / "config.json", true);
    stage.machine = read_json(folder / "machine.json", true);
    stage.summary = read_json(folder / "summary.json", false);
    if (stage.summary.is_null()) lacks(folder / "summary.json", "is not there: it has not ended, or it was killed");
    read_metrics(stage);
    read_exams(stage);
    return stage;
  }

  void add_evaluation(const std::string& name, const fs::path& file) {
    auto evaluation = read_evaluation(file);
    if (!evaluation.ok()) return lacks(file, evaluation.error().message);
    if (evaluation->interrupted) lacks(file, "was stopped before its end: what it lacks is not counted");
    parts_.evaluations.push_back({name, std::move(evaluation).value()});
  }

  // Exams of a stage stand in where nothing else was evaluated.
  void take_exams(StageParts& stage) {
    if (stage.exams.empty()) return;
    const auto name_of = [&](const RecordedExam& exam) {
      return exam.step == 0 ? std::string("before") : fmt::format("after step {}", exam.step);
    };
    parts_.evaluations.push_back({name_of(stage.exams.front()), stage.exams.front().evaluation});
    if (stage.exams.size() > 1)
      parts_.evaluations.push_back({name_of(stage.exams.back()), stage.exams.back().evaluation});
  }

  void read_single() {
    if (!exists(root_ / "metrics.jsonl") && !exists(root_ / "config.json")) return;
    StageParts stage = read_stage(root_, "");
    parts_.configuration = stage.configuration;
    parts_.machine = stage.machine;
    take_exams(stage);
    parts_.stages.push_back(std::move(stage));
  }

  void read_pipeline() {
    parts_.configuration = read_json(root_ / "config.json", true);
    const Json pipeline = read_json(root_ / "pipeline.json", true);
    parts_.machine = read_json(root_ / "machine.json", false);
    read_timed(pipeline);
    for (const char* name : stage_names) {
      if (!exists(root_ / name)) continue;
      parts_.stages.push_back(read_stage(root_ / name, name));
      if (parts_.machine.is_null()) parts_.machine = parts_.stages.back().machine;
    }
    constexpr std::array<std::array<const char*, 2>, 4> evaluations = {
        {{"start", "before"}, {"sft", "after SFT"}, {"compatibility", "after stage 1.5"}, {"rl", "after RL"}}};
    for (const auto& [file, name] : evaluations) {
      const fs::path path = root_ / "evaluation" / fmt::format("{}.json", file);
      if (exists(path)) add_evaluation(name, path);
    }
    if (!parts_.evaluations.empty()) return;
    lacks(root_ / "evaluation", "holds no evaluation that can be read");
    for (StageParts& stage : parts_.stages)
      if (stage.name == "rl") take_exams(stage);
  }

  void read_timed(const Json& pipeline) {
    const auto stages = pipeline.find("stages");
    if (pipeline.is_null() || stages == pipeline.end() || !stages->is_array()) return;
    for (const Json& one : *stages) {
      if (parts_.timed.size() == most_timed_stages) break;
      if (!one.is_object() || !one.contains("name") || !one["name"].is_string()) continue;
      TimedStage stage;
      stage.name = one["name"].get<std::string>();
      if (one.contains("state") && one["state"].is_string()) stage.state = one["state"].get<std::string>();
      if (one.contains("seconds") && one["seconds"].is_number()) stage.seconds = one["seconds"].get<double>();
      if (!std::isfinite(stage.seconds) || stage.seconds < 0) stage.seconds = 0;
      // While the report is made, its own stage has not ended.
      if (!stage.state.empty() && stage.state != "done" && stage.name != "report")
        parts_.missing.push_back(fmt::format("stage {}: {}", stage.name, stage.state));
      parts_.timed.push_back(std::move(stage));
    }
  }

  fs::path root_;
  RunParts parts_;
};

}  // namespace

const MetricSeries* StageParts::metric(const std::string& metric_name) const {
  const auto found = metrics.find(metric_name);
  return found == metrics.end() ? nullptr : &found->second;
}

const StageParts* RunParts::reinforcement() const {
  for (const StageParts& stage : stages)
    if (stage.reinforces()) return &stage;
  return nullptr;
}

Result<RunParts> read_run_parts(const std::filesystem::path& folder) { return Reader(folder).read(); }

}  // namespace kw
