// kernelwright compile --whole-program: nvcc's diagnostics and resources of a complete program.

#include <fmt/format.h>

#include <iostream>

#include "app/cli/command.h"
#include "app/cli/compile_command.h"
#include "app/cli/kernel_argument.h"
#include "base/table.h"
#include "kernel/compile/whole_program.h"

namespace kw::cli {
namespace {

Json kernel_json(const WholeProgramKernel& kernel) {
  const KernelResources& resources = kernel.resources;
  return {{"name", kernel.name},
          {"symbol", kernel.symbol},
          {"registers", resources.registers},
          {"spill_store_bytes", resources.spill_store_bytes},
          {"spill_load_bytes", resources.spill_load_bytes},
          {"stack_bytes", resources.stack_bytes},
          {"static_shared_bytes", resources.static_shared_bytes},
          {"constant_bytes", resources.constant_bytes},
          {"barriers", resources.barriers},
          {"max_threads", resources.max_threads}};
}

Json program_json(const WholeProgram& program, const std::string& file, GpuArchitecture architecture) {
  Json json{{"file", file}, {"compiled", program.compiled}, {"architecture", to_string(architecture)}};
  if (!program.problem.empty()) json["problem"] = program.problem;
  json["diagnostics"] = Json::array();
  for (const Diagnostic& diagnostic : program.diagnostics) json["diagnostics"].push_back(diagnostic_json(diagnostic));
  json["kernels"] = Json::array();
  for (const WholeProgramKernel& kernel : program.kernels) json["kernels"].push_back(kernel_json(kernel));
  json["compile_ms"] = program.compile_ms;
  return json;
}

void print_program(const WholeProgram& program, const std::string& file, GpuArchitecture architecture) {
  print_diagnostics(program.diagnostics);
  if (!program.kernels.empty()) {
    Table table({"kernel", "registers", "spilled", "stack", "shared", "barriers"},
                {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
    for (const WholeProgramKernel& kernel : program.kernels) {
      const KernelResources& resources = kernel.resources;
      table.add({kernel.name, std::to_string(resources.registers), bytes_text(resources.spill_store_bytes),
                 bytes_text(resources.stack_bytes), bytes_text(resources.static_shared_bytes),
                 std::to_string(resources.barriers)});
    }
    std::cout << table.text();
  }
  if (!program.problem.empty()) std::cout << file << ": " << program.problem << "\n";
  std::cout << (program.compiled ? fmt::format("compiled for {} in {:.1f} s; not linked, not run\n",
                                               to_string(architecture), program.compile_ms / 1000)
                                 : "not compiled\n");
}

}  // namespace

void compile_program(Context& context, const std::string& file, GpuArchitecture architecture) {
  const auto text = read_kernel_argument(file);
  if (!text.ok()) return fail(context, text.error());
  WholeProgramOptions options;
  options.architecture = architecture;
  const auto program = compile_whole_program(*text, file, options);
  if (!program.ok()) return fail(context, program.error());
  if (context.json)
    print_json(program_json(*program, file, architecture));
  else
    print_program(*program, file, architecture);
  context.exit_code = program->compiled ? exit_good : exit_not_good;
}

}  // namespace kw::cli
