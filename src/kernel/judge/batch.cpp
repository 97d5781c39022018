#include "kernel/judge/batch.h"

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "base/bounded_json.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/text_lines.h"
#include "kernel/judge/judge_pool.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t jobs_file_limit = std::size_t{4} << 30;
constexpr std::size_t kernel_file_limit = 64u << 20;
constexpr std::size_t waiting_a_worker = 4;  // kernels in memory, so that no thread waits for a file
constexpr std::chrono::milliseconds look_up_after(100);
constexpr JsonBounds line_bounds{.min_bytes_per_value = 1, .max_members = 1024};  // of a job, of a verdict

struct Job {
  std::string id;
  std::string task;
  std::string kernel;       // text, or ...
  std::string kernel_file;  // ... where it is
  int line = 0;
};

Result<std::string> text_member(const Json& json, const char* key, int line, const std::filesystem::path& file) {
  const auto found = json.find(key);
  if (found == json.end()) return std::string();
  if (!found->is_string()) return Error{fmt::format("'{}' is not a text", key), "", {file.string(), line, 0}};
  return found->get<std::string>();
}

Result<std::vector<Job>> read_jobs(const std::filesystem::path& path) {
  KW_TRY(const std::string text, read_file(path, jobs_file_limit));
  std::vector<Job> jobs;
  std::set<std::string> ids;
  for (const auto& [line, number] : written_lines(text)) {
    const Position where{path.string(), number, 0};
    const auto parsed = parse_bounded_ordered_json(line, line_bounds);
    if (!parsed.ok())
      return Error{parsed.error().message, R"(a job is {"id": "1", "task": "softmax", "kernel": "..."} on one line)",
                   where};
    const Json& json = *parsed;
    Job job;
    job.line = number;
    KW_TRY(job.id, text_member(json, "id", number, path));
    KW_TRY(job.task, text_member(json, "task", number, path));
    KW_TRY(job.kernel, text_member(json, "kernel", number, path));
    KW_TRY(job.kernel_file, text_member(json, "kernel_file", number, path));
    if (job.task.empty()) return Error{"the job names no task", "", where};
    if (job.kernel.empty() == job.kernel_file.empty() && !json.contains("kernel"))
      return Error{"the job has no kernel", "give its text as 'kernel' or its path as 'kernel_file'", where};
    if (job.id.empty()) job.id = fmt::format("line-{}", number);
    if (!ids.insert(job.id).second) return Error{"the id '" + job.id + "' stands twice", "", where};
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// Ids of complete lines; a last line that was cut short by a kill is removed.
Result<std::set<std::string>> finished_ids(const std::filesystem::path& path) {
  std::set<std::string> ids;
  if (!std::filesystem::exists(path)) return ids;
  KW_TRY(const std::string text, read_file(path, jobs_file_limit));
  std::size_t complete = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const auto json = parse_bounded_ordered_json(std::string_view(text).substr(at, end - at), line_bounds);
    if (!json.ok() || !json->contains("id") || !(*json)["id"].is_string())
      return Error{"this is not a file of verdicts", "give another --out, or remove it", {path.string(), 0, 0}};
    ids.insert((*json)["id"].get<std::string>());
    at = complete = end + 1;
  }
  if (complete < text.size()) std::filesystem::resize_file(path, complete);
  return ids;
}

class Batch {
 public:
  Batch(Judge& judge, std::filesystem::path suite, const BatchOptions& options)
      : judge_(judge), suite_(std::move(suite)), options_(options) {}

  Result<BatchSummary> run() {
    const auto start = std::chrono::steady_clock::now();
    KW_TRY(std::vector<Job> all, read_jobs(options_.jobs));
    KW_TRY(const std::set<std::string> done, finished_ids(options_.out));
    summary_.jobs = all.size();
    for (Job& job : all) {
      if (done.count(job.id) > 0) {
        ++summary_.already_done;
      } else {
        jobs_.push_back(std::move(job));
      }
    }
    out_.open(options_.out, std::ios::app | std::ios::binary);
    if (!out_) return Error{"cannot write", "", {options_.out.string(), 0, 0}};
    if (options_.show_progress && !jobs_.empty()) progress_.emplace("kernels", jobs_.size());
    judge_all();
    if (progress_) progress_->finish();
    summary_.interrupted = interrupted();
    summary_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!out_) return Error{"writing failed; is the disk full?", "", {options_.out.string(), 0, 0}};
    return summary_;
  }

 private:
  void judge_all() {
    const int workers = std::max(options_.workers, 1);
    JudgePool pool(judge_, {workers, static_cast<std::size_t>(workers) * waiting_a_worker, {}, {}});
    for (const Job& job : jobs_)
      if (!hand_in(pool, job)) return;  // interrupted: what waits is dropped with the pool
    std::unique_lock lock(mutex_);
    const auto all_judged = [this] { return summary_.judged == jobs_.size(); };
    while (!interrupted() && !judged_.wait_for(lock, look_up_after, all_judged)) {
    }
  }

  // False after an interrupt.
  bool hand_in(JudgePool& pool, const Job& job) {
    const auto loaded = task_named(job.task);
    auto text =
        job.kernel_file.empty() ? Result<std::string>(job.kernel) : read_file(job.kernel_file, kernel_file_limit);
    if (!loaded->ok() || !text.ok()) {
      note(job, problem_of(job, loaded->ok() ? text.error() : loaded->error()));
      return !interrupted();
    }
    const std::shared_ptr<const Task> task(loaded, &**loaded);
    const std::string file = job.kernel_file.empty() ? job.id : job.kernel_file;
    const auto done = [this, &job, file](const std::shared_ptr<const Verdict>& verdict) {
      // Services are no longer asked after an interrupt; the next start asks them.
      if (interrupted() && verdict->status == VerdictStatus::internal_error) return;
      Verdict own = *verdict;
      own.kernel_file = file;  // an equal kernel may have been judged under another name
      note(job, own);
    };
    while (!interrupted())
      if (pool.submit(task, *text, done, look_up_after, file)) return true;
    return false;
  }

  void note(const Job& job, const Verdict& verdict) {
    Json json{{"id", job.id}};
    json.update(to_json(verdict));
    const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    std::lock_guard lock(mutex_);
    out_ << line << std::flush;
    ++summary_.judged;
    summary_.from_cache += verdict.from_cache ? 1 : 0;
    ++summary_.by_status[std::string(to_string(verdict.status))];
    if (progress_) progress_->advance(1, job.task);
    judged_.notify_all();
  }

  static Verdict problem_of(const Job& job, const Error& error) {
    Verdict verdict;
    verdict.task = job.task;
    verdict.kernel_file = job.kernel_file;
    verdict.summary = to_string(error);
    verdict.feedback = "status: internal_error\n" + verdict.summary + "\n";
    return verdict;
  }

  std::shared_ptr<const Result<Task>> task_named(const std::string& name) {
    auto& entry = tasks_[name];
    if (entry == nullptr) entry = std::make_shared<const Result<Task>>(find_task(suite_, name));
    return entry;
  }

  Judge& judge_;
  std::filesystem::path suite_;
  const BatchOptions& options_;
  std::vector<Job> jobs_;
  std::map<std::string, std::shared_ptr<const Result<Task>>> tasks_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable judged_;
  std::ofstream out_;
  BatchSummary summary_;
  std::optional<Progress> progress_;
};

}  // namespace

Result<BatchSummary> judge_batch(Judge& judge, const std::filesystem::path& suite, const BatchOptions& options) {
  return Batch(judge, suite, options).run();
}

}  // namespace kw
