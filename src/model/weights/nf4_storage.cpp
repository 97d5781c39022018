// NF4 tensors in safetensors files: the names and the quant_state of bitsandbytes' Params4bit.
#include <cmath>
#include <cstring>

#include "base/bounded_json.h"
#include "model/weights/nf4.h"

namespace kw {
namespace {

constexpr std::string_view state_suffix = ".quant_state.bitsandbytes__nf4";

template <class T>
std::function<Result<std::span<const std::byte>>(std::vector<std::byte>&)> bytes_of_values(std::span<const T> values) {
  return [values](std::vector<std::byte>&) -> Result<std::span<const std::byte>> { return std::as_bytes(values); };
}

// Text as Python's json.dumps writes it.
std::string quant_state_text(const Nf4Tensor& tensor) {
  return R"({"quant_type": "nf4", "blocksize": 64, "dtype": ")" + std::string(torch_name(tensor.type)) +
         R"(", "shape": )" + to_string(tensor.shape) + R"(, "nested_blocksize": 256, "nested_dtype": "float32", )" +
         R"("nested_offset": )" + nlohmann::json(static_cast<double>(tensor.nested_offset)).dump() + "}";
}

Result<const TensorView*> part(const FindTensor& find, const std::string& name, ElementType type,
                               std::size_t elements) {
  const TensorView* view = find(name);
  if (view == nullptr) return Error{"the tensor '" + name + "' is missing", "", {}};
  if (view->type != type || view->bytes.size() != elements * bytes_of(type)) {
    return Error{"the tensor '" + name + "' is not " + std::to_string(elements) + " elements of the type " +
                     std::string(safetensors_name(type)),
                 "",
                 {}};
  }
  return view;
}

template <class T>
void copy_bytes(const TensorView& view, T& values) {
  if (!view.bytes.empty()) std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
}

// What the quant_state says; the sizes of everything else follow from it.
Result<Nf4Tensor> read_quant_state(const TensorView& view) {
  const std::string_view text(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  const auto wrong = [&](const std::string& what) { return Error{"'" + view.name + "': " + what, "", {}}; };
  const auto parsed = parse_bounded_json(text);
  if (!parsed.ok()) return wrong(parsed.error().message);
  const auto& state = *parsed;
  Nf4Tensor tensor;
  KW_TRY(const std::string kind, json_string_or(state, "quant_type", ""));
  KW_TRY(const std::string nested_type, json_string_or(state, "nested_dtype", ""));
  KW_TRY(const std::string type_name, json_string_or(state, "dtype", ""));
  KW_TRY(const std::int64_t block, json_integer_or(state, "blocksize", 0, 1 << 20, 0));
  KW_TRY(const std::int64_t nested_block, json_integer_or(state, "nested_blocksize", 0, 1 << 20, 0));
  KW_TRY(const double offset, json_number_or(state, "nested_offset", NAN));
  if (kind != "nf4") return wrong("quant_type is not nf4");
  if (block != nf4_block) return wrong("blocksize is not 64");
  if (nested_block != nf4_nested_block || nested_type != "float32" || std::isnan(offset)) {
    return wrong("it is not doubly quantised in blocks of 256 of float32");
  }
  const auto type = element_type_from_torch(type_name);
  if (type != ElementType::f32 && type != ElementType::f16 && type != ElementType::bf16) {
    return wrong("dtype is not float32, float16 or bfloat16");
  }
  tensor.type = *type;
  tensor.nested_offset = static_cast<float>(offset);
  const auto shape = state.find("shape");
  if (shape == state.end() || !shape->is_array() || shape->size() > 16) return wrong("shape is not a list");
  for (const auto& size : *shape) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX)
      return wrong("shape is not a list of sizes");
    tensor.shape.push_back(size.get<std::int64_t>());
  }
  if (!element_count(tensor.shape)) return wrong("shape has more than 2^63 elements");
  return tensor;
}

}  // namespace

std::vector<OutgoingTensor> outgoing_nf4(const std::string& name, const Nf4Tensor& tensor) {
  const auto size = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
  const std::string state = quant_state_text(tensor);
  std::vector<OutgoingTensor> parts;
  parts.push_back({name, ElementType::u8, {size(tensor.packed), 1}, bytes_of_values(std::span(tensor.packed))});
  parts.push_back(
      {name + ".absmax", ElementType::u8, {size(tensor.absmax)}, bytes_of_values(std::span(tensor.absmax))});
  parts.push_back(
      {name + ".quant_map", ElementType::f32, {16}, bytes_of_values(std::span<const float>(nf4_codebook()))});
  parts.push_back({name + ".nested_absmax",
                   ElementType::f32,
                   {size(tensor.nested_absmax)},
                   bytes_of_values(std::span(tensor.nested_absmax))});
  parts.push_back({name + ".nested_quant_map",
                   ElementType::f32,
                   {256},
                   bytes_of_values(std::span<const float>(tensor.nested_map))});
  parts.push_back({name + std::string(state_suffix),
                   ElementType::u8,
                   {size(state)},
                   [state](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
                     const auto bytes = std::as_bytes(std::span(state));
                     scratch.assign(bytes.begin(), bytes.end());
                     return std::span<const std::byte>(scratch);
                   }});
  return parts;
}

Result<Nf4Tensor> read_nf4(const FindTensor& find, const std::string& name) {
  const TensorView* state = find(name + std::string(state_suffix));
  if (state == nullptr) return Error{"the tensor '" + name + std::string(state_suffix) + "' is missing", "", {}};
  if (state->type != ElementType::u8) return Error{"the tensor '" + state->name + "' is not bytes", "", {}};
  KW_TRY(Nf4Tensor tensor, read_quant_state(*state));
  const auto count = static_cast<std::size_t>(element_count(tensor.shape).value());
  // Sizes are compared with the file's tensors before memory is taken for them.
  const std::size_t blocks = count / nf4_block + (count % nf4_block != 0);
  const std::size_t nested_blocks = blocks / nf4_nested_block + (blocks % nf4_nested_block != 0);
  KW_TRY(const TensorView* packed, part(find, name, ElementType::u8, count / 2 + count % 2));
  KW_TRY(const TensorView* absmax, part(find, name + ".absmax", ElementType::u8, blocks));
  KW_TRY(const TensorView* nested, part(find, name + ".nested_absmax", ElementType::f32, nested_blocks));
  KW_TRY(const TensorView* map, part(find, name + ".nested_quant_map", ElementType::f32, 256));
  KW_TRY(const TensorView* codebook, part(find, name + ".quant_map", ElementType::f32, 16));
  if (std::memcmp(codebook->bytes.data(), nf4_codebook().data(), codebook->bytes.size()) != 0) {
    return Error{"the tensor '" + codebook->name + "' is not the codebook of NF4", "", {}};
  }
  tensor.packed.resize(packed->bytes.size());
  tensor.absmax.resize(absmax->bytes.size());
  tensor.nested_absmax.resize(nested_blocks);
  copy_bytes(*packed, tensor.packed);
  copy_bytes(*absmax, tensor.absmax);
  copy_bytes(*nested, tensor.nested_absmax);
  copy_bytes(*map, tensor.nested_map);
  return tensor;
}

}  // namespace kw
