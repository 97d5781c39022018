// Does a verdict depend on chance? Judges many kernels with many secrets (other hidden sizes, other inputs, other
// blocks looked at at full size) and reports every kernel whose status differs. A kernel of the suite, of tests/correct
// or of the stream must be correct each time, one of tests/bugs or tests/exploits never. Goes on where an earlier run
// with the same file stopped:
//   build/src/learn/data/steadiness_bench results.jsonl [--secrets 50] [--first-secret 0] [--full-every 10]
//       [--generated 60] [--seed 21] [--only suite/] [--workers 2] [--report]
// Times are modelled with every `--full-every`th secret only. --report judges nothing.

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/grammar/stream.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/worker.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Options {
  fs::path results;
  int secrets = 50;
  int first_secret = 0;
  int full_every = 10;
  std::uint64_t generated = 60;  // tasks of the stream; of each, every level
  std::uint64_t seed = 21;
  std::string only;  // kernels whose name begins so
  int workers = 2;
  bool report_only = false;
};

struct Subject {
  std::string name;  // group/...
  std::string text;
};

// Kernels of one task are judged by one judge: they share the answers.
struct Group {
  Task task;
  std::vector<Subject> subjects;
};

const std::string at_full_size = "full size, ";

std::string group_of(const std::string& name) { return name.substr(0, name.find('/')); }
bool is_full_size(const std::string& name) { return name.rfind(at_full_size, 0) == 0; }
bool must_be_correct(const std::string& name) {
  const std::string group = group_of(is_full_size(name) ? name.substr(at_full_size.size()) : name);
  return group != "bugs" && group != "exploits";
}

std::string task_named_in(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.rfind("// ", 0) == 0;)
    if (line.rfind("// task: ", 0) == 0) return line.substr(9, line.find_last_not_of(" \r") - 8);
  return "";
}

std::vector<Group> collect(const Options& options) {
  const fs::path root = KW_SOURCE_ROOT;
  std::map<std::string, Group> groups;
  const auto add = [&](const std::string& key, const Task& task, std::string name, std::string text) {
    if (name.rfind(options.only, 0) != 0) return;
    Group& group = groups[key];
    group.task = task;
    group.subjects.push_back({std::move(name), std::move(text)});
  };
  const auto suite = load_suite(root / "tasks");
  for (const SuiteEntry& entry : *suite) {
    Task bare = *entry.task;
    bare.naive.clear();
    for (const char* variant : {"naive", "optimised"}) {
      const auto text = read_file(root / "tasks" / entry.name / (std::string(variant) + ".cu"));
      if (!text.ok()) continue;
      add(entry.name, *entry.task, fmt::format("suite/{}/{}", entry.name, variant), *text);
      add(entry.name + " bare", bare, fmt::format("bare/{}/{}", entry.name, variant), *text);
    }
  }
  for (const char* corpus : {"correct", "bugs", "exploits"}) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(root / "tests" / corpus))
      if (entry.path().extension() == ".cu") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      const std::string text = read_file(file).value();
      const std::string name = task_named_in(text);
      if (const auto task = find_task(root / "tasks", name); task.ok())
        add(name, *task, fmt::format("{}/{}", corpus, file.stem().string()), text);
    }
  }
  StreamOptions stream_options;
  stream_options.seed = options.seed;
  stream_options.naive_too = true;
  const ExampleStream stream(stream_options);
  for (std::uint64_t i = 0; i < options.generated; ++i) {
    const DrawnTask drawn = stream.task_at(i);
    for (const Level level : levels_of(drawn.problem))
      add(fmt::format("generated {}", i), drawn.task,
          fmt::format("generated/{}/{}/{}/{}", options.seed, i, name_of(drawn.problem.family), name_of(level)),
          stream.kernel_for(drawn, level, 1));
  }
  std::vector<Group> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

struct Seen {
  std::map<std::string, int> statuses;
  std::map<std::string, std::string> example;  // by status: secret and summary
};

class Steadiness {
 public:
  explicit Steadiness(const Options& options) : options_(options), groups_(collect(options)) { read_results(); }

  int run() {
    if (!options_.report_only) judge_all();
    return report();
  }

 private:
  void read_results() {
    std::ifstream file(options_.results);
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded() || !json.contains("kernel")) continue;  // cut off by a kill
      note(json);
    }
  }

  void note(const Json& json) {
    const std::string kernel = json.value("kernel", ""), status = json.value("status", "");
    if (!known_.insert({kernel, json.value("secret", 0)}).second) return;
    // The status with the full size checked and the one without it are two questions: some bugs show only there.
    Seen& seen = seen_[json.value("full", false) ? at_full_size + kernel : kernel];
    ++seen.statuses[status];
    seen.example.try_emplace(status, fmt::format("secret {}: {}", json.value("secret", 0), json.value("summary", "")));
  }

  void judge_all() {
    ServiceOptions service_options;
    service_options.pool.workers = options_.workers;
    CompileService service(service_options);
    const DeviceProfile profile = load_profile("h200").value();
    const int last = options_.first_secret + options_.secrets;
    std::uint64_t kernels = 0;
    for (const Group& group : groups_) kernels += group.subjects.size();
    Progress progress("judgements", kernels * static_cast<std::uint64_t>(options_.secrets));
    std::ofstream out(options_.results, std::ios::app);
    for (int secret = options_.first_secret; secret < last; ++secret) {
      std::atomic<std::size_t> next{0};
      const auto work = [&] {
        for (std::size_t at = next++; at < groups_.size() && !interrupted(); at = next++) {
          const Group& group = groups_[at];
          JudgeOptions judging;
          judging.profile = profile;
          judging.secret = fmt::format("steadiness {}", secret);
          judging.cache = false;
          judging.want_time = judging.full_size = secret % options_.full_every == 0;
          Judge judge(service, judging);
          for (const Subject& subject : group.subjects) {
            if (interrupted()) break;
            progress.advance(1, subject.name);
            {
              std::lock_guard lock(mutex_);
              if (known_.contains({subject.name, secret})) continue;
            }
            const Verdict verdict = judge.judge(group.task, subject.text, subject.name);
            const Json json{
                {"kernel", subject.name},     {"secret", secret},          {"status", to_string(verdict.status)},
                {"summary", verdict.summary}, {"full", judging.want_time}, {"ms", static_cast<int>(verdict.judge_ms)}};
            std::lock_guard lock(mutex_);
            out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
            note(json);
          }
        }
      };
      std::vector<std::jthread> threads;
      for (int i = 0; i < options_.workers; ++i) threads.emplace_back(work);
    }
  }

  int report() const {
    struct Row {
      int kernels = 0, judgements = 0, fewest = 0, correct = 0, differing = 0, unexpected = 0;
    };
    std::map<std::string, Row> rows;
    std::string bad;
    for (const auto& [kernel, seen] : seen_) {
      const std::string bare_name = is_full_size(kernel) ? kernel.substr(at_full_size.size()) : kernel;
      if (bare_name.rfind(options_.only, 0) != 0) continue;
      Row& row = rows[group_of(kernel)];
      int judgements = 0;
      for (const auto& [status, count] : seen.statuses) judgements += count;
      const bool differs = seen.statuses.size() > 1;
      const auto correct = seen.statuses.find("correct");
      const int right = correct == seen.statuses.end() ? 0 : correct->second;
      const bool unexpected = must_be_correct(kernel) ? right != judgements : is_full_size(kernel) && right > 0;
      row.fewest = row.kernels == 0 ? judgements : std::min(row.fewest, judgements);
      ++row.kernels;
      row.judgements += judgements;
      row.correct += right;
      row.differing += differs ? 1 : 0;
      row.unexpected += unexpected ? 1 : 0;
      if (!differs && !unexpected) continue;
      bad += kernel + "\n";
      for (const auto& [status, count] : seen.statuses)
        bad += fmt::format("  {} of {} {}; {}\n", count, judgements, status, seen.example.at(status));
    }
    Table table({"kernels", "number", "secrets each", "judgements", "correct", "status differs", "not as it must be"},
                {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
    int unsteady = 0;
    for (const auto& [group, row] : rows) {
      table.add({group, std::to_string(row.kernels), std::to_string(row.fewest), std::to_string(row.judgements),
                 std::to_string(row.correct), std::to_string(row.differing), std::to_string(row.unexpected)});
      unsteady += row.differing + row.unexpected;
    }
    std::printf("%s\n%s", table.text().c_str(), bad.c_str());
    return unsteady == 0 ? 0 : 1;
  }

  const Options options_;
  const std::vector<Group> groups_;
  std::mutex mutex_;  // guards what follows
  std::set<std::pair<std::string, int>> known_;
  std::map<std::string, Seen> seen_;
};

std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  std::map<std::string, std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--report") {
      options.report_only = true;
    } else if (word.rfind("--", 0) == 0) {
      if (i + 1 == argc) return std::nullopt;
      given[word.substr(2)] = argv[++i];
    } else {
      options.results = word;
    }
  }
  const auto number = [&](const char* name, auto& value) {
    if (const auto found = given.extract(name)) value = std::stoi(found.mapped());
  };
  number("secrets", options.secrets);
  number("first-secret", options.first_secret);
  number("full-every", options.full_every);
  number("generated", options.generated);
  number("seed", options.seed);
  number("workers", options.workers);
  if (const auto found = given.extract("only")) options.only = found.mapped();
  if (options.results.empty() || !given.empty() || options.full_every < 1) return std::nullopt;
  return options;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_worker(argc, argv)) return *code;
  kw::install_interrupt_handling();
  const auto options = kw::read_options(argc, argv);
  if (!options) {
    std::fprintf(stderr,
                 "steadiness_bench RESULTS.jsonl [--secrets N] [--first-secret N] [--full-every N] [--generated TASKS] "
                 "[--seed N] [--only PREFIX] [--workers N] [--report]\n");
    return 2;
  }
  return kw::Steadiness(*options).run();
}
