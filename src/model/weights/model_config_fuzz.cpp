// Arbitrary bytes as config.json (with or without a generation_config.json) or as adapter_config.json: an error that
// says why, or a description that is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/lora_adapter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto adapter = parse_lora_config(text);
  if (adapter.ok()) {
    const auto again = parse_lora_config(to_lora_config(*adapter));
    KW_CHECK(again.ok() && again->rank == adapter->rank && again->alpha == adapter->alpha);
  } else {
    KW_CHECK(!adapter.error().message.empty());
  }
  const auto cut = text.find('\n');
  const auto first = text.substr(0, cut);
  const auto description = parse_huggingface_config(first, cut == text.npos ? "" : text.substr(cut + 1));
  if (!description.ok()) {
    KW_CHECK(!description.error().message.empty());
    return 0;
  }
  KW_CHECK(parameter_count(*description) > 0);
  const auto again =
      parse_huggingface_config(to_huggingface_config(*description), to_huggingface_generation_config(*description));
  KW_CHECK(again.ok() && *again == *description);
  return 0;
}
