// What a rank holds of a model: the optimizer's state by number of ranks, as it is allocated.
//   ranks_bench [PRESET...]
// Rows are the rank that has most: shares are cut between pieces (model/decoder/trainable_part.h).

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/decoder/presets.h"
#include "model/decoder/trainable_part.h"

namespace {

using namespace kw;

constexpr double mib = 1 << 20;

double most_moment_mib(std::vector<float>& values, const std::vector<MuonMatrix>& matrices, bool eight_bit, int ranks) {
  std::int64_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    TrainablePart part("base", values, {}, eight_bit, matrices, {rank, ranks});
    most = std::max(most, part.moment_bytes());
  }
  return static_cast<double>(most) / mib;
}

void show(const std::string& preset) {
  const auto description = preset_description(preset, 2048);
  if (!description.ok()) {
    fmt::print("{}\n", to_string(description.error()));
    return;
  }
  const ParameterLayout layout(*description);
  std::vector<float> values(static_cast<std::size_t>(layout.size));
  struct Kind {
    const char* name;
    bool muon, eight_bit;
  };
  for (const Kind& kind : {Kind{"adamw", false, false}, {"muon", true, false}, {"adamw, 8 bits", false, true}}) {
    const auto matrices = kind.muon ? linear_weights(*description, layout) : std::vector<MuonMatrix>{};
    const double alone = most_moment_mib(values, matrices, kind.eight_bit, 1);
    fmt::print("{:<12} {:<14}", preset, kind.name);
    for (const int ranks : {1, 2, 3, 4, 8, 16}) {
      const double most = most_moment_mib(values, matrices, kind.eight_bit, ranks);
      fmt::print(" {:>8.2f} ({:.3f})", most, most / alone);
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> presets(argv + 1, argv + argc);
  if (presets.empty()) presets = {"tiny-1m", "tiny-6m", "small-60m"};
  fmt::print("MiB of moments on the rank that has most, and its share of one rank's, by ranks\n");
  fmt::print("{:<12} {:<14}", "model", "optimizer");
  for (const int ranks : {1, 2, 3, 4, 8, 16}) fmt::print(" {:>16}", ranks);
  fmt::print("\n");
  for (const std::string& preset : presets) show(preset);
  return 0;
}
