#include "model/decoder/trainer_state.h"

#include <gtest/gtest.h>

#include <fstream>

#include "model/decoder/trainer_case.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::vector<OptimizerOptions> optimizers() {
  return {{.weight_decay = 0.01},
          {.weight_decay = 0.01, .eight_bit = true},
          {.weight_decay = 0.01, .kind = OptimizerKind::muon}};
}

class TrainerStateTest : public testing::TestWithParam<OptimizerOptions> {
 protected:
  std::unique_ptr<Trainer> make(std::int64_t rank = 2, bool value_head = true) {
    return trainer_of(team_, parameters_, {lively_adapter(description_, "a", rank, all_projections, 2)},
                      {.value_head = value_head}, GetParam());
  }
  void learn(Trainer& trainer, std::uint64_t seed, bool step = true) {
    PackedBatch batch = random_batch(description_, {12, 20}, seed);
    batch.adapter = {0, -1};
    const std::size_t count = trainer.forward(batch).value().log_prob.size();
    ASSERT_TRUE(trainer.backward(random_gradients(count, true, true, seed)).ok());
    if (step) {
      ASSERT_TRUE(trainer.step(1e-2).ok());
    }
  }
  std::string path() const { return folder_.path().string(); }
  fs::path tensors() const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".safetensors") return entry.path();
    }
    return {};
  }

  ThreadTeam team_{2};
  ModelDescription description_ = small_description();
  Parameters parameters_ = lively_parameters(team_, description_, 1);
  TemporaryFolder folder_;
};

TEST_P(TrainerStateTest, ContinuesBitForBit) {
  auto first = make();
  learn(*first, 1);
  learn(*first, 2);
  learn(*first, 3, false);  // a gradient that waits for more is part of the state
  ASSERT_TRUE(first->save_state(path()).ok());
  auto second = make();
  learn(*second, 77);
  ASSERT_TRUE(second->restore_state(path()).ok());
  EXPECT_EQ(second->weights_version(), 2);
  for (Trainer* trainer : {first.get(), second.get()}) {
    learn(*trainer, 4);
    learn(*trainer, 5);
  }
  for (const char* name : {"base.values", "adapter.0.a.values", "value_head.values"}) {
    EXPECT_TRUE(same_bits(saved_array(*first, name), saved_array(*second, name))) << name;
  }
}

TEST_P(TrainerStateTest, SavingAgainLeavesOneState) {
  auto trainer = make();
  learn(*trainer, 1);
  ASSERT_TRUE(trainer->save_state(path()).ok());
  ASSERT_TRUE(trainer->save_state(path()).ok());
  learn(*trainer, 2);
  ASSERT_TRUE(trainer->save_state(path()).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 2);
  EXPECT_TRUE(make()->restore_state(path()).ok());
}

TEST_P(TrainerStateTest, OtherTrainersAreRefused) {
  auto trainer = make();
  learn(*trainer, 1);
  ASSERT_TRUE(trainer->save_state(path()).ok());
  EXPECT_FALSE(make(3)->restore_state(path()).ok());
  EXPECT_FALSE(make(2, false)->restore_state(path()).ok());
  ModelDescription deeper = description_;
  deeper.layers = 3;
  EXPECT_FALSE(trainer_of(team_, lively_parameters(team_, deeper, 1))->restore_state(path()).ok());
  for (const OptimizerOptions& other : optimizers()) {
    const bool same = other.kind == GetParam().kind && other.eight_bit == GetParam().eight_bit;
    auto reader = trainer_of(team_, parameters_, {lively_adapter(description_, "a", 2, all_projections, 2)},
                             {.value_head = true}, other);
    EXPECT_EQ(reader->restore_state(path()).ok(), same);
  }
  EXPECT_FALSE(trainer->restore_state(path() + "/none").ok());
}

// Any damaged byte is an error, and the trainer stays as it was.
TEST_P(TrainerStateTest, DamagedFilesAreRefused) {
  auto trainer = make();
  learn(*trainer, 1);
  ASSERT_TRUE(trainer->save_state(path()).ok());
  const std::string good_tensors = read_file(tensors()).value();
  const std::string good_text = read_file(folder_.path() / "state.json").value();
  auto victim = make();
  const std::vector<float> before = saved_array(*victim, "base.values");
  const auto write = [](const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  };
  Random random(3);
  const auto last = static_cast<std::int64_t>(good_tensors.size()) - 1;
  for (int i = 0; i < 60; ++i) {
    std::string bad = good_tensors;
    const auto at = static_cast<std::size_t>(random.integer(0, i < 30 ? 2000 : last));
    bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1 << random.integer(0, 7)));
    write(tensors(), bad);
    EXPECT_FALSE(victim->restore_state(path()).ok());
    write(tensors(), good_tensors.substr(0, at));
    EXPECT_FALSE(victim->restore_state(path()).ok());
  }
  write(tensors(), good_tensors);
  for (std::size_t length = 0; length + 2 < good_text.size(); length += 7) {
    write(folder_.path() / "state.json", good_text.substr(0, length));
    EXPECT_FALSE(victim->restore_state(path()).ok());
  }
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"\"format\": 1", "\"format\": 2"},
                                 {"\"tensors\": \"state-", "\"tensors\": \"../state-"},
                                 {"\"tensors\"", "\"tensor\""},
                                 {"\"weights_version\": 1", "\"weights_version\": -1"},
                                 {"\"steps\": 1", "\"steps\": \"1\""},
                                 {"\"value_head\"", "\"value_hand\""}}) {
    std::string bad = good_text;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    bad.replace(bad.find(from), from.size(), to);
    write(folder_.path() / "state.json", bad);
    EXPECT_FALSE(victim->restore_state(path()).ok()) << to;
  }
  EXPECT_TRUE(same_bits(before, saved_array(*victim, "base.values")));
  EXPECT_EQ(victim->weights_version(), 0);
  write(folder_.path() / "state.json", good_text);
  EXPECT_TRUE(victim->restore_state(path()).ok());
}

INSTANTIATE_TEST_SUITE_P(Optimizers, TrainerStateTest, testing::ValuesIn(optimizers()), [](const auto& test) {
  return std::string(to_string(test.param.kind)) + (test.param.eight_bit ? "Eight" : "ThirtyTwo");
});

}  // namespace
}  // namespace kw
