#include "agents/grammar/held_out.h"

#include <algorithm>
#include <array>

#include "base/hash.h"

namespace kw {
namespace {

constexpr std::array novel{Family::logsumexp, Family::l2_normalize, Family::exclusive_cumsum, Family::avg_pool1d,
                           Family::matmul_tn};

constexpr std::array<std::string_view, 4> split_names{"train", "composition", "novel", "suite"};

constexpr unsigned composition_one_in = 10;

// Held-out tasks of tasks/ as far as the grammar can express them; the others are of novel families
// (row_logsumexp, l2_normalize_rows, row_exclusive_cumsum, avg_pool1d_stride, matmul_tn_f16, gram) or use what the
// grammar does not have (bits, complex pairs of outputs, dilation, recurrences, segments, flips, losses).
constexpr std::array<std::string_view, 8> suite_structures{
    "elementwise|softplus(full0);result1;",
    "elementwise|hard_swish(full0);result1;",
    "elementwise|multiply(full0,hard_sigmoid(full0));result1;",                    // hard swish again
    "elementwise|multiply(full0,gelu(full1));result2;",                            // geglu
    "elementwise|subtract(multiply(full0,full1),multiply(full2,full3));result4;",  // complex_mul
    "elementwise|add(multiply(full0,full1),multiply(full2,full3));result4;",       // complex_mul
    "softmax|multiply(full0,scalar1);result2;",                                    // softmax_temperature
    "softmax|divide(full0,scalar1);result2;",
};

// Single parts must be seen in training: only where several come together is there a combination to hold out. Every
// operator of a structure has brackets, nothing else has.
bool combines(Family family, std::string_view structure) {
  const auto operators = std::count(structure.begin(), structure.end(), '(');
  return family == Family::elementwise || family == Family::broadcast ? operators >= 2 : operators >= 1;
}

DataSplit split_of(Family family, std::string_view structure) {
  if (std::find(novel.begin(), novel.end(), family) != novel.end()) {
    // The bare operation is what the suite's own held-out task asks for.
    return combines(family, structure) ? DataSplit::novel : DataSplit::suite;
  }
  if (std::find(suite_structures.begin(), suite_structures.end(), structure) != suite_structures.end())
    return DataSplit::suite;
  if (combines(family, structure) && checksum64(structure) % composition_one_in == 0) return DataSplit::composition;
  return DataSplit::train;
}

}  // namespace

std::string_view name_of(DataSplit split) { return split_names[static_cast<std::size_t>(split)]; }

std::optional<DataSplit> split_from_name(std::string_view name) {
  const auto found = std::find(split_names.begin(), split_names.end(), name);
  if (found == split_names.end()) return std::nullopt;
  return static_cast<DataSplit>(found - split_names.begin());
}

std::span<const Family> novel_families() { return novel; }

DataSplit split_of(const Problem& problem) { return split_of(problem, structure_of(problem)); }

DataSplit split_of(const Problem& problem, const std::string& structure) { return split_of(problem.family, structure); }

std::optional<DataSplit> split_of_structure(std::string_view structure) {
  const auto family = family_from_name(structure.substr(0, structure.find_first_of(":|")));
  if (!family) return std::nullopt;
  return split_of(*family, structure);
}

}  // namespace kw
