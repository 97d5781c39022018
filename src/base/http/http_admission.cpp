#include "base/http/http_admission.h"

#include <algorithm>

#include "base/http/http_target.h"

namespace kw {
namespace {

bool same_letters(std::string_view a, std::string_view b) { return lower_case(a) == lower_case(b); }

// "[::1]:80" and "localhost:80" without the port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

std::string_view bearer(std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer ";
  if (authorization.size() < scheme.size() || !same_letters(authorization.substr(0, scheme.size()), scheme)) return {};
  authorization.remove_prefix(scheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

HttpResponse unauthorized(bool given) {
  HttpResponse response = given ? http_error(401, "this key is not known here", "", "invalid_api_key")
                                : http_error(401, "a key is needed: Authorization: Bearer KEY", "", "missing_api_key");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse over_quota(const ApiKeys::Admission& admission) {
  HttpResponse response = http_error(429, admission.reason, "", "rate_limit_exceeded");
  response.headers = {{"Retry-After", std::to_string(admission.retry_after_s)}};
  return response;
}

// What does not depend on who asks.
std::optional<HttpResponse> general_refusal(const HttpServerState& server, const HttpRequest& request) {
  const auto& hosts = server.options.allowed_hosts;
  const std::string_view host = host_name(request.header("host"));
  if (!hosts.empty() && std::ranges::none_of(hosts, [&](const auto& name) { return same_letters(name, host); })) {
    return http_error(421, "this service is not known by the name in the Host header");
  }
  const std::string& expect = request.header("expect");
  if (!expect.empty() && !same_letters(expect, "100-continue")) {
    return http_error(417, "the only expectation that can be met is 100-continue");
  }
  return std::nullopt;
}

}  // namespace

HttpAdmission admit_request(HttpServerState& server, const HttpRequest& request, bool to_refuse) {
  HttpAdmission admission;
  const auto refuse = [&](HttpResponse response, bool close) {
    admission.refusal = std::move(response);
    admission.close = close;
    return std::move(admission);
  };
  const auto refuse_by_limit = [&](HttpResponse response, bool close) {
    server.count([](HttpCounts& totals) { ++totals.refused; });
    return refuse(std::move(response), close);
  };
  const bool always = HttpServerState::is_listed(server.options.always_paths, request.path);
  if (to_refuse) return refuse(http_error(503, "too many connections", "", "overloaded"), true);
  if (auto response = general_refusal(server, request)) return refuse(std::move(*response), false);
  std::optional<std::size_t> key;
  if (server.keys && !HttpServerState::is_listed(server.options.open_paths, request.path)) {
    const std::string_view given = bearer(request.header("authorization"));
    if (!given.empty()) key = server.keys->check(given);
    if (!key) return refuse(unauthorized(!given.empty()), false);
    admission.user = server.keys->name(*key);
  }
  if (server.draining && !always) {
    return refuse_by_limit(http_error(503, "the service is shutting down", "", "draining"), true);
  }
  if (key) {
    const ApiKeys::Admission quota = server.keys->admit(*key);
    if (!quota.admitted) return refuse_by_limit(over_quota(quota), false);
  }
  admission.slot = server.take_slot(key, always);
  if (admission.slot == nullptr) {
    if (key) server.keys->release(*key);
    return refuse_by_limit(http_error(503, "too many requests at once", "", "overloaded"), false);
  }
  return admission;
}

}  // namespace kw
