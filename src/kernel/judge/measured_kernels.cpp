#include "kernel/judge/measured_kernels.h"

#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/text_lines.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bytes = std::size_t{256} << 20;
constexpr std::uint64_t seed = 7;           // of input values and of the choice of blocks
constexpr double small_size_weight = 0.15;  // their times say little but the launch overhead

Result<Measurement> parse_measurement(std::string_view line, const Position& where) {
  const auto parsed = parse_bounded_json(line);
  if (!parsed.ok()) return Error{parsed.error().message, "", where};
  const Json& json = *parsed;
  auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Measurement made{text("task"), text("kernel"), {}, text("kind"), 0};
  const auto size = json.find("size"), us = json.find("us");
  if (made.task.empty() || made.kernel.empty() || size == json.end() || !size->is_object() || us == json.end() ||
      !us->is_number() || !(us->get<double>() > 0))
    return Error{"not a measurement", R"(it is {"task": "softmax", "kernel": "naive", "size": {"n": 7}, "us": 4.2})",
                 where};
  made.us = us->get<double>();
  for (const auto& [name, value] : size->items()) {
    if (!value.is_number_integer()) return Error{"the size '" + name + "' is not a whole number", "", where};
    made.sizes[name] = value.get<std::int64_t>();
  }
  return made;
}

std::filesystem::path kernel_path(const std::filesystem::path& suite, const Measurement& one) {
  if (one.kernel == "naive" || one.kernel == "optimised") return suite / one.task / (one.kernel + ".cu");
  return suite.parent_path() / one.kernel;  // an absolute one stays as it is
}

struct Counter {
  CompileService& service;
  const std::filesystem::path& suite;
  const DeviceProfile& device;
  const std::vector<Measurement>& measurements;

  // Of one kernel: counts at each size, or what was wrong.
  std::vector<Result<PlanCounts>> count(const std::vector<std::size_t>& members) const {
    auto build_and_count = [&]() -> Result<std::vector<Result<PlanCounts>>> {
      const Measurement& first = measurements[members[0]];
      // A task that is not of the suite lies beside it.
      const std::filesystem::path beside = suite.parent_path() / first.task;
      KW_TRY(const Task task,
             std::filesystem::exists(beside / "task.yaml") ? load_task(beside) : find_task(suite, first.task));
      const std::filesystem::path file = kernel_path(suite, first);
      KW_TRY(const std::string text, read_file(file));
      BuildOptions options;
      options.architecture = device.architecture;
      for (std::size_t member : members) {
        KW_TRY_VOID(task.check_sizes(measurements[member].sizes));
        KW_TRY(ScalarInputs scalars, scalars_at(task, measurements[member].sizes, seed));
        options.plans.push_back({measurements[member].sizes, std::move(scalars)});
      }
      const KernelBuild build = build_kernel(service, task, text, file.string(), options);
      if (!build.built()) return build.problem;
      KW_TRY(const LoadedModule module, LoadedModule::load(build.compiled.ptx, file.string()));
      std::vector<Result<PlanCounts>> profiles;
      for (const SizedPlan& plan : build.plans) profiles.push_back(count_at(task, plan, module, build));
      return profiles;
    };
    auto made = build_and_count();
    if (made.ok()) return std::move(made).value();
    return std::vector<Result<PlanCounts>>(members.size(), made.error());
  }

  Result<PlanCounts> count_at(const Task& task, const SizedPlan& plan, const LoadedModule& module,
                              const KernelBuild& build) const {
    if (interrupted()) return Error{"interrupted", "", {}};
    KW_TRY(PreparedPlan prepared, full_size_candidate(task, plan, module, build.compiled.kernels, seed).prepare());
    EstimateOptions options;
    options.chain_slopes = true;
    return count_plan(device, prepared, options);
  }
};

}  // namespace

Result<std::vector<Measurement>> read_measurements(const std::filesystem::path& file) {
  KW_TRY(const std::string text, read_file(file, most_bytes));
  std::vector<Measurement> measurements;
  for (const TextLine& line : written_lines(text)) {
    KW_TRY(Measurement made, parse_measurement(line.text, {file.string(), line.number, 0}));
    measurements.push_back(std::move(made));
  }
  if (measurements.empty()) return Error{"there is no measurement", "", {file.string(), 0, 0}};
  return measurements;
}

CountedMeasurements count_measurements(CompileService& service, const std::filesystem::path& suite,
                                       const DeviceProfile& device, const std::vector<Measurement>& measurements,
                                       int threads,
                                       const std::function<void(std::size_t, const std::string&)>& counted) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_kernel;
  for (std::size_t i = 0; i < measurements.size(); ++i)
    by_kernel[{measurements[i].task, measurements[i].kernel}].push_back(i);
  std::vector<const std::vector<std::size_t>*> kernels;
  for (const auto& [name, members] : by_kernel) kernels.push_back(&members);
  const Counter counter{service, suite, device, measurements};
  std::vector<std::optional<Result<PlanCounts>>> profiles(measurements.size());
  parallel_for(kernels.size(), threads, [&](std::size_t at) {
    if (interrupted()) return;
    std::vector<Result<PlanCounts>> made = counter.count(*kernels[at]);
    for (std::size_t k = 0; k < made.size(); ++k) profiles[(*kernels[at])[k]] = std::move(made[k]);
    counted(made.size(), measurements[(*kernels[at])[0]].task);
  });
  CountedMeasurements result;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (!profiles[i]) continue;  // interrupted before
    const Measurement& one = measurements[i];
    if (!profiles[i]->ok()) {
      result.problems.push_back(
          fmt::format("{} {} {}: {}", one.task, one.kernel, to_string(one.sizes), to_string(profiles[i]->error())));
      continue;
    }
    const double weight = one.kind == "small" ? small_size_weight : 1;
    result.plans.push_back(
        {one.task, one.kernel, to_string(one.sizes), one.kind, one.us, weight, std::move(*profiles[i]).value()});
  }
  return result;
}

}  // namespace kw
