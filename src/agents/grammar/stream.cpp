#include "agents/grammar/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "agents/grammar/grammar.h"
#include "agents/grammar/writers.h"
#include "base/check.h"

namespace kw {
namespace {

// Families whose grammar is rich come more often.
int weight_of(Family family) {
  switch (family) {
    case Family::elementwise:
      return 8;
    case Family::broadcast:
    case Family::reduce_last:
      return 5;
    case Family::softmax:
    case Family::layer_norm:
    case Family::rms_norm:
    case Family::reduce_first:
    case Family::reduce_middle:
    case Family::transpose:
    case Family::matmul:
      return 3;
    case Family::max_pool2d:
    case Family::avg_pool2d:
    case Family::conv2d:
    case Family::cumsum:
    case Family::matvec:
    case Family::reduce_all:
    case Family::gather_rows:
      return 2;
    default:
      return 1;
  }
}

constexpr int most_attempts = 10'000;

}  // namespace

ExampleStream::ExampleStream(StreamOptions options) : options_(std::move(options)) {
  KW_CHECK(options_.split != DataSplit::suite);
  const auto novel = novel_families();
  for (int i = 0; i < family_count; ++i) {
    const auto family = static_cast<Family>(i);
    const bool is_novel = std::find(novel.begin(), novel.end(), family) != novel.end();
    if (is_novel != (options_.split == DataSplit::novel)) continue;
    const auto& wanted = options_.families;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), family) == wanted.end()) continue;
    families_.insert(families_.end(), static_cast<std::size_t>(weight_of(family)), family);
  }
  KW_CHECK(!families_.empty());
}

DrawnTask ExampleStream::task_at(std::uint64_t index) const {
  Random random(options_.seed * 4 + static_cast<std::uint64_t>(options_.split), index);
  DrawnTask drawn;
  drawn.index = index;
  for (int attempt = 0;; ++attempt) {
    KW_CHECK(attempt < most_attempts);
    const auto at = random.integer(0, static_cast<std::int64_t>(families_.size()) - 1);
    drawn.problem = draw_problem(random, families_[static_cast<std::size_t>(at)]);
    drawn.structure = structure_of(drawn.problem);
    if (split_of(drawn.problem, drawn.structure) == options_.split) break;
  }
  drawn.task =
      make_task(drawn.problem, fmt::format("{}_{}_{}", name_of(drawn.problem.family), options_.seed, index), random);
  if (options_.split != DataSplit::train) drawn.task.split = Split::holdout;
  if (options_.naive_too) drawn.task.naive = kernel_for(drawn, Level::naive, house_style);
  return drawn;
}

std::string ExampleStream::kernel_for(const DrawnTask& drawn, Level level, std::uint64_t variant) const {
  if (variant == house_style || variant == formula_style) {
    Random steady = Random::steady();
    return write_kernel(drawn.problem, level, steady, variant == formula_style);
  }
  Random random(options_.seed ^ 0x6b65726e656cu,
                (drawn.index * level_count + static_cast<std::uint64_t>(level)) * 64 + variant);
  return write_kernel(drawn.problem, level, random);
}

Example ExampleStream::example_at(std::uint64_t index) const {
  Example example;
  example.drawn = task_at(index);
  const std::vector<Level> levels = levels_of(example.drawn.problem);
  Random random(options_.seed ^ 0x6c6576656cu, index);
  example.level = levels[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(levels.size()) - 1))];
  example.kernel = kernel_for(example.drawn, example.level, 1);
  return example;
}

}  // namespace kw
