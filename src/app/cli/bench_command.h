#pragma once
// The subcommands of `kernelwright bench` that have a file of their own.

#include "app/cli/command.h"

namespace kw::cli {

void add_bench_episodes_command(CLI::App& bench, Context& context);
void add_bench_step_command(CLI::App& bench, Context& context);

}  // namespace kw::cli
