#include "agents/endpoint/endpoint_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace kw {
namespace {

constexpr std::size_t max_model_bytes = 256, max_key_bytes = 4096;
constexpr const char* key_variables[] = {"KERNELWRIGHT_API_KEY", "OPENAI_API_KEY"};

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

bool looks_like_endpoint(std::string_view name) { return looks_like_http_url(name); }

Result<EndpointName> parse_endpoint_name(std::string_view name) {
  const std::size_t mark = name.find('#');
  EndpointName endpoint;
  KW_TRY(endpoint.url, parse_http_url(name.substr(0, mark)));
  if (endpoint.url.path.empty()) endpoint.url.path = "/v1";
  endpoint.model = mark == std::string_view::npos ? "" : std::string(name.substr(mark + 1));
  if (endpoint.model.empty())
    return Error{"the endpoint's model is missing",
                 fmt::format("put its name behind the URL: {}#NAME", name.substr(0, mark)),
                 {}};
  if (endpoint.model.size() > max_model_bytes || !is_visible(endpoint.model))
    return Error{"the name of the endpoint's model is too long or has characters that no name has", "", {}};
  return endpoint;
}

std::string to_string(const EndpointName& name) { return to_string(name.url) + "#" + name.model; }

Result<EndpointKey> endpoint_key(const HttpUrl& url) {
  for (const char* variable : key_variables) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    EndpointKey key{value, variable, false};
    if (key.value.size() > max_key_bytes || !is_visible(key.value))
      return Error{fmt::format("{} holds no key: it is too long or has a space or a line end in it", variable), "", {}};
    if (url.tls || is_this_machine(url)) return key;
    return EndpointKey{"", variable, true};
  }
  return EndpointKey{};
}

}  // namespace kw
