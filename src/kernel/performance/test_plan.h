#pragma once
// For tests: CUDA source, buffers of any size and launches, to an estimate for the H200.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/compile/service.h"
#include "kernel/performance/performance.h"

namespace kw {

inline CompileService& test_compiler() {
  static CompileService service([] {
    ServiceOptions options;
    options.pool.workers = 1;
    return options;
  }());
  return service;
}

inline const DeviceProfile& test_profile() {
  static const DeviceProfile profile = [] {
    auto loaded = load_profile(std::string(KW_SOURCE_ROOT) + "/profiles/h200.yaml");
    if (!loaded.ok()) ADD_FAILURE() << to_string(loaded.error());
    return std::move(loaded).value();
  }();
  return profile;
}

class TestPlan {
 public:
  explicit TestPlan(const std::string& source) {
    CompileRequest request;
    request.source = source;
    request.file_name = "kernel.cu";
    compiled_ = test_compiler().compile(request);
    EXPECT_TRUE(compiled_.ok()) << compiled_.explanation;
    for (const Diagnostic& diagnostic : compiled_.diagnostics)
      if (!compiled_.ok()) ADD_FAILURE() << to_string(diagnostic);
    auto loaded = LoadedModule::load(compiled_.ptx);
    if (loaded.ok())
      module_ = std::make_unique<LoadedModule>(std::move(loaded).value());
    else
      ADD_FAILURE() << to_string(loaded.error());
    plan.memory = std::make_unique<DeviceMemory>(MemoryLimits{std::uint64_t{16} << 30, 100});
  }

  // Floats between 0 and 1.
  std::uint64_t input(std::uint64_t bytes) {
    std::string tile;
    for (int i = 0; i < 4096; ++i) add_bytes(tile, static_cast<float>(i * 37 % 101) / 101.0f);
    return plan.memory->allocate_tiled(bytes, "input", MemoryAccessRight::read_only, tile).value();
  }
  std::uint64_t output(std::uint64_t bytes) {
    return plan.memory->allocate_untouched(bytes, "output", MemoryAccessRight::read_write).value();
  }

  template <class... Arguments>
  void launch(const std::string& kernel, std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block,
              Arguments... arguments) {
    ProfiledLaunch step;
    step.module = module_.get();
    step.name = kernel;
    for (const CompiledKernel& compiled : compiled_.kernels) {
      if (compiled.symbol.find(kernel) == std::string::npos) continue;
      step.arguments.kernel = compiled.symbol;
      step.resources = compiled.resources;
    }
    step.arguments.grid = grid;
    step.arguments.block = block;
    (step.arguments.parameters.push_back(bytes_of_value(arguments)), ...);
    plan.steps.emplace_back(std::move(step));
  }

  TimeEstimate time(const EstimateOptions& options = {}) {
    auto result = estimate_plan(test_profile(), plan, options);
    if (!result.ok()) {
      ADD_FAILURE() << to_string(result.error());
      return {};
    }
    return std::move(result).value();
  }

  template <class T>
  static std::string bytes_of_value(T value) {
    std::string bytes;
    add_bytes(bytes, value);
    return bytes;
  }

  PreparedPlan plan;

 private:
  template <class T>
  static void add_bytes(std::string& to, T value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  CompileResult compiled_;
  std::unique_ptr<LoadedModule> module_;
};

inline double term_us(const TimeEstimate& estimate, const std::string& name) {
  for (const TimeTerm& term : estimate.terms)
    if (term.name == name) return term.us;
  return 0;
}

inline std::string describe(const TimeEstimate& estimate) {
  std::string text = std::to_string(estimate.us) + " us, " + estimate.limiter;
  for (const TimeTerm& term : estimate.terms) text += "\n  " + term.name + " " + std::to_string(term.us);
  for (const HotLine& line : estimate.hot_lines) text += "\n  line " + std::to_string(line.line) + " " + line.reason;
  for (const std::string& note : estimate.notes) text += "\n  " + note;
  return text;
}

}  // namespace kw
