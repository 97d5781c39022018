#pragma once
// For tests: the task that an extension file of tests/extensions names in its first line.
//   // task: x float32 [rows, cols], eps float32 [] -> y float32 [rows]

#include <array>
#include <set>
#include <sstream>
#include <string>

#include "kernel/source/interpreter.h"

namespace kw {

inline const std::array<Sizes, 3> extension_sizes = {Sizes{{"rows", 5}, {"cols", 6}}, Sizes{{"rows", 64}, {"cols", 65}},
                                                     Sizes{{"rows", 333}, {"cols", 334}}};

inline std::vector<TensorSpec> tensors_of_comment(std::string text) {
  std::vector<TensorSpec> tensors;
  for (std::size_t open = 0; (open = text.find('[')) != std::string::npos;) {
    const std::size_t close = text.find(']', open);
    std::istringstream head(text.substr(0, open));
    TensorSpec spec;
    std::string dtype, part;
    head >> spec.name >> dtype;
    spec.dtype = dtype_from_name(dtype).value();
    std::istringstream shape(text.substr(open + 1, close - open - 1));
    while (std::getline(shape, part, ',')) spec.shape.push_back(Expression::parse(part).value());
    tensors.push_back(std::move(spec));
    text = text.substr(std::min(text.size(), close + 2));
  }
  return tensors;
}

inline Task task_of_comment(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::size_t arrow = line.find("->"), begin = line.find("task: ") + 6;
  Task task;
  task.name = "extension";
  task.inputs = tensors_of_comment(line.substr(begin, arrow - begin));
  task.outputs = tensors_of_comment(line.substr(arrow + 2));
  for (const char* name : {"rows", "cols"}) {
    if (line.find(name) != std::string::npos) task.size_names.emplace_back(name);
  }
  return task;
}

// As scripts/extension_goldens.py gives them.
inline ScalarInputs scalars_of(const Task& task) {
  ScalarInputs scalars;
  double value = 0.75;
  for (const TensorSpec& input : task.inputs) {
    if (!input.is_scalar()) continue;
    scalars[input.name] = value;
    value = 3;
  }
  return scalars;
}

}  // namespace kw
