// Arbitrary bytes as what a client sends on one connection: requests and at most one failure, the same however the
// bytes come, and everything that a handler gets keeps its promises.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/http/http_head.h"
#include "base/http/http_target.h"
#include "base/http/request_reader.h"
#include "base/http/router.h"

namespace {

constexpr std::size_t max_header_bytes = 512, max_body_bytes = 256;

struct Sent {
  std::vector<kw::HttpRequest> requests;
  bool failed = false;
};

void check_request(const kw::HttpRequest& request) {
  KW_CHECK(kw::is_utf8(request.path) && request.path.find("..") == std::string::npos);
  KW_CHECK(std::ranges::none_of(request.path, [](unsigned char c) { return c < 0x20; }));
  KW_CHECK(request.path.starts_with('/') || request.path == "*");
  KW_CHECK(request.id.empty() || kw::is_request_id(request.id));
  KW_CHECK(request.body.size() <= max_body_bytes);
  for (const auto& [name, value] : request.query) KW_CHECK(kw::is_utf8(name) && kw::is_utf8(value));
  for (const auto& [name, value] : request.headers) {
    KW_CHECK(!name.empty() && std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }));
    KW_CHECK(value.find_first_of("\r\n") == std::string::npos);
  }
}

class Ignored : public kw::HttpReply {
 public:
  void respond(kw::HttpResponse response) override {
    // A path comes back in a message; it must stay inside the body.
    const std::string head = kw::http_head(response, "id", {});
    KW_CHECK(head.find("\r\n\r\n") == head.size() - 4);
    ++answers;
  }
  void begin_stream(kw::HttpResponse) override {}
  bool write(std::string) override { return false; }
  void end_stream() override {}
  void on_gone(std::function<void()>) override {}
  bool gone() const override { return false; }
  int answers = 0;
};

const kw::Router& router() {
  static const kw::Router instance = [] {
    kw::Router made;
    const auto answer = [](const kw::HttpRequest& request, const std::shared_ptr<kw::HttpReply>& reply) {
      kw::HttpResponse response;
      for (const auto& [name, value] : request.parts) response.headers.emplace_back(name, value);
      reply->respond(response);
    };
    made.add("GET", "/v1/runs/{name}", answer);
    made.add("POST", "/v1/{kind}/{name}/start", answer);
    made.add("GET", "/page/{file...}", answer);
    return made;
  }();
  return instance;
}

Sent read(std::string_view bytes, std::size_t part_bytes) {
  using Step = kw::RequestReader::Step;
  kw::RequestReader reader(max_header_bytes, max_body_bytes);
  Sent sent;
  while (true) {
    switch (reader.next()) {
      case Step::need_more: {
        if (bytes.empty()) return sent;
        const std::span<char> space = reader.space();
        KW_CHECK(!space.empty());
        const std::size_t count = std::min({space.size(), bytes.size(), part_bytes});
        std::copy_n(bytes.data(), count, space.data());
        reader.wrote(count);
        bytes.remove_prefix(count);
        break;
      }
      case Step::head:
        (void)reader.content_length();
        break;
      case Step::complete:
        sent.requests.push_back(reader.take());
        reader.restart();
        break;
      case Step::failed:
        sent.failed = true;
        return sent;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t part_bytes = 1 + data[0] % 64;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Sent whole = read(bytes, bytes.size() + 1);
  const Sent parts = read(bytes, part_bytes);
  // Which requests there are must not depend on how the bytes arrive. When a mistake is seen may: in the middle of a
  // head or of a chunk's extension Beast waits for the rest, or not, depending on what it has got at once.
  KW_CHECK(whole.requests.size() == parts.requests.size());
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    const kw::HttpRequest& request = whole.requests[i];
    check_request(request);
    KW_CHECK(request.path == parts.requests[i].path && request.body == parts.requests[i].body);
    KW_CHECK(request.headers == parts.requests[i].headers && request.query == parts.requests[i].query);
    const auto reply = std::make_shared<Ignored>();
    router()(request, reply);
    KW_CHECK(reply->answers == 1);
  }
  return 0;
}
