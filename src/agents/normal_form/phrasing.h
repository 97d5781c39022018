#pragma once
// A frame as PyTorch text, laid out as the grammar lays it out.

#include "agents/normal_form/frame.h"

namespace kw {

using Renaming = std::map<std::string, std::string>;  // the task's name, the new one; others stay

// Lines that end in a return. `taken`: names that no local may have.
std::string phrase(const Operation& operation, const TaskFrame& frame, const Renaming& renamed,
                   std::vector<std::string> taken);

}  // namespace kw
