#pragma once
// What the parts of gpu_bench share: kernels to judge, and a judge on a GPU.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/judge.h"

namespace kw::gpu_bench {

using Clock = std::chrono::steady_clock;

struct Job {
  std::string name;
  std::shared_ptr<const Task> task;
  std::string text;
  std::string kind;  // naive, optimised, correct, bug, exploit, or a fault's name
};

const std::filesystem::path& root();  // the checkout
extern int failures;

double seconds_since(Clock::time_point start);
double cpu_seconds();  // of the whole machine: compilers and workers are processes of their own

std::shared_ptr<const Task> task_named(const std::string& name);
std::vector<Job> suite_jobs();
std::vector<Job> corpus_jobs(const std::string& folder, const std::string& kind);
void append(std::vector<Job>& jobs, std::vector<Job> more);
// Jobs of every third task, or all with KW_THOROUGH (base/test_length.h): answers and inputs of a task are made once,
// however many kernels come, and take longer than many kernels.
void keep_third_of_tasks(std::vector<Job>& jobs);
// Another text that compiles to the same kernels, so that no cache knows it.
std::string renewed(const std::string& text, std::size_t number);

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

  void start(bool always_fresh, bool pytorch);
  JudgeOptions options(bool on_gpu) const;
};

std::vector<Verdict> judge_all(Judge& judge, const std::vector<Job>& jobs, int threads);

void agree(Bench& bench);
void repeat(Bench& bench);
void self(Bench& bench, int trials);
void soak(Bench& bench, int kernels);
void speed(Bench& bench, int kernels, const std::string& only);
// Kernels of a corpus with their small cases, each in a file that `replay` executes without anything around it: for
// tools that slow down every process they look at.
void pack(Bench& bench, const std::string& folder, const std::string& only);
void replay(const std::string& file, bool bare);

}  // namespace kw::gpu_bench
