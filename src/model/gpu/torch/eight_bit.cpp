#include "model/gpu/torch/eight_bit.h"

#include <algorithm>
#include <cmath>

#include "model/decoder/trainable_part.h"
#include "model/weights/nf4.h"

namespace kw {
namespace {

using at::Tensor;

constexpr std::uint8_t zero_code = 127;  // of the map's 0

std::vector<float> map_and_middles() {
  const std::array<float, 256>& map = dynamic_map();
  std::vector<float> table(map.begin(), map.end());
  for (std::size_t i = 0; i < 255; ++i)
    table.push_back(static_cast<float>((static_cast<double>(map[i]) + static_cast<double>(map[i + 1])) / 2));
  return table;
}

// Of a step, as the CPU rounds them (model/arithmetic/optimizer.cpp).
struct Step {
  float gradient_scale, decay, one_minus_beta1, beta2, one_minus_beta2, root_bias2, epsilon, minus_step_size;
  explicit Step(const AdamWNumbers& n)
      : gradient_scale(static_cast<float>(n.gradient_scale)),
        beta2(static_cast<float>(n.beta2)),
        epsilon(static_cast<float>(n.epsilon)) {
    const auto rounded = [](double value) { return static_cast<double>(static_cast<float>(value)); };
    const double rate = rounded(n.learning_rate), beta1 = rounded(n.beta1), wide_beta2 = rounded(n.beta2);
    const auto exponent = static_cast<double>(n.step);
    decay = static_cast<float>(1.0 - rate * rounded(n.decay));
    one_minus_beta1 = static_cast<float>(1.0 - beta1);
    one_minus_beta2 = static_cast<float>(1.0 - wide_beta2);
    root_bias2 = static_cast<float>(std::sqrt(1.0 - std::pow(wide_beta2, exponent)));
    minus_step_size = static_cast<float>(-rate / (1.0 - std::pow(beta1, exponent)));
  }
};

// The slow twin: block by block, element by element.
void move_plainly(const Step& step, EightBitMoments& moments, Tensor& values, Tensor& gradient) {
  const auto* table = moments.table.data_ptr<float>();
  const float* middles = table + 256;
  const auto* pieces = moments.pieces.data_ptr<std::int64_t>();
  const auto nearest = [&](float x) {
    return static_cast<std::uint8_t>(std::lower_bound(middles, middles + 255, x) - middles);
  };
  std::int64_t piece = 0;
  for (std::int64_t begin = 0; begin < moments.size; begin += moment_block) {
    const std::int64_t block = begin / moment_block, count = std::min(moment_block, moments.size - begin);
    auto* first = moments.first_codes.data_ptr<std::uint8_t>() + begin;
    auto* second = moments.second_codes.data_ptr<std::uint8_t>() + begin;
    float& largest_m = moments.first_largest.data_ptr<float>()[block];
    float& largest_root = moments.second_largest.data_ptr<float>()[block];
    float m[moment_block], root[moment_block], most_m = 0, most_root = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      while (piece + 1 < moments.pieces.size(0) && pieces[2 * (piece + 1)] <= begin + i) ++piece;
      const std::int64_t place = pieces[2 * piece + 1] + begin + i - pieces[2 * piece];
      float& value = values.data_ptr<float>()[place];
      float& slope = gradient.data_ptr<float>()[place];
      const float g = slope * step.gradient_scale, old = table[first[i]] * largest_m;
      const float old_root = table[second[i]] * largest_root;
      m[i] = std::fma(step.one_minus_beta1, g - old, old);
      const float v = std::fma(step.one_minus_beta2 * g, g, old_root * old_root * step.beta2);
      root[i] = std::sqrt(v);
      value = std::fma(step.minus_step_size, m[i] / (root[i] / step.root_bias2 + step.epsilon), value * step.decay);
      slope = 0;
      most_m = std::max(most_m, std::fabs(m[i]));
      most_root = std::max(most_root, root[i]);
    }
    const float inverse_m = most_m > 0 ? 1 / most_m : 0, inverse_root = most_root > 0 ? 1 / most_root : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      first[i] = nearest(std::clamp(m[i] * inverse_m, -1.0f, 1.0f));
      second[i] = nearest(std::min(root[i] * inverse_root, 1.0f));
      if (root[i] > 0) second[i] = std::max<std::uint8_t>(second[i], zero_code + 1);
    }
    largest_m = most_m;
    largest_root = most_root;
  }
}

}  // namespace

EightBitMoments::EightBitMoments(const std::vector<Piece>& given, at::Device device) {
  std::vector<std::int64_t> starts;
  for (const Piece& piece : given) {
    if (piece.host != size) throw std::runtime_error("pieces of 8-bit moments leave gaps");
    starts.push_back(piece.host);
    starts.push_back(piece.device);
    size += piece.count;
  }
  const auto bytes = at::TensorOptions(device).dtype(at::kByte);
  first_codes = at::full({size}, zero_code, bytes);
  second_codes = at::full({size}, zero_code, bytes);
  first_largest = at::zeros({(size + moment_block - 1) / moment_block}, bytes.dtype(at::kFloat));
  second_largest = at::zeros_like(first_largest);
  table = at::tensor(map_and_middles()).to(device);
  pieces = at::tensor(starts, at::kLong).view({-1, 2}).to(device);
}

void EightBitMoments::move(const Operations& operations, const AdamWNumbers& numbers, Tensor& values, Tensor& gradient,
                           Tensor& copy) {
  const Step step(numbers);
  const KernelLauncher* kernels = operations.kernels();
  if (kernels == nullptr) {
    move_plainly(step, *this, values, gradient);
    if (copy.defined()) copy.copy_(values);
    return;
  }
  const std::int64_t blocks = std::min<std::int64_t>(first_largest.size(0), 132 * 8);
  kernels->launch(
      "adamw_eight_bit", {{std::max<std::int64_t>(blocks, 1), 1, 1}, 256, 0},
      {values, gradient, copy, first_codes, first_largest, second_codes, second_largest, table, pieces,
       static_cast<int>(pieces.size(0)), static_cast<std::uint64_t>(size), step.gradient_scale, step.decay,
       step.one_minus_beta1, step.beta2, step.one_minus_beta2, step.root_bias2, step.epsilon, step.minus_step_size});
}

}  // namespace kw
