// Kernels alone, for tools that slow down every process they look at.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/table.h"
#include "kernel/compile/worker.h"
#include "kernel/gpu/device_session.h"
#include "kernel/gpu/helper_kernels.h"
#include "kernel/gpu/worker.h"
#include "kernel/task/task_file.h"

#include "gpu_bench.h"

namespace kw::gpu_bench {

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
  auto session = DeviceSession::open();
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

}  // namespace kw::gpu_bench
