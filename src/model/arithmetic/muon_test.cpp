#include "model/arithmetic/muon.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/arithmetic/test_numbers.h"
#include "model/weights/safetensors.h"

namespace kw {
namespace {

// The formula in doubles, with the plainest loops there are.
struct PlainMuon {
  std::int64_t out, in;
  std::vector<double> values, momentum;

  void move(const std::vector<float>& gradient, double rate, double decay, double scale) {
    std::vector<double> x(values.size());
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = static_cast<double>(gradient[i]) * scale;
      momentum[i] = 0.95 * momentum[i] + 0.05 * g;
      x[i] = 0.05 * g + 0.95 * momentum[i];
      squares += x[i] * x[i];
    }
    for (double& value : x) value /= std::max(std::sqrt(squares), 1e-7);
    for (int iteration = 0; iteration < 5; ++iteration) {
      const auto cube = times_gram(x, x), fifth = times_gram(cube, x);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] - 4.775 * cube[i] + 2.0315 * fifth[i];
    }
    const double along = rate * 0.2 * std::sqrt(static_cast<double>(std::max(out, in)));
    for (std::size_t i = 0; i < x.size(); ++i) values[i] = values[i] * (1 - rate * decay) - along * x[i];
  }
  // y * x^T * x
  std::vector<double> times_gram(const std::vector<double>& y, const std::vector<double>& x) const {
    const auto at = [this](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * in + j); };
    std::vector<double> result(x.size());
    for (std::int64_t i = 0; i < out; ++i) {
      for (std::int64_t k = 0; k < out; ++k) {
        double along = 0;
        for (std::int64_t j = 0; j < in; ++j) along += y[at(i, j)] * x[at(k, j)];
        for (std::int64_t j = 0; j < in; ++j) result[at(i, j)] += along * x[at(k, j)];
      }
    }
    return result;
  }
};

struct Shape {
  std::int64_t out, in;
};
constexpr Shape shapes[] = {{1, 1}, {1, 7}, {7, 1}, {24, 40}, {40, 24}, {16, 16}, {65, 65}, {70, 131}, {300, 66}};

TEST(Muon, FollowsTheFormula) {
  ThreadTeam team(2);
  for (const auto& [out, in] : shapes) {
    const std::int64_t size = out * in;
    auto p = test_numbers(size, 1);
    std::vector<float> m(p.size());
    MuonScratch scratch;
    const MuonMatrix matrix{0, out, in};
    PlainMuon plain{out, in, {p.begin(), p.end()}, std::vector<double>(p.size())};
    for (unsigned step = 1; step <= 3; ++step) {
      const auto g = test_numbers(size, 10 + step, 0.01f);
      muon(team, {.learning_rate = 0.01f, .weight_decay = 0.1f, .gradient_scale = 0.5f}, {&matrix, 1}, p, g, m,
           scratch);
      plain.move(g, 0.01, 0.1, 0.5);
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      ASSERT_NEAR(p[i], plain.values[i], 2e-6) << out << "x" << in << " " << i;
      ASSERT_NEAR(m[i], plain.momentum[i], 1e-8) << out << "x" << in << " " << i;
    }
  }
}

// torch.optim.Muon's own numbers (scripts/muon_golden.py).
TEST(Muon, EqualsTorch) {
  ThreadTeam team(2);
  const SafetensorsFile golden =
      SafetensorsFile::open(std::filesystem::path(KW_SOURCE_ROOT) / "tests/model/muon.safetensors").value();
  const auto read = [&](const std::string& name) {
    const TensorView* tensor = golden.find(name);
    KW_CHECK(tensor != nullptr);
    return read_floats(*tensor).value();
  };
  for (const char* name : {"wide", "tall", "square"}) {
    const TensorView* first = golden.find(std::string(name) + ".before");
    ASSERT_NE(first, nullptr);
    const MuonMatrix matrix{0, first->shape[0], first->shape[1]};
    auto p = read_floats(*first).value();
    std::vector<float> m(p.size());
    MuonScratch scratch;
    for (int step = 0; step < 3; ++step) {
      const std::string at = std::string(name) + "." + std::to_string(step);
      muon(team, {.learning_rate = 0.02f, .weight_decay = 0.1f}, {&matrix, 1}, p, read(at + ".gradient"), m, scratch);
      const auto wanted = read(at + ".after");
      ASSERT_EQ(wanted.size(), p.size());
      for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(p[i], wanted[i], 2e-6) << at << " " << i;
    }
  }
}

// All units, any number of threads, and what lies between the matrices is left alone.
TEST(Muon, UnitsAndTeamsAgree) {
  std::vector<MuonMatrix> matrices;
  std::int64_t size = 5;
  for (const auto& [out, in] : shapes) {
    matrices.push_back({size, out, in});
    size += out * in + 3;
  }
  const auto g = test_numbers(size, 3);
  int threads = 0;
  expect_equal_on_all_units(
      [&] {
        ThreadTeam team(1 + threads++ % 3);
        auto p = test_numbers(size, 4), m = test_numbers(size, 5);
        const auto before = p;
        MuonScratch scratch;
        for (int step = 0; step < 2; ++step) {
          muon(team, {.learning_rate = 0.01f, .weight_decay = 0.1f}, matrices, p, g, m, scratch);
        }
        for (std::size_t i = 0; i + 1 < matrices.size(); ++i) {
          const auto gap = static_cast<std::size_t>(matrices[i + 1].offset - 3);
          for (std::size_t j = gap; j < gap + 3; ++j) EXPECT_EQ(p[j], before[j]);
        }
        p.insert(p.end(), m.begin(), m.end());
        return p;
      },
      "matrices of many shapes");
}

// Singular values: the update's rows are nearly orthonormal whatever the gradient's were.
TEST(Muon, EvensOutDirections) {
  ThreadTeam team(1);
  const std::int64_t out = 8, in = 64;
  auto g = test_numbers(out * in, 1);
  for (std::int64_t i = 0; i < out * in; ++i)
    g[static_cast<std::size_t>(i)] *= std::pow(2.0f, -static_cast<float>(i / in));
  std::vector<float> p(g.size()), m(g.size());
  MuonScratch scratch;
  const MuonMatrix matrix{0, out, in};
  muon(team, {.learning_rate = 1}, {&matrix, 1}, p, g, m, scratch);
  for (std::int64_t i = 0; i < out; ++i) {
    double squares = 0;
    for (std::int64_t j = 0; j < in; ++j)
      squares += std::pow(static_cast<double>(p[static_cast<std::size_t>(i * in + j)]), 2);
    EXPECT_NEAR(std::sqrt(squares) / (0.2 * std::sqrt(64.0)), 1.0, 0.35) << i;
  }
}

// A gradient of zeros moves nothing: not a number over zero.
TEST(Muon, ZeroStaysZero) {
  ThreadTeam team(1);
  std::vector<float> p(12, 2.0f), m(12);
  const std::vector<float> g(12);
  MuonScratch scratch;
  const MuonMatrix matrix{0, 3, 4};
  muon(team, {.learning_rate = 0.5f, .weight_decay = 0.5f}, {&matrix, 1}, p, g, m, scratch);
  for (const float value : p) EXPECT_FLOAT_EQ(value, 1.5f);
}

}  // namespace
}  // namespace kw
