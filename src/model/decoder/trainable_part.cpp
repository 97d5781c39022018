#include "model/decoder/trainable_part.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "model/arithmetic/rows.h"
#include "model/weights/nf4.h"

namespace kw {
namespace {

constexpr std::int64_t chunk_blocks = 256;  // expanded at a time
constexpr std::int64_t piece_floats = 1 << 14;

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
  return {std::move(name), std::as_writable_bytes(std::span(values)), is_float, false, {}};
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
                             std::vector<MuonMatrix> matrices, PartOwner owner)
    : name_(std::move(name)),
      values_(values),
      owner_(owner),
      has_muon_(!matrices.empty()),
      eight_bit_(eight_bit),
      matrices_(std::move(matrices)),
      gradient_(values.size()) {
  KW_CHECK(!eight_bit || matrices_.empty());
  KW_CHECK(owner_.size >= 1 && owner_.rank >= 0 && owner_.rank < owner_.size);
  set_ranges(decayed);
  cut_into_pieces();
  keep_own_range();
  const auto count = static_cast<std::size_t>(own().size());
  if (eight_bit) {
    const auto blocks = static_cast<std::size_t>((own().size() + moment_block - 1) / moment_block);
    first_code_.assign(count, zero_code());
    second_code_.assign(count, zero_code());
    first_largest_.resize(blocks);
    second_largest_.resize(blocks);
  } else {
    first_.resize(count);
    second_.resize(count);
  }
}

void TrainablePart::set_ranges(const std::vector<Range>& decayed) {
  const auto all = static_cast<std::int64_t>(values_.size());
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
}

// Without matrices a piece is a chunk of sum_of_squares(), and blocks of 8-bit moments are never cut.
void TrainablePart::cut_into_pieces() {
  static_assert(piece_floats % moment_block == 0);
  const auto all = static_cast<std::int64_t>(values_.size());
  std::int64_t at = 0;
  const auto cut_until = [&](std::int64_t end) {
    for (; at < end; at = pieces_.back().end) pieces_.push_back({at, std::min(at + piece_floats, end)});
  };
  for (const MuonMatrix& matrix : matrices_) {
    cut_until(matrix.offset);
    pieces_.push_back({at, at + matrix.out * matrix.in});
    at = pieces_.back().end;
  }
  cut_until(all);
  std::int64_t begin = 0;
  for (int rank = 0; rank < owner_.size; ++rank) {
    // The border that is nearest to an even share.
    const std::int64_t even = share_of(all, rank, owner_.size).end;
    std::int64_t end = begin;
    for (const Range& piece : pieces_)
      if (piece.end > begin && std::abs(piece.end - even) <= std::abs(end - even)) end = piece.end;
    shares_.push_back({begin, rank + 1 == owner_.size ? all : end});
    begin = shares_.back().end;
  }
}

void TrainablePart::keep_own_range() {
  std::vector<AdamWRange> ranges;
  for (AdamWRange range : ranges_) {
    range.begin = std::max(range.begin, own().begin) - own().begin;
    range.end = std::min(range.end, own().end) - own().begin;
    if (range.begin < range.end) ranges.push_back(range);
  }
  ranges_ = std::move(ranges);
  std::erase_if(matrices_,
                [this](const MuonMatrix& matrix) { return matrix.offset < own().begin || matrix.offset >= own().end; });
  for (MuonMatrix& matrix : matrices_) matrix.offset -= own().begin;
}

std::vector<double> TrainablePart::squares_of_pieces(ThreadTeam& team) const {
  std::vector<double> squares;
  for (const Range& piece : pieces_) {
    if (piece.begin < own().begin || piece.begin >= own().end) continue;
    squares.push_back(
        sum_of_squares(team, std::span(gradient_).subspan(static_cast<std::size_t>(piece.begin),
                                                          static_cast<std::size_t>(piece.end - piece.begin))));
  }
  return squares;
}

std::vector<std::int64_t> TrainablePart::piece_counts() const {
  std::vector<std::int64_t> counts;
  for (const ShareRange& share : shares_)
    counts.push_back(std::ranges::count_if(
        pieces_, [&](const Range& piece) { return piece.begin >= share.begin && piece.begin < share.end; }));
  return counts;
}

namespace {

// body(begin, count) over all of `size`, in parts that do not depend on the team.
void for_parts(ThreadTeam& team, std::size_t size, const std::function<void(std::size_t, std::size_t)>& body) {
  constexpr std::size_t part_floats = 1 << 18;
  team.run(static_cast<std::int64_t>((size + part_floats - 1) / part_floats), [&](std::int64_t part) {
    const std::size_t begin = static_cast<std::size_t>(part) * part_floats;
    body(begin, std::min(part_floats, size - begin));
  });
}

}  // namespace

void TrainablePart::clear_gradient(ThreadTeam& team) {
  for_parts(team, gradient_.size(),
            [&](std::size_t begin, std::size_t count) { std::fill_n(gradient_.data() + begin, count, 0.0f); });
  for (SlotGradient& slot : slot_gradients_) spare_.push_back(std::move(slot.values));
  slot_gradients_.clear();
  used = false;
}

void TrainablePart::end_slot(ThreadTeam& team, std::int64_t slot) {
  SlotGradient ended{{0, slot}, std::move(gradient_)};
  if (spare_.empty()) {
    gradient_.assign(values_.size(), 0.0f);
  } else {
    gradient_ = std::move(spare_.back());
    spare_.pop_back();
    for_parts(team, gradient_.size(),
              [&](std::size_t begin, std::size_t count) { std::fill_n(gradient_.data() + begin, count, 0.0f); });
  }
  append_slot(slot_gradients_, std::move(ended), [&](SlotGradient& left, SlotGradient& right) {
    for_parts(team, left.values.size(), [&](std::size_t begin, std::size_t count) {
      for (std::size_t i = begin; i < begin + count; ++i) left.values[i] += right.values[i];
    });
    spare_.push_back(std::move(right.values));
  });
}

void TrainablePart::take_only_slot() {
  KW_CHECK(slot_gradients_.size() == 1);
  gradient_.swap(slot_gradients_.front().values);
}

void TrainablePart::move(ThreadTeam& team, AdamWStep step, const MuonStep& muon_step) {
  step.step = ++steps;
  const float decay = step.weight_decay;
  const std::span<float> values = own_part(values_), gradient = own_part(std::span(gradient_));
  if (decay == 0 && !eight_bit_ && matrices_.empty()) {
    adamw(team, step, values, gradient, first_, second_);
    return;
  }
  if (!matrices_.empty()) muon(team, muon_step, matrices_, values, gradient, first_, muon_scratch_);
  for (const AdamWRange& range : ranges_) {
    step.weight_decay = range.decays ? decay : 0;
    const auto begin = static_cast<std::size_t>(range.begin);
    const auto count = static_cast<std::size_t>(range.end) - begin;
    if (eight_bit_) {
      move_eight_bit(team, step, range.begin, range.end);
    } else {
      adamw(team, step, values.subspan(begin, count), gradient.subspan(begin, count),
            std::span(first_).subspan(begin, count), std::span(second_).subspan(begin, count));
    }
  }
}

// Counted from the own range's beginning, which is a block's. Blocks lie at multiples of 256; where a range ends within
// one, its other elements are expanded and rounded once more.
void TrainablePart::move_eight_bit(ThreadTeam& team, const AdamWStep& step, std::int64_t begin, std::int64_t end) {
  const std::span<float> values = own_part(values_), gradient = own_part(std::span(gradient_));
  const auto all = static_cast<std::int64_t>(values.size());
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
    adamw(team, step, values.subspan(at, count), gradient.subspan(at, count),
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
  arrays.push_back({name_ + ".values", std::as_writable_bytes(values_), true, false, {}});
  arrays.push_back({name_ + ".gradient", std::as_writable_bytes(std::span(gradient_)), true, true, {}});
  // `elements` of the values have one element of the array.
  const auto shared = [&](Array array, std::int64_t elements, std::int64_t bytes) {
    for (const ShareRange& share : shares_)
      array.shares.push_back(
          {(share.begin + elements - 1) / elements * bytes, (share.end + elements - 1) / elements * bytes});
    arrays.push_back(std::move(array));
  };
  if (!eight_bit_) {
    shared(array_of(name_ + ".first_moment", first_, true), 1, 4);
    shared(array_of(name_ + ".second_moment", second_, true), 1, 4);
  } else {
    shared(array_of(name_ + ".first_moment.codes", first_code_, false), 1, 1);
    shared(array_of(name_ + ".first_moment.largest", first_largest_, true), moment_block, 4);
    shared(array_of(name_ + ".second_moment.codes", second_code_, false), 1, 1);
    shared(array_of(name_ + ".second_moment.largest", second_largest_, true), moment_block, 4);
  }
  return arrays;
}

std::int64_t TrainablePart::moment_bytes() {
  std::int64_t bytes = 0;
  for (const Array& array : arrays())
    if (!array.shares.empty()) bytes += static_cast<std::int64_t>(array.bytes.size());
  return bytes;
}

}  // namespace kw
