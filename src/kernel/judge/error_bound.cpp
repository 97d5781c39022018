#include "kernel/judge/error_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"

namespace kw {
namespace {

constexpr double float_rounding = 0x1.0p-24;
// Of an unstable element's jump: an honest kernel is off by a few last bits, not by one.
constexpr double jump_factor = 4;

template <class T>
T load(std::string_view bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

// Round to nearest even, keeping `bits` of a float's 23 bits of mantissa.
float with_mantissa(float value, int bits) {
  if (!std::isfinite(value)) return value;
  const int dropped = 23 - bits;
  const auto raw = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (1u << (dropped - 1)) - 1 + ((raw >> dropped) & 1u);
  return std::bit_cast<float>((raw + half) & ~((1u << dropped) - 1));
}

// What belongs to an output's dtype: the error that any kernel may have, whatever the reference's own is, and the
// error that is never right. In units of |truth| + typical size of the truth.
struct DtypeErrors {
  double floor;
  double ceiling;
  double own_factor;  // kernels add up in other orders than PyTorch does
};

DtypeErrors errors_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return {0x1p-9, 0x1p-5, 3};
    case Dtype::bfloat16:
      return {0x1p-6, 0x1p-3, 3};
    case Dtype::float64:
      return {0x1p-44, 0x1p-20, 16};
    default:
      return {0x1p-17, 0x1p-9, 16};
  }
}

// By how much, relative to the value, an input may be off before an honest kernel notices: a few last bits of a float.
// Of 16-bit types a quarter of the last bit, so that different values stay in their order.
double last_bit(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return 0x1p-13;
    case Dtype::bfloat16:
      return 0x1p-10;
    case Dtype::float64:
      return 0x1p-50;
    default:
      return 0x1p-21;
  }
}

double typical_size(const std::vector<BoundDraw>& draws) {
  double sum = 0;
  std::int64_t finite = 0;
  for (const BoundDraw& draw : draws) {
    const auto count = static_cast<std::int64_t>(draw.truth.bytes.size() / sizeof(double));
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = load<double>(draw.truth.bytes, i);
      if (!std::isfinite(value)) continue;
      sum += value * value;
      ++finite;
    }
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

double largest_error(const OutputTensor& truth, const OutputTensor& other, double size) {
  const auto count = static_cast<std::int64_t>(truth.bytes.size() / sizeof(double));
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double expected = load<double>(truth.bytes, i);
    const double error = std::abs(element_at(other.dtype, other.bytes, i) - expected);
    const double unit = std::abs(expected) + size;
    if (std::isfinite(error) && unit > 0) largest = std::max(largest, error / unit);
  }
  return largest;
}

double largest_finite(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return 65504;
    case Dtype::bfloat16:
      return 3.3895313892515355e38;
    case Dtype::float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

double element_at(Dtype dtype, std::string_view bytes, std::int64_t index) {
  switch (dtype) {
    case Dtype::float32:
      return static_cast<double>(load<float>(bytes, index));
    case Dtype::float16:
      return static_cast<double>(float_from_float16(load<std::uint16_t>(bytes, index)));
    case Dtype::bfloat16:
      return static_cast<double>(float_from_bfloat16(load<std::uint16_t>(bytes, index)));
    case Dtype::float64:
      return load<double>(bytes, index);
    case Dtype::int32:
      return load<std::int32_t>(bytes, index);
    case Dtype::int64:
      return static_cast<double>(load<std::int64_t>(bytes, index));
    case Dtype::int8:
      return load<std::int8_t>(bytes, index);
    case Dtype::uint8:
    case Dtype::boolean:
      return load<std::uint8_t>(bytes, index);
  }
  KW_CHECK(false);
}

std::vector<InputTensor> coarse_inputs(const std::vector<InputTensor>& inputs) {
  std::vector<InputTensor> coarse = inputs;
  for (InputTensor& tensor : coarse) {
    const auto count = static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
    for (std::int64_t i = 0; i < count; ++i) {
      char* place = tensor.bytes.data() + static_cast<std::size_t>(i) * bytes_of(tensor.dtype);
      const double value = element_at(tensor.dtype, tensor.bytes, i);
      if (tensor.dtype == Dtype::float32) {
        const float rounded = with_mantissa(static_cast<float>(value), 10);
        std::memcpy(place, &rounded, sizeof rounded);
      } else if (tensor.dtype == Dtype::float16) {
        const std::uint16_t rounded = float16_bits(with_mantissa(static_cast<float>(value), 7));
        std::memcpy(place, &rounded, sizeof rounded);
      } else if (tensor.dtype == Dtype::bfloat16) {
        const std::uint16_t rounded = bfloat16_bits(with_mantissa(static_cast<float>(value), 4));
        std::memcpy(place, &rounded, sizeof rounded);
      } else if (tensor.dtype == Dtype::float64) {
        const double rounded = static_cast<double>(static_cast<float>(value));
        std::memcpy(place, &rounded, sizeof rounded);
      }
    }
  }
  return coarse;
}

double terms_of(const Task& task, const Sizes& sizes) {
  double in = 0, out = 0;
  for (const TensorSpec& input : task.inputs)
    if (const auto elements = input.elements_at(sizes); elements.ok()) in += static_cast<double>(*elements);
  for (const TensorSpec& output : task.outputs)
    if (const auto elements = output.elements_at(sizes); elements.ok()) out += static_cast<double>(*elements);
  return out > 0 ? std::max(in / out, 1.0) : 1;
}

ErrorBound derive_bound(const std::vector<BoundDraw>& draws, double terms) {
  KW_CHECK(!draws.empty());
  if (draws.front().truth.dtype != Dtype::float64) return {};  // whole numbers are exact
  const Dtype dtype = draws.front().own.dtype;
  const double size = typical_size(draws);
  const DtypeErrors errors = errors_of(dtype);
  double own_error = 0, coarse_squares = 0;
  for (const BoundDraw& draw : draws) {
    own_error = std::max(own_error, largest_error(draw.truth, draw.own, size));
    const double coarse = largest_error(draw.truth, draw.coarse, size);
    coarse_squares += coarse * coarse;
  }
  const double coarse_error = std::sqrt(coarse_squares / static_cast<double>(draws.size()));
  // A quarter of what coarser inputs do: a kernel that rounds its inputs has four times more. The ceiling is for
  // references that jump (a rounding, a comparison), where the coarse error says nothing.
  double bound = std::max(errors.floor, std::min(coarse_error / 4, errors.ceiling));
  bound = std::max(bound, std::min(errors.own_factor * own_error, std::max(errors.ceiling, 2 * own_error)));
  if (dtype != Dtype::float64) bound = std::max(bound, float_rounding * std::sqrt(terms) / 4);
  return {bound, bound * size};
}

bool is_finite(const OutputTensor& tensor) {
  const auto count = static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  for (std::int64_t i = 0; i < count; ++i)
    if (!std::isfinite(element_at(tensor.dtype, tensor.bytes, i))) return false;
  return true;
}

bool reference_copes(const std::vector<BoundDraw>& draws) {
  if (draws.front().truth.dtype != Dtype::float64) return true;
  const double size = typical_size(draws);
  const DtypeErrors errors = errors_of(draws.front().own.dtype);
  return std::all_of(draws.begin(), draws.end(), [&](const BoundDraw& draw) {
    return errors.own_factor * largest_error(draw.truth, draw.own, size) <= errors.ceiling;
  });
}

bool can_be_nudged(const InputTensor& input) { return is_floating_point(input.dtype) && !input.shape.empty(); }

std::vector<InputTensor> nudged_inputs(const std::vector<InputTensor>& inputs, const Nudge& nudge) {
  std::vector<InputTensor> nudged = inputs;
  for (std::size_t place = 0; place < nudged.size(); ++place) {
    const InputTensor& before = inputs[place];
    if (!can_be_nudged(before) || nudge.only.value_or(place) != place) continue;
    InputTensor& tensor = nudged[place];
    const double step = nudge.sign * last_bit(before.dtype);
    const auto count = static_cast<std::int64_t>(before.bytes.size() / bytes_of(before.dtype));
    tensor.dtype = Dtype::float64;
    tensor.bytes.resize(static_cast<std::size_t>(count) * sizeof(double));
    Random random(nudge.seed, place);
    for (std::int64_t i = 0; i < count; ++i) {
      // Never by nothing, and never two alike: then equal values part, one way or, with the other sign, the other.
      const double part = nudge.only ? 1 : (random.next() % 2 == 0 ? 1 : -1) * random.uniform(0.5, 1);
      const double value = element_at(before.dtype, before.bytes, i) * (1 + step * part);
      std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
    }
  }
  return nudged;
}

void add_unstable(const OutputTensor& truth, const OutputTensor& nudged, ErrorBound& bound, double last_bits) {
  std::vector<UnstableElement> merged;
  const bool whole = truth.dtype != Dtype::float64;
  const auto count = static_cast<std::int64_t>(truth.bytes.size() / bytes_of(truth.dtype));
  auto known = bound.unstable.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    const double expected = element_at(truth.dtype, truth.bytes, i);
    const double moved = element_at(nudged.dtype, nudged.bytes, i);
    double allowed = 0;
    if (whole ? moved != expected : !(last_bits * std::abs(moved - expected) <= bound.allowed_for(expected))) {
      const bool same = (std::isnan(moved) && std::isnan(expected)) || moved == expected;
      const double more = bound.allowed_for(expected) + std::max(jump_factor, last_bits) * std::abs(moved - expected);
      if (!same) allowed = whole || !std::isfinite(more) ? std::numeric_limits<double>::infinity() : more;
    }
    if (known != bound.unstable.end() && known->index == i) allowed = std::max(allowed, (known++)->allowed);
    if (allowed > 0) merged.push_back({i, allowed});
  }
  bound.unstable = std::move(merged);
}

namespace {

// Calls `work` with a function from an element's number to its value: which type it has is decided once, not for each.
template <class Work>
auto with_elements(Dtype dtype, std::string_view bytes, const Work& work) {
  const char* data = bytes.data();
  const auto element = [data]<class T>(T, auto convert) {
    return [data, convert](std::int64_t i) {
      T value;
      std::memcpy(&value, data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      return convert(value);
    };
  };
  const auto plain = [](auto value) { return static_cast<double>(value); };
  switch (dtype) {
    case Dtype::float32:
      return work(element(float{}, plain));
    case Dtype::float16:
      return work(element(std::uint16_t{}, [](std::uint16_t bits) { return double{float_from_float16(bits)}; }));
    case Dtype::bfloat16:
      return work(element(std::uint16_t{}, [](std::uint16_t bits) { return double{float_from_bfloat16(bits)}; }));
    case Dtype::float64:
      return work(element(double{}, plain));
    case Dtype::int32:
      return work(element(std::int32_t{}, plain));
    case Dtype::int64:
      return work(element(std::int64_t{}, plain));
    case Dtype::int8:
      return work(element(std::int8_t{}, plain));
    case Dtype::uint8:
    case Dtype::boolean:
      return work(element(std::uint8_t{}, plain));
  }
  KW_CHECK(false);
}

template <class Expected, class Got>
Comparison compare_elements(std::int64_t elements, Dtype dtype, const Expected& expected_at, const Got& got_at,
                            const ErrorBound& bound) {
  Comparison result;
  result.elements = elements;
  double worst_ratio = -1;
  auto unstable = bound.unstable.begin();
  bool any_expected = false, any_got = false;
  for (std::int64_t i = 0; i < result.elements; ++i) {
    const double expected = expected_at(i);
    const double got = got_at(i);
    any_expected = any_expected || expected != 0;
    any_got = any_got || got != 0;
    double allowed = bound.allowed_for(expected);
    if (unstable != bound.unstable.end() && unstable->index == i) allowed = (unstable++)->allowed;
    if (std::isinf(allowed) && std::isfinite(expected)) continue;  // it says nothing
    double error = std::abs(got - expected);
    if (std::isnan(expected)) {
      error = std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
    } else if (std::isinf(got) && std::signbit(got) == std::signbit(expected) &&
               std::abs(expected) + allowed >= largest_finite(dtype)) {
      error = 0;  // overflows in this dtype
    } else if (!std::isfinite(got)) {
      error = std::numeric_limits<double>::infinity();
    }
    if (!std::isfinite(allowed)) allowed = 0;
    if (!(error <= allowed)) {
      ++result.wrong;
      if (result.first_wrong < 0) result.first_wrong = i;
      result.last_wrong = i;
      result.not_finite = result.not_finite || (!std::isfinite(got) && std::isfinite(expected));
    }
    const double ratio = error == 0 ? 0 : allowed > 0 ? error / allowed : std::numeric_limits<double>::infinity();
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      result.worst = i;
      result.error = error;
      result.allowed = allowed;
      result.got = got;
      result.expected = expected;
    }
  }
  result.ok = result.wrong == 0;
  result.all_zero = any_expected && !any_got;
  if (bound.relative > 0 && result.allowed > 0) result.relative_error = result.error / result.allowed * bound.relative;
  return result;
}

}  // namespace

Comparison compare(const OutputTensor& truth, Dtype dtype, std::string_view bytes, const ErrorBound& bound) {
  const auto elements = static_cast<std::int64_t>(bytes.size() / bytes_of(dtype));
  KW_CHECK(truth.bytes.size() / bytes_of(truth.dtype) >= static_cast<std::size_t>(elements));
  return with_elements(truth.dtype, truth.bytes, [&](const auto& expected_at) {
    return with_elements(dtype, bytes, [&](const auto& got_at) {
      return compare_elements(elements, dtype, expected_at, got_at, bound);
    });
  });
}

}  // namespace kw
