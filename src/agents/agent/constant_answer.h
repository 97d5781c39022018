#pragma once
// The short answer of an Optimizer that changes nothing but constants of the kernel that it was shown:
//
//   tile_m = 128, stages = 3
//
// on one line or several, in a fence or not, behind a "Strategy: ..." line or not. Names are those that
// kernel_constants.h finds ("tile", "block 256", "unroll 4"). Whatever else stands there makes it no such answer: a
// change that is understood by half is another kernel than the one that was meant.

#include <string>
#include <string_view>

#include "agents/agent/answer.h"
#include "base/result.h"

namespace kw {

inline constexpr std::size_t max_constant_answer_bytes = 1024;
inline constexpr std::size_t most_answered_constants = 8;

struct ConstantAnswer {
  std::string kernel;  // `given` with these constants
  std::string change;  // "tile_m 64 -> 128, stages 2 -> 3"
};

// Time is linear in both texts.
Result<ConstantAnswer> parse_constant_answer(std::string_view text, std::string_view given);

// An Optimizer's answer: as it was read, unless it holds words only and they are a change of constants of `given`; then
// the kernel is that one.
Answer with_constants_changed(Answer answer, std::string_view text, std::string_view given);

}  // namespace kw
