#include <torch/version.h>

#include "model/gpu/gpu_library.h"
#include "model/gpu/torch/decoder.h"
#include "model/gpu/torch/device_memory.h"
#include "model/gpu/torch/roof.h"
#include "model/gpu/torch/torch_headers.h"
#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

std::shared_ptr<const KernelLauncher> load_kernels(const std::string& cubin) {
  return cubin.empty() ? nullptr : std::make_shared<const KernelModule>(cubin);
}

class LoadedLibrary final : public ModelGpuLibrary {
 public:
  LoadedLibrary() {
    // No variable of torch's own says so (kernel/reference/instruction_set.h).
    const char* onednn = std::getenv("KERNELWRIGHT_ONEDNN");
    if (onednn != nullptr && std::string_view(onednn) == "0") at::globalContext().setUserEnabledMkldnn(false);
  }

  std::string torch_version() const override { return TORCH_VERSION; }

  std::string gpu_name() const override {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    const auto probe = at::ones({2}, at::TensorOptions(c10::kCUDA).dtype(c10::kDouble)).sum().item<double>();
    if (probe != 2) throw std::runtime_error("the GPU computes 1 + 1 = " + std::to_string(probe));
    return at::cuda::getCurrentDeviceProperties()->name;
  }

  std::string gpu_uuid() const override {
    std::string text = "GPU-";
    for (const char byte : at::cuda::getCurrentDeviceProperties()->uuid.bytes) {
      constexpr char digits[] = "0123456789abcdef";
      text += digits[static_cast<unsigned char>(byte) >> 4];
      text += digits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
  }

  MachineRoof measure_roof() const override { return measure_gpu_roof(); }

  std::unique_ptr<DeviceTrainer> make_trainer(const HostBase& base, const std::vector<Adapter>& adapters,
                                              std::span<const float> value_head, const TrainingOptions& training,
                                              const GpuOptions& options, const std::string& cubin,
                                              std::optional<TrainerShare> share, bool eight_bit) const override {
    return std::make_unique<GpuTrainer>(base, adapters, value_head, training, options, load_kernels(cubin), share,
                                        eight_bit);
  }

  std::unique_ptr<Decoder> make_decoder(const HostBase& base, const std::vector<Adapter>& adapters,
                                        const GpuDecoderOptions& options, HostSampler sampler,
                                        const std::string& cubin) const override {
    auto model =
        std::make_shared<SharedModel>(SharedModel{base.description,
                                                  at::Device(options.on_cpu ? at::kCPU : at::kCUDA),
                                                  options.precision == GpuPrecision::bf16 ? at::kBFloat16 : at::kFloat,
                                                  load_kernels(cubin),
                                                  {},
                                                  {},
                                                  {},
                                                  0});
    const auto place = at::TensorOptions(model->device).dtype(model->type);
    std::vector<Tensor> owned;
    const DeviceLayout layout(base.description, base.layout, base.packed == nullptr);
    owned.push_back(at::empty({layout.size()}, place));
    if (base.packed != nullptr) {
      layout.upload(base.packed->others, owned.back());
      model->packed = std::make_shared<const Nf4Matrices>(*base.packed, model->device);
    } else {
      layout.upload(base.floats->values, owned.back());
    }
    model->weights = layout.views(owned.back());
    for (const Adapter& adapter : adapters) {
      const AdapterLayoutOnDevice adapter_layout(base.description, adapter.layout);
      owned.push_back(at::empty({adapter_layout.size()}, place));
      adapter_layout.upload(adapter.values, owned.back());
      model->adapters.push_back({adapter.scale, adapter_layout.views(owned.back()), {}});
    }
    model->rotary = rotary_tensors(model->description, model->description.context, model->device);
    return std::make_unique<GpuDecoder>(std::move(model), std::move(owned), options, sampler);
  }

  std::unique_ptr<Decoder> make_decoder(DeviceTrainer& trainer, const GpuDecoderOptions& options,
                                        HostSampler sampler) const override {
    return std::make_unique<GpuDecoder>(dynamic_cast<GpuTrainer&>(trainer).shared(), std::vector<Tensor>{}, options,
                                        sampler);
  }

  void update_decoder(Decoder& decoder, const Parameters* base, const std::vector<Adapter>& adapters,
                      std::int64_t version) const override {
    dynamic_cast<GpuDecoder&>(decoder).update(base, adapters, version);
  }

  void limit_memory(std::int64_t bytes) const override { limit_device_memory(bytes); }
  GpuMemory memory() const override { return device_memory(); }

  std::string decoder_profile(Decoder& decoder) const override { return dynamic_cast<GpuDecoder&>(decoder).profile(); }
};

}  // namespace
}  // namespace kw

extern "C" const kw::ModelGpuLibrary* kernelwright_model_gpu_library() {
  static const kw::LoadedLibrary library;
  return &library;
}
