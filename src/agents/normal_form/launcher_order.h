#pragma once
// Where the inputs of a task stand in another order than drawn tasks have them (`saxpy(alpha, x, y)`, ids before their
// table), agents are asked in the learned order. The launcher of what they write then gets its parameters in the task's
// order, and the other way round when they are shown it again. Only the list of parameters is touched: its names bind
// the body. Sizes that the task has as numbers are no parameters of its launcher; they become constants in the first
// line of the body.

#include <string>

#include "agents/normal_form/normal_form.h"

namespace kw {

// A kernel that was asked for by `form`, for the judge. As it was where there is nothing to do, or where no launcher
// with so many parameters is found.
std::string in_task_order(const NormalForm& form, const std::string& kernel);
// A kernel for the task, as agents write it.
std::string in_asked_order(const NormalForm& form, const std::string& kernel);

}  // namespace kw
