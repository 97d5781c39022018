#include "kernel/judge/measure_corpus.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "kernel/judge/judge.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The judge times the train sizes; here the held-out ones count as well.
std::shared_ptr<const Task> with_all_large_sizes(Task task) {
  for (const Sizes& sizes : task.sizes_holdout)
    if (std::find(task.sizes_train.begin(), task.sizes_train.end(), sizes) == task.sizes_train.end())
      task.sizes_train.push_back(sizes);
  return std::make_shared<const Task>(std::move(task));
}

void add_folder(const fs::path& folder, const std::string& task_name, const std::string& prefix,
                std::vector<CorpusEntry>& corpus) {
  const auto task = load_task(folder);
  if (!task.ok()) return;
  const auto shared = with_all_large_sizes(*task);
  for (const char* kind : {"naive", "optimised"})
    if (const auto text = read_file(folder / (std::string(kind) + ".cu")); text.ok())
      corpus.push_back({shared, task_name, prefix.empty() ? kind : prefix + kind + ".cu", *text});
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Json row_of(const CorpusEntry& entry, const SizedTime& time, const Task& original) {
  const auto& holdout = original.sizes_holdout;
  const bool held_out = std::find(holdout.begin(), holdout.end(), time.sizes) != holdout.end();
  Json row{{"task", entry.task_name},
           {"kernel", entry.kernel},
           {"kind", held_out ? "holdout" : "train"},
           {"size", time.sizes},
           {"us", time.time_us},
           {"interval_us", {time.interval_us.low, time.interval_us.high}},
           {"rounds", time.rounds}};
  row["naive_us"] = time.naive_us ? Json(*time.naive_us) : Json(nullptr);
  row["pytorch_us"] = time.pytorch_us ? Json(*time.pytorch_us) : Json(nullptr);
  return row;
}

}  // namespace

Result<std::vector<CorpusEntry>> calibration_corpus(const fs::path& suite) {
  std::vector<CorpusEntry> corpus;
  for (const fs::path& folder : sorted_entries(suite))
    if (fs::exists(folder / "task.yaml")) add_folder(folder, folder.filename(), "", corpus);
  if (corpus.empty()) return Error{"there are no tasks", "", {suite.string(), 0, 0}};
  const fs::path root = suite.parent_path();
  for (const fs::path& folder : sorted_entries(root / "bench" / "micro"))
    if (fs::exists(folder / "task.yaml")) {
      const std::string place = "bench/micro/" + folder.filename().string();
      add_folder(folder, place, place + "/", corpus);
    }
  std::map<std::string, std::shared_ptr<const Task>> tasks;
  for (const CorpusEntry& entry : corpus) tasks[entry.task_name] = entry.task;
  for (const fs::path& path : sorted_entries(root / "tests" / "correct")) {
    const auto text = path.extension() == ".cu" ? read_file(path) : Result<std::string>(Error{});
    if (!text.ok() || text->rfind("// task: ", 0) != 0) continue;
    std::istringstream first(text->substr(9, text->find('\n') - 9));
    std::string name;
    first >> name;
    if (const auto task = tasks.find(name); task != tasks.end())
      corpus.push_back({task->second, name, "tests/correct/" + path.filename().string(), *text});
  }
  return corpus;
}

MeasuredCorpus measure_corpus(CompileService& service, GpuBackend& gpu, const DeviceProfile& profile,
                              const std::vector<CorpusEntry>& corpus, int threads,
                              const std::function<void(const std::string&)>& measured) {
  JudgeOptions options;
  options.profile = profile;
  options.profile.architecture = gpu.architecture();
  options.gpu = &gpu;
  options.cache = false;
  options.emulator_first = false;  // they are known to be right
  options.explain = false;
  Judge judge(service, options);
  std::vector<Verdict> verdicts(corpus.size());
  parallel_for(corpus.size(), threads, [&](std::size_t index) {
    if (interrupted()) return;
    verdicts[index] = judge.judge(*corpus[index].task, corpus[index].text, corpus[index].kernel);
    measured(corpus[index].task_name);
  });
  MeasuredCorpus made;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    if (!verdicts[i].correct)
      made.problems.push_back(corpus[i].task_name + " " + corpus[i].kernel + ": " +
                              std::string(to_string(verdicts[i].status)) + ": " + verdicts[i].summary);
    if (!verdicts[i].correct) continue;
    for (const SizedTime& time : verdicts[i].times) {
      made.json_lines += row_of(corpus[i], time, *corpus[i].task).dump() + "\n";
      ++made.times;
    }
  }
  return made;
}

}  // namespace kw
