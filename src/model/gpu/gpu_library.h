#pragma once
// What libkernelwright_model_gpu.so, which has libtorch inside, offers to the program that loads it. Planning, states
// on disk and errors are the program's side (model_gpu.cpp); here is what touches the device. Failures are thrown as
// std::exception, as torch does it.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/decoder/adapter.h"
#include "model/decoder/batch_plan.h"
#include "model/decoder/nf4_base.h"
#include "model/decoder/trainable_part.h"
#include "model/decoder/training.h"
#include "model/distributed/device_collectives.h"
#include "model/gpu/model_gpu.h"
#include "model/rollout/decoder.h"

namespace kw {

// The base as the program has it: floats, or in 4 bits and frozen. It is read while a trainer or decoder is made.
struct HostBase {
  HostBase(const Parameters& parameters)
      : description(parameters.description), layout(parameters.layout), floats(&parameters) {}
  HostBase(const Nf4Base& base) : description(base.description), layout(base.layout), packed(&base) {}
  const ModelDescription& description;
  const ParameterLayout& layout;
  const Parameters* floats = nullptr;  // or
  const Nf4Base* packed = nullptr;
};

// The base, an adapter or the value head, in the program's layout of it.
struct DevicePart {
  std::string name;
  std::int64_t size = 0;
  bool used = false;       // since the last step
  std::int64_t steps = 0;  // that moved it
};
enum class PartArray {
  values,
  gradient,
  first_moment,
  second_moment,
  // Of moments in 8 bits, in their place.
  first_codes,
  first_largest,
  second_codes,
  second_largest
};

// Which of the ranks that share a trainer's parts it is.
struct TrainerShare {
  PartOwner owner;
  bool whole_matrices = false;  // of linear layers: Muon's optimizer moves them
};

class DeviceTrainer {
 public:
  virtual ~DeviceTrainer() = default;
  virtual TokenScores run(const BatchPlan& plan, bool keep) = 0;
  // Of the last run that was kept.
  virtual void backward(const BatchPlan& plan, const ScoreGradients& gradients) = 0;
  virtual void clear_gradients() = 0;
  // Of the parts that were used; with ranks the own share's.
  virtual double gradient_squares() = 0;
  virtual void move(const OptimizerOptions& options, double learning_rate, double gradient_scale) = 0;

  // A trainer that shares its parts with other ranks: connected once, before it reduces, moves, reads or writes. These
  // are collectives then, but for what says that it is not.
  virtual void connect(DeviceCollectives& ranks) = 0;
  // The next backward() is the step's last: gradients are sent while it runs. Not a collective.
  virtual void last_backward_follows() = 0;
  // The own share becomes the sum of all ranks'.
  virtual void reduce_gradients() = 0;
  virtual std::string exchange_report() = 0;

  virtual std::vector<DevicePart>& parts() = 0;
  // An empty span: who has to be there for the others, and wants nothing. Writing needs no other rank: each writes all.
  virtual void read_part(std::size_t part, PartArray array, std::span<float> into) = 0;
  virtual void write_part(std::size_t part, PartArray array, std::span<const float> from) = 0;
  virtual void read_codes(std::size_t part, PartArray array, std::span<std::uint8_t> into) = 0;
  virtual void write_codes(std::size_t part, PartArray array, std::span<const std::uint8_t> from) = 0;
  // Values without other ranks: where masters are shared, as they are computed with. The base's also where it is
  // frozen.
  virtual void read_weights(std::size_t part, std::span<float> into) = 0;
  virtual void read_base(std::span<float> into) = 0;
  // Counted by the program; decoders on the same weights read it.
  virtual std::int64_t& version() = 0;
  virtual std::string profile() = 0;
};

// For rules that the device cannot do (top-k, top-p).
using HostSampler = SampledToken (*)(const float* logits, std::int64_t usable, const SamplingRule& rule,
                                     std::int64_t answer_index);

class ModelGpuLibrary {
 public:
  virtual ~ModelGpuLibrary() = default;
  virtual std::string torch_version() const = 0;
  // Throws when torch cannot use it.
  virtual std::string gpu_name() const = 0;
  // Of the device that trainers are made on; no other has the same.
  virtual std::string gpu_uuid() const = 0;
  virtual MachineRoof measure_roof() const = 0;
  // cubin: empty where the device is the CPU. share: none: it is alone.
  virtual std::unique_ptr<DeviceTrainer> make_trainer(const HostBase& base, const std::vector<Adapter>& adapters,
                                                      std::span<const float> value_head,
                                                      const TrainingOptions& training, const GpuOptions& options,
                                                      const std::string& cubin, std::optional<TrainerShare> share,
                                                      bool eight_bit) const = 0;
  virtual std::unique_ptr<Decoder> make_decoder(const HostBase& base, const std::vector<Adapter>& adapters,
                                                const GpuDecoderOptions& options, HostSampler sampler,
                                                const std::string& cubin) const = 0;
  // On the trainer's own weights.
  virtual std::unique_ptr<Decoder> make_decoder(DeviceTrainer& trainer, const GpuDecoderOptions& options,
                                                HostSampler sampler) const = 0;
  // Of one that was made from Parameters: another one's are refused.
  virtual void update_decoder(Decoder& decoder, const Parameters* base, const std::vector<Adapter>& adapters,
                              std::int64_t version) const = 0;
  // A limit of 0 takes none away: the first trainer's stays.
  virtual void limit_memory(std::int64_t bytes) const = 0;
  virtual GpuMemory memory() const = 0;
  // Of a decoder that was made here.
  virtual std::string decoder_profile(Decoder& decoder) const = 0;
};

}  // namespace kw

// The one symbol that is looked up by name. The object lives as long as the program.
extern "C" __attribute__((visibility("default"))) const kw::ModelGpuLibrary* kernelwright_model_gpu_library();
