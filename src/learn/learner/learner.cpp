#include "learn/learner/learner.h"

#include <fmt/format.h>

#include "agents/episode/agent_files.h"
#include "base/parallel_for.h"
#include "base/unfinished_files.h"
#include "model/arithmetic/cpu_roof.h"
#include "model/arithmetic/half_of_cores.h"
#include "model/decoder/adapter.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/nf4_base.h"
#include "model/decoder/presets.h"
#include "model/distributed/communicator.h"
#include "model/gpu/model_gpu.h"
#include "model/rollout/cpu_decoder.h"
#include "model/weights/lora_adapter.h"

namespace kw {
namespace {

const std::vector<Projection> all_projections{Projection::q,    Projection::k,  Projection::v,   Projection::o,
                                              Projection::gate, Projection::up, Projection::down};

Result<std::vector<Adapter>> make_adapters(const ModelDescription& description, const LearnerOptions& options) {
  std::vector<Adapter> adapters;
  for (const AgentRole role : options.adapters) {
    const std::string name(to_string(role));
    if (const auto folder = options.adapter_folders.find(role); folder != options.adapter_folders.end()) {
      KW_TRY(Adapter adapter, load_adapter(folder->second, description, name));
      adapters.push_back(std::move(adapter));
    } else {
      adapters.push_back(make_adapter(description, name, options.rank, options.alpha, all_projections,
                                      options.seed + static_cast<std::uint64_t>(adapters.size())));
    }
  }
  return adapters;
}

// Threads of each of two teams that share what was asked for; 0: all of its half.
int half_of(int threads) { return threads > 0 ? std::max(1, threads / 2) : 0; }

std::unique_ptr<ThreadTeam> make_team(const LearnerOptions& options) {
  if (!options.sampler && !options.beside_sampler)
    return options.threads > 0 ? std::make_unique<ThreadTeam>(options.threads) : std::make_unique<ThreadTeam>();
  const HalfOfCores half(HalfOfCores::first);
  return std::make_unique<ThreadTeam>(options.threads > 0 ? half_of(options.threads) : half.count());
}

}  // namespace

int threads_for(int wanted, const Communicator* ranks) {
  if (wanted > 0 || ranks == nullptr) return wanted;
  return std::max(1, core_count() / ranks->place().local_size);
}

Result<void> check_devices(Communicator* ranks, const Learner& learner) {
  if (rank_count(ranks) == 1) return {};
  KW_TRY(const auto all, ranks->all_gather(learner.on_gpu() ? "gpu" : "cpu", 3));
  const auto name = [&](std::size_t rank) { return all[rank] == "gpu" ? "a GPU" : "the CPU"; };
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return Error{fmt::format("rank {} trains on {} and rank 0 on {}", rank, name(rank), name(0)),
                   "--device gpu says why a rank has no GPU; --device cpu needs none",
                   {}};
  return {};
}

Result<void> Learner::set_up(const Parameters* parameters, const ModelFiles* files, const LearnerOptions& options) {
  KW_TRY(const std::optional<std::string> gpu, gpu_for(options.device));
  on_gpu_ = gpu.has_value();
  train_base_ = options.train_base;
  if (!train_base_ && options.adapters.empty())
    return Error{"nothing would learn: the base is frozen and there are no adapters", "", {}};
  for (const AgentRole role : options.adapters) {
    const auto index = static_cast<std::int32_t>(adapter_index_.size());
    if (!adapter_index_.emplace(role, index).second)
      return Error{fmt::format("two adapters are wanted for the {}", to_string(role)), "", {}};
  }
  TrainingOptions training;
  training.train_base = options.train_base;
  training.value_head = options.value_head;
  training.ranks = options.ranks;
  training.usable_vocabulary = usable_vocabulary();
  KW_TRY(std::vector<Adapter> adapters, make_adapters(description_, options));
  if (on_gpu_) {
    device_ = *gpu;
    GpuOptions on_gpu;
    on_gpu.memory_bytes = gpu_memory_bytes_ = options.gpu_memory_bytes;
    memory_shape_.model = description_;
    memory_shape_.method = options.train_base  ? TrainingMethod::full
                           : options.quantised ? TrainingMethod::qlora
                                               : TrainingMethod::lora;
    memory_shape_.eight_bit = options.optimizer.eight_bit;
    for (const Adapter& adapter : adapters) {
      memory_shape_.adapter_parameters += adapter.layout.size;
      memory_shape_.adapter_ranks = std::max(memory_shape_.adapter_ranks, projection_count * adapter.layout.rank);
    }
    if (parameters != nullptr) {
      KW_TRY(trainer_, make_gpu_trainer(*parameters, adapters, training, options.optimizer, on_gpu, options.seed));
    } else if (options.quantised) {
      if (options.sampler)
        return Error{"a base in 4 bits has no second copy to sample from ahead of the update", "rl.ahead=0", {}};
      KW_TRY(const Nf4Base base, load_nf4_base(*team_, *files));
      KW_TRY(trainer_, make_gpu_trainer(base, adapters, training, options.optimizer, on_gpu, options.seed));
    } else {
      KW_TRY(const Parameters loaded, load_parameters(*files));
      KW_TRY(trainer_, make_gpu_trainer(loaded, adapters, training, options.optimizer, on_gpu, options.seed));
    }
    return {};
  }
  device_ = fmt::format("CPU, {} thread{}", team_->size(), team_->size() == 1 ? "" : "s");
  if (parameters == nullptr && !options.train_base) {
    KW_TRY(trainer_, make_cpu_trainer(*team_, *files, std::move(adapters), training, options.optimizer, options.seed));
  } else if (parameters == nullptr) {
    KW_TRY(Parameters loaded, load_parameters(*files));
    KW_TRY(trainer_,
           make_cpu_trainer(*team_, std::move(loaded), std::move(adapters), training, options.optimizer, options.seed));
  } else {
    KW_TRY(trainer_,
           make_cpu_trainer(*team_, *parameters, std::move(adapters), training, options.optimizer, options.seed));
  }
  return {};
}

Result<std::unique_ptr<Learner>> Learner::from_preset(const std::string& preset, Tokenizer tokenizer,
                                                      const LearnerOptions& options) {
  std::unique_ptr<Learner> learner(new Learner);
  learner->team_ = make_team(options);
  KW_TRY(learner->description_, preset_description(preset, static_cast<std::int64_t>(tokenizer.size())));
  KW_TRY(Dialect dialect, Dialect::make(std::move(tokenizer)));
  learner->dialect_ = std::make_unique<Dialect>(std::move(dialect));
  const auto stops = learner->dialect_->stop_tokens();
  learner->description_.eos_ids.assign(stops.begin(), stops.end());
  const Parameters parameters = initial_parameters(*learner->team_, learner->description_, options.seed);
  KW_TRY_VOID(learner->set_up(&parameters, nullptr, options));
  KW_TRY_VOID(learner->make_sampler(nullptr, options));
  return learner;
}

Result<std::unique_ptr<Learner>> Learner::from_files(const ModelFiles& files, const LearnerOptions& options) {
  std::unique_ptr<Learner> learner(new Learner);
  learner->team_ = make_team(options);
  learner->description_ = files.description();
  KW_TRY(Tokenizer tokenizer, files.tokenizer());
  KW_TRY(Dialect dialect, Dialect::make(std::move(tokenizer)));
  learner->dialect_ = std::make_unique<Dialect>(std::move(dialect));
  KW_TRY_VOID(learner->set_up(nullptr, &files, options));
  if (!learner->on_gpu_ && !options.train_base) {
    CpuDecoderOptions decoder;
    decoder.usable_vocabulary = learner->usable_vocabulary();
    std::vector<Adapter> adapters;
    for (std::size_t i = 0; i < options.adapters.size(); ++i) {
      KW_TRY(Adapter adapter, learner->trainer_->read_adapter(static_cast<std::int64_t>(i)));
      adapters.push_back(std::move(adapter));
    }
    KW_TRY(learner->decoder_, make_cpu_decoder(*learner->team_, files, adapters, decoder));
  }
  KW_TRY_VOID(learner->make_sampler(&files, options));
  return learner;
}

Result<void> Learner::make_sampler(const ModelFiles* files, const LearnerOptions& options) {
  if (!options.sampler) return {};
  if (options.ranks != nullptr) return Error{"ranks have no sampler of their own yet", "one process without ranks", {}};
  KW_TRY(const WeightsCopy weights, copy_weights());
  if (!on_gpu_) {
    KW_TRY(sampler_, Sampler::on_cpu(files, weights, half_of(options.threads), usable_vocabulary()));
    return {};
  }
  if (weights.base) {
    KW_TRY(sampler_, Sampler::on_gpu(*weights.base, weights, usable_vocabulary()));
    return {};
  }
  Parameters frozen(description_);
  KW_TRY_VOID(trainer_->read_parameters(frozen));
  KW_TRY(sampler_, Sampler::on_gpu(frozen, weights, usable_vocabulary()));
  return {};
}

Result<WeightsCopy> Learner::copy_weights() {
  WeightsCopy weights;
  weights.version = trainer_->weights_version();
  if (train_base_) {
    auto base = std::make_shared<Parameters>(description_);
    KW_TRY_VOID(trainer_->read_parameters(*base));
    weights.base = std::move(base);
  }
  for (std::size_t i = 0; i < adapter_index_.size(); ++i) {
    KW_TRY(Adapter adapter, trainer_->read_adapter(static_cast<std::int64_t>(i)));
    weights.adapters.push_back(std::move(adapter));
  }
  return weights;
}

std::int32_t Learner::adapter_of(AgentRole role) const {
  const auto found = adapter_index_.find(role);
  return found == adapter_index_.end() ? -1 : found->second;
}

Result<std::int64_t> Learner::pass_tokens(std::int64_t wanted, std::int64_t longest) const {
  if (gpu_memory_bytes_ == 0) return wanted;
  const std::int64_t left = gpu_memory_bytes_ - memory_outside_allocator - sum_of(fixed_memory(memory_shape_));
  const std::int64_t fits = usual_rows(memory_shape_, left, std::max<std::int64_t>(longest, 2048));
  if (fits >= longest) return std::min(wanted, fits);
  return Error{fmt::format("sequences of {} tokens do not fit into this limit of memory: {} do", longest, fits),
               "kernelwright model plan says what does; --gpu-memory, or shorter lessons and answers",
               {}};
}

Result<double> Learner::peak_flops() {
  if (peak_flops_ == 0 && on_gpu_) {
    KW_TRY(const MachineRoof roof, measure_model_gpu());
    peak_flops_ = roof.flops;
  }
  if (peak_flops_ == 0) peak_flops_ = measure_cpu_flops(*team_);
  return peak_flops_;
}

Result<MachineRoof> Learner::measure_roof() {
  if (on_gpu_) return measure_model_gpu();
  return measure_cpu(*team_);
}

Result<Decoder*> Learner::decoder() {
  if (on_gpu_) {
    if (!decoder_) {
      GpuDecoderOptions options;
      options.usable_vocabulary = usable_vocabulary();
      KW_TRY(decoder_, make_gpu_decoder(*trainer_, options));
    }
    return decoder_.get();
  }
  const std::int64_t version = trainer_->weights_version();
  if (decoder_ && decoder_version_ == version) return decoder_.get();
  auto* decoder = static_cast<CpuDecoder*>(decoder_.get());
  if (train_base_ || decoder == nullptr) {
    Parameters parameters(description_);
    KW_TRY_VOID(trainer_->read_parameters(parameters));
    if (decoder == nullptr) {
      CpuDecoderOptions options;
      options.usable_vocabulary = usable_vocabulary();
      KW_TRY(std::unique_ptr<CpuDecoder> made, make_cpu_decoder(*team_, parameters, {}, options));
      decoder = made.get();
      decoder_ = std::move(made);
    } else {
      KW_TRY_VOID(decoder->update(parameters));
    }
  }
  for (const auto& [role, index] : adapter_index_) {
    KW_TRY(const Adapter adapter, trainer_->read_adapter(index));
    KW_TRY_VOID(decoder->update_adapter(index, adapter));
  }
  // All adapters at once are one step of the trainer. Refused where the trainer went back to weights from before: the
  // decoder's number stays ahead then, so that nothing of it is taken for theirs.
  static_cast<void>(decoder->set_weights_version(version));
  decoder_version_ = version;
  return decoder;
}

Result<void> Learner::save_agents(const std::filesystem::path& folder, const std::string& base, ElementType type,
                                  const std::set<std::string>& learned_from) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{"cannot make this folder: " + failed.message(), "", {folder.string(), 0, 0}};
  std::map<AgentRole, std::string> adapters;
  for (const auto& [role, index] : adapter_index_) {
    const std::string name(to_string(role));
    KW_TRY(const Adapter adapter, trainer_->read_adapter(index));
    LoraAdapter file = to_lora_adapter(adapter, description_);
    if (!train_base_) file.base_model = base;
    std::filesystem::create_directories(folder / name, failed);
    if (failed) return Error{"cannot make this folder: " + failed.message(), "", {(folder / name).string(), 0, 0}};
    KW_TRY_VOID(write_lora_adapter(folder / name, file, type));
    adapters[role] = name;
  }
  if (train_base_) {
    Parameters parameters(description_);
    KW_TRY_VOID(trainer_->read_parameters(parameters));
    KW_TRY_VOID(save_model(folder, parameters, &dialect_->tokenizer(), type));
  }
  remove_unfinished_files(folder);  // of a save that was killed
  return write_agents_file(folder, train_base_ ? "." : base, adapters, learned_from);
}

}  // namespace kw
