#pragma once
// A model that somebody else serves, as a user names it: "http://127.0.0.1:8000/v1#tiny", "https://host/v1#org/model",
// "unix:/tmp/kw.sock#tiny". Without a path the API is at /v1, as everybody has it. The key is never part of the name.

#include <optional>
#include <string>
#include <string_view>

#include "base/http/http_url.h"

namespace kw {

struct EndpointName {
  HttpUrl url;
  std::string model;
};

bool looks_like_endpoint(std::string_view name);
Result<EndpointName> parse_endpoint_name(std::string_view name);
std::string to_string(const EndpointName& name);

struct EndpointKey {
  std::string value;      // empty: none is sent
  std::string variable;   // of the environment that it came from
  bool withheld = false;  // there is one, but the way to the endpoint can be read by others
};

// KERNELWRIGHT_API_KEY, or else OPENAI_API_KEY. It is sent over TLS or on this machine alone.
Result<EndpointKey> endpoint_key(const HttpUrl& url);

}  // namespace kw
