#include "model/arithmetic/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/arithmetic/test_numbers.h"

namespace kw {
namespace {

// A sequence of `length` tokens whose last `rows` are queries, keys and values also in pages.
struct Sequence {
  AttentionShape shape;
  std::int64_t length, rows;
  std::vector<float> q, k, v, page_memory, out, log_sum;
  std::vector<KvPage> pages;

  Sequence(const AttentionShape& of, std::int64_t tokens, std::int64_t queries, unsigned seed)
      : shape(of), length(tokens), rows(queries) {
    const std::int64_t count = (length + page_tokens - 1) / page_tokens;
    q = test_numbers(rows * shape.heads * shape.head_dim, seed);
    k = test_numbers(length * shape.kv_heads * shape.head_dim, seed + 1);
    v = test_numbers(length * shape.kv_heads * shape.head_dim, seed + 2);
    page_memory = test_numbers(2 * count * shape.page_floats(), seed + 3);  // empty slots: any finite values
    for (std::int64_t i = 0; i < count; ++i) {
      float* at = page_memory.data() + 2 * i * shape.page_floats();
      pages.push_back({at, at + shape.page_floats()});
    }
    for (std::int64_t t = 0; t < length; ++t) {
      write_token(shape, pages[t / page_tokens], t % page_tokens, k.data() + t * shape.kv_heads * shape.head_dim,
                  v.data() + t * shape.kv_heads * shape.head_dim);
    }
    out.resize(q.size());
    log_sum.resize(rows * shape.heads);
  }

  AttentionRows all_rows() {
    const std::int64_t width = shape.heads * shape.head_dim;
    return {q.data(), width, out.data(), width, log_sum.data(), rows, length - rows, pages};
  }
};

AttentionShape shape_of(std::int64_t heads, std::int64_t kv_heads, std::int64_t dim) {
  return {heads, kv_heads, dim, 1 / std::sqrt(static_cast<float>(dim))};
}

// In double, the textbook's way. Row by row: out (heads, head_dim), log_sum.
void reference(const Sequence& s, std::int64_t row, std::int64_t head, std::vector<double>& out, double& log_sum) {
  const std::int64_t dim = s.shape.head_dim, kv_head = head / (s.shape.heads / s.shape.kv_heads);
  const std::int64_t keys = s.length - s.rows + row + 1;
  std::vector<double> scores(keys);
  double sum = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t d = 0; d < dim; ++d) {
      scores[j] += static_cast<double>(s.q[(row * s.shape.heads + head) * dim + d]) *
                   s.k[(j * s.shape.kv_heads + kv_head) * dim + d] * s.shape.scale;
    }
    sum += std::exp(scores[j]);
  }
  out.assign(dim, 0);
  for (std::int64_t j = 0; j < keys; ++j) {
    for (std::int64_t d = 0; d < dim; ++d) {
      out[d] += std::exp(scores[j]) / sum * s.v[(j * s.shape.kv_heads + kv_head) * dim + d];
    }
  }
  log_sum = std::log(sum);
}

TEST(Attention, IsSoftmaxOfTheScoresTimesTheValues) {
  ThreadTeam team(2);
  Sequence s(shape_of(6, 2, 32), 53, 21, 1);
  const AttentionRows rows = s.all_rows();
  attend(team, s.shape, {&rows, 1});
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t head = 0; head < s.shape.heads; ++head) {
      std::vector<double> out;
      double log_sum = 0;
      reference(s, row, head, out, log_sum);
      EXPECT_NEAR(s.log_sum[row * s.shape.heads + head], log_sum, 2e-6);
      for (std::int64_t d = 0; d < 32; ++d) EXPECT_NEAR(s.out[(row * s.shape.heads + head) * 32 + d], out[d], 2e-6);
    }
  }
}

TEST(Attention, OneQueryGivesTheBitsOfMany) {
  ThreadTeam team(2);
  Sequence s(shape_of(6, 3, 64), 100, 100, 2);
  const AttentionRows rows = s.all_rows();
  attend(team, s.shape, {&rows, 1});
  const auto wanted = s.out, wanted_sum = s.log_sum;
  std::fill(s.out.begin(), s.out.end(), 0.0f);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    AttentionRows one = s.all_rows();
    one.q += row * one.q_stride;
    one.out += row * one.out_stride;
    one.log_sum += row * s.shape.heads;
    one.rows = 1;
    one.first_position = row;
    one.pages = one.pages.first(row / page_tokens + 1);
    attend(team, s.shape, {&one, 1});
  }
  EXPECT_EQ(first_difference(s.out, wanted), "");
  EXPECT_EQ(first_difference(s.log_sum, wanted_sum), "");
}

TEST(Attention, UnitsAgree) {
  ThreadTeam team(2);
  for (const auto& shape : {shape_of(1, 1, 16), shape_of(4, 4, 32), shape_of(3, 1, 48), shape_of(9, 3, 64),
                            shape_of(4, 2, 128), shape_of(2, 1, 10)}) {
    for (const auto& [length, rows] : {std::pair{1, 1}, {16, 16}, {17, 1}, {70, 70}, {131, 5}, {200, 1}}) {
      Sequence s(shape, length, rows, 3);
      expect_equal_on_all_units(
          [&] {
            const AttentionRows all = s.all_rows();
            attend(team, shape, {&all, 1});
            std::vector<float> both = s.out;
            both.insert(both.end(), s.log_sum.begin(), s.log_sum.end());
            return both;
          },
          std::to_string(shape.head_dim) + " dim, length " + std::to_string(length));
    }
  }
}

// dq, dk, dv one after the other.
std::vector<float> gradient(ThreadTeam& team, Sequence& s, const std::vector<float>& dout) {
  const AttentionRows rows = s.all_rows();
  attend(team, s.shape, {&rows, 1});
  const std::int64_t width = s.shape.heads * s.shape.head_dim, kv_width = s.shape.kv_heads * s.shape.head_dim;
  std::vector<float> all(s.rows * (width + 2 * kv_width), 9.0f);  // written, not added to
  float *dq = all.data(), *dk = dq + s.rows * width, *dv = dk + s.rows * kv_width;
  const AttentionGradient of{s.rows,      s.q.data(), s.k.data(), s.v.data(), s.out.data(), s.log_sum.data(),
                             dout.data(), dq,         dk,         dv,         width,        kv_width,
                             width};
  attend_gradient(team, s.shape, {&of, 1});
  return all;
}

TEST(Attention, GradientIsTheSlope) {
  ThreadTeam team(2);
  Sequence s(shape_of(4, 2, 16), 19, 19, 4);
  const auto dout = test_numbers(s.q.size(), 5);
  const auto got = gradient(team, s, dout);
  // d(sum dout * out) by central differences in double, for some elements of q, k and v.
  const auto loss = [&] {
    double sum = 0, log_sum = 0;
    std::vector<double> out;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t head = 0; head < 4; ++head) {
        reference(s, row, head, out, log_sum);
        for (std::int64_t d = 0; d < 16; ++d) sum += out[d] * dout[(row * 4 + head) * 16 + d];
      }
    }
    return sum;
  };
  std::size_t at = 0;
  for (std::vector<float>* values : {&s.q, &s.k, &s.v}) {
    for (std::size_t i = 0; i < values->size(); i += 37) {
      const float old = (*values)[i];
      (*values)[i] = old + 0.0078125f;
      const double above = loss();
      (*values)[i] = old - 0.0078125f;
      const double below = loss();
      (*values)[i] = old;
      EXPECT_NEAR(got[at + i], (above - below) / 0.015625, 2e-4) << at + i;
    }
    at += values->size();
  }
}

TEST(Attention, UnitsAndTeamsAgreeOnTheGradient) {
  for (const auto& shape : {shape_of(2, 2, 16), shape_of(4, 2, 32), shape_of(3, 1, 64), shape_of(2, 1, 10)}) {
    for (const std::int64_t length : {1, 15, 48, 65, 130}) {
      Sequence s(shape, length, length, 6);
      const auto dout = test_numbers(s.q.size(), 7);
      int threads = 0;
      expect_equal_on_all_units(
          [&] {
            ThreadTeam team(1 + threads++ % 2);
            return gradient(team, s, dout);
          },
          std::to_string(shape.head_dim) + " dim, length " + std::to_string(length));
    }
  }
}

}  // namespace
}  // namespace kw
