#include "kernel/reference/torch/torch_settings.h"

namespace kw {
namespace {

std::mutex& settings_mutex() {
  static std::mutex instance;
  return instance;
}

// Only flags: they cost nothing where there is no GPU. Set each time, so nothing has to be read back.
void choose(Arithmetic arithmetic) {
  auto& context = at::globalContext();
  const bool tf32 = arithmetic == Arithmetic::eager_with_tf32;
  const bool careful = arithmetic == Arithmetic::careful;
  context.setAllowTF32CuBLAS(tf32);
  context.setAllowTF32CuDNN(tf32);
  context.setAllowFP16ReductionCuBLAS(!careful);
  context.setAllowBF16ReductionCuBLAS(!careful);
  context.setAllowFP16AccumulationCuBLAS(false);
  context.setDeterministicCuDNN(careful);
  context.setBenchmarkCuDNN(false);
}

}  // namespace

TorchSettings::TorchSettings(c10::ScalarType default_dtype, Arithmetic arithmetic)
    : lock_(settings_mutex()), dtype_before_(c10::get_default_dtype()) {
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(default_dtype));
  choose(arithmetic);
}

TorchSettings::~TorchSettings() {
  choose(Arithmetic::careful);
  c10::set_default_dtype(dtype_before_);
}

}  // namespace kw
