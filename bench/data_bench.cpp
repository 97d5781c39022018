// How many examples (task text and kernel text) one core makes a second, by split. Usage: data_bench [examples]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "agents/grammar/stream.h"

int main(int argc, char** argv) {
  const auto count = static_cast<std::uint64_t>(argc > 1 ? std::atoll(argv[1]) : 20'000);
  for (const kw::DataSplit split : {kw::DataSplit::train, kw::DataSplit::composition, kw::DataSplit::novel}) {
    kw::StreamOptions options;
    options.seed = 1;
    options.split = split;
    const kw::ExampleStream stream(options);
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    std::size_t bytes = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const kw::Example example = stream.example_at(i);
      bytes += example.drawn.task.pytorch.size() + example.kernel.size();
    }
    const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    std::printf("%-12s %8.0f examples a second of CPU time (%.0f by the clock), %.0f bytes each\n",
                std::string(kw::name_of(split)).c_str(), static_cast<double>(count) / cpu_s,
                static_cast<double>(count) / wall_s, static_cast<double>(bytes) / static_cast<double>(count));
  }
  return 0;
}
