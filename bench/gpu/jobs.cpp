// Kernels of the repository as work, and a judge on a GPU to do it.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/test_length.h"
#include "kernel/task/task_file.h"

#include "gpu_bench.h"

namespace kw::gpu_bench {

int failures = 0;

const std::filesystem::path& root() {
  static const std::filesystem::path found =
      std::filesystem::exists("tasks") ? std::filesystem::current_path() : KW_SOURCE_ROOT;
  return found;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double total = 0;
  file >> name;
  for (int field = 0; field < 8; ++field) {
    double ticks = 0;
    file >> ticks;
    if (field != 3 && field != 4) total += ticks;  // idle, waiting for input
  }
  return total / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::shared_ptr<const Task> task_named(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const Task>> known;
  auto& task = known[name];
  if (task == nullptr) task = std::make_shared<const Task>(find_task(root() / "tasks", name).value());
  return task;
}

namespace {

// The value of a `// key: value` line at the top.
std::string fact(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.rfind("//", 0) == 0;)
    if (line.rfind("// " + key + ": ", 0) == 0) {
      std::string value = line.substr(key.size() + 5);
      while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back()))) value.pop_back();
      return value;
    }
  return "";
}

}  // namespace

std::vector<Job> suite_jobs() {
  std::vector<Job> jobs;
  for (const auto& entry : std::filesystem::directory_iterator(root() / "tasks")) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename();
    for (const char* kind : {"naive", "optimised"}) {
      const auto text = read_file(entry.path() / (std::string(kind) + ".cu"));
      if (text.ok()) jobs.push_back({name + "/" + kind, task_named(name), *text, kind});
    }
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.name < b.name; });
  return jobs;
}

std::vector<Job> corpus_jobs(const std::string& folder, const std::string& kind) {
  std::vector<Job> jobs;
  for (const auto& entry : std::filesystem::directory_iterator(root() / "tests" / folder)) {
    if (entry.path().extension() != ".cu") continue;
    const std::string text = read_file(entry.path()).value();
    jobs.push_back({folder + "/" + entry.path().stem().string(), task_named(fact(text, "task")), text, kind});
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.name < b.name; });
  return jobs;
}

void append(std::vector<Job>& jobs, std::vector<Job> more) {
  jobs.insert(jobs.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void keep_third_of_tasks(std::vector<Job>& jobs) {
  if (thorough_tests()) return;
  std::map<std::string, std::size_t> numbers;
  for (const Job& job : jobs) numbers.emplace(job.task->name, numbers.size());
  std::erase_if(jobs, [&](const Job& job) { return numbers.at(job.task->name) % 3 != 0; });
}

std::string renewed(const std::string& text, std::size_t number) {
  return text + fmt::format("\n__device__ int kw_renewed_{}() {{ return {}; }}\n", number, number);
}

void Bench::start(bool always_fresh, bool pytorch) {
  ServiceOptions service_options;
  service_options.pool.workers = cores;
  service_options.disk_cache = false;
  service = std::make_unique<CompileService>(service_options);
  GpuBackendOptions options;
  options.pool.workers = workers;
  options.pool.spares = 2;
  options.always_fresh = always_fresh;
  options.pytorch = pytorch;
  auto started = GpuBackend::start(*service, options);
  if (!started.ok()) {
    std::cout << "no GPU to measure on: " << to_string(started.error()) << "\n";
    std::exit(2);
  }
  gpu = std::move(started).value();
  const GpuFacts& facts = gpu->facts();
  std::cout << fmt::format(
      "{}, {} multiprocessors, {:.0f} MiB L2, driver {}.{}, worker: {}; {} cores, {} host threads, {} workers{}\n\n",
      facts.name, facts.multiprocessors, static_cast<double>(facts.l2_bytes) / (1 << 20), facts.driver_version / 1000,
      facts.driver_version % 1000 / 10, facts.protection, cores, threads, workers,
      facts.reads_host_memory ? "; kernels can read the worker's host memory" : "");
}

JudgeOptions Bench::options(bool on_gpu) const {
  JudgeOptions made;
  made.profile = load_profile("h200").value();
  made.cache = false;
  made.gpu = on_gpu ? gpu.get() : nullptr;
  if (on_gpu) made.profile.architecture = gpu->architecture();
  return made;
}

std::vector<Verdict> judge_all(Judge& judge, const std::vector<Job>& jobs, int threads) {
  std::vector<Verdict> verdicts(jobs.size());
  in_parallel(jobs.size(), threads,
              [&](std::size_t i) { verdicts[i] = judge.judge(*jobs[i].task, jobs[i].text, jobs[i].name + ".cu"); });
  return verdicts;
}

}  // namespace kw::gpu_bench
