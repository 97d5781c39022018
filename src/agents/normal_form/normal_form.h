#pragma once
// What a task asks for, in the words that drawn tasks use: the same operation, spelt and laid out as the grammar does
// it, with the grammar's names. Agents that learned from drawn tasks read this instead of the task; a kernel for one is
// a kernel for the other, because a launcher's parameters go by place (launcher_order.h). docs/normal_form.md says
// more.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernel/task/task.h"

namespace kw {

enum class AskedNames : std::uint8_t {
  learned,  // those of the grammar, for each role
  kept,     // as the task has them: a kernel uses them already
};

// A parameter of the asked launcher that the task's own does not have: an extent that the task has as a number.
struct NamedExtent {
  std::size_t place = 0;  // among the asked launcher's parameters
  std::string name;
  std::int64_t value = 0;
};

struct NormalForm {
  Task task;
  bool changed = false;
  std::vector<std::pair<std::string, std::string>> renamed;  // tensors and sizes: the task's name, the new one
  // Where each parameter of the asked launcher, but the stream and named extents, stands in the task's own; empty: all
  // in their places. launcher_order.h brings a kernel from one to the other.
  std::vector<std::size_t> places;
  std::vector<NamedExtent> named_extents;  // by place
  // Why the task stays as it is written: "the agents' normal form does not know `torch.fft.rfft` (line 3)", lines of
  // the task's PyTorch text. Empty where it is understood, changed or not.
  std::string not_understood;

  bool has_other_launcher() const { return !places.empty() || !named_extents.empty(); }
};

// Where the text is not understood, or is of no family that is drawn, the task stays as it is.
NormalForm normal_form(const Task& task, AskedNames names = AskedNames::learned);

// What was done, on one line: "the question was put in other words: ...", or what was not understood and that the
// question is given as it is written. Empty where there was nothing to do.
std::string description_of(const NormalForm& form);

}  // namespace kw
