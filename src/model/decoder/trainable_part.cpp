#include "model/decoder/trainable_part.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "model/weights/nf4.h"

namespace kw {
namespace {

constexpr std::int64_t chunk_blocks = 256;  // expanded at a time

// Index of the map's value nearest to x, |x| <= 1; of two as near, the smaller.
class NearestCode {
 public:
  NearestCode() {
    const std::array<float, 256>& map = dynamic_map();
    for (std::size_t i = 0; i < 255; ++i) {
      middle_[i] = static_cast<float>((static_cast<double>(map[i]) + static_cast<double>(map[i + 1])) / 2);
    }
    for (std::uint32_t bin = 0; bin < bins; ++bin) {
      // A bin of negative numbers has its smallest at its end.
      const std::uint32_t sign = bin >> (bin_bits - 1);
      const float smallest = std::bit_cast<float>((bin << shift) | (sign != 0 ? (1u << shift) - 1 : 0));
      const auto below = std::lower_bound(middle_.begin(), middle_.end(), smallest);
      first_[bin] = static_cast<std::uint8_t>(std::isnan(smallest) ? 0 : below - middle_.begin());
    }
  }
  std::uint8_t operator()(float x) const {
    std::size_t code = first_[std::bit_cast<std::uint32_t>(x) >> shift];
    while (code < 255 && middle_[code] < x) ++code;
    return static_cast<std::uint8_t>(code);
  }

 private:
  // By sign, exponent and the first five bits of the fraction: a bin holds few of the map's values.
  static constexpr int bin_bits = 14, shift = 32 - bin_bits;
  static constexpr std::uint32_t bins = 1u << bin_bits;
  std::array<float, 255> middle_{};
  std::array<std::uint8_t, bins> first_{};
};

std::uint8_t nearest_code(float x) {
  static const NearestCode nearest;
  return nearest(x);
}

std::uint8_t smallest_positive_code() {
  const std::array<float, 256>& map = dynamic_map();
  return static_cast<std::uint8_t>(std::upper_bound(map.begin(), map.end(), 0.0f) - map.begin());
}

void expand_block(std::span<const std::uint8_t> codes, float largest, float* out) {
  const std::array<float, 256>& map = dynamic_map();
  for (const std::uint8_t code : codes) *out++ = map[code] * largest;
}

float shrink_block(std::span<const float> values, std::span<std::uint8_t> codes, bool never_zero) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  const float inverse = largest > 0 ? 1 / largest : 0;
  static const std::uint8_t smallest = smallest_positive_code();
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = nearest_code(std::clamp(values[i] * inverse, -1.0f, 1.0f));
    if (never_zero && values[i] > 0) codes[i] = std::max(codes[i], smallest);
  }
  return largest;
}

std::uint8_t zero_code() { return nearest_code(0); }

template <class T>
TrainablePart::Array array_of(std::string name, std::vector<T>& values, bool is_float) {
  return {std::move(name), std::as_writable_bytes(std::span(values)), is_float, false};
}

}  // namespace

std::vector<MuonMatrix> linear_weights(const ModelDescription& description, const ParameterLayout& layout) {
  std::vector<MuonMatrix> matrices;
  for (const LayerLayout& layer : layout.layers) {
    for (int p = 0; p < projection_count; ++p) {
      const ProjectionShape shape = projection_shape(description, static_cast<Projection>(p));
      matrices.push_back({layer.weight[p], shape.out, shape.in});
    }
  }
  std::ranges::sort(matrices, {}, &MuonMatrix::offset);
  return matrices;
}

TrainablePart::TrainablePart(std::string name, std::span<float> values, std::vector<Range> decayed, bool eight_bit,
                             std::vector<MuonMatrix> matrices)
    : name_(std::move(name)), values_(values), matrices_(std::move(matrices)), gradient_(values.size()) {
  const auto all = static_cast<std::int64_t>(values.size());
  KW_CHECK(!eight_bit || matrices_.empty());
  std::size_t matrix = 0;  // the next
  const auto append = [&](Range range, bool decays) {
    for (; range.begin < range.end && matrix < matrices_.size() && matrices_[matrix].offset < range.end; ++matrix) {
      const MuonMatrix& cut = matrices_[matrix];
      const std::int64_t cut_end = cut.offset + cut.out * cut.in;
      KW_CHECK(cut.offset >= range.begin && cut_end <= range.end);
      if (range.begin < cut.offset) ranges_.push_back({{range.begin, cut.offset}, decays});
      range.begin = cut_end;
    }
    if (range.begin == range.end) return;
    if (!ranges_.empty() && ranges_.back().decays == decays && ranges_.back().end == range.begin) {
      ranges_.back().end = range.end;
    } else {
      ranges_.push_back({range, decays});
    }
  };
  std::int64_t end = 0;
  for (const Range& range : decayed) {
    KW_CHECK(range.begin >= end && range.end >= range.begin && range.end <= all);
    append({end, range.begin}, false);
    append(range, true);
    end = range.end;
  }
  append({end, all}, false);
  KW_CHECK(matrix == matrices_.size());
  if (eight_bit) {
    const auto blocks = static_cast<std::size_t>((all + moment_block - 1) / moment_block);
    first_code_.assign(values.size(), zero_code());
    second_code_.assign(values.size(), zero_code());
    first_largest_.resize(blocks);
    second_largest_.resize(blocks);
  } else {
    first_.resize(values.size());
    second_.resize(values.size());
  }
}

void TrainablePart::clear_gradient(ThreadTeam& team) {
  constexpr std::size_t part_floats = 1 << 18;
  team.run(static_cast<std::int64_t>((gradient_.size() + part_floats - 1) / part_floats), [&](std::int64_t part) {
    const std::size_t begin = static_cast<std::size_t>(part) * part_floats;
    std::fill_n(gradient_.data() + begin, std::min(part_floats, gradient_.size() - begin), 0.0f);
  });
  used = false;
}

void TrainablePart::move(ThreadTeam& team, AdamWStep step, const MuonStep& muon_step) {
  step.step = ++steps;
  const float decay = step.weight_decay;
  if (decay == 0 && first_code_.empty() && matrices_.empty()) {
    adamw(team, step, values_, gradient_, first_, second_);
    return;
  }
  if (has_muon()) muon(team, muon_step, matrices_, values_, gradient_, first_, muon_scratch_);
  for (const AdamWRange& range : ranges_) {
    step.weight_decay = range.decays ? decay : 0;
    const auto begin = static_cast<std::size_t>(range.begin);
    const auto count = static_cast<std::size_t>(range.end) - begin;
    if (!first_code_.empty()) {
      move_eight_bit(team, step, range.begin, range.end);
    } else {
      adamw(team, step, values_.subspan(begin, count), std::span(gradient_).subspan(begin, count),
            std::span(first_).subspan(begin, count), std::span(second_).subspan(begin, count));
    }
  }
}

// Blocks lie at multiples of 256 of the part; where a range ends within one, its other elements are expanded and
// rounded once more.
void TrainablePart::move_eight_bit(ThreadTeam& team, const AdamWStep& step, std::int64_t begin, std::int64_t end) {
  const auto all = static_cast<std::int64_t>(values_.size());
  const std::int64_t first_block = begin / moment_block;
  const std::int64_t end_block = (end + moment_block - 1) / moment_block;
  first_scratch_.resize(static_cast<std::size_t>(chunk_blocks * moment_block));
  second_scratch_.resize(first_scratch_.size());
  for (std::int64_t chunk = first_block; chunk < end_block; chunk += chunk_blocks) {
    const std::int64_t blocks = std::min(chunk_blocks, end_block - chunk);
    const std::int64_t offset = chunk * moment_block;
    const auto for_blocks = [&](const auto& body) {
      team.run(blocks, [&](std::int64_t i) {
        const std::int64_t at = offset + i * moment_block;
        body(static_cast<std::size_t>(chunk + i), static_cast<std::size_t>(at),
             static_cast<std::size_t>(std::min(moment_block, all - at)), static_cast<std::size_t>(i * moment_block));
      });
    };
    for_blocks([&](std::size_t block, std::size_t at, std::size_t count, std::size_t scratch) {
      expand_block(std::span(first_code_).subspan(at, count), first_largest_[block], &first_scratch_[scratch]);
      expand_block(std::span(second_code_).subspan(at, count), second_largest_[block], &second_scratch_[scratch]);
      for (std::size_t i = 0; i < count; ++i) second_scratch_[scratch + i] *= second_scratch_[scratch + i];
    });
    const std::int64_t from = std::max(begin, offset);
    const std::int64_t to = std::min(end, offset + blocks * moment_block);
    const auto at = static_cast<std::size_t>(from);
    const auto count = static_cast<std::size_t>(to - from);
    const auto scratch = static_cast<std::size_t>(from - offset);
    adamw(team, step, values_.subspan(at, count), std::span(gradient_).subspan(at, count),
          std::span(first_scratch_).subspan(scratch, count), std::span(second_scratch_).subspan(scratch, count));
    for_blocks([&](std::size_t block, std::size_t block_at, std::size_t block_count, std::size_t where) {
      const auto first = std::span(first_scratch_).subspan(where, block_count);
      const auto second = std::span(second_scratch_).subspan(where, block_count);
      for (float& value : second) value = std::sqrt(value);
      first_largest_[block] = shrink_block(first, std::span(first_code_).subspan(block_at, block_count), false);
      second_largest_[block] = shrink_block(second, std::span(second_code_).subspan(block_at, block_count), true);
    });
  }
}

std::vector<TrainablePart::Array> TrainablePart::arrays() {
  std::vector<Array> arrays;
  arrays.push_back({name_ + ".values", std::as_writable_bytes(values_), true, false});
  arrays.push_back({name_ + ".gradient", std::as_writable_bytes(std::span(gradient_)), true, true});
  if (first_code_.empty()) {
    arrays.push_back(array_of(name_ + ".first_moment", first_, true));
    arrays.push_back(array_of(name_ + ".second_moment", second_, true));
  } else {
    arrays.push_back(array_of(name_ + ".first_moment.codes", first_code_, false));
    arrays.push_back(array_of(name_ + ".first_moment.largest", first_largest_, true));
    arrays.push_back(array_of(name_ + ".second_moment.codes", second_code_, false));
    arrays.push_back(array_of(name_ + ".second_moment.largest", second_largest_, true));
  }
  return arrays;
}

}  // namespace kw
