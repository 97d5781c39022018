#pragma once
// A model that learns: a trainer, a decoder on the same weights, the dialect it speaks, and an adapter for each role
// that has one. Supervised and reinforcement learning both work on it.

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agents/agent/dialect.h"
#include "base/machine_roof.h"
#include "learn/learner/sampler.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/model_files.h"
#include "model/decoder/training.h"
#include "model/gpu/memory_plan.h"
#include "model/rollout/decoder.h"

namespace kw {

struct LearnerOptions {
  std::string device = "auto";        // auto, cpu, gpu
  int threads = 0;                    // CPU; 0: all cores
  bool train_base = true;             // false: adapters alone
  bool quantised = false;             // the frozen base in NF4 on a GPU; on the CPU it is as its file has it
  std::int64_t gpu_memory_bytes = 0;  // that all trainers together may take; 0: no limit
  std::vector<AgentRole> adapters;    // roles that get an adapter of their own
  std::int64_t rank = 16;
  float alpha = 32;
  bool value_head = false;
  OptimizerOptions optimizer;
  std::uint64_t seed = 1;
  Communicator* ranks = nullptr;  // that train these weights together
  // A sampler besides, for conversations that are held while the trainer learns. On the CPU it has the second half of
  // the cores. `beside_sampler`: of a model that has none, but learns in the same run; it leaves that half alone.
  bool sampler = false;
  bool beside_sampler = false;
  // PEFT folders to start adapters from; others start at zero.
  std::map<AgentRole, std::filesystem::path> adapter_folders;
};

// Threads of this process: what was asked for, or all cores, shared with the ranks of this machine.
int threads_for(int wanted, const Communicator* ranks);

class Learner;
// Whether all ranks train on devices of one kind; the error names one that does not. A collective.
Result<void> check_devices(Communicator* ranks, const Learner& learner);

class Learner {
 public:
  // From nothing: a preset of model/decoder/presets.h with this vocabulary.
  static Result<std::unique_ptr<Learner>> from_preset(const std::string& preset, Tokenizer tokenizer,
                                                      const LearnerOptions& options);
  // From a model's files. Where the base is frozen on the CPU, quantised blocks stay as they are.
  static Result<std::unique_ptr<Learner>> from_files(const ModelFiles& files, const LearnerOptions& options);

  Trainer& trainer() { return *trainer_; }
  const Dialect& dialect() const { return *dialect_; }
  const std::string& device() const { return device_; }  // "CPU, 2 threads", or the GPU's name
  const ModelDescription& description() const { return description_; }
  std::int32_t adapter_of(AgentRole role) const;  // -1: the base
  bool on_gpu() const { return on_gpu_; }
  bool trains_base() const { return train_base_; }
  // So many tokens of a pass as are wanted, or as fit under the limit of a GPU's memory.
  Result<std::int64_t> pass_tokens(std::int64_t wanted, std::int64_t longest) const;

  // What the device can do at most, measured: on the CPU fused multiply-adds in float32 by the trainer's threads, on a
  // GPU a large product in bf16. The first one is quick, its answer stays; the other measures memory too.
  Result<double> peak_flops();
  Result<MachineRoof> measure_roof();

  // On the trainer's weights as they are now; made at the first call. Steps of the trainer show after the next call.
  Result<Decoder*> decoder();

  // Null unless it was asked for. It may be used by another thread than the trainer.
  Sampler* sampler() { return sampler_.get(); }
  // The trainer's weights as they are now.
  Result<WeightsCopy> copy_weights();

  // A set of agents (agents/episode/agent_model.h): agents.json, adapters, and the base where it was trained. `base` is
  // what agents.json names otherwise.
  Result<void> save_agents(const std::filesystem::path& folder, const std::string& base, ElementType type,
                           const std::set<std::string>& learned_from = {});

 private:
  Learner() = default;
  Result<void> set_up(const Parameters* parameters, const ModelFiles* files, const LearnerOptions& options);
  Result<void> make_sampler(const ModelFiles* files, const LearnerOptions& options);
  std::int64_t usable_vocabulary() const { return static_cast<std::int64_t>(dialect_->tokenizer().size()); }

  std::unique_ptr<ThreadTeam> team_;
  ModelDescription description_;
  std::unique_ptr<Dialect> dialect_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Decoder> decoder_;
  std::int64_t decoder_version_ = -1;
  std::unique_ptr<Sampler> sampler_;
  std::map<AgentRole, std::int32_t> adapter_index_;
  std::string device_;
  double peak_flops_ = 0;  // 0: not measured yet
  bool on_gpu_ = false;
  bool train_base_ = true;
  TrainerShape memory_shape_;
  std::int64_t gpu_memory_bytes_ = 0;  // 0: no limit
  // The frozen base on the CPU, for the decoder.
  std::unique_ptr<ModelFiles> files_;
};

}  // namespace kw
