#pragma once

#include <CLI/CLI.hpp>

#include "kernel/judge/judge_session.h"

namespace kw::cli {

// --backend, --profile, --judge-workers, --no-cache
void add_judge_options(CLI::App& command, JudgeSessionOptions& options);

}  // namespace kw::cli
