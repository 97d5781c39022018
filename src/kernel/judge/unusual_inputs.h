#pragma once
// Unusual inputs of full size. Many kinds in one tensor, line by line, so that two references tell what is right for
// all of them: a kernel that takes a shortcut only where it is timed is asked there, too.

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "kernel/judge/input_kind.h"
#include "kernel/judge/large_inputs.h"

namespace kw {

// Lines of one magnitude stand together, because an error is measured by an output's magnitude.
enum class InputMix : std::uint8_t {
  level,   // negative, zero, tiny, constant, of few values, at the ends of a range
  strong,  // large, offset, with outliers; whole numbers and ranges: the whole tensor has one value
};
inline constexpr std::array all_input_mixes = {InputMix::level, InputMix::strong};

// Of the bound that follows from PyTorch's own error: it adds long rows pairwise, and a thread that adds one after the
// other, far from zero, is several times as far off without being wrong.
inline constexpr double unusual_slack = 8;

std::string_view name_of(InputMix mix);
std::string_view advice_for(InputMix mix);

// `fair`: kinds that the task allows and the reference copes with.
bool is_of_use(const Task& task, InputMix mix, const std::set<InputKind>& fair);

// As make_large_inputs; every tensor that changes has a recipe.
Result<std::vector<LargeInput>> make_unusual_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                    std::uint64_t scalar_seed, InputMix mix,
                                                    const std::set<InputKind>& fair);

}  // namespace kw
