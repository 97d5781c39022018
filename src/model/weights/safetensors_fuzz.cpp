// Arbitrary bytes as a safetensors file: an error, or tensors that lie inside the file.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "model/weights/nf4.h"
#include "model/weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const auto content = parse_safetensors(std::as_bytes(std::span(data, size)));
  if (!content.ok()) {
    KW_CHECK(!content.error().message.empty());
    return 0;
  }
  std::size_t filled = 0;
  for (const TensorView& tensor : content->tensors) {
    const auto count = element_count(tensor.shape);
    KW_CHECK(count.has_value() && static_cast<std::size_t>(*count) * bytes_of(tensor.type) == tensor.bytes.size());
    filled += tensor.bytes.size();
    (void)read_floats(tensor);
  }
  KW_CHECK(filled <= size);
  const auto find = [&](std::string_view name) -> const TensorView* {
    for (const TensorView& tensor : content->tensors) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  };
  const auto quantised = read_nf4(find, "w");
  if (quantised.ok()) {
    std::vector<float> values(static_cast<std::size_t>(element_count(quantised->shape).value()));
    dequantise_nf4(*quantised, values);
  }
  return 0;
}
