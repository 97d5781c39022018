#include "kernel/judge/batch.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t jobs_file_limit = std::size_t{4} << 30;
constexpr std::size_t kernel_file_limit = 64u << 20;

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
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Json json = Json::parse(line, nullptr, false);
    const Position where{path.string(), number, 0};
    if (json.is_discarded() || !json.is_object())
      return Error{"not a JSON object", R"(a job is {"id": "1", "task": "softmax", "kernel": "..."} on one line)",
                   where};
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
    const Json json = Json::parse(std::string_view(text).substr(at, end - at), nullptr, false);
    const auto id = json.is_object() ? json.find("id") : json.end();
    if (json.is_discarded() || !json.is_object() || id == json.end() || !id->is_string())
      return Error{"this is not a file of verdicts", "give another --out, or remove it", {path.string(), 0, 0}};
    ids.insert(id->get<std::string>());
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
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(options_.workers, 1); ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (progress_) progress_->finish();
    summary_.interrupted = interrupted();
    summary_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!out_) return Error{"writing failed; is the disk full?", "", {options_.out.string(), 0, 0}};
    return summary_;
  }

 private:
  void work() {
    while (!interrupted()) {
      const std::size_t index = next_++;
      if (index >= jobs_.size()) return;
      const Job& job = jobs_[index];
      const Verdict verdict = judge_job(job);
      Json json{{"id", job.id}};
      json.update(to_json(verdict));
      const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
      std::lock_guard lock(mutex_);
      out_ << line << std::flush;
      ++summary_.judged;
      summary_.from_cache += verdict.from_cache ? 1 : 0;
      ++summary_.by_status[std::string(to_string(verdict.status))];
      if (progress_) progress_->advance(1, job.task);
    }
  }

  Verdict judge_job(const Job& job) {
    const auto problem = [&](const Error& error) {
      Verdict verdict;
      verdict.task = job.task;
      verdict.kernel_file = job.kernel_file;
      verdict.summary = to_string(error);
      verdict.feedback = "status: internal_error\n" + verdict.summary + "\n";
      return verdict;
    };
    const auto task = task_named(job.task);
    if (!task->ok()) return problem(task->error());
    if (job.kernel_file.empty()) return judge_.judge(**task, job.kernel, job.id);
    const auto text = read_file(job.kernel_file, kernel_file_limit);
    if (!text.ok()) return problem(text.error());
    return judge_.judge(**task, *text, job.kernel_file);
  }

  std::shared_ptr<const Result<Task>> task_named(const std::string& name) {
    std::lock_guard lock(tasks_mutex_);
    auto& entry = tasks_[name];
    if (entry == nullptr) entry = std::make_shared<const Result<Task>>(find_task(suite_, name));
    return entry;
  }

  Judge& judge_;
  std::filesystem::path suite_;
  const BatchOptions& options_;
  std::vector<Job> jobs_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // guards what follows
  std::ofstream out_;
  BatchSummary summary_;
  std::optional<Progress> progress_;
  std::mutex tasks_mutex_;
  std::map<std::string, std::shared_ptr<const Result<Task>>> tasks_;
};

}  // namespace

Result<BatchSummary> judge_batch(Judge& judge, const std::filesystem::path& suite, const BatchOptions& options) {
  return Batch(judge, suite, options).run();
}

}  // namespace kw
