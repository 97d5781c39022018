#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "app/cli/command.h"
#include "app/cli/compile_command.h"
#include "app/cli/kernel_argument.h"
#include "base/file.h"
#include "base/table.h"
#include "kernel/compile/occupancy.h"
#include "kernel/judge/kernel_build.h"

namespace kw::cli {
namespace {

struct CompileArguments {
  std::string task;
  std::string kernel;
  std::string architecture = "sm_90";
  std::string ptx_file;
  std::string cubin_file;
  std::string whole_program;
  bool no_cache = false;
};

// One row of the result: a kernel instance as it is launched at one of the task's sizes.
struct KernelRow {
  const CompiledKernel* kernel = nullptr;
  const KernelLaunch* launch = nullptr;
  Occupancy occupancy;
};

// The launch that counts is the one at the first timed size; a kernel that is only launched elsewhere is shown as
// launched there.
const KernelLaunch* representative_launch(const KernelBuild& build, const Task& task, const std::string& name) {
  const KernelLaunch* found = nullptr;
  for (const SizedPlan& sized : build.plans) {
    for (const KernelLaunch* launch : sized.plan.launches()) {
      if (launch->kernel != name) continue;
      if (!found || sized.sizes == task.sizes_train.front()) found = launch;
    }
  }
  return found;
}

std::vector<KernelRow> kernel_rows(const KernelBuild& build, const Task& task, GpuArchitecture architecture) {
  std::vector<KernelRow> rows;
  for (const CompiledKernel& kernel : build.compiled.kernels) {
    const KernelLaunch* launch = representative_launch(build, task, kernel.name);
    if (!launch) continue;
    const auto occupied = occupancy_of(architecture, kernel, *launch);
    // A launch that does not fit at all is no built kernel, so this cannot fail here.
    if (occupied.ok()) rows.push_back({&kernel, launch, *occupied});
  }
  return rows;
}

Json finding_json(const Finding& finding) {
  return {{"rule", finding.rule},       {"severity", to_string(finding.severity)},
          {"line", finding.where.line}, {"column", finding.where.column},
          {"message", finding.message}, {"advice", finding.advice}};
}

Json build_json(const KernelBuild& build, const Task& task, const CompileArguments& arguments,
                GpuArchitecture architecture) {
  Json json{{"task", task.name},
            {"kernel_file", arguments.kernel},
            {"status", to_string(build.status)},
            {"compiled", build.built()},
            {"architecture", to_string(architecture)}};
  if (!build.built()) json["problem"] = to_json(build.problem);
  json["diagnostics"] = Json::array();
  for (const Diagnostic& diagnostic : build.compiled.diagnostics)
    json["diagnostics"].push_back(diagnostic_json(diagnostic));
  json["kernels"] = Json::array();
  for (const KernelRow& row : kernel_rows(build, task, architecture)) {
    const KernelResources& resources = row.kernel->resources;
    json["kernels"].push_back({{"name", row.kernel->name},
                               {"symbol", row.kernel->symbol},
                               {"registers", resources.registers},
                               {"spill_store_bytes", resources.spill_store_bytes},
                               {"spill_load_bytes", resources.spill_load_bytes},
                               {"stack_bytes", resources.stack_bytes},
                               {"static_shared_bytes", resources.static_shared_bytes},
                               {"dynamic_shared_bytes", row.launch->dynamic_shared_bytes},
                               {"constant_bytes", resources.constant_bytes},
                               {"barriers", resources.barriers},
                               {"block", {row.launch->block.x, row.launch->block.y, row.launch->block.z}},
                               {"grid", {row.launch->grid.x, row.launch->grid.y, row.launch->grid.z}},
                               {"occupancy", row.occupancy.fraction()},
                               {"blocks_per_multiprocessor", row.occupancy.blocks_per_sm},
                               {"occupancy_limiter", to_string(row.occupancy.limiter)}});
  }
  json["findings"] = Json::array();
  for (const auto* list : {&build.findings, &build.pitfalls}) {
    for (const Finding& finding : *list) json["findings"].push_back(finding_json(finding));
  }
  json["risk"] = {{"score", build.risk.score}, {"reasons", Json::array()}};
  for (const RiskReason& reason : build.risk.reasons) {
    json["risk"]["reasons"].push_back({{"what", reason.what}, {"points", reason.points}, {"line", reason.where.line}});
  }
  json["fingerprint"] = build.fingerprint;
  json["ptx_fingerprint"] = build.compiled.ptx_fingerprint;
  json["compile_ms"] = build.compiled.compile_ms;
  json["from_cache"] = build.compiled.from_cache;
  return json;
}

void print_build(const KernelBuild& build, const Task& task, GpuArchitecture architecture) {
  print_diagnostics(build.compiled.diagnostics);
  for (const auto* list : {&build.findings, &build.pitfalls}) {
    for (const Finding& finding : *list) std::cout << to_string(finding) << "\n";
  }
  if (build.built()) {
    Table table(
        {"kernel", "grid", "block", "registers", "spilled", "stack", "shared", "occupancy", "limited by"},
        {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
    const auto extent = [](const Dim3& d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); };
    for (const KernelRow& row : kernel_rows(build, task, architecture)) {
      const KernelResources& resources = row.kernel->resources;
      table.add(
          {row.kernel->name, extent(row.launch->grid), extent(row.launch->block), std::to_string(resources.registers),
           bytes_text(resources.spill_store_bytes), bytes_text(resources.stack_bytes),
           bytes_text(resources.static_shared_bytes + static_cast<double>(row.launch->dynamic_shared_bytes)),
           fmt::format("{:.0f} %", 100 * row.occupancy.fraction()), std::string(to_string(row.occupancy.limiter))});
    }
    std::cout << table.text();
  }
  if (!build.risk.reasons.empty()) {
    std::cout << fmt::format("risk {:.2f}:", build.risk.score);
    for (const RiskReason& reason : build.risk.reasons)
      std::cout << " " << reason.what << (reason.where.line > 0 ? fmt::format(" (line {})", reason.where.line) : "")
                << ";";
    std::cout << "\n";
  }
  if (build.built()) {
    std::cout << fmt::format("compiled for {} in {:.0f} ms{}\n", to_string(architecture), build.compiled.compile_ms,
                             build.compiled.from_cache ? " (from the cache)" : "");
  } else {
    std::cout << fmt::format("{}: {}\n", to_string(build.status), to_string(build.problem));
  }
}

void run_compile(Context& context, const CompileArguments& arguments) {
  const auto architecture = architecture_from_string(arguments.architecture);
  if (!architecture) {
    std::string known;
    for (const GpuArchitecture each : all_architectures)
      known += (known.empty() ? "" : ", ") + std::string(to_string(each));
    return fail(context,
                Error{"the architecture '" + arguments.architecture + "' is not known", "choose one of " + known, {}});
  }
  if (!arguments.whole_program.empty()) return compile_program(context, arguments.whole_program, *architecture);
  if (arguments.kernel.empty())
    return fail(context, Error{"a task and a kernel are needed",
                               "kernelwright compile TASK KERNEL.cu, or compile --whole-program FILE.cu",
                               {}});
  const auto task = task_from_argument(arguments.task);
  if (!task.ok()) return fail(context, task.error());
  const auto text = read_kernel_argument(arguments.kernel);
  if (!text.ok()) return fail(context, text.error());

  ServiceOptions options;
  options.pool.workers = 1;
  options.disk_cache = !arguments.no_cache;
  CompileService service(options);
  BuildOptions build_options;
  build_options.architecture = *architecture;
  const KernelBuild build = build_kernel(service, *task, *text, arguments.kernel, build_options);
  if (context.json) {
    print_json(build_json(build, *task, arguments, *architecture));
  } else {
    print_build(build, *task, *architecture);
  }
  context.exit_code = build.built() ? exit_good : exit_not_good;
  if (!build.built()) return;
  for (const auto& [file, bytes] :
       {std::pair(&arguments.ptx_file, &build.compiled.ptx), std::pair(&arguments.cubin_file, &build.compiled.cubin)}) {
    if (file->empty()) continue;
    const auto written = write_file_atomic(*file, *bytes);
    if (!written.ok()) return fail(context, written.error());
  }
}

}  // namespace

Json diagnostic_json(const Diagnostic& diagnostic) {
  Json json{{"severity", to_string(diagnostic.severity)},
            {"file", diagnostic.file},
            {"line", diagnostic.line},
            {"column", diagnostic.column},
            {"message", diagnostic.message}};
  if (!diagnostic.code.empty()) json["code"] = diagnostic.code;
  if (!diagnostic.notes.empty()) json["notes"] = diagnostic.notes;
  if (!diagnostic.advice.empty()) json["advice"] = diagnostic.advice;
  return json;
}

void print_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    std::cout << to_string(diagnostic) << "\n";
    for (const std::string& note : diagnostic.notes) std::cout << "    " << note << "\n";
    if (!diagnostic.advice.empty()) std::cout << "    advice: " << diagnostic.advice << "\n";
  }
}

void add_compile_command(CLI::App& app, Context& context) {
  auto* compile =
      app.add_subcommand("compile", "Compiles a kernel for a task: diagnostics, resources, occupancy, pitfalls, risk");
  auto arguments = std::make_shared<CompileArguments>();
  add_json_flag(*compile, context);
  compile->add_option("TASK", arguments->task, "a task of the suite by name, a task's folder, or a YAML file");
  compile->add_option("KERNEL.cu", arguments->kernel, "the kernel file; - reads standard input");
  auto* whole = compile->add_option("--whole-program", arguments->whole_program,
                                    "instead: a complete program, compiled by nvcc in the sandbox and never run");
  compile->add_option("--arch", arguments->architecture, "sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100 or sm_100a")
      ->capture_default_str();
  auto* ptx = compile->add_option("--ptx", arguments->ptx_file, "write the PTX to this file");
  auto* cubin = compile->add_option("--cubin", arguments->cubin_file, "write the cubin to this file");
  compile->add_flag("--no-cache", arguments->no_cache, "ignore cached results");
  for (auto* option : {compile->get_option("TASK"), compile->get_option("KERNEL.cu"), ptx, cubin})
    whole->excludes(option);
  compile->footer(
      "Examples:\n"
      "  kernelwright compile softmax examples/softmax_shared.cu --arch sm_80 --ptx softmax.ptx\n"
      "  kernelwright compile --whole-program my_program.cu");
  compile->callback([&context, arguments] { run_compile(context, *arguments); });
}

}  // namespace kw::cli
