#include "agents/normal_form/fixed_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kw {
namespace {

constexpr std::int64_t least_length = 8;  // windows of convolutions are shorter, and numbers in drawn tasks, too

bool is_taken(const Task& task, const std::string& name) {
  const auto has = [&](const std::vector<TensorSpec>& side) {
    return std::any_of(side.begin(), side.end(), [&](const TensorSpec& tensor) { return tensor.name == name; });
  };
  return has(task.inputs) || has(task.outputs) || std::ranges::find(task.size_names, name) != task.size_names.end();
}

NamedShapes named(const Task& task, std::int64_t least) {
  NamedShapes shapes{task, {}};
  std::map<std::int64_t, std::string> names;
  std::vector<std::string> all;
  const auto see = [&](const std::string& name) {
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  };
  for (auto* side : {&shapes.task.inputs, &shapes.task.outputs}) {
    for (TensorSpec& tensor : *side) {
      for (Expression& extent : tensor.shape) {
        for (const std::string& name : extent.names()) see(name);
        const auto number = extent.names().empty() ? extent.evaluate({}) : Result<std::int64_t>(Error{});
        if (!number.ok() || *number < least) continue;
        // A number that no input has is an output's own: a length that follows from others.
        if (side == &shapes.task.outputs && !names.contains(*number)) continue;
        std::string& name = names[*number];
        if (name.empty()) {
          name = fmt::format("size_{}", *number);
          while (is_taken(task, name)) name += "_";
          shapes.names.push_back(name);
        }
        see(name);
        extent = *Expression::parse(name);
      }
    }
  }
  shapes.task.size_names = std::move(all);
  for (auto* list : {&shapes.task.sizes_small, &shapes.task.sizes_train, &shapes.task.sizes_holdout})
    for (Sizes& sizes : *list)
      for (const auto& [number, name] : names) sizes[name] = number;
  return shapes;
}

}  // namespace

std::vector<NamedShapes> with_named_shapes(const Task& task) {
  std::vector<NamedShapes> ways;
  for (const std::int64_t least : {least_length, std::int64_t{2}}) {
    NamedShapes way = named(task, least);
    if (!way.names.empty() && (ways.empty() || ways.back().names != way.names)) ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace kw
