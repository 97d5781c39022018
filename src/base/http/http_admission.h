#pragma once
// Whether a request may go on, decided when its head is there and before its body is read. Inside the module only.

#include "base/http/http_server_state.h"

namespace kw {

struct HttpAdmission {
  std::shared_ptr<HttpSlot> slot;
  std::optional<HttpResponse> refusal;  // else it has a slot
  bool close = false;                   // the connection, after the refusal
  std::string user;                     // the key's name
};

// to_refuse: there are too many connections.
HttpAdmission admit_request(HttpServerState& server, const HttpRequest& request, bool to_refuse);

}  // namespace kw
