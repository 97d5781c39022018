#include "agents/reward/reward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/judge/test_verdict.h"

namespace kw {
namespace {

constexpr double exact = 1e-9;

RewardShape shape_named(std::string_view name, std::optional<AgentRole> role = std::nullopt) {
  auto shape = reward_shape(name, role);
  EXPECT_TRUE(shape.ok());
  EXPECT_TRUE(check_shape(*shape).ok());
  return *shape;
}

double points(const RewardBreakdown& reward, RewardTermKind kind) {
  for (const RewardTerm& term : reward.terms)
    if (term.kind == kind) return term.points;
  return 0;
}

// Each formula as it is published, written out once more.
TEST(PublishedFormulas, Gated) {
  Verdict verdict = right_verdict(1.5);
  const RewardShape shape = shape_named("gated");
  // SpeedupNorm 1.5 / 2, coalesced, no shuffle.
  EXPECT_NEAR(reward_of(verdict, shape).total, 0.5 * 1 + 0.4 * 0.75 + 0.05, exact);
  verdict.terms.push_back({"shuffle pipe", 0.1});
  EXPECT_NEAR(reward_of(verdict, shape).total, 0.5 + 0.4 * 0.75 + 0.05 + 0.05, exact);
  verdict.resources[0].registers = 200;
  verdict.resources[0].shared_bytes = 100 << 10;
  const double pressure = (200.0 - 128) / (255 - 128), over = (100.0 - 48) / (227 - 48);
  EXPECT_NEAR(reward_of(verdict, shape).total, 0.5 + 0.3 + 0.1 - 0.05 * pressure - 0.05 * over, exact);
  verdict.resources[0].spill_bytes = 8;
  EXPECT_NEAR(points(reward_of(verdict, shape), RewardTermKind::register_pressure), -0.05, exact);
  verdict.speedup_naive = 50;
  EXPECT_NEAR(points(reward_of(verdict, shape), RewardTermKind::speed), 0.4, exact);
  verdict.compiled = verdict.correct = false;
  verdict.status = VerdictStatus::compile_error;
  EXPECT_EQ(reward_of(verdict, shape).total, 0);
}

TEST(PublishedFormulas, TimeoutCountsWithoutTheGate) {
  Verdict verdict = right_verdict();
  verdict.status = VerdictStatus::timeout;
  verdict.correct = false;
  verdict.cases[1].ok = false;
  RewardShape shape = shape_named("gated");
  EXPECT_EQ(reward_of(verdict, shape).total, 0);
  shape.gate = false;
  EXPECT_NEAR(reward_of(verdict, shape).total, 0.5 * 0.5 - 0.1 + 0.05, exact);
}

TEST(PublishedFormulas, Weighted) {
  Verdict verdict = right_verdict(1.5);
  const RewardShape shape = shape_named("weighted");
  const double base = 0.30 + 0.30 + 0.25 * 0.75 + 0.10 * 0.6 + 0.05;
  EXPECT_NEAR(reward_of(verdict, shape).total, base, exact);
  // 1.6 x as fast as the kernel before: log2(1.6) of the bonus.
  EXPECT_NEAR(reward_of(verdict, shape, GivenKernel{true, 16.0}).total, base + 0.1 * std::log2(1.6), exact);
  EXPECT_NEAR(reward_of(verdict, shape, GivenKernel{true, 1000.0}).total, base + 0.1, exact);
  EXPECT_NEAR(reward_of(verdict, shape, GivenKernel{true, 5.0}).total, base, exact);
  EXPECT_NEAR(reward_of(verdict, shape, GivenKernel{false, {}}).total, base + 0.05, exact);
  verdict.hints.push_back({"bank-conflict", Severity::warning, 3, 1, "m", "", "k", 1});
  verdict.risk.score = 0.5;
  EXPECT_NEAR(reward_of(verdict, shape).total, base - 0.05 + 0.05 * 0.75 * 0.5, exact);
  verdict.status = VerdictStatus::wrong;
  verdict.correct = false;
  EXPECT_NEAR(reward_of(verdict, shape).total, 0.30, exact);
  verdict.compiled = false;
  EXPECT_EQ(reward_of(verdict, shape).total, 0);
}

TEST(PublishedFormulas, Final) {
  const RewardShape shape = shape_named("final");
  for (const double speedup : {0.25, 1.0, 3.0, 3.999, 4.0, 100.0}) {
    const double expected = std::min(speedup / 2.0, 2.0) * 0.4 + 1 * 0.3 + 0.6 * 1 * 0.2 + 1 * 0.1;
    EXPECT_NEAR(reward_of(right_verdict(speedup), shape).total, expected, exact) << speedup;
  }
  RewardShape other = shape;
  other.target_speedup = 10;
  EXPECT_NEAR(reward_of(right_verdict(15), other).total, 1.5 * 0.4 + 0.3 + 0.12 + 0.1, exact);
}

TEST(PublishedFormulas, HardwareTerms) {
  Verdict verdict = right_verdict(1.5);
  const RewardShape shape = shape_named("hardware");
  const double gated = 0.5 + 0.3 + 0.05;
  EXPECT_NEAR(reward_of(verdict, shape).total, gated + 0.05 * 0.75 + 0.10 * 0.6, exact);
  KernelCounters counters;
  counters.achieved_occupancy = 0.5;
  counters.warp_efficiency = 0.9;
  counters.dram_throughput = 0.8;
  verdict.counters.push_back(counters);
  EXPECT_NEAR(reward_of(verdict, shape).total, gated + 0.05 * 0.5 + 0.05 * 0.9 + 0.10 * 0.8, exact);
  for (const char* message : {"unused variable", "unused variable", "sign"})
    verdict.hints.push_back({"compile", Severity::warning, 1, 1, message, "", "", 1});
  EXPECT_NEAR(points(reward_of(verdict, shape), RewardTermKind::warnings), -0.1 * 2 / 4, exact);
}

TEST(Reward, RolesArePaidForDifferentThings) {
  const Verdict slow = right_verdict(1.0), fast = right_verdict(100);
  for (const std::string& name : reward_shape_names()) {
    const RewardShape plain = shape_named(name), generator = shape_named(name, AgentRole::generator),
                      optimizer = shape_named(name, AgentRole::optimizer);
    const auto speed_share = [&](const RewardShape& shape) {
      return points(reward_of(fast, shape), RewardTermKind::speed) / reward_of(fast, shape).total;
    };
    EXPECT_LT(speed_share(generator), speed_share(plain)) << name;
    // A right kernel that improves nothing is worth less to the Optimizer than one that is twice as fast.
    const double same = reward_of(slow, optimizer, GivenKernel{true, 10.0}).total;
    const double twice = reward_of(slow, optimizer, GivenKernel{true, 20.0}).total;
    EXPECT_NEAR(twice - same, 0.5, exact) << name;
    EXPECT_NEAR(reward_of(slow, generator, GivenKernel{true, 20.0}).total, reward_of(slow, generator).total, exact);
    EXPECT_FALSE(reward_shape(name, AgentRole::tester).ok());
  }
}

TEST(Reward, AnUndecidedMeasurementIsNoSpeedup) {
  Verdict verdict = right_verdict(1.2);
  verdict.time_source = "measured";
  verdict.speedup_interval = Interval{0.98, 1.4};
  const auto reward = reward_of(verdict, shape_named("final"));
  EXPECT_NEAR(points(reward, RewardTermKind::speed), 0.4 * 0.5, exact);
  EXPECT_NE(to_table(reward).find("no difference shown"), std::string::npos);
}

TEST(Reward, SpeedIsStatedAgainstTheShapesBaseline) {
  Verdict verdict = right_verdict(3);
  verdict.speedup_pytorch = 1.5;
  RewardShape shape = *reward_shape("gated");
  const auto speed_points = [&](const std::optional<GivenKernel>& given = std::nullopt) {
    for (const RewardTerm& term : reward_of(verdict, shape, given).terms)
      if (term.kind == RewardTermKind::speed) return term;
    return RewardTerm{};
  };
  shape.target_speedup = 10;
  EXPECT_NEAR(speed_points().value, 0.3, 1e-12);
  EXPECT_NE(speed_points().why.find("3.00 x the naive kernel"), std::string::npos) << speed_points().why;
  shape.baseline = Baseline::pytorch;
  EXPECT_NEAR(speed_points().value, 0.15, 1e-12);
  EXPECT_NE(speed_points().why.find("1.50 x PyTorch"), std::string::npos) << speed_points().why;
  shape.baseline = Baseline::given;
  EXPECT_EQ(speed_points().value, 0) << "nothing was given";
  EXPECT_NEAR(speed_points(GivenKernel{true, 4 * *verdict.time_us}).value, 0.4, 1e-12);
  shape.baseline = Baseline::library;
  EXPECT_FALSE(check_shape(shape).ok());
}

TEST(Reward, OurOwnFailureIsNotAZero) {
  Verdict verdict;
  const auto reward = reward_of(verdict, shape_named("gated"));
  EXPECT_FALSE(reward.judged);
  verdict.status = VerdictStatus::unsupported;
  EXPECT_TRUE(reward_of(verdict, shape_named("gated")).judged);
}

TEST(Reward, EveryTermSaysWhy) {
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const auto reward = reward_of(random_verdict(random), shape_named("hardware"));
    EXPECT_FALSE(reward.decision.empty());
    for (const RewardTerm& term : reward.terms) EXPECT_FALSE(term.why.empty());
    EXPECT_EQ(to_json(reward).at("terms").size(), reward.terms.size());
  }
}

struct ShapeAndRole {
  RewardShape shape;
  std::optional<AgentRole> role;
};

std::vector<ShapeAndRole> all_shapes() {
  std::vector<ShapeAndRole> all;
  for (const std::string& name : reward_shape_names())
    for (const std::optional<AgentRole> role :
         {std::optional<AgentRole>(), std::optional(AgentRole::generator), std::optional(AgentRole::optimizer)})
      for (const bool gate : {true, false})
        for (const SpeedScale scale : {SpeedScale::linear, SpeedScale::logarithmic}) {
          all.push_back({shape_named(name, role), role});
          all.back().shape.gate = gate;
          all.back().shape.speed_scale = scale;
        }
  return all;
}

TEST(RewardProperties, HoldForRandomVerdicts) {
  Random random(17);
  const auto shapes = all_shapes();
  for (int round = 0; round < 1500; ++round) {
    Verdict verdict = random_verdict(random);
    const std::optional<GivenKernel> given =
        random.uniform() < 0.5 ? std::optional(GivenKernel{random.uniform() < 0.7, random.uniform(0.1, 1000)})
                               : std::nullopt;
    for (const auto& [shape, role] : shapes) {
      const RewardBreakdown reward = reward_of(verdict, shape, given, role);
      double sum = 0;
      for (const RewardTerm& term : reward.terms) {
        ASSERT_TRUE(std::isfinite(term.points));
        ASSERT_LE(std::abs(term.points), term.cap + 1e-15);
        ASSERT_TRUE(term.points == 0 || (term.points > 0) == (term.weight > 0));
        sum += term.points;
      }
      ASSERT_NEAR(reward.total, std::max(0.0, sum), exact);
      if (shape.gate && !verdict.correct) {
        ASSERT_EQ(reward.total, 0);
      }
      if (!verdict.correct) {
        for (const auto kind : {RewardTermKind::speed, RewardTermKind::improvement, RewardTermKind::efficiency,
                                RewardTermKind::correct, RewardTermKind::quality})
          ASSERT_EQ(points(reward, kind), 0) << "pay for what is not right";
      }
      // Faster is never worth less: the same verdict with a shorter time.
      if (verdict.correct) {
        Verdict faster = verdict;
        const double factor = random.uniform(1, 5);
        faster.time_us = *verdict.time_us / factor;
        faster.speedup_naive = *verdict.speedup_naive * factor;
        if (faster.speedup_interval)
          faster.speedup_interval =
              Interval{verdict.speedup_interval->low * factor, verdict.speedup_interval->high * factor};
        ASSERT_GE(reward_of(faster, shape, given, role).total, reward.total - exact);
      }
      for (const std::string& flag : FactLimits{}.exploit_flags) {
        Verdict cheat = verdict;
        cheat.flags.push_back(flag);
        ASSERT_EQ(reward_of(cheat, shape, given, role).total, 0) << flag;
      }
    }
  }
}

// Nobody is paid for speed without a time, as when the full size was not checked.
TEST(RewardProperties, NoTimeNoPayForSpeed) {
  Random random(23);
  for (int round = 0; round < 300; ++round) {
    Verdict verdict = random_verdict(random);
    verdict.time_us = std::nullopt;
    verdict.time_interval_us = std::nullopt;
    Verdict slow = verdict;
    slow.speedup_naive = verdict.speedup_naive ? std::optional(0.01) : std::nullopt;
    const std::optional<GivenKernel> given =
        random.uniform() < 0.5 ? std::optional(GivenKernel{true, random.uniform(0.1, 1000)}) : std::nullopt;
    for (const auto& [shape, role] : all_shapes()) {
      const RewardBreakdown reward = reward_of(verdict, shape, given, role);
      for (const auto kind :
           {RewardTermKind::speed, RewardTermKind::improvement, RewardTermKind::efficiency, RewardTermKind::bandwidth})
        ASSERT_EQ(points(reward, kind), 0) << to_string(kind);
      ASSERT_EQ(reward.total, reward_of(slow, shape, given, role).total);
    }
  }
}

// What could not be checked is worth no more than what is wrong, and less than what is right: nobody gains by leaving
// what the judge can check.
TEST(RewardProperties, UnsupportedIsWorthNoMoreThanWrong) {
  Random random(29);
  for (int round = 0; round < 500; ++round) {
    Verdict right = random_verdict(random);
    right.status = VerdictStatus::correct;
    right.compiled = right.correct = true;
    for (CaseVerdict& one : right.cases) one.ok = true;
    Verdict wrong = right, unsupported = right, flagged = right, broken = right;
    wrong.status = VerdictStatus::wrong;
    unsupported.status = VerdictStatus::unsupported;
    broken.status = VerdictStatus::compile_error;
    broken.compiled = false;
    wrong.correct = unsupported.correct = broken.correct = false;
    wrong.cases.back().ok = false;
    flagged.flags.push_back("unchecked_path");
    for (const auto& [shape, role] : all_shapes()) {
      const double worth = reward_of(unsupported, shape, std::nullopt, role).total;
      ASSERT_LE(worth, reward_of(wrong, shape, std::nullopt, role).total);
      ASSERT_LE(worth, reward_of(right, shape, std::nullopt, role).total);
      ASSERT_EQ(worth, reward_of(flagged, shape, std::nullopt, role).total) << "correct, but not all was checked";
      ASSERT_GE(worth, 0);
      if (shape.gate) {
        ASSERT_EQ(worth, 0);
      }
      const RewardBreakdown reward = reward_of(unsupported, shape, std::nullopt, role);
      for (const RewardTerm& term : reward.terms) {
        if (term.kind != RewardTermKind::compile) {
          ASSERT_LE(term.points, 0) << to_string(term.kind);
        }
      }
    }
    for (const char* name : {"weighted", "final"}) {
      const RewardShape shape = shape_named(name);
      ASSERT_LT(reward_of(broken, shape).total, reward_of(unsupported, shape).total);
      ASSERT_LT(reward_of(unsupported, shape).total, reward_of(right, shape).total);
    }
  }
}

TEST(RewardProperties, NumbersThatAreNoneDoNotSpread) {
  const double nan = std::nan(""), infinite = INFINITY;
  for (const double bad : {nan, infinite, -infinite, -1.0, 0.0}) {
    Verdict verdict = right_verdict();
    verdict.time_us = verdict.speedup_naive = bad;
    verdict.resources[0].occupancy = bad;
    verdict.terms[0].us = bad;
    verdict.risk.score = bad;
    for (const auto& [shape, role] : all_shapes()) {
      const double total = reward_of(verdict, shape, GivenKernel{true, bad}, role).total;
      EXPECT_TRUE(std::isfinite(total) && total >= 0 && total < 2.1) << bad;
    }
  }
}

TEST(RewardShape, RefusesWhatCannotBe) {
  EXPECT_FALSE(reward_shape("gate").ok());
  RewardShape shape = shape_named("gated");
  shape.set_weight(RewardTermKind::occupancy, 0.2);
  EXPECT_TRUE(check_shape(shape).ok());
  shape.set_weight(RewardTermKind::occupancy, std::nan(""));
  EXPECT_FALSE(check_shape(shape).ok());
  shape = shape_named("gated");
  shape.target_speedup = 1;
  EXPECT_FALSE(check_shape(shape).ok());
  for (const RewardTermSpec& term : shape_named("hardware").terms)
    EXPECT_EQ(reward_term_from_string(to_string(term.kind)), term.kind);
}

}  // namespace
}  // namespace kw
