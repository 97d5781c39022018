#pragma once
// The frame that drawn tasks have: something is done to what is read, one operation that is not element by element,
// something is done to its result. And who plays which part in it.

#include "agents/grammar/problem.h"
#include "agents/grammar/role_names.h"
#include "agents/normal_form/operation.h"

namespace kw {

struct TaskFrame {
  Family family = Family::elementwise;
  int root = -1;
  int core = -1;         // -1: element by element throughout
  int pre = -1;          // what the core operation works on; its own operand where nothing is done to it
  int scaffold = -1;     // reduce_all: the reduction inside `.reshape(1)`
  bool causal = false;   // attention scores: zero above the diagonal
  bool integer = false;  // of what the core works on
};

// The frame of the single result; an error names what no drawn task has.
Result<TaskFrame> frame_of(const Operation& operation, const Task& task);

// The operands of a product without their transposition.
int without_transpose(const TermBook& book, int term);

// Inputs that a term uses, in the task's order.
std::vector<std::string> inputs_of(const Operation& operation, const Task& task, int term, int stop = -1);

// A tensor's or size's part. Of the lists the first is preferred; a name that stands in any of them may stay.
struct Role {
  std::string name;
  std::vector<RoleNames> lists;
  RoleNames elsewhere = {};  // those that mean something else in tasks that look alike: only where nothing else changes
};
// Sizes, inputs, output: in the order in which the grammar names them.
std::vector<Role> roles_of(const Operation& operation, const TaskFrame& frame, const Task& task);

}  // namespace kw
