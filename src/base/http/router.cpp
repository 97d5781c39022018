#include "base/http/router.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/http/http_target.h"

namespace kw {
namespace {

// "/a//b" has the segments "a", "", "b".
std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> segments;
  path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

std::vector<std::string> decoded_segments(std::string_view raw_path) {
  std::vector<std::string> segments;
  if (!raw_path.starts_with('/')) return segments;  // "*", which no pattern fits
  for (const std::string_view segment : split_path(raw_path)) {
    segments.push_back(percent_decoded(segment).value_or(""));
  }
  return segments;
}

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, Handler handler) {
  KW_CHECK(pattern.starts_with('/'));
  Route route{std::string(method), {}, std::move(handler)};
  for (std::string_view text : split_path(pattern)) {
    KW_CHECK(route.segments.empty() || route.segments.back().kind != Segment::Kind::rest);
    if (!text.starts_with('{')) {
      route.segments.push_back({Segment::Kind::text, std::string(text)});
      continue;
    }
    KW_CHECK(text.ends_with('}'));
    text = text.substr(1, text.size() - 2);
    const bool rest = text.ends_with("...");
    if (rest) text.remove_suffix(3);
    route.segments.push_back({rest ? Segment::Kind::rest : Segment::Kind::one, std::string(text)});
  }
  for (const Route& other : routes_) KW_CHECK(other.method != route.method || other.segments != route.segments);
  routes_.push_back(std::move(route));
}

bool Router::fits(const Route& route, const std::vector<std::string>& segments,
                  std::map<std::string, std::string>* parts) {
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const Segment& expected = route.segments[i];
    if (i >= segments.size()) return false;
    if (expected.kind == Segment::Kind::rest) {
      std::string rest = segments[i];
      for (std::size_t k = i + 1; k < segments.size(); ++k) rest += "/" + segments[k];
      if (parts != nullptr) (*parts)[expected.text] = rest;
      return !rest.empty();
    }
    if (expected.kind == Segment::Kind::text && expected.text != segments[i]) return false;
    if (expected.kind == Segment::Kind::one && segments[i].empty()) return false;
    if (expected.kind == Segment::Kind::one && parts != nullptr) (*parts)[expected.text] = segments[i];
  }
  return route.segments.size() == segments.size();
}

bool Router::is_closer(const Route& a, const Route& b) {
  const std::size_t common = std::min(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (a.segments[i].kind != b.segments[i].kind) return a.segments[i].kind < b.segments[i].kind;
  }
  return false;
}

std::string Router::allowed_methods(const std::vector<const Route*>& fitting) const {
  std::set<std::string> methods = {"OPTIONS"};
  for (const Route* route : fitting) {
    methods.insert(route->method);
    if (route->method == "GET") methods.insert("HEAD");
  }
  std::string list;
  for (const std::string& method : methods) list += (list.empty() ? "" : ", ") + method;
  return list;
}

void Router::operator()(HttpRequest request, std::shared_ptr<HttpReply> reply) const {
  const std::vector<std::string> segments = decoded_segments(request.raw_path);
  std::vector<const Route*> fitting;
  for (const Route& route : routes_) {
    if (fits(route, segments, nullptr) || request.path == "*") fitting.push_back(&route);
  }
  if (fitting.empty()) {
    reply->respond(http_error(404, "there is nothing at " + request.path, "", "not_found"));
    return;
  }
  const Route* best = nullptr;
  for (const std::string& method : {request.method, std::string(request.method == "HEAD" ? "GET" : "")}) {
    for (const Route* route : fitting) {
      if (route->method == method && request.path != "*" && (best == nullptr || is_closer(*route, *best))) best = route;
    }
    if (best != nullptr) break;
  }
  if (best != nullptr) {
    fits(*best, segments, &request.parts);
    best->handler(std::move(request), std::move(reply));
    return;
  }
  HttpResponse response = http_error(405, request.method + " is not possible for " + request.path, "", "method");
  if (request.method == "OPTIONS") response = HttpResponse{204, "", "", {}};
  response.headers.emplace_back("Allow", allowed_methods(fitting));
  reply->respond(std::move(response));
}

}  // namespace kw
