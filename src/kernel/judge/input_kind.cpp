#include "kernel/judge/input_kind.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "kernel/judge/error_bound.h"

namespace kw {
namespace {

// exp of it overflows a float, products of two do not overflow a half
constexpr double large_scale = 40;
// Whether a value is so large that it overflows somewhere must not be left to chance: one of either sign always is.
constexpr double largest = 4 * large_scale;
// Of float16 less small, and never denormal.
double tiny_in(Dtype dtype, double value) {
  if (dtype != Dtype::float16) return value * 0x1p-10;
  return std::copysign(std::max(std::abs(value) * 0x1p-6, 0x1p-13), value);
}
constexpr double negative_margin = 0.125;
// Of a range that does not include its end: just below.
constexpr double almost = 1 - 0x1p-10;

// Of a spread of 1. In float the square of 512 leaves 2^-6 for the spread's square: a variance by difference is off by
// per cents, and two passes, in whatever order they add, by less than 2^-10. The shorter types keep fewer digits.
double offset_in(Dtype dtype) { return dtype == Dtype::float16 ? 64 : dtype == Dtype::bfloat16 ? 8 : 512; }
double outlier_in(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16 ? 128 : 1024; }

template <class T>
void put(char* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

void store(InputTensor& tensor, std::int64_t index, double value) {
  char* place = tensor.bytes.data() + static_cast<std::size_t>(index) * bytes_of(tensor.dtype);
  switch (tensor.dtype) {
    case Dtype::float32:
      return put(place, static_cast<float>(value));
    case Dtype::float16:
      return put(place, float16_bits(static_cast<float>(value)));
    case Dtype::bfloat16:
      return put(place, bfloat16_bits(static_cast<float>(value)));
    case Dtype::float64:
      return put(place, value);
    case Dtype::int32:
      return put(place, static_cast<std::int32_t>(value));
    case Dtype::int64:
      return put(place, static_cast<std::int64_t>(value));
    case Dtype::int8:
      return put(place, static_cast<std::int8_t>(value));
    case Dtype::uint8:
      return put(place, static_cast<std::uint8_t>(value));
    case Dtype::boolean:
      return put(place, static_cast<std::uint8_t>(value != 0));
  }
}

std::int64_t count_of(const InputTensor& tensor) {
  return static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
}

double value_at(const InputTensor& tensor, std::int64_t index) { return element_at(tensor.dtype, tensor.bytes, index); }

template <class Change>
void map_values(InputTensor& tensor, const Change& change) {
  for (std::int64_t i = 0, count = count_of(tensor); i < count; ++i) store(tensor, i, change(value_at(tensor, i)));
}

// What the task promises of a tensor's values; nothing where they may be anything.
struct Range {
  double low = 0, high = 0;
  bool whole = false;

  // `part` from 0 to 1.
  double at(double part) const {
    const double value = low + (high - low) * part;
    return whole ? std::round(value) : value;
  }
};

std::optional<Range> promised(const TensorSpec& spec, const Sizes& sizes) {
  if (const auto* uniform = std::get_if<UniformValues>(&spec.values))
    return Range{uniform->low, uniform->low + (uniform->high - uniform->low) * almost, false};
  if (const auto* integers = std::get_if<IntegerValues>(&spec.values)) {
    const auto low = integers->low.evaluate(sizes), high = integers->high.evaluate(sizes);
    if (low.ok() && high.ok()) return Range{static_cast<double>(*low), static_cast<double>(*high), true};
  }
  return std::nullopt;
}

// The elements of a tensor in lines: rows, or columns. A vector is cut into four, so that it has several, too.
class Lines {
 public:
  Lines(const InputTensor& tensor, bool columns) {
    const std::int64_t count = count_of(tensor);
    if (tensor.shape.size() < 2) {
      length_ = std::max<std::int64_t>((count + 3) / 4, 1);
      lines_ = (count + length_ - 1) / length_;
      total_ = count;
    } else if (columns) {
      length_ = tensor.shape.front();
      lines_ = stride_ = count / std::max<std::int64_t>(length_, 1);
    } else {
      length_ = tensor.shape.back();
      lines_ = count / std::max<std::int64_t>(length_, 1);
    }
  }

  std::int64_t lines() const { return lines_; }
  std::int64_t length(std::int64_t line) const {
    return total_ > 0 ? std::min(length_, total_ - line * length_) : length_;
  }
  std::int64_t element(std::int64_t line, std::int64_t i) const {
    return stride_ > 1 ? i * stride_ + line : line * length_ + i;
  }

 private:
  std::int64_t lines_ = 0, length_ = 1, stride_ = 1, total_ = 0;
};

void make_large(InputTensor& tensor, Random random) {
  map_values(tensor, [](double value) { return std::clamp(value * large_scale, -largest, largest); });
  const std::int64_t count = count_of(tensor);
  store(tensor, random.integer(0, (count - 1) / 2), largest);
  if (count > 1) store(tensor, random.integer((count + 1) / 2, count - 1), -largest);
}

void make_half_zero(InputTensor& tensor) {
  // Half of the leading slices (of rows, say), so that some are all zero and some as usual. All bits zero is 0 in
  // every type.
  const std::int64_t slices = tensor.shape.front();
  const auto zeros = static_cast<std::size_t>(slices == 1 ? 1 : slices / 2);
  std::fill_n(tensor.bytes.begin(), tensor.bytes.size() / static_cast<std::size_t>(slices) * zeros, '\0');
}

void add_outliers(InputTensor& tensor, Random random) {
  const Lines rows(tensor, false);
  for (std::int64_t row = 0; row < rows.lines(); ++row)
    store(tensor, rows.element(row, random.integer(0, rows.length(row) - 1)), outlier_in(tensor.dtype));
}

// Constants and few values are multiples of an eighth, so that sums of them are exact in whatever order: a sum of equal
// values is otherwise rounded the same way at every step.
double level(double value, const std::optional<Range>& range, double part) {
  if (range) return range->at(std::round(part * 8) / 8);
  return std::round(std::clamp(value, -2.0, 2.0) * 2) / 2;
}

void make_pattern(InputTensor& tensor, const std::optional<Range>& range, Random random) {
  const Lines lines(tensor, random.next() % 2 == 0);
  const auto first = static_cast<std::int64_t>(random.next() % 4);
  for (std::int64_t line = 0; line < lines.lines(); ++line) {
    const std::int64_t length = lines.length(line);
    const double constant = range ? range->at(std::round(random.uniform() * 8) / 8)
                                  : (random.next() % 2 == 0 ? 1 : -1) * static_cast<double>(random.integer(4, 16)) / 8;
    switch ((first + line) % 4) {
      case 0: {
        std::vector<double> values;
        for (std::int64_t i = 0; i < length; ++i) values.push_back(value_at(tensor, lines.element(line, i)));
        std::sort(values.begin(), values.end());
        if ((line / 4) % 2 == 1) std::reverse(values.begin(), values.end());
        for (std::int64_t i = 0; i < length; ++i)
          store(tensor, lines.element(line, i), values[static_cast<std::size_t>(i)]);
        break;
      }
      case 1:
        for (std::int64_t i = 0; i < length; ++i) store(tensor, lines.element(line, i), constant);
        break;
      case 2:
        for (std::int64_t i = 0; i < length; ++i) {
          const std::int64_t place = lines.element(line, i);
          store(tensor, place, level(value_at(tensor, place), range, random.uniform()));
        }
        break;
      default:
        for (std::int64_t i = 0; i < length; ++i) {
          const std::int64_t place = lines.element(line, i);
          const double sign = i % 2 == 0 ? 1 : -1;
          store(tensor, place, range ? range->at(i % 2 == 0 ? 0 : 1) : sign * std::abs(value_at(tensor, place)));
        }
    }
  }
}

void make_extreme(InputTensor& tensor, const Range& range, Random random) {
  const Lines rows(tensor, false);
  const auto first = static_cast<std::int64_t>(random.next() % 3);
  for (std::int64_t row = 0; row < rows.lines(); ++row)
    for (std::int64_t i = 0; i < rows.length(row); ++i) {
      const std::int64_t run = (first + row) % 3;
      store(tensor, rows.element(row, i), range.at(run == 2 ? static_cast<double>(random.next() % 2) : double(run)));
    }
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

bool is_normal(const TensorSpec& spec) {
  return std::holds_alternative<NormalValues>(spec.values) && is_floating_point(spec.dtype);
}

bool changes(const TensorSpec& spec, InputKind kind) {
  if (spec.is_scalar()) return false;
  const bool whole = std::holds_alternative<IntegerValues>(spec.values);
  const bool range = whole || std::holds_alternative<UniformValues>(spec.values);
  switch (kind) {
    case InputKind::ordinary:
      return false;
    case InputKind::patterned:
      return range || is_normal(spec);
    case InputKind::extreme:
      return range;
    case InputKind::repeated:
      return whole;
    default:
      return is_normal(spec);
  }
}

bool makes_equal_values(InputKind kind) {
  return kind == InputKind::zero || kind == InputKind::patterned || kind == InputKind::extreme ||
         kind == InputKind::repeated;
}

struct KindText {
  InputKind kind;
  std::string_view name, advice;
};
constexpr std::array kind_texts{
    KindText{InputKind::ordinary, "ordinary", ""},
    KindText{InputKind::negative, "negative",
             "All inputs are negative here: does a maximum start at 0, or an expression assume a sign?"},
    KindText{InputKind::large, "large",
             "The inputs are large here: subtract the maximum before exp, and mind overflow."},
    KindText{InputKind::zero, "zero", "Half of the inputs are zero here: mind divisions, logarithms and ties."},
    KindText{
        InputKind::offset, "offset",
        "The inputs' mean is much larger than their spread here: a variance as the mean of squares less the square "
        "of the mean loses its digits; subtract the mean first."},
    KindText{InputKind::tiny, "tiny",
             "The inputs are small here, about 0.001: is an epsilon where the reference has it?"},
    KindText{InputKind::outlier, "outlier", "Each row has one huge value here: mind overflow and what is added to it."},
    KindText{
        InputKind::patterned, "patterned",
        "Rows are sorted, constant, of few values or of alternating signs here: mind ties, long runs of one sign and "
        "how far back a recurrence reaches."},
    KindText{InputKind::extreme, "extreme",
             "The inputs are runs of the lowest and highest promised value here: mind long memories and full ranges."},
    KindText{InputKind::repeated, "repeated",
             "All whole numbers of an input are the same here: do counters, bins or queues overflow?"},
};
static_assert(kind_texts.size() == all_input_kinds.size());

}  // namespace

std::string_view name_of(InputKind kind) { return kind_texts[static_cast<std::size_t>(kind)].name; }
std::string_view advice_for(InputKind kind) { return kind_texts[static_cast<std::size_t>(kind)].advice; }

InputKind input_kind_from(std::string_view name) {
  for (const KindText& text : kind_texts)
    if (text.name == name) return text.kind;
  return InputKind::ordinary;
}

bool is_allowed(const Task& task, InputKind kind) {
  if (makes_equal_values(kind) && leaves_ties_open(task)) return false;
  return std::any_of(task.inputs.begin(), task.inputs.end(),
                     [&](const TensorSpec& spec) { return changes(spec, kind); });
}

bool change_tensor(const TensorSpec& spec, const Sizes& sizes, InputTensor& tensor, InputKind kind,
                   std::uint64_t seed) {
  if (!changes(spec, kind) || tensor.bytes.empty()) return false;
  const auto range = promised(spec, sizes);
  const Random random(seed);
  switch (kind) {
    case InputKind::ordinary:
      break;
    case InputKind::negative:
      map_values(tensor, [](double value) { return -std::abs(value) - negative_margin; });
      break;
    case InputKind::large:
      make_large(tensor, random);
      break;
    case InputKind::zero:
      make_half_zero(tensor);
      break;
    case InputKind::offset:
      map_values(tensor, [&](double value) { return value + offset_in(tensor.dtype); });
      break;
    case InputKind::tiny:
      map_values(tensor, [&](double value) { return tiny_in(tensor.dtype, value); });
      break;
    case InputKind::outlier:
      add_outliers(tensor, random);
      break;
    case InputKind::patterned:
      make_pattern(tensor, range, random);
      break;
    case InputKind::extreme:
      if (range) make_extreme(tensor, *range, random);
      break;
    case InputKind::repeated:
      if (range) map_values(tensor, [value = range->at(Random(random).uniform())](double) { return value; });
      break;
  }
  return true;
}

void take_few_values(const TensorSpec& spec, const Sizes& sizes, InputTensor& tensor, std::uint64_t seed) {
  const auto range = promised(spec, sizes);
  Random random(seed);
  map_values(tensor, [&](double value) { return level(value, range, random.uniform()); });
}

void take_extreme_values(const TensorSpec& spec, const Sizes& sizes, InputTensor& tensor, std::uint64_t seed) {
  const auto range = promised(spec, sizes);
  if (!range) return;
  Random random(seed);
  map_values(tensor, [&](double) { return range->at(static_cast<double>(random.next() % 2)); });
}

bool change_inputs(const Task& task, const Sizes& sizes, std::vector<InputTensor>& inputs, InputKind kind,
                   std::uint64_t seed) {
  if (!is_allowed(task, kind)) return false;
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string before = inputs[i].bytes;
    const std::uint64_t its_seed = Random(seed + 1, i).next();
    changed = (change_tensor(task.inputs[i], sizes, inputs[i], kind, its_seed) && inputs[i].bytes != before) || changed;
  }
  return changed;
}

}  // namespace kw
