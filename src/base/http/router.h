#pragma once
// From a method and a path to the function that answers: 404 where no pattern fits, 405 with Allow where none of the
// fitting ones has the method; HEAD is served by GET, OPTIONS answers with Allow.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/http_reply.h"

namespace kw {

class Router {
 public:
  using Handler = std::function<void(HttpRequest, std::shared_ptr<HttpReply>)>;

  // A pattern is a path whose segments are text or {name}, which stands for one segment that is not empty, percent-
  // decoded: "/v1/runs/{name}" fits /v1/runs/a%2Fb with parts["name"] == "a/b". {name...} as the last one stands for
  // all that is left. Of several fitting patterns the one with text where the others have names is taken.
  // Routes are added before requests come; the same method and pattern twice is a bug.
  void add(std::string_view method, std::string_view pattern, Handler handler);

  // The server's handler. The router must outlive the server.
  void operator()(HttpRequest request, std::shared_ptr<HttpReply> reply) const;

 private:
  struct Segment {
    enum class Kind { text, one, rest } kind;
    std::string text;  // or the name
    friend bool operator==(const Segment&, const Segment&) = default;
  };
  struct Route {
    std::string method;
    std::vector<Segment> segments;
    Handler handler;
  };

  static bool fits(const Route& route, const std::vector<std::string>& segments,
                   std::map<std::string, std::string>* parts);
  static bool is_closer(const Route& a, const Route& b);
  // Of the routes that fit the path.
  std::string allowed_methods(const std::vector<const Route*>& fitting) const;

  std::vector<Route> routes_;
};

}  // namespace kw
