#include "kernel/judge/task_identity.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace kw {

std::string task_identity(const Task& task) {
  Sha256 hash;
  hash.add(task.name).add(task.pytorch).add(task.naive).add(task.launcher_declaration());
  const auto add_tensor = [&](const TensorSpec& tensor) {
    hash.add(tensor.name).add(name_of(tensor.dtype));
    for (const Expression& extent : tensor.shape) hash.add(extent.text());
    hash.add(std::to_string(tensor.values.index()));
    if (const auto* uniform = std::get_if<UniformValues>(&tensor.values))
      hash.add(fmt::format("{} {}", uniform->low, uniform->high));
    if (const auto* integers = std::get_if<IntegerValues>(&tensor.values))
      hash.add(integers->low.text()).add(integers->high.text());
  };
  for (const TensorSpec& input : task.inputs) add_tensor(input);
  hash.add("outputs");
  for (const TensorSpec& output : task.outputs) add_tensor(output);
  for (const auto* list : {&task.sizes_small, &task.sizes_train, &task.sizes_holdout}) {
    hash.add("sizes");
    for (const Sizes& sizes : *list) hash.add(to_string(sizes));
  }
  if (task.tolerance) hash.add(fmt::format("{} {}", task.tolerance->relative, task.tolerance->absolute));
  return hash.hex();
}

}  // namespace kw
