#pragma once
// The subcommands of `kernelwright bench` that have a file of their own.

#include "app/cli/command.h"

namespace kw::cli {

void add_bench_episodes_command(CLI::App& bench, Context& context);
void add_bench_step_command(CLI::App& bench, Context& context);

// What was measured, as JSON or as a table; or why nothing was.
void show_measured(Context& context, const Result<Json>& measured, void (*print_table)(const Json&));

}  // namespace kw::cli
