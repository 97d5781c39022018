#pragma once
// Reductions and normalisations of rows are the same thing in several phases: each folds a term over the row and
// derives a number from it; at the end one number is stored for the row, or every element is computed again.

#include <string>
#include <vector>

#include "agents/grammar/draft.h"

namespace kw {

enum class Fold : std::uint8_t { sum, maximum, minimum };

struct RowPhase {
  Fold fold = Fold::sum;
  std::string accumulator;  // its name
  std::string term;         // of $v and what was derived before; empty: $v itself
  std::string name;         // of the derived number
  std::string derived;      // of the folded number $f and the row's length $n; empty: $f itself
};

struct RowPlan {
  std::vector<RowPhase> phases;
  std::string result;        // of $v where elements are computed, and of the derived numbers
  bool per_element = false;  // the output has the row's shape
};
RowPlan row_plan(Draft& draft);

std::string fold_start(const Draft& draft, Fold fold);
// `a += b;`, `a = fmaxf(a, b);`
std::string fold_step(const Draft& draft, Fold fold, const std::string& a, const std::string& b);
std::string fold_value(const Draft& draft, Fold fold, const std::string& a, const std::string& b);

// __device__ functions, made at their first use: their names. Every lane (thread) gets the result.
std::string warp_fold(Draft& draft, Fold fold);
std::string block_fold_shuffles(Draft& draft, Fold fold);
std::string block_fold_tree(Draft& draft, Fold fold, const std::string& block);

// Half a block size, which is a number or the name of one.
std::string half_of(const std::string& block);

// Lines that make the row's number of the last phase's folded one; plan.result is then how it is written, an expression
// where nothing is done to it any more.
std::string last_derived(Draft& draft, RowPlan& plan, const std::string& folded, const std::string& length);

// `term` with $v, $f and $n replaced.
std::string substitute(std::string text, const std::string& v, const std::string& f, const std::string& n);

}  // namespace kw
