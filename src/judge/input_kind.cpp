#include "judge/input_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "judge/error_bound.h"

namespace kw {
namespace {

// exp of it overflows a float, products of two do not overflow a half
constexpr double large_scale = 40;
// Whether a value is so large that it overflows somewhere must not be left to chance: one of either sign always is.
constexpr double largest = 4 * large_scale;

void store_float(InputTensor& tensor, std::int64_t index, double value) {
  char* place = tensor.bytes.data() + static_cast<std::size_t>(index) * bytes_of(tensor.dtype);
  if (tensor.dtype == Dtype::float32) {
    const auto number = static_cast<float>(value);
    std::memcpy(place, &number, sizeof number);
  } else if (tensor.dtype == Dtype::float16) {
    const std::uint16_t bits = float16_bits(static_cast<float>(value));
    std::memcpy(place, &bits, sizeof bits);
  } else if (tensor.dtype == Dtype::bfloat16) {
    const std::uint16_t bits = bfloat16_bits(static_cast<float>(value));
    std::memcpy(place, &bits, sizeof bits);
  } else if (tensor.dtype == Dtype::float64) {
    std::memcpy(place, &value, sizeof value);
  }
}

template <class Change>
void map_floats(InputTensor& tensor, const Change& change) {
  const auto count = static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  for (std::int64_t i = 0; i < count; ++i) store_float(tensor, i, change(element_at(tensor.dtype, tensor.bytes, i)));
}

void make_large(InputTensor& tensor, Random random) {
  map_floats(tensor, [](double value) { return std::clamp(value * large_scale, -largest, largest); });
  const auto count = static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  store_float(tensor, random.integer(0, (count - 1) / 2), largest);
  if (count > 1) store_float(tensor, random.integer((count + 1) / 2, count - 1), -largest);
}

void make_half_zero(InputTensor& tensor) {
  // Half of the leading slices (of rows, say), so that some are all zero and some as usual. All bits zero is 0 in
  // every type.
  const std::int64_t slices = tensor.shape.front();
  const auto zeros = static_cast<std::size_t>(slices == 1 ? 1 : slices / 2);
  std::fill_n(tensor.bytes.begin(), tensor.bytes.size() / static_cast<std::size_t>(slices) * zeros, '\0');
}

// Operations of PyTorch that may give equal values in any order (argmax and argmin promise the first).
bool leaves_ties_open(const Task& task) {
  constexpr std::array names = {"topk", "sort", "argsort", "kthvalue", "median", "nanmedian", "mode"};
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (const std::string_view name : names) {
    for (std::size_t at = task.pytorch.find(name); at != std::string::npos; at = task.pytorch.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool whole =
          (at == 0 || !is_word(task.pytorch[at - 1])) && end < task.pytorch.size() && task.pytorch[end] == '(';
      if (whole) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::ordinary:
      return "ordinary";
    case InputKind::negative:
      return "negative";
    case InputKind::large:
      return "large";
    case InputKind::zero:
      return "zero";
  }
  return "";
}

bool change_inputs(const Task& task, std::vector<InputTensor>& inputs, InputKind kind, std::uint64_t seed) {
  if (kind == InputKind::zero && leaves_ties_open(task)) return false;
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = task.inputs[i];
    if (!std::holds_alternative<NormalValues>(spec.values) || !is_floating_point(spec.dtype) || spec.is_scalar())
      continue;
    if (kind == InputKind::negative) map_floats(inputs[i], [](double value) { return -std::abs(value) - 0.125; });
    if (kind == InputKind::large) make_large(inputs[i], Random(seed + 1, i));
    if (kind == InputKind::zero) make_half_zero(inputs[i]);
    changed = true;
  }
  return changed;
}

}  // namespace kw
