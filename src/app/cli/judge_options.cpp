#include "app/cli/judge_options.h"

namespace kw::cli {

void add_judge_options(CLI::App& command, JudgeSessionOptions& options) {
  command.add_option("--backend", options.backend, "where kernels run: auto takes the emulator where there is no GPU")
      ->check(CLI::IsMember({"emulator", "gpu", "auto"}))
      ->capture_default_str();
  command.add_option("--profile", options.profile,
                     "the device whose time is modelled; without it h200, or the GPU's own");
  command.add_option("--judge-workers", options.workers, "kernels judged at the same time; 0: one per core")
      ->check(CLI::Range(0, 1024));
  command.add_flag("!--no-cache", options.cache, "ignore cached results");
}

}  // namespace kw::cli
