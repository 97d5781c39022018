// What the judge does on a GPU: does it agree with the emulator, do its figures repeat, does it survive, how fast is
// it.
//   gpu_bench agree | repeat | self | soak | speed  [--kernels N] [--workers N]
// Each prints a Markdown section; exit code 1 when what must hold does not.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/table.h"
#include "compile/worker.h"
#include "gpu/device_session.h"
#include "gpu/helper_kernels.h"
#include "gpu/worker.h"
#include "judge/gpu_backend.h"
#include "judge/judge.h"
#include "task/task_file.h"

namespace {

using namespace kw;
using Clock = std::chrono::steady_clock;

struct Job {
  std::string name;
  std::shared_ptr<const Task> task;
  std::string text;
  std::string kind;  // naive, optimised, correct, bug, exploit, or a fault's name
};

// The checkout: where it is run, or where it was built.
const std::filesystem::path root = std::filesystem::exists("tasks") ? std::filesystem::current_path() : KW_SOURCE_ROOT;
int failures = 0;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of the whole machine: compilers and workers are processes of their own.
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
  if (task == nullptr) task = std::make_shared<const Task>(find_task(root / "tasks", name).value());
  return task;
}

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

std::vector<Job> suite_jobs() {
  std::vector<Job> jobs;
  for (const auto& entry : std::filesystem::directory_iterator(root / "tasks")) {
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
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests" / folder)) {
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

// Another text that compiles to the same kernels, so that no cache knows it.
std::string renewed(const std::string& text, std::size_t number) {
  return text + fmt::format("\n__device__ int kw_renewed_{}() {{ return {}; }}\n", number, number);
}

template <class Work>
void in_parallel(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i)
    pool.emplace_back([&] {
      for (std::size_t index = next++; index < count; index = next++) work(index);
    });
  for (std::thread& thread : pool) thread.join();
}

struct Bench {
  int workers = 6;
  int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  int threads = 2 * cores;  // while some wait for the GPU, others compile
  std::unique_ptr<CompileService> service;
  std::unique_ptr<GpuBackend> gpu;

  void start(bool always_fresh, bool pytorch) {
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

  JudgeOptions options(bool on_gpu) const {
    JudgeOptions made;
    made.profile = load_profile("h200").value();
    made.cache = false;
    made.gpu = on_gpu ? gpu.get() : nullptr;
    if (on_gpu) made.profile.architecture = gpu->architecture();
    return made;
  }
};

std::vector<Verdict> judge_all(Judge& judge, const std::vector<Job>& jobs, int threads) {
  std::vector<Verdict> verdicts(jobs.size());
  in_parallel(jobs.size(), threads,
              [&](std::size_t i) { verdicts[i] = judge.judge(*jobs[i].task, jobs[i].text, jobs[i].name + ".cu"); });
  return verdicts;
}

// The emulator, the GPU alone, and both one after the other.
void agree(Bench& bench) {
  bench.start(false, false);
  std::vector<Job> jobs = suite_jobs();
  append(jobs, corpus_jobs("correct", "correct"));
  append(jobs, corpus_jobs("bugs", "bug"));
  append(jobs, corpus_jobs("exploits", "exploit"));
  JudgeOptions emulator = bench.options(false), alone = bench.options(true), both = bench.options(true);
  emulator.want_time = alone.want_time = both.want_time = false;
  alone.emulator_first = false;
  Judge by_emulator(*bench.service, emulator), by_gpu(*bench.service, alone), by_both(*bench.service, both);
  auto start = Clock::now();
  const auto emulated = judge_all(by_emulator, jobs, bench.threads);
  const double emulator_s = seconds_since(start);
  start = Clock::now();
  const auto executed = judge_all(by_gpu, jobs, bench.threads);
  const double gpu_s = seconds_since(start);
  start = Clock::now();
  auto combined = judge_all(by_both, jobs, bench.threads);
  const double both_s = seconds_since(start);
  // Cheating pays where time is measured.
  JudgeOptions timed = both;
  timed.want_time = true;
  Judge with_time(*bench.service, timed);
  in_parallel(jobs.size(), bench.threads, [&](std::size_t i) {
    if (jobs[i].kind == "exploit") combined[i] = with_time.judge(*jobs[i].task, jobs[i].text, jobs[i].name + ".cu");
  });
  std::map<std::string, std::map<std::string, int>> counts;
  std::map<std::string, int> total, same, same_both;
  Table table({"kernel", "emulator", "GPU alone", "both"});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string kind = jobs[i].kind;
    ++total[kind];
    const std::string e(to_string(emulated[i].status)), g(to_string(executed[i].status)),
        b(to_string(combined[i].status));
    same[kind] += e == g;
    same_both[kind] += e == b;
    ++counts[kind][e + " / " + g];
    const bool honest = kind == "naive" || kind == "optimised" || kind == "correct";
    const bool bad = (honest && (e != "correct" || g != "correct" || b != "correct")) ||
                     (!honest && (b == "correct" || e == "correct")) || (kind != "exploit" && e != b);
    failures += bad;
    if (bad || e != g)
      table.add(
          {jobs[i].name + (bad ? " (!)" : ""), e, g + (g == e ? "" : ": " + executed[i].summary.substr(0, 70)), b});
  }
  std::cout << "## Agreement\n\n";
  Table summary({"kernels", "number", "emulator = emulator then GPU", "emulator = GPU alone"});
  for (const auto& [kind, number] : total)
    summary.add({kind, std::to_string(number), std::to_string(same_both[kind]), std::to_string(same[kind])});
  std::cout << summary.text() << "\nemulator status / GPU-alone status:\n";
  for (const auto& [kind, pairs] : counts)
    for (const auto& [pair, number] : pairs) std::cout << fmt::format("  {:<10} {:<34} {}\n", kind, pair, number);
  std::cout << fmt::format(
                   "\nseconds: emulator {:.1f}, GPU alone {:.1f}, both {:.1f}; workers lost {}\n\nWhere they differ:\n",
                   emulator_s, gpu_s, both_s, bench.gpu->counts().lost)
            << table.text() << "\n";
}

void repeat(Bench& bench) {
  bench.workers = 1;
  bench.start(true, false);
  JudgeOptions options = bench.options(true);
  options.emulator_first = false;
  options.explain = false;
  Judge judge(*bench.service, options);
  Table table({"kernel", "median speedup", "least", "most", "interval of the first", "pairs within"});
  int within = 0, pairs = 0;
  for (const char* name : {"softmax", "matmul", "layer_norm", "relu", "transpose", "sum_rows", "gelu", "cross_entropy",
                           "conv2d", "adam_step"}) {
    const auto text = read_file(root / "tasks" / name / "optimised.cu");
    if (!text.ok()) continue;
    std::vector<Verdict> verdicts;
    for (int i = 0; i < 20; ++i) verdicts.push_back(judge.judge(*task_named(name), *text, "k.cu"));
    std::vector<double> speedups;
    int here = 0, here_pairs = 0;
    for (const Verdict& a : verdicts) {
      if (!a.speedup_naive || !a.speedup_interval) continue;
      speedups.push_back(*a.speedup_naive);
      for (const Verdict& b : verdicts) {
        if (&a == &b || !b.speedup_naive) continue;
        ++here_pairs;
        here += *b.speedup_naive >= a.speedup_interval->low && *b.speedup_naive <= a.speedup_interval->high;
      }
    }
    if (speedups.empty()) {
      table.add({name, "?", verdicts.front().summary, "", "", ""});
      ++failures;
      continue;
    }
    within += here;
    pairs += here_pairs;
    const auto [least, most] = std::minmax_element(speedups.begin(), speedups.end());
    table.add({name, fmt::format("{:.3f}", median(speedups)), fmt::format("{:.3f}", *least),
               fmt::format("{:.3f}", *most),
               fmt::format("{:.3f} to {:.3f}", verdicts.front().speedup_interval->low,
                           verdicts.front().speedup_interval->high),
               fmt::format("{} of {}", here, here_pairs)});
  }
  std::cout << "## Repeatability: 20 judgements, a fresh worker each\n\n" << table.text();
  std::cout << fmt::format("\n{:.2f} % of {} pairs: one's speedup lies in the other's interval\n\n",
                           100.0 * within / std::max(pairs, 1), pairs);
  failures += within < 0.95 * pairs;
}

void self(Bench& bench, int trials) {
  bench.start(false, false);
  JudgeOptions options = bench.options(true);
  options.emulator_first = false;
  options.explain = false;
  Judge judge(*bench.service, options);
  std::vector<Job> jobs;
  const std::vector<Job> suite = suite_jobs();
  for (std::size_t i = 0; static_cast<int>(jobs.size()) < trials; ++i) {
    Job job = suite[i % suite.size()];
    job.text = renewed(job.task->naive, i);
    jobs.push_back(std::move(job));
  }
  const auto verdicts = judge_all(judge, jobs, bench.threads);
  int faster = 0, slower = 0, judged = 0;
  double worst = 1;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.speedup_naive) continue;
    ++judged;
    faster += verdict.faster_than_naive;
    slower += verdict.speedup_interval->high < 1;
    if (std::abs(std::log(*verdict.speedup_naive)) > std::abs(std::log(worst))) worst = *verdict.speedup_naive;
  }
  std::cout << "## A kernel against itself\n\n"
            << fmt::format("{} trials, {} judged: called faster {}, slower {}; the ratio furthest from 1 is {:.4f}\n\n",
                           trials, judged, faster, slower, worst);
  failures += faster + (judged != trials);
}

// Faults that only device code can make, each at a random place of a good kernel's run.
std::vector<std::pair<std::string, std::string>> fault_bodies() {
  return {{"hang", "  while (n > 0 && *(volatile const float*)x > -1e30f) {}\n  if (i < n) y[i] = 0;\n"},
          {"illegal address", "  if (i < n) y[i + 40000000000ll] = x[i];\n"},
          {"misaligned", "  if (i < n) *(double*)((char*)y + 4 + 0 * i) = x[i];\n"},
          {"corrupts memory", "  if (i < n + 300) y[i] = x[i < n ? i : 0];\n"},
          {"overwrites input", "  if (i < n) { y[i] = fmaxf(x[i], 0.f); const_cast<float*>(x)[i] = 3; }\n"},
          {"null pointer", "  if (i < n) *(volatile float*)nullptr = x[i];\n"},
          {"wrong", "  if (i < n) y[i] = x[i];\n"}};
}

std::string relu_with(const std::string& body) {
  return "__global__ void relu(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body +
         "}\nextern \"C\" void launch(const float* x, float* y, int n, cudaStream_t stream) {\n"
         "  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);\n}\n";
}

void soak(Bench& bench, int kernels) {
  bench.start(false, false);
  JudgeOptions options = bench.options(true);
  options.emulator_first = false;  // it would keep the faults from the GPU
  options.explain = false;
  options.want_time = false;
  Judge judge(*bench.service, options);
  std::vector<Job> good = suite_jobs();
  append(good, corpus_jobs("correct", "correct"));
  std::vector<Job> jobs;
  const auto faults = fault_bodies();
  Random random(11);
  for (int i = 0; i < kernels; ++i) {
    if (i % 10 == 5) {
      const auto& [kind, body] = faults[static_cast<std::size_t>(i / 10) % faults.size()];
      jobs.push_back(
          {kind + std::to_string(i), task_named("relu"), renewed(relu_with(body), static_cast<std::size_t>(i)), kind});
    } else {
      Job job = good[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(good.size()) - 1))];
      job.text = renewed(job.text, static_cast<std::size_t>(i));
      job.kind = "good";
      jobs.push_back(std::move(job));
    }
  }
  // Answers and inputs of the tasks are made once.
  std::vector<Job> warm;
  for (const Job& job : good)
    if (job.kind == "naive") warm.push_back(job);
  judge_all(judge, warm, bench.threads);
  const auto start = Clock::now();
  const auto verdicts = judge_all(judge, jobs, bench.threads);
  const double wall = seconds_since(start);
  std::map<std::string, std::map<std::string, int>> statuses;
  std::map<std::string, std::vector<double>> cost;
  std::string blamed;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string status(to_string(verdicts[i].status));
    ++statuses[jobs[i].kind][status];
    cost[jobs[i].kind].push_back(verdicts[i].judge_ms);
    const bool good_one = jobs[i].kind == "good";
    if (good_one != (status == "correct") || status == "internal_error") {
      ++failures;
      blamed +=
          fmt::format("  {} ({}): {}: {}\n", jobs[i].name, jobs[i].kind, status, verdicts[i].summary.substr(0, 160));
    }
  }
  std::cout << fmt::format("## Soak: {} kernels, {} of them faulty, without the emulator\n\n", kernels, kernels / 10);
  Table table({"kind", "kernels", "verdicts", "median ms", "most ms"});
  for (auto& [kind, ms] : cost) {
    std::string text;
    for (const auto& [status, count] : statuses[kind]) text += fmt::format("{} {} ", status, count);
    table.add({kind, std::to_string(ms.size()), text, fmt::format("{:.0f}", median(ms)),
               fmt::format("{:.0f}", *std::max_element(ms.begin(), ms.end()))});
  }
  std::cout << table.text()
            << fmt::format("\n{:.1f} s, {:.1f} kernels/s; workers started {}, lost {}\n", wall, kernels / wall,
                           bench.gpu->counts().started, bench.gpu->counts().lost);
  if (!blamed.empty()) std::cout << "not as they should be:\n" << blamed;
  const auto after = judge.judge(*task_named("relu"), task_named("relu")->naive, "after.cu");
  std::cout << fmt::format("afterwards the naive relu is {}\n\n", to_string(after.status));
}

void speed(Bench& bench, int kernels, const std::string& only) {
  bench.start(false, false);
  std::vector<Job> good = suite_jobs();
  append(good, corpus_jobs("correct", "correct"));
  // Every third task: answers and inputs of a task are made once, however many kernels come.
  std::map<std::string, std::size_t> numbers;
  for (const Job& job : good) numbers.emplace(job.task->name, numbers.size());
  std::erase_if(good, [&](const Job& job) { return numbers.at(job.task->name) % 3 != 0; });
  Table table({"what", "kernels", "seconds", "kernels/s", "cores busy", "median ms", "GPU ms a kernel", "not correct"});
  std::map<std::string, std::vector<double>> stages;
  struct Mode {
    const char* name;
    bool emulator, time, explain;
  };
  for (const Mode& mode :
       {Mode{"values, emulator first", true, false, false}, Mode{"values and time, emulator first", true, true, false},
        Mode{"values, GPU alone", false, false, false},
        Mode{"values, time, explanation, emulator first", true, true, true}}) {
    if (!only.empty() && only != mode.name) continue;
    JudgeOptions options = bench.options(true);
    options.emulator_first = mode.emulator;
    options.want_time = mode.time;
    options.explain = mode.explain;
    Judge judge(*bench.service, options);
    // Each task once beforehand.
    std::vector<Job> warm;
    for (const Job& job : good)
      if (job.kind == "naive")
        for (std::size_t copy = 0; copy < 8; ++copy) {
          warm.push_back(job);  // the four sets of cases
          warm.back().text = renewed(job.text, 900000 + copy);
        }
    const auto warm_start = Clock::now();
    judge_all(judge, warm, bench.threads);
    const double warm_s = seconds_since(warm_start);
    std::vector<Job> jobs;
    for (int i = 0; i < kernels; ++i) {
      Job job = good[static_cast<std::size_t>(i) % good.size()];
      job.text =
          renewed(job.text, static_cast<std::size_t>(i) +
                                100000 * static_cast<std::size_t>(mode.time + 2 * mode.emulator + 4 * mode.explain));
      jobs.push_back(std::move(job));
    }
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    const auto verdicts = judge_all(judge, jobs, bench.threads);
    const double wall = seconds_since(start);
    std::vector<double> ms;
    int bad = 0;
    double gpu_ms = 0;
    for (const Verdict& verdict : verdicts) {
      ms.push_back(verdict.judge_ms);
      bad += !verdict.correct;
      for (const auto& [stage, stage_ms] : verdict.stages_ms) {
        stages[std::string(mode.name) + ": " + stage].push_back(stage_ms);
        if (stage == "alone on the GPU" || stage.rfind("GPU, ", 0) == 0) gpu_ms += stage_ms;
      }
    }
    table.add({mode.name, std::to_string(kernels), fmt::format("{:.1f} (tasks before: {:.1f})", wall, warm_s),
               fmt::format("{:.1f}", kernels / wall), fmt::format("{:.1f}", (cpu_seconds() - cpu) / wall),
               fmt::format("{:.0f}", median(ms)), fmt::format("{:.1f}", gpu_ms / kernels), std::to_string(bad)});
    std::cout << mode.name << ": " << fmt::format("{:.1f} kernels/s\n", kernels / wall) << std::flush;
    for (std::size_t i = 0; i < verdicts.size(); ++i)
      if (!verdicts[i].correct && bad < 20)
        std::cout << "  " << jobs[i].name << ": " << verdicts[i].summary.substr(0, 150) << "\n";
  }
  std::cout << "## Speed\n\n" << table.text() << "\nmedian ms of the stages (with waiting):\n";
  for (auto& [stage, ms] : stages) std::cout << fmt::format("  {:<70} {:.1f}\n", stage, median(ms));
  std::cout << "\n";
}

// Kernels of a corpus with their small cases, each in a file that `replay` executes without anything around it: for
// tools that slow down every process they look at.
void pack(Bench& bench, const std::string& folder, const std::string& only) {
  bench.service = std::make_unique<CompileService>();
  JudgeOptions options = bench.options(false);
  options.want_time = false;
  options.secret = "packed";
  Judge judge(*bench.service, options);
  std::filesystem::create_directories(folder);
  std::vector<Job> jobs = corpus_jobs(only, only);
  std::vector<std::string> lines(jobs.size());
  CompileRequest own;
  own.source = helper_kernel_source;
  for (const std::string_view name : helper_kernel_names) own.kernels.emplace_back(name);
  const GpuKernel helpers = gpu_kernel(bench.service->compile(own), false);
  in_parallel(jobs.size(), bench.cores, [&](std::size_t i) {
    const Verdict verdict = judge.judge(*jobs[i].task, jobs[i].text, jobs[i].name);
    std::string file;
    CaseBook book(*jobs[i].task, options.secret);
    const auto questions = book.questions(0);
    BuildOptions build_options;
    if (questions.ok())
      for (const Case& one : **questions) build_options.plans.push_back({one.sizes, one.scalars});
    const KernelBuild build = build_kernel(*bench.service, *jobs[i].task, jobs[i].text, jobs[i].name, build_options);
    if (build.built() && questions.ok()) {
      const GpuKernel kernel = gpu_kernel(build.compiled, false);
      ByteWriter writer;
      writer.text(encode(ModuleRequest{helper_slot, helpers.image, helpers.symbols}));
      writer.text(encode(ModuleRequest{1, kernel.image, kernel.symbols}));
      std::vector<std::string> cases;
      for (const Case& one : **questions) {
        auto plan = gpu_plan(build.plans[one.question].plan, kernel.kernels);
        if (one.optional || !plan.ok()) continue;
        ByteWriter part;
        RunRequest request;
        request.slot = 1;
        request.inputs = one.question + 1;
        request.plan = std::move(plan).value();
        part.text(encode(std::vector<RunRequest>{request}));
        std::uint64_t tensors = 0;
        for (const InputTensor& input : one.inputs) tensors += !input.shape.empty();
        part.number(tensors);
        for (const InputTensor& input : one.inputs)
          if (!input.shape.empty()) part.text(input.bytes);
        cases.push_back(part.take());
      }
      writer.number(cases.size());
      for (const std::string& each : cases) writer.text(each);
      file = folder + "/" + std::filesystem::path(jobs[i].name).filename().string() + ".run";
      if (!write_file_atomic(file, writer.bytes()).ok()) file.clear();
    }
    lines[i] =
        nlohmann::ordered_json{{"name", jobs[i].name}, {"status", to_string(verdict.status)}, {"file", file}}.dump() +
        "\n";
  });
  std::string index;
  for (const std::string& line : lines) index += line;
  if (!write_file_atomic(folder + "/index.jsonl", index).ok()) ++failures;
}

void replay(const std::string& file, bool bare) {
  const std::string bytes = read_file(file, std::size_t{1} << 30).value();
  ByteReader reader(bytes);
  auto session = DeviceSession::open(0);
  if (!session.ok()) {
    std::cout << to_string(session.error()) << "\n";
    std::exit(2);
  }
  for (int i = 0; i < 2; ++i) {
    if (i == 0 && bare) {
      reader.text();
      continue;
    }
    const auto loaded = (*session)->load_module(decode_module_request(reader.text()).value());
    if (!loaded.ok()) std::cout << "load: " << loaded.error().message << "\n";
  }
  const std::uint64_t cases = reader.count(1000);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const std::string part = reader.text();
    ByteReader inner(part);
    const auto requests = decode_run_requests(inner.text()).value();
    std::vector<std::string> contents(inner.count(1000));
    for (std::string& each : contents) each = inner.text();
    std::vector<InputPack::Tensor> tensors;
    for (const std::string& each : contents) tensors.push_back({each, each.size(), std::nullopt});
    const auto inputs = InputPack::make(tensors);
    const int contents_file = inputs->open_file().value();
    const auto loaded = (*session)->load_inputs({requests[0].inputs, inputs->layout()}, contents_file);
    ::close(contents_file);
    Result<void> ran;
    if (bare) {
      ran = (*session)->run_bare(requests[0]);
    } else if (const auto done = (*session)->run(requests); !done.ok()) {
      ran = done.error();
    }
    std::cout << fmt::format("case {}: {}\n", i,
                             !loaded.ok() ? loaded.error().message
                             : ran.ok()   ? "ran"
                                          : ran.error().message);
    if (!ran.ok() && (*session)->outcome() == GpuOutcome::fault) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = run_if_compile_worker(argc, argv)) return *code;
  if (const auto code = run_if_gpu_worker(argc, argv)) return *code;
  CLI::App app{"Measures the judge on a GPU"};
  std::string what, only, file;
  bool bare = false;
  int kernels = 0;
  Bench bench;
  app.add_option("WHAT", what)
      ->required()
      ->check(CLI::IsMember({"agree", "repeat", "self", "soak", "speed", "pack", "replay"}));
  app.add_option("--kernels", kernels);
  app.add_option("--only", only, "one row of the speed table; the corpus to pack");
  app.add_flag("--bare", bare, "replay the kernel alone, without our own device code");
  app.add_option("--file", file, "of replay; the folder of pack");
  app.add_option("--workers", bench.workers);
  app.add_option("--threads", bench.threads);
  CLI11_PARSE(app, argc, argv);
  configure_logging(LogFormat::human, spdlog::level::warn);
  std::string command;
  for (int i = 0; i < argc; ++i) command += std::string(i > 0 ? " " : "") + (i > 0 ? argv[i] : "gpu_bench");
  std::cout << "`" << command << "`\n";
  if (what == "agree") agree(bench);
  if (what == "repeat") repeat(bench);
  if (what == "self") self(bench, kernels > 0 ? kernels : 200);
  if (what == "soak") soak(bench, kernels > 0 ? kernels : 2000);
  if (what == "pack") pack(bench, file, only);
  if (what == "replay") replay(file, bare);
  if (what == "speed") speed(bench, kernels > 0 ? kernels : 600, only);
  std::cout << (failures == 0 ? "all as it should be\n" : fmt::format("{} not as they should be\n", failures));
  return failures == 0 ? 0 : 1;
}
