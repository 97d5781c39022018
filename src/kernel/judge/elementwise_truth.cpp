#include "kernel/judge/elementwise_truth.h"

#include <algorithm>

namespace kw {
namespace {

const char* const line_size = "kw_elements_of_a_line";

// The task of one line for each tensor.
Task task_of_lines(const Task& task) {
  Task made = task;
  const std::vector<Expression> line{Expression::parse(line_size).value()};
  for (TensorSpec& input : made.inputs)
    if (!input.is_scalar()) input.shape = line;
  for (TensorSpec& output : made.outputs) output.shape = line;
  made.size_names.emplace_back(line_size);
  return made;
}

// Whether `shape` becomes `whole` when it is repeated along axes of one element and in front of its first.
bool broadcasts_to(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& whole) {
  if (shape.size() > whole.size()) return false;
  const std::size_t before = whole.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && shape[i] != whole[before + i]) return false;
  return true;
}

// Which element of a tensor of `shape` stands at each of these places of `whole`.
std::vector<std::int64_t> broadcast_places(const std::vector<std::int64_t>& shape,
                                           const std::vector<std::int64_t>& whole,
                                           const std::vector<std::int64_t>& places) {
  if (shape == whole) return places;
  std::vector<std::int64_t> made;
  made.reserve(places.size());
  const std::size_t before = whole.size() - shape.size();
  for (const std::int64_t place : places) {
    std::int64_t rest = place, stride = 1, at = 0;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1) at += rest % whole[before + i] * stride;
      rest /= whole[before + i];
      stride *= shape[i];
    }
    made.push_back(at);
  }
  return made;
}

}  // namespace

std::optional<ElementwiseTruth> ElementwiseTruth::of(const Task& task, const Sizes& sizes) {
  ElementwiseTruth made(sizes);
  for (const TensorSpec& output : task.outputs) {
    const auto shape = output.shape_at(sizes);
    if (!shape.ok() || shape->empty() || (!made.shape_.empty() && *shape != made.shape_)) return std::nullopt;
    made.shape_ = *shape;
  }
  for (const TensorSpec& input : task.inputs) {
    const auto shape = input.shape_at(sizes);
    if (!shape.ok() || !broadcasts_to(*shape, made.shape_)) return std::nullopt;
  }
  auto reference = make_elementwise_reference(task_of_lines(task));
  if (!reference.ok()) return std::nullopt;
  made.reference_ = std::move(*reference);
  return made;
}

// One line for all outputs: what is wanted of the first comes first.
Result<std::vector<InputTensor>> ElementwiseTruth::lines_of(const std::vector<LargeInput>& inputs,
                                                            const Positions& places) {
  std::vector<std::int64_t> all;
  for (const auto& each : places) all.insert(all.end(), each.begin(), each.end());
  std::vector<InputTensor> lines;
  for (const LargeInput& input : inputs) {
    lines.push_back(input.tensor);
    if (input.tensor.shape.empty()) continue;  // a scalar
    lines.back().bytes = drawn_elements(input, broadcast_places(input.tensor.shape, shape_, all));
    lines.back().shape = {static_cast<std::int64_t>(all.size())};
  }
  sizes_[line_size] = static_cast<std::int64_t>(all.size());
  return lines;
}

Result<std::vector<OutputTensor>> ElementwiseTruth::at(const std::vector<LargeInput>& inputs, const Positions& places,
                                                       Precision precision) {
  if (lines_.empty()) {
    KW_TRY(lines_, lines_of(inputs, places));
  }
  reference_->start_work();
  KW_TRY(std::vector<OutputTensor> made, reference_->run(lines_, sizes_, precision));
  std::size_t first = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::size_t width = bytes_of(made[i].dtype), count = places[i].size();
    made[i].bytes = made[i].bytes.substr(first * width, count * width);
    made[i].shape = {static_cast<std::int64_t>(count)};
    first += count;
  }
  return made;
}

}  // namespace kw
