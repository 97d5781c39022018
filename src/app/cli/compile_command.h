#pragma once
// What `compile` prints of a kernel and of a whole program alike.

#include <string>
#include <vector>

#include "app/cli/command.h"
#include "kernel/compile/architecture.h"
#include "kernel/compile/diagnostics.h"

namespace kw::cli {

Json diagnostic_json(const Diagnostic& diagnostic);
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);

// compile --whole-program FILE.cu
void compile_program(Context& context, const std::string& file, GpuArchitecture architecture);

}  // namespace kw::cli
