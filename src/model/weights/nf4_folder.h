#pragma once
// Hugging Face folders whose projections bitsandbytes quantised to NF4: what config.json says of it, and the tensors as
// the model has them, each put together from its parts (NAME, NAME.absmax, ..., NAME.quant_state.bitsandbytes__nf4).

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/weights/model_description.h"
#include "model/weights/weight_folder.h"

namespace kw {

// Nothing if config.json has no quantization_config. Any but NF4 with double quantisation is refused.
Result<std::optional<ModelDescription>> read_nf4_config(const std::filesystem::path& folder);

bool is_nf4(const WeightFolder& folder, std::string_view name);
// "x.weight" if `part` is one of the parts that describe that NF4 tensor; nothing for tensors of their own.
std::optional<std::string> nf4_owner(const WeightFolder& folder, std::string_view part);

// Names and shapes as the model has them; parts of NF4 tensors are no tensors.
Result<std::vector<NamedShape>> model_shapes(const WeightFolder& folder);

// float32, NF4 expanded. `out` has one float for each element.
Result<void> read_model_tensor(const WeightFolder& folder, std::string_view name, std::span<float> out);

}  // namespace kw
