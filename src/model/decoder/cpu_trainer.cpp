#include "model/decoder/cpu_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "model/arithmetic/rows.h"
#include "model/decoder/base_weights.h"
#include "model/decoder/cpu_head.h"
#include "model/decoder/cpu_pass.h"
#include "model/decoder/shared_step.h"
#include "model/decoder/trainable_part.h"
#include "model/decoder/trainer_state.h"
#include "model/weights/huggingface_config.h"

namespace kw {
namespace {

class CpuTrainer final : public Trainer {
 public:
  CpuTrainer(ThreadTeam& team, BaseWeights base, std::vector<Adapter> adapters, const TrainingOptions& training,
             const OptimizerOptions& optimizer, std::uint64_t seed);

  Result<TokenScores> score(const PackedBatch& batch) override;
  Result<TokenScores> forward(const PackedBatch& batch) override;
  Result<void> backward(const ScoreGradients& gradients) override;
  void clear_gradients() override;
  Result<void> end_slot(std::int64_t slot) override;
  Result<StepReport> step(double learning_rate) override;
  std::int64_t weights_version() const override { return weights_version_; }
  Result<void> read_parameters(Parameters& into) override;
  Result<Adapter> read_adapter(std::int64_t index) override;
  Result<void> save_state(const std::string& folder) override;
  Result<void> restore_state(const std::string& folder) override;

 private:
  BatchLimits limits() const;
  PartOwner owner() const { return {rank_number(training_.ranks), rank_count(training_.ranks)}; }
  // Whether slots are added up: always with ranks.
  bool has_slots();
  std::vector<TrainablePart*> all_parts();
  std::int64_t first_learning_layer(const BatchPlan& plan) const;
  void add_embedding_gradient(const BatchPlan& plan, const float* dx, float* gradient);

  ThreadTeam& team_;
  TrainingOptions training_;
  OptimizerOptions optimizer_;
  BaseWeights base_;
  std::vector<Adapter> adapters_;
  std::vector<float> value_head_;  // (hidden) weights and a bias, or empty
  CpuBlocks blocks_;
  CpuHead head_;
  std::unique_ptr<TrainablePart> base_part_;  // null: frozen
  std::vector<std::unique_ptr<TrainablePart>> adapter_parts_;
  std::unique_ptr<TrainablePart> value_part_;
  CpuPass kept_, passing_;  // of forward() and of score()
  bool has_forward_ = false;
  FloatBuffer dx_, d_scored_;
  std::int64_t weights_version_ = 0;
  bool compared_ = false;  // with the other ranks' values
};

std::vector<float> initial_value_head(const TrainingOptions& training, std::int64_t hidden, std::uint64_t seed) {
  if (!training.value_head) return {};
  std::vector<float> values(static_cast<std::size_t>(hidden) + 1);
  Random random(seed, 0x76616c7565);
  for (std::int64_t i = 0; i < hidden; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(random.normal() * 0.02);
  return values;
}

// Weights decay only where they are matrices.
std::vector<TrainablePart::Range> matrices_of(const ParameterLayout& layout) {
  std::vector<TrainablePart::Range> ranges;
  for (const ParameterLayout::Place& place : layout.places) {
    if (place.tensor.shape.size() == 2) {
      ranges.push_back({place.offset, place.offset + element_count(place.tensor.shape).value()});
    }
  }
  return ranges;
}

CpuTrainer::CpuTrainer(ThreadTeam& team, BaseWeights base, std::vector<Adapter> adapters,
                       const TrainingOptions& training, const OptimizerOptions& optimizer, std::uint64_t seed)
    : team_(team),
      training_(training),
      optimizer_(optimizer),
      base_(std::move(base)),
      adapters_(std::move(adapters)),
      value_head_(initial_value_head(training, base_.description().hidden, seed)),
      blocks_(team_, base_, adapters_),
      head_(team_, base_, value_head_, training_) {
  if (training_.train_base) {
    base_part_ = std::make_unique<TrainablePart>(
        "base", base_.values(), matrices_of(base_.layout()), optimizer_.eight_bit,
        optimizer_.kind == OptimizerKind::muon ? linear_weights(base_.description(), base_.layout())
                                               : std::vector<MuonMatrix>{},
        owner());
  }
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    const auto size = static_cast<std::int64_t>(adapters_[i].values.size());
    adapter_parts_.push_back(std::make_unique<TrainablePart>(
        "adapter." + std::to_string(i) + "." + adapters_[i].name, adapters_[i].values,
        std::vector<TrainablePart::Range>{{0, size}}, optimizer_.eight_bit, std::vector<MuonMatrix>{}, owner()));
  }
  if (!value_head_.empty()) {
    value_part_ = std::make_unique<TrainablePart>("value_head", value_head_, std::vector<TrainablePart::Range>{},
                                                  optimizer_.eight_bit, std::vector<MuonMatrix>{}, owner());
  }
  const auto layers = static_cast<std::size_t>(base_.description().layers);
  kept_.streams.resize(layers);
  kept_.blocks.resize(training_.recompute ? 1 : layers);
  passing_.streams.resize(2);
  passing_.blocks.resize(1);
}

BatchLimits CpuTrainer::limits() const {
  const ModelDescription& model = base_.description();
  const std::int64_t usable = training_.usable_vocabulary > 0 ? training_.usable_vocabulary : model.vocabulary;
  return {model.vocabulary, usable, model.context, static_cast<std::int64_t>(adapters_.size())};
}

Result<TokenScores> CpuTrainer::score(const PackedBatch& batch) {
  KW_TRY_VOID(plan_batch(batch, limits(), passing_.plan));
  const BatchPlan& plan = passing_.plan;
  const std::int64_t floats = plan.rows() * base_.description().hidden;
  float* x = passing_.streams[0].reserve(floats);
  float* next = passing_.streams[1].reserve(floats);
  blocks_.prepare(plan);
  base_.embed(team_, plan.tokens, x);
  const std::int64_t layers = base_.description().layers;
  float* out = passing_.scored_stream.reserve(plan.scored() * base_.description().hidden);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    blocks_.run(plan, layer, x, passing_.blocks[0], layer + 1 < layers ? next : out);
    std::swap(x, next);
  }
  TokenScores scores;
  head_.score(passing_, false, scores);
  return scores;
}

Result<TokenScores> CpuTrainer::forward(const PackedBatch& batch) {
  has_forward_ = false;
  KW_TRY_VOID(plan_batch(batch, limits(), kept_.plan));
  const BatchPlan& plan = kept_.plan;
  const std::int64_t floats = plan.rows() * base_.description().hidden;
  blocks_.prepare(plan);
  base_.embed(team_, plan.tokens, kept_.streams[0].reserve(floats));
  const auto layers = static_cast<std::size_t>(base_.description().layers);
  float* scored = kept_.scored_stream.reserve(plan.scored() * base_.description().hidden);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    float* out = layer + 1 < layers ? kept_.streams[layer + 1].reserve(floats) : scored;
    blocks_.run(plan, static_cast<std::int64_t>(layer), kept_.streams[layer].data(),
                kept_.blocks[training_.recompute ? 0 : layer], out);
  }
  TokenScores scores;
  head_.score(kept_, true, scores);
  has_forward_ = true;
  return scores;
}

std::int64_t CpuTrainer::first_learning_layer(const BatchPlan& plan) const {
  const std::int64_t layers = base_.description().layers;
  if (base_part_) return 0;
  std::int64_t first = layers;
  for (const BatchPlan::Run& run : plan.runs) {
    const auto& places = adapters_[static_cast<std::size_t>(run.adapter)].layout.layers;
    for (std::int64_t layer = 0; layer < first; ++layer) {
      if (std::ranges::any_of(places[static_cast<std::size_t>(layer)],
                              [](const auto& place) { return place.a >= 0; })) {
        first = layer;
      }
    }
  }
  return first;
}

Result<void> CpuTrainer::backward(const ScoreGradients& gradients) {
  if (!has_forward_) return Error{"backward() needs a forward() before it", "", {}};
  const BatchPlan& plan = kept_.plan;
  const auto count = static_cast<std::size_t>(plan.scored());
  const auto fits = [&](const std::vector<float>& values, bool may_be_empty) {
    return values.size() == count || (may_be_empty && values.empty());
  };
  if (!fits(gradients.log_prob, false) || !fits(gradients.entropy, true) || !fits(gradients.value, true)) {
    return Error{"there is not one gradient for each of the " + std::to_string(count) + " scored tokens", "", {}};
  }
  if (!gradients.value.empty() && value_head_.empty()) return Error{"this trainer has no value head", "", {}};
  has_forward_ = false;

  CpuGradients into;
  into.first_layer = first_learning_layer(plan);
  if (base_part_) {
    into.base = base_part_->gradient().data();
    base_part_->used = true;
  }
  for (const auto& part : adapter_parts_) into.adapters.push_back(part->gradient().data());
  for (const BatchPlan::Run& run : plan.runs) adapter_parts_[static_cast<std::size_t>(run.adapter)]->used = true;
  if (value_part_ && !gradients.value.empty()) value_part_->used = true;

  const ModelDescription& model = base_.description();
  const bool goes_below_head = into.first_layer < model.layers;
  float* d_scored = goes_below_head ? d_scored_.reserve(plan.scored() * model.hidden) : nullptr;
  head_.gradient(kept_, gradients, d_scored, into.base, value_part_ ? value_part_->gradient().data() : nullptr);
  if (!goes_below_head || plan.scored() == 0) return {};
  float* dx = dx_.reserve(plan.rows() * model.hidden);
  // score() may have run since: its pages are of no use to a block that is computed again.
  if (training_.recompute) blocks_.prepare(plan);
  for (std::int64_t layer = model.layers - 1; layer >= into.first_layer; --layer) {
    const auto at = static_cast<std::size_t>(layer);
    BlockActivations& block = kept_.blocks[training_.recompute ? 0 : at];
    if (training_.recompute) blocks_.run(plan, layer, kept_.streams[at].data(), block, nullptr);
    float* d_out = layer + 1 < model.layers ? dx : d_scored;
    blocks_.run_gradient(plan, layer, kept_.streams[at].data(), block, d_out, dx, into);
  }
  if (base_part_) add_embedding_gradient(plan, dx, into.base + base_.layout().embedding);
  return {};
}

void CpuTrainer::add_embedding_gradient(const BatchPlan& plan, const float* dx, float* gradient) {
  // Each part owns some columns and adds rows in order: the sum does not depend on who does it.
  constexpr std::int64_t columns_in_part = 64;
  const std::int64_t hidden = base_.description().hidden;
  team_.run((hidden + columns_in_part - 1) / columns_in_part, [&](std::int64_t part) {
    const std::int64_t begin = part * columns_in_part;
    const std::int64_t end = std::min(hidden, begin + columns_in_part);
    for (std::int64_t row = 0; row < plan.rows(); ++row) {
      float* to = gradient + plan.tokens[static_cast<std::size_t>(row)] * hidden;
      const float* from = dx + row * hidden;
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  });
}

std::vector<TrainablePart*> CpuTrainer::all_parts() {
  std::vector<TrainablePart*> parts;
  if (base_part_) parts.push_back(base_part_.get());
  for (const auto& part : adapter_parts_) parts.push_back(part.get());
  if (value_part_) parts.push_back(value_part_.get());
  return parts;
}

void CpuTrainer::clear_gradients() {
  for (TrainablePart* part : all_parts()) part->clear_gradient(team_);
}

Result<void> CpuTrainer::end_slot(std::int64_t slot) {
  for (TrainablePart* part : all_parts()) part->end_slot(team_, slot);
  return {};
}

bool CpuTrainer::has_slots() {
  return rank_count(training_.ranks) > 1 || !all_parts().front()->slot_gradients().empty();
}

Result<StepReport> CpuTrainer::step(double learning_rate) {
  StepReport report;
  report.learning_rate = learning_rate;
  const std::vector<TrainablePart*> parts = all_parts();
  const bool slots = has_slots();
  if (slots) KW_TRY_VOID(reduce_gradients(training_.ranks, parts, !compared_));
  compared_ = true;
  double squares = 0;
  for (TrainablePart* part : parts) {
    if (!part->used) continue;
    if (slots) {
      KW_TRY(const double of_part, gradient_squares(team_, training_.ranks, *part));
      squares += of_part;
    } else {
      squares += sum_of_squares(team_, part->gradient());
    }
  }
  report.gradient_norm = std::sqrt(squares);
  report.skipped = !std::isfinite(report.gradient_norm);
  if (!report.skipped) {
    AdamWStep step;
    step.learning_rate = static_cast<float>(learning_rate);
    step.beta1 = static_cast<float>(optimizer_.beta1);
    step.beta2 = static_cast<float>(optimizer_.beta2);
    step.epsilon = static_cast<float>(optimizer_.epsilon);
    step.weight_decay = static_cast<float>(optimizer_.weight_decay);
    // torch.nn.utils.clip_grad_norm_'s formula
    if (optimizer_.clip_norm > 0) {
      step.gradient_scale = static_cast<float>(std::min(1.0, optimizer_.clip_norm / (report.gradient_norm + 1e-6)));
    }
    const MuonStep muon_step{.learning_rate = static_cast<float>(learning_rate * optimizer_.muon.rate_scale),
                             .momentum = static_cast<float>(optimizer_.muon.momentum),
                             .nesterov = optimizer_.muon.nesterov,
                             .iterations = optimizer_.muon.iterations,
                             .weight_decay = step.weight_decay,
                             .gradient_scale = step.gradient_scale};
    for (TrainablePart* part : parts) {
      if (part->used) part->move(team_, step, muon_step);
    }
    if (training_.ranks != nullptr) KW_TRY_VOID(gather_values(*training_.ranks, parts));
    ++weights_version_;
    has_forward_ = false;  // its activations are those of other weights
  }
  clear_gradients();
  return report;
}

Result<void> CpuTrainer::read_parameters(Parameters& into) {
  if (into.description != base_.description()) {
    into.description = base_.description();
    into.layout = base_.layout();
  }
  if (base_.is_flat() && into.values.size() == base_.values().size()) {
    std::ranges::copy(base_.values(), into.values.begin());
  } else {
    into.values = base_.copy_values();
  }
  return {};
}

Result<Adapter> CpuTrainer::read_adapter(std::int64_t index) {
  if (index < 0 || index >= static_cast<std::int64_t>(adapters_.size())) {
    return Error{"there is no adapter " + std::to_string(index), "", {}};
  }
  return adapters_[static_cast<std::size_t>(index)];
}

Result<void> CpuTrainer::save_state(const std::string& folder) {
  return save_trainer_state(folder, {weights_version_, to_huggingface_config(base_.description())}, all_parts(),
                            training_.ranks);
}

Result<void> CpuTrainer::restore_state(const std::string& folder) {
  KW_TRY(const TrainerState state, restore_trainer_state(folder, to_huggingface_config(base_.description()),
                                                         all_parts(), rank_number(training_.ranks)));
  weights_version_ = state.weights_version;
  has_forward_ = compared_ = false;
  return {};
}

Result<void> check_adapters(const ModelDescription& model, const std::vector<Adapter>& adapters) {
  for (const Adapter& adapter : adapters) {
    const bool fits = static_cast<std::int64_t>(adapter.layout.layers.size()) == model.layers &&
                      static_cast<std::int64_t>(adapter.values.size()) == adapter.layout.size;
    if (!fits) return Error{"the adapter '" + adapter.name + "' is not made for this model", "", {}};
    for (const auto& layer : adapter.layout.layers) {
      for (int p = 0; p < projection_count; ++p) {
        const auto& place = layer[static_cast<std::size_t>(p)];
        const ProjectionShape shape = projection_shape(model, static_cast<Projection>(p));
        if (place.a >= 0 && (place.a + adapter.layout.rank * shape.in > adapter.layout.size || place.b < 0 ||
                             place.b + adapter.layout.rank * shape.out > adapter.layout.size)) {
          return Error{"the adapter '" + adapter.name + "' is not made for this model", "", {}};
        }
      }
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Trainer>> make_cpu_trainer(ThreadTeam& team, Parameters parameters,
                                                  std::vector<Adapter> adapters, const TrainingOptions& training,
                                                  const OptimizerOptions& optimizer, std::uint64_t seed) {
  KW_TRY_VOID(check_optimizer(optimizer));
  KW_TRY_VOID(check_adapters(parameters.description, adapters));
  return std::unique_ptr<Trainer>(std::make_unique<CpuTrainer>(team, BaseWeights(std::move(parameters)),
                                                               std::move(adapters), training, optimizer, seed));
}

Result<std::unique_ptr<Trainer>> make_cpu_trainer(ThreadTeam& team, const ModelFiles& files,
                                                  std::vector<Adapter> adapters, const TrainingOptions& training,
                                                  const OptimizerOptions& optimizer, std::uint64_t seed) {
  if (training.train_base) return Error{"a base that stays as the file has it cannot be trained", "train adapters", {}};
  KW_TRY_VOID(check_optimizer(optimizer));
  KW_TRY_VOID(check_adapters(files.description(), adapters));
  KW_TRY(BaseWeights base, BaseWeights::frozen(files));
  return std::unique_ptr<Trainer>(
      std::make_unique<CpuTrainer>(team, std::move(base), std::move(adapters), training, optimizer, seed));
}

}  // namespace kw
