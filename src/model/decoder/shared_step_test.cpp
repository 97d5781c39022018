// Ranks that share a step end with the bits of one process; each has its share of the optimizer's state.

#include "model/decoder/shared_step.h"

#include "model/decoder/trainer_case.h"
#include "model/distributed/ranks_for_tests.h"

namespace kw {
namespace {

constexpr std::int64_t slots = 8;

struct Case {
  const char* name;
  bool train_base = true;
  OptimizerOptions optimizer = {};
  bool value_head = false;
};

std::vector<Case> cases() {
  Case adamw{"adamw"}, muon{"muon"}, eight{"eight bits"}, lora{"adapters"}, critic{"critic"};
  adamw.optimizer.weight_decay = 0.01;
  muon.optimizer.kind = OptimizerKind::muon;
  muon.optimizer.weight_decay = 0.01;
  eight.optimizer.eight_bit = true;
  lora.train_base = false;
  critic.value_head = true;
  return {adamw, muon, eight, lora, critic};
}

// Several pieces: a model of the other tests would be one rank's.
ModelDescription wider_description() {
  ModelDescription model = small_description();
  model.hidden = 64;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.intermediate = 96;
  model.vocabulary = 700;
  return model;
}

struct TestTrainer {
  ThreadTeam team{1};
  std::unique_ptr<Trainer> trainer;

  TestTrainer(const Case& each, Communicator* ranks) {
    const ModelDescription model = wider_description();
    std::vector<Adapter> adapters;
    for (const char* role : {"generator", "optimizer"})
      adapters.push_back(lively_adapter(model, role, 8, all_projections, adapters.size() + 3));
    TrainingOptions training;
    training.train_base = each.train_base;
    training.value_head = each.value_head;
    training.ranks = ranks;
    auto made = make_cpu_trainer(team, lively_parameters(team, model, 4), adapters, training, each.optimizer, 9);
    EXPECT_TRUE(made.ok()) << to_string(made.error());
    trainer = std::move(made).value();
  }

  // One pass for each slot; the second adapter is used in some slots only, and one slot is empty.
  Result<StepReport> step(const Case& each, Communicator* ranks, std::uint64_t number) {
    const ShareRange own = own_slots(slots, ranks);
    for (std::int64_t slot = own.begin; slot < own.end; ++slot) {
      if (slot != 5) {
        PackedBatch batch = random_batch(wider_description(), {9, 14}, number * 100 + static_cast<std::uint64_t>(slot));
        batch.adapter = {0, slot % 3 == 1 ? 1 : -1};
        KW_TRY(const TokenScores scores, trainer->forward(batch));
        ScoreGradients gradients;
        gradients.log_prob.assign(scores.log_prob.size(), -0.01f);
        if (each.value_head) gradients.value.assign(scores.log_prob.size(), 0.02f);
        KW_TRY_VOID(trainer->backward(gradients));
      }
      KW_TRY_VOID(trainer->end_slot(slot));
    }
    return trainer->step(1e-2);
  }

  std::vector<float> values() {
    Parameters parameters(wider_description());
    EXPECT_TRUE(trainer->read_parameters(parameters).ok());
    for (const std::int64_t index : {0, 1}) {
      const Adapter adapter = trainer->read_adapter(index).value();
      parameters.values.insert(parameters.values.end(), adapter.values.begin(), adapter.values.end());
    }
    return parameters.values;
  }
};

struct Ended {
  std::vector<float> values;
  std::vector<double> norms;
};

Ended alone(const Case& each, int steps) {
  TestTrainer test(each, nullptr);
  Ended ended;
  for (int i = 0; i < steps; ++i) {
    const auto report = test.step(each, nullptr, static_cast<std::uint64_t>(i));
    EXPECT_TRUE(report.ok()) << to_string(report.error());
    EXPECT_FALSE(report->skipped);
    ended.norms.push_back(report->gradient_norm);
  }
  ended.values = test.values();
  return ended;
}

TEST(SharedStep, AnyNumberOfRanksEndsWithTheSameBits) {
  for (const Case& each : cases()) {
    const Ended expected = alone(each, 4);
    EXPECT_NE(expected.values, alone(each, 3).values);
    for (const int size : {1, 2, 3, 4, 8}) {
      with_ranks(size, [&](Communicator& ranks) {
        TestTrainer test(each, &ranks);
        for (int i = 0; i < 4; ++i) {
          const auto report = test.step(each, &ranks, static_cast<std::uint64_t>(i));
          ASSERT_TRUE(report.ok()) << each.name << ": " << to_string(report.error());
          EXPECT_EQ(report->gradient_norm, expected.norms[static_cast<std::size_t>(i)]);
        }
        EXPECT_TRUE(test.values() == expected.values) << each.name << ", " << size << " ranks, rank " << ranks.rank();
      });
    }
  }
}

// Saved by two ranks, gone on with by three, then by one.
TEST(SharedStep, AStateIsReadByAnyNumberOfRanks) {
  for (const Case& each : cases()) {
    const Ended expected = alone(each, 6);
    const TemporaryFolder folder;
    std::uint64_t done = 0;
    for (const int size : {2, 3, 1}) {
      with_ranks(size, [&](Communicator& ranks) {
        TestTrainer test(each, &ranks);
        if (done > 0) {
          const auto restored = test.trainer->restore_state(folder.path() / "state");
          ASSERT_TRUE(restored.ok()) << each.name << ": " << to_string(restored.error());
        }
        for (std::uint64_t i = done; i < done + 2; ++i) ASSERT_TRUE(test.step(each, &ranks, i).ok());
        const auto saved = test.trainer->save_state(folder.path() / "state");
        ASSERT_TRUE(saved.ok()) << to_string(saved.error());
        EXPECT_EQ(test.values() == expected.values, done == 4) << each.name << ", " << size;
        ASSERT_TRUE(ranks.barrier().ok());
      });
      done += 2;
    }
  }
}

TEST(SharedStep, OtherWeightsAreFoundAndNamed) {
  with_ranks(2, [&](Communicator& ranks) {
    const Case each = cases().front();
    TestTrainer test(each, &ranks);
    if (ranks.rank() == 1) {
      const TemporaryFolder folder;
      TestTrainer further(each, nullptr);
      ASSERT_TRUE(further.step(each, nullptr, 7).ok());
      ASSERT_TRUE(further.trainer->save_state(folder.path()).ok());
      ASSERT_TRUE(test.trainer->restore_state(folder.path()).ok());
    }
    const auto report = test.step(each, &ranks, 0);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("has other weights"), std::string::npos) << report.error().message;
  });
}

TEST(SharedStep, RanksThatDoNotHaveAllSlotsAreRefused) {
  with_ranks(2, [&](Communicator& ranks) {
    const Case each = cases().front();
    TestTrainer test(each, &ranks);
    ASSERT_TRUE(test.trainer->end_slot(0).ok());  // both say so
    const auto report = test.trainer->step(1e-2);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("each slot"), std::string::npos) << report.error().message;
  });
}

// Every moment is on one rank, none has more than its share and a piece.
TEST(SharedStep, MomentsAreShared) {
  const ModelDescription model = wider_description();
  const ParameterLayout layout(model);
  std::vector<float> values(static_cast<std::size_t>(layout.size));
  for (const bool muon : {false, true}) {
    const auto matrices = muon ? linear_weights(model, layout) : std::vector<MuonMatrix>{};
    const std::int64_t all = TrainablePart("p", values, {}, false, matrices).moment_bytes();
    EXPECT_EQ(all, layout.size * 8);
    for (const int size : {2, 3, 4, 16}) {
      std::int64_t sum = 0;
      for (int rank = 0; rank < size; ++rank) {
        TrainablePart part("p", values, {}, false, matrices, {rank, size});
        EXPECT_LE(part.moment_bytes(), all / size + 16384 * 8) << size << " " << rank;
        sum += part.moment_bytes();
      }
      EXPECT_EQ(sum, all);
    }
  }
}

}  // namespace
}  // namespace kw
