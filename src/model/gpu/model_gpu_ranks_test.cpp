// Ranks that share a trainer of the GPU's, against one that is alone. The code of the GPU runs on CPU tensors, NCCL is
// emulated; ModelOnGpu does it on the device, where there is one (ranks of one process cannot share it: a single one).

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "model/distributed/nccl_for_tests.h"
#include "model/distributed/ranks_for_tests.h"
#include "model/distributed/slots.h"
#include "model/gpu/model_for_tests.h"
#include "model/gpu/model_gpu.h"

namespace kw {
namespace {

constexpr std::int64_t slots = 4;

struct RankCase {
  bool base = true, adapters = false, value_head = false;
  OptimizerKind optimizer = OptimizerKind::adamw;
  GpuPrecision precision = GpuPrecision::float32;
  bool recompute = false;
  bool packed = false;  // the base in NF4, which is none that is trained
};

struct Lesson {
  ModelDescription model = small_description(true);
  Parameters parameters = random_parameters(model, 1);
  std::vector<Adapter> adapters;
  std::vector<PackedBatch> batches;  // of each slot
};

Lesson lesson_of(const RankCase& which) {
  Lesson lesson;
  if (which.adapters) lesson.adapters = random_adapters(lesson.model, 1);
  for (int slot = 0; slot < slots; ++slot) {
    lesson.batches.push_back(random_batch(lesson.model, which.adapters, {11 + slot, 5, 20 - slot, 9}));
    // One of the adapters is some ranks' alone.
    if (which.adapters && slot > 0) lesson.batches.back().adapter = {0, 0, 0, 0};
  }
  return lesson;
}

GpuOptions device(const RankCase& which) {
  GpuOptions options;
  options.precision = which.precision;
  options.on_cpu = true;
  options.bucket_bytes = 100'000;  // several
  return options;
}

std::unique_ptr<Trainer> trainer_for(const RankCase& which, const Lesson& lesson, Communicator* ranks) {
  TrainingOptions training;
  training.train_base = which.base;
  training.value_head = which.value_head;
  training.recompute = which.recompute;
  training.ranks = ranks;
  OptimizerOptions optimizer;
  optimizer.kind = which.optimizer;
  optimizer.weight_decay = 0.1;
  const auto make = [&](const auto& base) {
    return make_gpu_trainer(base, lesson.adapters, training, optimizer, device(which), 9);
  };
  ThreadTeam one(1);  // ranks are threads here
  auto made = which.packed ? make(quantise_base(one, lesson.parameters)) : make(lesson.parameters);
  EXPECT_TRUE(made.ok()) << to_string(made.error());
  return std::move(made).value();
}

// This rank's slots of a step.
double take_step(Trainer& trainer, const RankCase& which, const Lesson& lesson, Communicator* ranks, bool early) {
  const ShareRange own = own_slots(slots, ranks);
  for (std::int64_t slot = own.begin; slot < own.end; ++slot) {
    const auto scores = trainer.forward(lesson.batches[static_cast<std::size_t>(slot)]);
    EXPECT_TRUE(scores.ok());
    ScoreGradients gradients;
    gradients.log_prob.assign(scores->log_prob.size(), -0.02f);
    if (which.value_head) gradients.value.assign(scores->log_prob.size(), 0.01f * static_cast<float>(slot));
    if (early && slot + 1 == own.end) trainer.last_backward_follows();
    EXPECT_TRUE(trainer.backward(gradients).ok());
    EXPECT_TRUE(trainer.end_slot(slot).ok());
  }
  const auto moved = trainer.step(1e-2);
  EXPECT_TRUE(moved.ok()) << to_string(moved.error());
  return moved.ok() ? moved->gradient_norm : 0;
}

struct Ended {
  std::vector<float> values;  // base and adapters, float32, as a single process reads them
  std::vector<double> norms;
};

// `size` 0: without ranks. `from`: a state to begin with; `into`: where it is left.
Ended train(const RankCase& which, int size, int steps, bool early, const std::string& into,
            const std::string& from = "") {
  const EmulatedNccl emulated;
  const Lesson lesson = lesson_of(which);
  Ended ended;
  const auto learn = [&](Communicator* ranks) {
    const auto trainer = trainer_for(which, lesson, ranks);
    if (!from.empty()) {
      const auto restored = trainer->restore_state(from);
      ASSERT_TRUE(restored.ok()) << to_string(restored.error());
    }
    for (int step = 0; step < steps; ++step) {
      const double norm = take_step(*trainer, which, lesson, ranks, early);
      if (is_first(ranks)) ended.norms.push_back(norm);
    }
    const auto saved = trainer->save_state(into);
    EXPECT_TRUE(saved.ok()) << to_string(saved.error());
  };
  if (size == 0) {
    learn(nullptr);
  } else {
    with_ranks(size, [&](Communicator& ranks) { learn(&ranks); });
  }
  const auto reader = trainer_for(which, lesson, nullptr);
  const auto restored = reader->restore_state(into);
  EXPECT_TRUE(restored.ok()) << to_string(restored.error());
  Parameters parameters(lesson.model);
  EXPECT_TRUE(reader->read_parameters(parameters).ok());
  ended.values = parameters.values;
  for (std::size_t i = 0; i < lesson.adapters.size(); ++i) {
    const auto values = reader->read_adapter(static_cast<std::int64_t>(i)).value().values;
    ended.values.insert(ended.values.end(), values.begin(), values.end());
  }
  return ended;
}

// How far apart two ends are, in lengths of the way there.
double apart(const std::vector<float>& found, const std::vector<float>& wanted, const std::vector<float>& start) {
  EXPECT_EQ(found.size(), wanted.size());
  double difference = 0, way = 1e-20;
  for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    difference += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted[i]), 2);
    way += std::pow(static_cast<double>(wanted[i]) - static_cast<double>(start[i]), 2);
  }
  return std::sqrt(difference / way);
}

void ranks_end_like_one(const RankCase& which, double bound) {
  const TemporaryFolder at_start, alone, shared;
  const auto path = [](const TemporaryFolder& folder) { return folder.path().string(); };
  const Ended start = train(which, 0, 0, false, path(at_start));
  const Ended wanted = train(which, 0, 3, false, path(alone));
  for (const int size : {1, 2, 3}) {
    const Ended found = train(which, size, 3, true, path(shared));
    EXPECT_LT(apart(found.values, wanted.values, start.values), bound) << size << " ranks";
    for (std::size_t step = 0; step < wanted.norms.size(); ++step)
      EXPECT_NEAR(found.norms[step], wanted.norms[step], bound * wanted.norms[step]) << size << " ranks";
  }
}

TEST(ModelGpuRanks, EndLikeOneInFloat32) {
  ranks_end_like_one({}, 1e-4);
  ranks_end_like_one({.base = true, .adapters = true, .value_head = true, .recompute = true}, 1e-4);
  ranks_end_like_one({.base = false, .adapters = true, .value_head = true}, 1e-4);
  ranks_end_like_one({.optimizer = OptimizerKind::muon}, 2e-3);
}

TEST(ModelGpuRanks, EndLikeOneInBf16) {
  ranks_end_like_one({.precision = GpuPrecision::bf16}, 2e-2);
  ranks_end_like_one({.base = false, .adapters = true, .precision = GpuPrecision::bf16}, 2e-2);
}

TEST(ModelGpuRanks, EndLikeOneOnAPackedBase) {
  ranks_end_like_one({.base = false, .adapters = true, .value_head = true, .packed = true}, 1e-4);
  ranks_end_like_one(
      {.base = false, .adapters = true, .precision = GpuPrecision::bf16, .recompute = true, .packed = true}, 2e-2);
}

TEST(ModelGpuRanks, MomentsOf8BitsAreRefused) {
  const EmulatedNccl emulated;
  const Lesson lesson = lesson_of({.adapters = true});
  with_ranks(1, [&](Communicator& ranks) {
    TrainingOptions training;
    training.train_base = false;
    training.ranks = &ranks;
    OptimizerOptions optimizer;
    optimizer.eight_bit = true;
    const auto made = make_gpu_trainer(lesson.parameters, lesson.adapters, training, optimizer, device({}), 9);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(to_string(made.error()).find("32 bits"), std::string::npos) << to_string(made.error());
  });
}

// When gradients are sent changes nothing about them.
TEST(ModelGpuRanks, EarlyIsLikeLate) {
  const TemporaryFolder early, late;
  const RankCase which{.base = true, .adapters = true};
  EXPECT_TRUE(train(which, 2, 3, true, early.path().string()).values ==
              train(which, 2, 3, false, late.path().string()).values);
}

TEST(ModelGpuRanks, AStateIsReadByAnyNumber) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::muon}) {
    const RankCase which{.base = true, .adapters = true, .value_head = true, .optimizer = kind};
    const TemporaryFolder begun, ended, undisturbed, at_start;
    const Ended start = train(which, 0, 0, false, at_start.path().string());
    const Ended wanted = train(which, 2, 4, true, undisturbed.path().string());
    train(which, 3, 2, true, begun.path().string());
    for (const int size : {0, 2, 4}) {
      const Ended found = train(which, size, 2, true, ended.path().string(), begun.path().string());
      EXPECT_LT(apart(found.values, wanted.values, start.values), 2e-3) << size << " ranks";
    }
  }
}

TEST(ModelGpuRanks, WhoBeginsWithOtherWeightsIsNamed) {
  const EmulatedNccl emulated;
  const Lesson lesson = lesson_of({});
  with_ranks(3, [&](Communicator& ranks) {
    Lesson mine = lesson;
    if (ranks.rank() == 2) mine.parameters.values[5] += 1;
    const auto trainer = trainer_for({}, mine, &ranks);
    const auto moved = trainer->step(1e-3);
    ASSERT_FALSE(moved.ok());
    if (ranks.rank() < 2) {
      EXPECT_NE(moved.error().message.find("rank 2 has other weights"), std::string::npos) << moved.error().message;
    }
  });
}

TEST(ModelGpuRanks, NothingComesAfterTheLastBackward) {
  const EmulatedNccl emulated;
  const RankCase which;
  const Lesson lesson = lesson_of(which);
  with_ranks(2, [&](Communicator& ranks) {
    const auto trainer = trainer_for(which, lesson, &ranks);
    take_step(*trainer, which, lesson, &ranks, false);
    const auto backward = [&] {
      const auto scores = trainer->forward(lesson.batches[0]).value();
      ScoreGradients gradients;
      gradients.log_prob.assign(scores.log_prob.size(), -0.02f);
      return trainer->backward(gradients);
    };
    trainer->last_backward_follows();
    EXPECT_TRUE(backward().ok());
    EXPECT_FALSE(backward().ok());
    EXPECT_TRUE(ranks.barrier().ok()) << "whoever goes first would end the others' sums";
  });
}

TEST(ModelGpuRanks, WhoHasGoneIsNamedInAStep) {
  const EmulatedNccl emulated;
  const RankCase which;
  const Lesson lesson = lesson_of(which);
  with_ranks(2, [&](Communicator& ranks) {
    const auto trainer = trainer_for(which, lesson, &ranks);
    take_step(*trainer, which, lesson, &ranks, true);
    if (ranks.rank() == 1) return ranks.fail({"its machine is on fire", "", {}});
    const auto scores = trainer->forward(lesson.batches[0]).value();
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), -0.02f);
    trainer->last_backward_follows();
    const auto passed = trainer->backward(gradients);
    const auto moved = passed.ok() ? Result<void>(trainer->step(1e-3).error()) : passed;
    ASSERT_FALSE(moved.ok());
    EXPECT_NE(moved.error().message.find("rank 1 has failed: its machine is on fire"), std::string::npos)
        << moved.error().message;
  });
}

}  // namespace
}  // namespace kw
