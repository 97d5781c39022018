#include "kernel/task/task_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

// A plain number as one; everything else as it is written, because a task's identity hangs on that.
Json bound(const Expression& expression) {
  const auto number = expression.names().empty() ? expression.evaluate({}) : Result<std::int64_t>(Error{});
  return number.ok() && std::to_string(*number) == expression.text() ? Json(*number) : Json(expression.text());
}

Json values_json(const Values& values) {
  if (const auto* range = std::get_if<UniformValues>(&values)) return {{"uniform", {range->low, range->high}}};
  if (const auto* whole = std::get_if<IntegerValues>(&values))
    return {{"integers", Json::array({bound(whole->low), bound(whole->high)})}};
  return "normal";
}

Json tensors_json(const std::vector<TensorSpec>& tensors, bool inputs) {
  Json all = Json::object();
  for (const TensorSpec& tensor : tensors) {
    Json shape = Json::array();
    for (const Expression& entry : tensor.shape) shape.push_back(bound(entry));
    all[tensor.name] = {{"dtype", name_of(tensor.dtype)}, {"shape", shape}};
    if (inputs) all[tensor.name]["values"] = values_json(tensor.values);
  }
  return all;
}

}  // namespace

nlohmann::ordered_json task_json(const Task& task) {
  Json json{{"name", task.name},
            {"tier", task.tier},
            {"family", task.family},
            {"split", task.split == Split::train ? "train" : "holdout"},
            {"summary", task.summary},
            {"pytorch", task.pytorch},
            {"inputs", tensors_json(task.inputs, true)},
            {"outputs", tensors_json(task.outputs, false)}};
  for (const auto& [key, list] : {std::pair("small", &task.sizes_small), std::pair("train", &task.sizes_train),
                                  std::pair("holdout", &task.sizes_holdout)})
    if (!list->empty()) json["sizes"][key] = *list;
  if (task.tolerance)
    json["tolerance"] = {{"relative", task.tolerance->relative}, {"absolute", task.tolerance->absolute}};
  if (!task.naive.empty()) json["naive"] = task.naive;
  return json;
}

}  // namespace kw
