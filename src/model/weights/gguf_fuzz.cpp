// Arbitrary bytes as a GGUF file: an error, or tensors that lie inside the file and can be dequantised.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "model/weights/gguf_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const auto content = parse_gguf(std::as_bytes(std::span(data, size)));
  if (!content.ok()) {
    KW_CHECK(!content.error().message.empty());
    return 0;
  }
  for (const GgufTensor& tensor : content->tensors) {
    KW_CHECK(tensor.bytes.size() <= size);
    std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape).value()));
    dequantise_blocks(tensor.format, tensor.bytes, values);
    (void)huggingface_tensor_name(tensor.name);
  }
  const auto description = describe_gguf(*content);
  if (description.ok()) KW_CHECK(parameter_count(*description) > 0);
  const auto vocabulary = vocabulary_of_gguf(*content);
  if (vocabulary.ok()) KW_CHECK(!vocabulary->tokens.empty());
  return 0;
}
