// How far the shipped constants are from measured times, and whether the floor is below every one of them. Nothing is
// fitted. Arguments: files of measurements (bench/results/kernels_h200_graph.jsonl ...); with --rows, every time too.
// The profile is h200.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "kernel/compile/worker.h"
#include "kernel/judge/floor.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/measured_kernels.h"
#include "kernel/performance/model_errors.h"
#include "kernel/task/task_file.h"

namespace {

constexpr std::uint64_t seed = 7;

kw::Result<kw::Task> task_of(const std::filesystem::path& suite, const std::string& name) {
  const std::filesystem::path beside = suite.parent_path() / name;
  return std::filesystem::exists(beside / "task.yaml") ? kw::load_task(beside) : kw::find_task(suite, name);
}

// Floors at the sizes that a task was measured at, with the share of the inputs that its naive kernel reads.
std::map<std::string, kw::Floor> floors_of(kw::CompileService& service, const kw::Task& task,
                                           const kw::DeviceProfile& profile, const std::vector<kw::Sizes>& all) {
  kw::BuildOptions options;
  options.architecture = profile.architecture;
  for (const kw::Sizes& sizes : all)
    if (const auto scalars = kw::scalars_at(task, sizes, seed); scalars.ok())
      options.plans.push_back({sizes, *scalars});
  std::map<std::string, kw::Floor> floors;
  const kw::KernelBuild build = kw::build_kernel(service, task, task.naive, task.naive_file, options);
  if (!build.built()) return floors;
  const auto module = kw::LoadedModule::load(build.compiled.ptx, task.naive_file);
  if (!module.ok()) return floors;
  for (const kw::SizedPlan& plan : build.plans) {
    const auto made =
        kw::estimate(profile, {kw::full_size_candidate(task, plan, *module, build.compiled.kernels, seed)});
    if (!made.ok()) continue;
    double bytes = 0;
    for (const kw::Buffer& buffer : plan.plan.buffers)
      if (buffer.kind == kw::Buffer::Kind::input) bytes += static_cast<double>(buffer.bytes);
    const double share = bytes > 0 ? made->input_bytes / bytes : 0;
    floors[kw::to_string(plan.sizes)] = kw::floor_of(task, plan.sizes, kw::ceiling_of(profile), share);
  }
  return floors;
}

void check_floors(kw::CompileService& service, const std::filesystem::path& suite, const kw::DeviceProfile& profile,
                  const std::vector<kw::Measurement>& measurements, const std::vector<kw::MeasuredPlan>& plans,
                  const std::vector<double>& modelled) {
  std::map<std::string, std::vector<kw::Sizes>> sizes;
  for (const kw::Measurement& one : measurements) {
    auto& known = sizes[one.task];
    if (std::find(known.begin(), known.end(), one.sizes) == known.end()) known.push_back(one.sizes);
  }
  std::map<std::string, std::map<std::string, kw::Floor>> floors;
  for (const auto& [name, all] : sizes)
    if (const auto task = task_of(suite, name); task.ok()) floors[name] = floors_of(service, *task, profile, all);
  std::vector<double> shares;
  std::size_t above = 0, without = 0;
  std::string nearest;
  double most = 0;
  for (const kw::Measurement& one : measurements) {
    const auto& known = floors[one.task];
    const auto floor = known.find(kw::to_string(one.sizes));
    if (floor == known.end()) {
      ++without;
      continue;
    }
    const double share = floor->second.us / one.us;
    shares.push_back(share);
    if (share > most) {
      most = share;
      nearest = fmt::format("{} {} {}: {}", one.task, one.kernel, kw::to_string(one.sizes), floor->second.what);
    }
    if (share <= 1) continue;
    ++above;
    fmt::print("ABOVE {} {} {}: {:.2f} us measured, floor {:.2f} us ({})\n", one.task, one.kernel,
               kw::to_string(one.sizes), one.us, floor->second.us, floor->second.what);
  }
  std::size_t raised = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto& known = floors[plans[i].task];
    const auto floor = known.find(plans[i].size);
    if (floor == known.end() || floor->second.us <= modelled[i]) continue;
    ++raised;
    fmt::print("RAISED {} {} {}: {:.2f} us modelled, floor {:.2f} us, {:.2f} us measured\n", plans[i].task,
               plans[i].kernel, plans[i].size, modelled[i], floor->second.us, plans[i].measured_us);
  }
  fmt::print("modelled times below the floor: {}\n", raised);
  std::sort(shares.begin(), shares.end());
  fmt::print("floor / measured: {} times, {} above 1, {} without a floor", shares.size(), above, without);
  if (!shares.empty())
    fmt::print(", median {:.2f}, 90 % below {:.2f}, largest {:.2f} ({})", shares[shares.size() / 2],
               shares[shares.size() * 9 / 10], shares.back(), nearest);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_compile_worker(argc, argv)) return *code;
  const auto profile = kw::load_profile("h200");
  const auto suite = kw::suite_folder();
  if (!profile.ok() || !suite.ok()) return 1;
  kw::CompileService service;
  bool rows = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rows") {
      rows = true;
      continue;
    }
    const auto measurements = kw::read_measurements(argv[i]);
    if (!measurements.ok()) {
      fmt::print(stderr, "{}\n", kw::to_string(measurements.error()));
      return 1;
    }
    const auto counted =
        kw::count_measurements(service, *suite, *profile, *measurements, 2, [](std::size_t, const std::string&) {});
    std::vector<double> times;
    for (const kw::MeasuredPlan& plan : counted.plans) times.push_back(kw::plan_us(*profile, plan.counts));
    const kw::ModelErrors errors = kw::model_errors(counted.plans, times, true);
    fmt::print(
        "{}: n {}, pairs right {}/{}, mean error {:.1f} %, Spearman {:.4f}, Kendall {:.4f}, median {:.3f}, 90 % "
        "{:.2f}\n",
        argv[i], errors.times, errors.pairs_right, errors.pairs, errors.mean_percent, errors.spearman, errors.kendall,
        errors.median_factor, errors.factor_90);
    for (std::size_t k = 0; rows && k < times.size(); ++k) {
      const kw::MeasuredPlan& plan = counted.plans[k];
      fmt::print(
          "{{\"task\": \"{}\", \"kernel\": \"{}\", \"size\": \"{}\", \"us\": {:.2f}, \"modelled_us\": {:.2f}}}\n",
          plan.task, plan.kernel, plan.size, plan.measured_us, times[k]);
    }
    check_floors(service, *suite, *profile, *measurements, counted.plans, times);
  }
  return 0;
}
