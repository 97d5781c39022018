// Arbitrary bytes as a configuration file: an error, or a configuration that prints as one that reads back equal.
#include <cstdint>

#include "base/check.h"
#include "base/config/configuration.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const kw::Configuration defaults;
  kw::Configuration configuration = defaults;
  // The first line also as a single setting.
  (void)configuration.set(text.substr(0, text.find('\n'))).ok();
  const bool merged = configuration.merge(text, "fuzz.yaml", "fuzz.yaml").ok() && configuration.complete().ok();
  if (!merged) return 0;
  kw::Configuration again = defaults;
  KW_CHECK(again.merge(configuration.to_yaml(), "printed.yaml", "printed").ok());
  KW_CHECK(again == configuration);
  kw::Configuration from_json = defaults;
  const std::string json =
      configuration.to_json().dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  KW_CHECK(from_json.merge(json, "config.json", "json").ok());
  return 0;
}
