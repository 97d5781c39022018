#include "kernel/reference/torch/torch_tensors.h"

#include "kernel/reference/torch/drawn_tensor.h"
#include "kernel/reference/torch/gpu_backend.h"

namespace kw {

c10::ScalarType torch_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return c10::kFloat;
    case Dtype::float16:
      return c10::kHalf;
    case Dtype::bfloat16:
      return c10::kBFloat16;
    case Dtype::float64:
      return c10::kDouble;
    case Dtype::int32:
      return c10::kInt;
    case Dtype::int64:
      return c10::kLong;
    case Dtype::int8:
      return c10::kChar;
    case Dtype::uint8:
      return c10::kByte;
    case Dtype::boolean:
      return c10::kBool;
  }
  KW_CHECK(false);
}

PreparedTensors::PreparedTensors(const std::vector<InputTensor>& inputs, Device device, Bytes bytes) : device_(device) {
  for (const InputTensor& input : inputs) {
    at::Tensor tensor;
    if (input.recipe) {
      tensor = drawn_tensor(input, device);
    } else {
      tensor = torch::from_blob(const_cast<char*>(input.bytes.data()), input.shape,
                                torch::TensorOptions(torch_type(input.dtype)));
      if (device == Device::gpu) {
        tensor = tensor.to(c10::kCUDA);
      } else if (bytes == Bytes::copied) {
        tensor = tensor.clone();
      }
    }
    if (input.coarse) tensor = coarse_tensor(tensor);
    tensors_.push_back({input.name, input.dtype, std::move(tensor)});
  }
}

PreparedTensors::~PreparedTensors() {
  if (device_ == Device::cpu) return;
  try {
    const DeviceUse use(device_);
    tensors_.clear();
  } catch (const std::exception&) {
    // The context cannot be made current after a fault on the device; nothing can be given back then.
  }
}

std::int64_t PreparedTensors::bytes() const {
  std::int64_t sum = 0;
  for (const NamedTensor& each : tensors_) sum += static_cast<std::int64_t>(each.tensor.nbytes());
  return sum;
}

Result<std::vector<c10::IValue>> PreparedTensors::arguments(const c10::FunctionSchema& schema, const Sizes& sizes,
                                                            Precision precision) const {
  std::vector<c10::IValue> values;
  for (const auto& parameter : schema.arguments()) {
    const auto input = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const NamedTensor& each) { return each.name == parameter.name(); });
    if (input == tensors_.end()) {
      const auto size = sizes.find(parameter.name());
      if (size != sizes.end()) {
        values.emplace_back(size->second);
      } else if (parameter.default_value()) {
        values.push_back(*parameter.default_value());
      } else {
        return Error{"no value for the reference's parameter '" + parameter.name() + "'", "", {}};
      }
      continue;
    }
    const bool wide = precision == Precision::truth && is_floating_point(input->dtype);
    at::Tensor tensor = input->tensor.to(input->tensor.options().dtype(wide ? c10::kDouble : torch_type(input->dtype)),
                                         /*non_blocking=*/false, /*copy=*/true);
    if (parameter.type()->kind() == c10::TypeKind::FloatType) {
      values.emplace_back(tensor.to(c10::kDouble).item<double>());
    } else if (parameter.type()->kind() == c10::TypeKind::IntType) {
      values.emplace_back(tensor.item<std::int64_t>());
    } else {
      values.emplace_back(std::move(tensor));
    }
  }
  return values;
}

OutputTensor output_tensor(const TensorSpec& spec, const at::Tensor& tensor, Precision precision) {
  const bool wide = precision == Precision::truth && is_floating_point(spec.dtype);
  const Dtype dtype = wide ? Dtype::float64 : spec.dtype;
  const at::Tensor here = tensor.to(torch_type(dtype)).contiguous().cpu();
  OutputTensor output{spec.name, dtype, here.sizes().vec(), {}};
  output.bytes.assign(static_cast<const char*>(here.const_data_ptr()), here.nbytes());
  return output;
}

SampledOutput sampled_output(const TensorSpec& spec, const at::Tensor& tensor, Precision precision,
                             const std::vector<std::int64_t>& positions) {
  const at::Tensor indices = torch::from_blob(const_cast<std::int64_t*>(positions.data()),
                                              {static_cast<std::int64_t>(positions.size())}, c10::kLong)
                                 .to(tensor.device());
  const at::Tensor chosen = tensor.reshape({-1}).index_select(0, indices);
  return {positions, tensor.sizes().vec(), output_tensor(spec, chosen, precision)};
}

}  // namespace kw
