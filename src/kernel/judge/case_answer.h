#pragma once
// The answer to a case: the truth, and how far from it an output may be.

#include "kernel/judge/case_book.h"

namespace kw {

// Fills in truth and bounds. False when the reference itself cannot cope with the inputs in the task's dtype: such a
// case says nothing about a kernel.
Result<bool> answer_case(const Task& task, Reference& reference, Case& one);

}  // namespace kw
