// What the judge does on a GPU: does it agree with the emulator, do its figures repeat, does it survive, how fast is
// it.
//   gpu_bench agree | repeat | self | soak | speed  [--kernels N] [--workers N]
// Each prints a Markdown section; exit code 1 when what must hold does not.

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/log.h"
#include "gpu_bench.h"
#include "kernel/judge/worker.h"

int main(int argc, char** argv) {
  using namespace kw;
  using namespace kw::gpu_bench;
  if (const auto code = run_if_worker(argc, argv)) return *code;
  CLI::App app{"Measures the judge on a GPU"};
  std::string what, only, file;
  bool bare = false;
  int kernels = 0;
  Bench bench;
  app.add_option("WHAT", what)
      ->required()
      ->check(CLI::IsMember({"agree", "repeat", "self", "soak", "speed", "pack", "replay"}));
  app.add_option("--kernels", kernels);
  app.add_option("--only", only, "one row of the speed table; the corpus to pack");
  app.add_flag("--bare", bare, "replay the kernel alone, without our own device code");
  app.add_option("--file", file, "of replay; the folder of pack");
  app.add_option("--workers", bench.workers);
  app.add_option("--threads", bench.threads);
  CLI11_PARSE(app, argc, argv);
  configure_logging(LogFormat::human, LogLevel::warn);
  std::string command;
  for (int i = 0; i < argc; ++i) command += std::string(i > 0 ? " " : "") + (i > 0 ? argv[i] : "gpu_bench");
  std::cout << "`" << command << "`\n";
  if (what == "agree") agree(bench);
  if (what == "repeat") repeat(bench);
  if (what == "self") self(bench, kernels > 0 ? kernels : 200);
  if (what == "soak") soak(bench, kernels > 0 ? kernels : 2000);
  if (what == "pack") pack(bench, file, only);
  if (what == "replay") replay(file, bare);
  if (what == "speed") speed(bench, kernels > 0 ? kernels : 600, only);
  std::cout << (failures == 0 ? "all as it should be\n" : fmt::format("{} not as they should be\n", failures));
  return failures == 0 ? 0 : 1;
}
