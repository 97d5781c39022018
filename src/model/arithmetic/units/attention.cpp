#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "model/arithmetic/portable_kernels.h"
#include "model/arithmetic/units/kernels_of_unit.h"
#include "model/arithmetic/units/tile.h"

namespace kw::KW_UNIT {
namespace {

// Some queries that go through the keys together; query i has the keys [0, keys[i]).
struct Queries {
  const float* q[tile_rows];
  float* out[tile_rows];
  float* log_sum[tile_rows];  // null: not wanted
  std::int64_t keys[tile_rows];
};

// scores (rows, 16 * pages): lanes are the sixteen keys of a page, and several pages are done at a time.
template <int rows, int pages>
void score_pages(const Queries& queries, const AttentionRows& sequence, std::int64_t first_page, std::int64_t offset,
                 std::int64_t dim, float scale, float* scores, std::int64_t stride) {
  Tile<rows, pages> tile;
  const float* keys[pages];
  for (int p = 0; p < pages; ++p) keys[p] = sequence.pages[first_page + p].keys + offset * page_tokens;
  for (int r = 0; r < rows; ++r) {
    for (int p = 0; p < pages; ++p) tile.sum[r][p] = zero();
  }
  for (std::int64_t d = 0; d < dim; ++d) {
    Floats columns[pages];
    for (int p = 0; p < pages; ++p) columns[p] = load(keys[p] + d * page_tokens);
    for (int r = 0; r < rows; ++r) {
      const Floats x = all(queries.q[r][d]);
      for (int p = 0; p < pages; ++p) tile.sum[r][p] = fma(x, columns[p], tile.sum[r][p]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int p = 0; p < pages; ++p) {
      store(scores + r * stride + (first_page + p) * page_tokens, tile.sum[r][p] * all(scale));
    }
  }
}

// Scores become exponentials, zero from `keys` on. Returns the largest score and the sum.
std::pair<float, float> exponentials(float* scores, std::int64_t keys, std::int64_t stride) {
  Floats most = all(-HUGE_VALF);
  const std::int64_t whole = keys / page_tokens * page_tokens, rest = keys - whole;
  for (std::int64_t j = 0; j < whole; j += page_tokens) most = max(load(scores + j), most);
  if (rest > 0) most = max(keep_some(load(scores + whole), rest, -HUGE_VALF), most);
  const float biggest = largest(most);
  Floats sums = zero();
  for (std::int64_t j = 0; j < whole; j += page_tokens) {
    const Floats e = exp(load(scores + j) - all(biggest));
    sums = sums + e;
    store(scores + j, e);
  }
  std::int64_t end = whole;
  if (rest > 0) {
    const Floats e = keep_some(exp(load(scores + whole) - all(biggest)), rest, 0.0f);
    sums = sums + e;
    store(scores + whole, e);
    end += page_tokens;
  }
  for (; end < stride; end += page_tokens) store(scores + end, zero());
  return {biggest, sum(sums)};
}

template <int rows, int vectors>
void mix_values(const Queries& queries, const AttentionRows& sequence, std::int64_t pages, std::int64_t offset,
                std::int64_t dim, std::int64_t first, const float* weights, std::int64_t stride, const float* sums) {
  Tile<rows, vectors> tile;
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) tile.sum[r][v] = zero();
  }
  for (std::int64_t page = 0; page < pages; ++page) {
    multiply(tile, weights + page * page_tokens, stride, 1, sequence.pages[page].values + offset * page_tokens + first,
             dim, page_tokens);
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      store(queries.out[r] + first + lanes * v, tile.sum[r][v] / all(sums[r]));
    }
  }
}

template <int rows>
void attend_queries(const Queries& queries, const AttentionPart& part, std::vector<float>& scratch) {
  const AttentionRows& sequence = *part.sequence;
  const std::int64_t dim = part.shape->head_dim, offset = part.kv_head * dim;
  const std::int64_t pages = (*std::max_element(queries.keys, queries.keys + rows) + page_tokens - 1) / page_tokens;
  const std::int64_t stride = pages * page_tokens;
  if (static_cast<std::int64_t>(scratch.size()) < rows * stride) scratch.resize(rows * stride);
  float* scores = scratch.data();

  std::int64_t page = 0;
  for (; page + tile_vectors <= pages; page += tile_vectors) {
    score_pages<rows, tile_vectors>(queries, sequence, page, offset, dim, part.shape->scale, scores, stride);
  }
  for (; page < pages; ++page) {
    score_pages<rows, 1>(queries, sequence, page, offset, dim, part.shape->scale, scores, stride);
  }
  float sums[rows];
  for (int r = 0; r < rows; ++r) {
    const auto [biggest, sum] = exponentials(scores + r * stride, queries.keys[r], stride);
    sums[r] = sum;
    if (queries.log_sum[r] != nullptr) *queries.log_sum[r] = biggest + elementary::log_of(sum);
  }
  std::int64_t d = 0;
  for (; d + lanes * tile_vectors <= dim; d += lanes * tile_vectors) {
    mix_values<rows, tile_vectors>(queries, sequence, pages, offset, dim, d, scores, stride, sums);
  }
  if constexpr (tile_vectors > 2) {
    for (; d + lanes * 2 <= dim; d += lanes * 2) {
      mix_values<rows, 2>(queries, sequence, pages, offset, dim, d, scores, stride, sums);
    }
  }
  for (; d < dim; d += lanes) mix_values<rows, 1>(queries, sequence, pages, offset, dim, d, scores, stride, sums);
}

using AttendQueries = void (*)(const Queries&, const AttentionPart&, std::vector<float>&);
template <int... index>
constexpr auto table_of(std::integer_sequence<int, index...>) {
  return std::array<AttendQueries, sizeof...(index)>{attend_queries<index + 1>...};
}
constexpr auto by_rows = table_of(std::make_integer_sequence<int, tile_rows>{});

}  // namespace

void attend(const AttentionPart& part) {
  const AttentionShape& shape = *part.shape;
  const AttentionRows& sequence = *part.sequence;
  if (shape.head_dim % lanes != 0) return portable::attend(part);
  thread_local std::vector<float> scratch;
  const std::int64_t group = shape.heads / shape.kv_heads, all_queries = part.rows * group;
  const std::int64_t tiles = (all_queries + tile_rows - 1) / tile_rows;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t begin = all_queries * tile / tiles, end = all_queries * (tile + 1) / tiles;
    Queries queries;
    for (std::int64_t i = begin; i < end; ++i) {  // the heads of a row are neighbours: they see the same keys
      const std::int64_t row = part.first_row + i / group, head = part.kv_head * group + i % group;
      queries.q[i - begin] = sequence.q + row * sequence.q_stride + head * shape.head_dim;
      queries.out[i - begin] = sequence.out + row * sequence.out_stride + head * shape.head_dim;
      queries.log_sum[i - begin] = sequence.log_sum == nullptr ? nullptr : sequence.log_sum + row * shape.heads + head;
      queries.keys[i - begin] = sequence.first_position + row + 1;
    }
    by_rows[end - begin - 1](queries, part, scratch);
  }
}

}  // namespace kw::KW_UNIT
