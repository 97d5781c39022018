#include "model/gpu/model_gpu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/installed_files.h"
#include "base/random.h"
#include "base/shared_library.h"
#include "kernel/gpu/driver.h"
#include "kernel/reference/instruction_set.h"
#include "kernel/reference/torch_message.h"
#include "model/decoder/trainable_part.h"
#include "model/decoder/trainer_state.h"
#include "model/distributed/nccl.h"
#include "model/gpu/gpu_library.h"
#include "model/gpu/kernel_build.h"
#include "model/gpu/memory_plan.h"
#include "model/rollout/sampler.h"
#include "model/weights/huggingface_config.h"

namespace kw {
namespace {

Result<const ModelGpuLibrary*> load_library() {
  // The host's half of libtorch computes too, and would die of an instruction that does not work here.
  KW_TRY_VOID(apply_instruction_set());
  const auto path = find_library("libkernelwright_model_gpu.so");
  const auto opened = SharedLibrary::open(path);
  if (!opened.ok())
    return Error{
        "the model cannot run on a GPU, libtorch cannot be loaded: " + opened.error().message,
        "run `make setup build`; on another machine set LD_LIBRARY_PATH to its torch/lib and nvidia/*/lib folders",
        {}};
  decltype(&kernelwright_model_gpu_library) entry = nullptr;
  if (!opened->find(entry, "kernelwright_model_gpu_library"))
    return Error{path.string() + " is not the library that belongs to this program", "run `make build`", {}};
  return entry();
}

const Result<const ModelGpuLibrary*>& library() {
  static const Result<const ModelGpuLibrary*> loaded = load_library();
  return loaded;
}

Error no_gpu(const std::string& reason) {
  return Error{"the model cannot run on a GPU here: " + reason, "train and decode on the CPU instead", {}};
}

// "sm_90" of the first GPU.
Result<std::string> gpu_architecture() {
  const auto& driver = cuda_driver();
  if (!driver.ok()) return no_gpu(driver.error().message);
  int count = 0, major = 0, minor = 0;
  CUdevice device = 0;
  const auto fails = [](CUresult result) { return result != CUDA_SUCCESS; };
  if (fails(driver->cuInit(0)) || fails(driver->cuDeviceGetCount(&count)) || count == 0) {
    return no_gpu("the driver shows none");
  }
  if (fails(driver->cuDeviceGet(&device, 0)) ||
      fails(driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)) ||
      fails(driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))) {
    return no_gpu("the driver does not say what kind it is");
  }
  if (major < 8) return no_gpu("it is older than Ampere");
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

// Nothing where the tensors are the CPU's.
Result<std::string> cubin_for(bool on_cpu) {
  if (on_cpu) return std::string();
  KW_TRY(const std::string architecture, gpu_architecture());
  return model_kernel_cubin(architecture);
}

// What torch throws becomes an Error.
template <class Function>
auto guarded(const char* what, Function function) -> Result<decltype(function())> {
  try {
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      return {};
    } else {
      return function();
    }
  } catch (const std::exception& problem) {
    return Error{std::string(what) + " failed on the GPU: " + first_lines(problem.what(), 3), "", {}};
  }
}

Result<void> check_shape(const ModelDescription& model, std::int64_t usable_vocabulary, bool on_cpu) {
  if (usable_vocabulary < 0 || usable_vocabulary > model.vocabulary) {
    return Error{"the usable vocabulary is larger than the vocabulary", "", {}};
  }
  if (on_cpu) return {};
  if (model.hidden % 8 != 0 || model.intermediate % 8 != 0 || model.head_dim % 8 != 0) {
    return Error{"the GPU's kernels need hidden, intermediate and head sizes that are multiples of 8", "", {}};
  }
  return {};
}

Result<void> check_adapters(const ModelDescription& model, const std::vector<Adapter>& adapters) {
  for (const Adapter& adapter : adapters) {
    if (static_cast<std::int64_t>(adapter.layout.layers.size()) != model.layers ||
        static_cast<std::int64_t>(adapter.values.size()) != adapter.layout.size) {
      return Error{"the adapter '" + adapter.name + "' is not made for this model", "", {}};
    }
  }
  return {};
}

// Planning, checks and states on disk; the arithmetic is the library's.
class LoadedTrainer final : public Trainer {
 public:
  LoadedTrainer(std::unique_ptr<DeviceTrainer> device, const HostBase& base, std::vector<Adapter> adapters,
                const TrainingOptions& training, const OptimizerOptions& optimizer, std::string gpu)
      : device_(std::move(device)),
        description_(base.description),
        layout_(base.layout),
        adapters_(std::move(adapters)),
        training_(training),
        optimizer_(optimizer),
        gpu_(std::move(gpu)) {
    for (Adapter& adapter : adapters_) adapter.values.clear();  // they are on the device
  }

  Result<TokenScores> score(const PackedBatch& batch) override {
    BatchPlan plan;
    KW_TRY_VOID(plan_batch(batch, limits(), plan));
    return guarded("scoring", [&] { return device_->run(plan, false); });
  }
  Result<TokenScores> forward(const PackedBatch& batch) override {
    has_forward_ = false;
    KW_TRY_VOID(plan_batch(batch, limits(), plan_));
    auto scores = guarded("a forward pass", [&] { return device_->run(plan_, true); });
    has_forward_ = scores.ok();
    return scores;
  }
  Result<void> backward(const ScoreGradients& gradients) override {
    if (!has_forward_) return Error{"backward() needs a forward() before it", "", {}};
    const auto count = static_cast<std::size_t>(plan_.scored());
    const auto fits = [&](const std::vector<float>& values, bool may_be_empty) {
      return values.size() == count || (may_be_empty && values.empty());
    };
    if (!fits(gradients.log_prob, false) || !fits(gradients.entropy, true) || !fits(gradients.value, true)) {
      return Error{"there is not one gradient for each of the " + std::to_string(count) + " scored tokens", "", {}};
    }
    if (!gradients.value.empty() && !training_.value_head) return Error{"this trainer has no value head", "", {}};
    has_forward_ = false;
    return guarded("a backward pass", [&] { device_->backward(plan_, gradients); });
  }
  void clear_gradients() override { device_->clear_gradients(); }
  // Gradients of slots are added up as they come: their order is not fixed here, as it is on the CPU.
  Result<void> end_slot(std::int64_t) override { return {}; }
  void last_backward_follows() override {
    if (nccl_) device_->last_backward_follows();
  }

  Result<StepReport> step(double learning_rate) override {
    if (ranks() != nullptr) {
      KW_TRY_VOID(connect());
      // Who is missing is found here, by name; everybody has sent gradients, or will, when it is through.
      KW_TRY_VOID(agree_on_parts());
    }
    KW_TRY(double squares, guarded("summing gradients", [&] {
             if (ranks() != nullptr) device_->reduce_gradients();
             return device_->gradient_squares();
           }));
    if (ranks() != nullptr) KW_TRY_VOID(ranks()->all_reduce(std::span(&squares, 1)));
    return guarded("a step", [&] {
      StepReport report;
      report.learning_rate = learning_rate;
      report.gradient_norm = std::sqrt(squares);
      report.skipped = !std::isfinite(report.gradient_norm);
      if (report.skipped) {
        device_->clear_gradients();
        return report;
      }
      // torch.nn.utils.clip_grad_norm_'s formula
      const double scale =
          optimizer_.clip_norm > 0 ? std::min(1.0, optimizer_.clip_norm / (report.gradient_norm + 1e-6)) : 1;
      device_->move(optimizer_, learning_rate, scale);
      ++device_->version();
      has_forward_ = false;  // its activations are those of other weights
      return report;
    });
  }

  std::int64_t weights_version() const override { return device_->version(); }
  Result<void> read_parameters(Parameters& into) override {
    into.description = description_;
    into.layout = layout_;
    into.values.resize(static_cast<std::size_t>(layout_.size));
    return guarded("reading the weights", [&] { device_->read_base(into.values); });
  }
  Result<Adapter> read_adapter(std::int64_t index) override {
    if (index < 0 || index >= static_cast<std::int64_t>(adapters_.size())) {
      return Error{"there is no adapter " + std::to_string(index), "", {}};
    }
    Adapter adapter = adapters_[static_cast<std::size_t>(index)];
    adapter.values.resize(static_cast<std::size_t>(adapter.layout.size));
    const std::size_t part = static_cast<std::size_t>(index) + (training_.train_base ? 1 : 0);
    KW_TRY_VOID(guarded("reading an adapter", [&] { device_->read_weights(part, adapter.values); }));
    return adapter;
  }

  Result<void> save_state(const std::string& folder) override {
    if (ranks() != nullptr) {
      KW_TRY_VOID(connect());
      KW_TRY_VOID(ranks()->barrier());
      if (std::ranges::any_of(device_->parts(), &DevicePart::used))
        return Error{"ranks save between steps alone: each has a part of the gradient", "", {}};
      if (!ranks()->is_first()) return send_shares();
    }
    HostParts host = host_parts();
    KW_TRY_VOID(guarded("reading the trainer's state", [&] {
      host.each_array(
          [&](std::size_t part, PartArray array, std::span<float> values) { device_->read_part(part, array, values); },
          [&](std::size_t part, PartArray array, std::span<std::uint8_t> codes) {
            device_->read_codes(part, array, codes);
          });
    }));
    return save_trainer_state(folder, {device_->version(), to_huggingface_config(description_)}, host.pointers());
  }
  Result<void> restore_state(const std::string& folder) override {
    HostParts host = host_parts();
    KW_TRY(const TrainerState state,
           restore_trainer_state(folder, to_huggingface_config(description_), host.pointers()));
    const auto parts = host.pointers();
    if (rank_count(ranks()) > 1 && std::ranges::any_of(parts, [](const TrainablePart* part) { return part->used; }))
      return Error{
          "this state was left within a step: ranks begin between steps", "go on without ranks", {folder, 0, 0}};
    KW_TRY_VOID(guarded("writing the trainer's state", [&] {
      host.each_array(
          [&](std::size_t part, PartArray array, std::span<float> values) { device_->write_part(part, array, values); },
          [&](std::size_t part, PartArray array, std::span<std::uint8_t> codes) {
            device_->write_codes(part, array, codes);
          });
    }));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      device_->parts()[i].used = parts[i]->used;
      device_->parts()[i].steps = parts[i]->steps;
    }
    device_->version() = state.weights_version;
    has_forward_ = compared_ = false;
    return {};
  }

  DeviceTrainer& device() { return *device_; }

 private:
  // The parts as the CPU's trainer has them, so that both write the same files.
  class HostParts {
   public:
    HostParts(const std::vector<DevicePart>& parts, const std::vector<MuonMatrix>& of_base, bool eight_bit) {
      values_.reserve(parts.size());
      for (const DevicePart& part : parts) {
        auto& values = values_.emplace_back(static_cast<std::size_t>(part.size));
        parts_.push_back(std::make_unique<TrainablePart>(part.name, values, std::vector<TrainablePart::Range>{},
                                                         eight_bit,
                                                         part.name == "base" ? of_base : std::vector<MuonMatrix>{}));
        parts_.back()->used = part.used;
        parts_.back()->steps = part.steps;
      }
    }
    template <class OfFloats, class OfCodes>
    void each_array(OfFloats of_floats, OfCodes of_codes) {
      using enum PartArray;
      constexpr PartArray in_32[] = {values, gradient, first_moment, second_moment};
      constexpr PartArray in_8[] = {values, gradient, first_codes, first_largest, second_codes, second_largest};
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        auto arrays = parts_[i]->arrays();
        for (std::size_t a = 0; a < arrays.size(); ++a) {
          const PartArray array = arrays.size() == std::size(in_8) ? in_8[a] : in_32[a];
          std::byte* bytes = arrays[a].bytes.data();
          if (arrays[a].is_float) {
            of_floats(i, array, std::span(reinterpret_cast<float*>(bytes), arrays[a].bytes.size() / sizeof(float)));
          } else {
            of_codes(i, array, std::span(reinterpret_cast<std::uint8_t*>(bytes), arrays[a].bytes.size()));
          }
        }
      }
    }
    std::vector<TrainablePart*> pointers() {
      std::vector<TrainablePart*> all;
      for (const auto& part : parts_) all.push_back(part.get());
      return all;
    }

   private:
    std::vector<std::vector<float>> values_;
    std::vector<std::unique_ptr<TrainablePart>> parts_;
  };

  Communicator* ranks() const { return training_.ranks; }

  Result<void> connect() {
    if (nccl_) return {};
    KW_TRY(nccl_, NcclCommunicator::join(*ranks(), gpu_));
    return guarded("connecting the ranks", [&] { device_->connect(*nccl_); });
  }

  // What any rank has used, all have; and, once, whether all begin with the same weights.
  Result<void> agree_on_parts() {
    constexpr std::uint64_t longest = 1 << 16;
    std::vector<DevicePart>& parts = device_->parts();
    ByteWriter mine;
    std::uint64_t weights = 0;
    if (!compared_ && ranks()->size() > 1) {
      KW_TRY(weights, checksum_of_weights());
    }
    compared_ = true;
    mine.number(weights);
    for (const DevicePart& part : parts) mine.number(part.used ? 1 : 0);
    KW_TRY(const auto all, ranks()->all_gather(mine.bytes(), longest));
    for (int rank = 0; rank < ranks()->size(); ++rank) {
      ByteReader said(all[static_cast<std::size_t>(rank)]);
      const std::uint64_t its_weights = said.number();
      for (DevicePart& part : parts) part.used |= said.count(1) == 1;
      if (!said.complete())
        return Error{
            "rank " + std::to_string(rank) + " trains something else", "start all ranks with the same arguments", {}};
      if (its_weights != weights)
        return Error{"rank " + std::to_string(rank) + " has other weights than rank " + std::to_string(ranks()->rank()),
                     "all ranks must read the same model's files and the same checkpoint",
                     {}};
    }
    return {};
  }

  Result<std::uint64_t> checksum_of_weights() {
    return guarded("reading the weights", [&] {
      Checksum64 sum;
      for (std::size_t i = 0; i < device_->parts().size(); ++i) {
        std::vector<float> values(static_cast<std::size_t>(device_->parts()[i].size));
        device_->read_weights(i, values);
        sum.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
      }
      return sum.value();
    });
  }

  // Of ranks that write nothing: the arrays that rank 0 collects, in its order.
  Result<void> send_shares() {
    return guarded("sending the trainer's state", [&] {
      for (std::size_t part = 0; part < device_->parts().size(); ++part)
        for (const PartArray array : {PartArray::values, PartArray::first_moment, PartArray::second_moment})
          device_->read_part(part, array, {});
    });
  }

  HostParts host_parts() {
    const bool muon = optimizer_.kind == OptimizerKind::muon;
    return {device_->parts(), muon ? linear_weights(description_, layout_) : std::vector<MuonMatrix>{},
            optimizer_.eight_bit};
  }

  BatchLimits limits() const {
    const std::int64_t usable = training_.usable_vocabulary > 0 ? training_.usable_vocabulary : description_.vocabulary;
    return {description_.vocabulary, usable, description_.context, static_cast<std::int64_t>(adapters_.size())};
  }

  std::unique_ptr<DeviceTrainer> device_;
  ModelDescription description_;
  ParameterLayout layout_;
  std::vector<Adapter> adapters_;  // without values
  TrainingOptions training_;
  OptimizerOptions optimizer_;
  std::string gpu_;
  BatchPlan plan_;  // of the last forward()
  bool has_forward_ = false;
  bool compared_ = false;                   // with the other ranks' weights
  std::unique_ptr<NcclCommunicator> nccl_;  // with ranks, from the first step on; it goes before the device's buffers
};

SampledToken sample_on_host(const float* logits, std::int64_t usable, const SamplingRule& rule,
                            std::int64_t answer_index) {
  thread_local SamplerScratch scratch;
  return sample_token(logits, usable, rule, answer_index, scratch);
}

Result<void> check_memory(const GpuOptions& options) {
  if (options.memory_bytes == 0 || options.memory_bytes > memory_outside_allocator) return {};
  return Error{"CUDA itself takes about 1 GiB of a GPU's memory: this limit leaves nothing for a model", "", {}};
}

Result<std::unique_ptr<Trainer>> make_trainer(const HostBase& base, const std::vector<Adapter>& adapters,
                                              const TrainingOptions& training, const OptimizerOptions& optimizer,
                                              const GpuOptions& options, std::uint64_t seed) {
  KW_TRY_VOID(check_optimizer(optimizer));
  KW_TRY_VOID(check_memory(options));
  if (base.packed != nullptr && training.train_base)
    return Error{"a base in 4 bits cannot be trained itself", "train adapters on it", {}};
  if (optimizer.eight_bit && training.train_base)
    return Error{"on the GPU, moments of 8 bits are for adapters", "freeze the base, or leave them in 32 bits", {}};
  if (optimizer.eight_bit && training.ranks != nullptr)
    return Error{"on GPUs, ranks have moments of 32 bits: they share them", "leave them in 32 bits", {}};
  KW_TRY_VOID(check_shape(base.description, training.usable_vocabulary, options.on_cpu));
  KW_TRY_VOID(check_adapters(base.description, adapters));
  KW_TRY(const std::string cubin, cubin_for(options.on_cpu));
  if (!library().ok()) return library().error();
  if (!options.on_cpu && options.memory_bytes > 0) {
    KW_TRY_VOID(guarded("limiting memory",
                        [&] { (*library())->limit_memory(options.memory_bytes - memory_outside_allocator); }));
  }
  std::vector<float> value_head;
  if (training.value_head) {  // as the CPU's trainer starts
    value_head.resize(static_cast<std::size_t>(base.description.hidden) + 1);
    Random random(seed, 0x76616c7565);
    for (std::size_t i = 0; i + 1 < value_head.size(); ++i) value_head[i] = static_cast<float>(random.normal() * 0.02);
  }
  std::optional<TrainerShare> share;
  if (training.ranks != nullptr)
    share = TrainerShare{{training.ranks->rank(), training.ranks->size()}, optimizer.kind == OptimizerKind::muon};
  KW_TRY(auto device, guarded("making a trainer", [&] {
           return (*library())
               ->make_trainer(base, adapters, value_head, training, options, cubin, share, optimizer.eight_bit);
         }));
  std::string gpu;  // its name among ranks
  if (share && !options.on_cpu) {
    KW_TRY(gpu, guarded("asking for its name", [] { return (*library())->gpu_uuid(); }));
  }
  return std::unique_ptr<Trainer>(
      std::make_unique<LoadedTrainer>(std::move(device), base, adapters, training, optimizer, std::move(gpu)));
}

Result<std::unique_ptr<Decoder>> make_decoder(const HostBase& base, const std::vector<Adapter>& adapters,
                                              const GpuDecoderOptions& options) {
  KW_TRY_VOID(check_shape(base.description, options.usable_vocabulary, options.on_cpu));
  KW_TRY_VOID(check_adapters(base.description, adapters));
  KW_TRY(const std::string cubin, cubin_for(options.on_cpu));
  if (!library().ok()) return library().error();
  return guarded("making a decoder",
                 [&] { return (*library())->make_decoder(base, adapters, options, &sample_on_host, cubin); });
}

}  // namespace

Result<std::unique_ptr<Trainer>> make_gpu_trainer(const Parameters& parameters, const std::vector<Adapter>& adapters,
                                                  const TrainingOptions& training, const OptimizerOptions& optimizer,
                                                  const GpuOptions& options, std::uint64_t seed) {
  return make_trainer(parameters, adapters, training, optimizer, options, seed);
}
Result<std::unique_ptr<Trainer>> make_gpu_trainer(const Nf4Base& base, const std::vector<Adapter>& adapters,
                                                  const TrainingOptions& training, const OptimizerOptions& optimizer,
                                                  const GpuOptions& options, std::uint64_t seed) {
  return make_trainer(base, adapters, training, optimizer, options, seed);
}
Result<std::unique_ptr<Decoder>> make_gpu_decoder(const Parameters& parameters, const std::vector<Adapter>& adapters,
                                                  const GpuDecoderOptions& options) {
  return make_decoder(parameters, adapters, options);
}
Result<std::unique_ptr<Decoder>> make_gpu_decoder(const Nf4Base& base, const std::vector<Adapter>& adapters,
                                                  const GpuDecoderOptions& options) {
  return make_decoder(base, adapters, options);
}

Result<std::unique_ptr<Decoder>> make_gpu_decoder(Trainer& trainer, const GpuDecoderOptions& options) {
  auto* loaded = dynamic_cast<LoadedTrainer*>(&trainer);
  if (loaded == nullptr) return Error{"only a trainer on the GPU shares its weights with a decoder there", "", {}};
  return guarded("making a decoder",
                 [&] { return (*library())->make_decoder(loaded->device(), options, &sample_on_host); });
}

Result<void> update_gpu_decoder(Decoder& decoder, const Parameters* base, const std::vector<Adapter>& adapters,
                                std::int64_t version) {
  if (!library().ok()) return library().error();
  return guarded("taking other weights", [&] { (*library())->update_decoder(decoder, base, adapters, version); });
}

Result<std::string> model_gpu_name() {
  static const Result<std::string> found = []() -> Result<std::string> {
    KW_TRY(const std::string architecture, gpu_architecture());
    if (!library().ok()) return library().error();
    return guarded("asking for its name", [] { return (*library())->gpu_name(); });
  }();
  return found;
}

Result<MachineRoof> measure_model_gpu() {
  KW_TRY([[maybe_unused]] const std::string name, model_gpu_name());
  return guarded("measuring", [] { return (*library())->measure_roof(); });
}

Result<GpuMemory> gpu_memory() {
  KW_TRY([[maybe_unused]] const std::string name, model_gpu_name());
  return guarded("asking for memory", [] { return (*library())->memory(); });
}

std::string gpu_decoder_profile(Decoder& decoder) {
  const auto text = guarded("profiling", [&] { return (*library())->decoder_profile(decoder); });
  return text.ok() ? *text : to_string(text.error());
}

std::string gpu_exchange_report(Trainer& trainer) {
  auto* loaded = dynamic_cast<LoadedTrainer*>(&trainer);
  if (loaded == nullptr) return {};
  const auto text = guarded("reporting", [&] { return loaded->device().exchange_report(); });
  return text.ok() ? *text : to_string(text.error());
}

std::string gpu_trainer_profile(Trainer& trainer) {
  auto* loaded = dynamic_cast<LoadedTrainer*>(&trainer);
  return loaded == nullptr ? std::string() : loaded->device().profile();
}

}  // namespace kw
