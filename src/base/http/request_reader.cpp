#include "base/http/request_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <cstring>
#include <set>

#include "base/check.h"
#include "base/http/http_target.h"

namespace kw {
namespace {

namespace beast_http = boost::beast::http;
using ParserError = boost::beast::error_code;

constexpr std::size_t small_buffer_bytes = 4u << 10;  // what an idle connection holds
constexpr std::size_t least_large_buffer_bytes = 16u << 10;
constexpr std::size_t first_body_reserve_bytes = 64u << 10;

HttpResponse failure_for(const ParserError& problem) {
  using beast_http::error;
  if (problem == error::body_limit) return http_error(413, "the body is too large");
  if (problem == error::bad_version) return http_error(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  return http_error(400, "this is not an HTTP request: " + problem.message());
}

}  // namespace

class RequestReader::Parser : public beast_http::basic_parser<true> {
 public:
  explicit Parser(std::size_t max_body_bytes) {
    body_limit(max_body_bytes);
    header_limit(UINT32_MAX);  // Beast's counts only what is not parsed yet; ours is in read_head()
    eager(false);
  }

  HttpRequest request;
  std::string target;
  std::optional<HttpResponse> refusal;  // what our rules say, which Beast has no error for
  bool in_trailer = false;
  bool is_1_1 = true;  // also where the head is not known: an answer is written in it

 private:
  // Two of these mean two things to two programs on the way.
  static bool only_once(beast_http::field name) {
    using beast_http::field;
    static const std::set<field> names = {field::host,          field::content_length, field::transfer_encoding,
                                          field::authorization, field::content_type,   field::expect};
    return names.contains(name);
  }

  void refuse(HttpResponse why, ParserError& problem) {
    refusal = std::move(why);
    problem = beast_http::error::bad_field;
  }

  void on_request_impl(beast_http::verb, boost::beast::string_view method, boost::beast::string_view text, int version,
                       ParserError&) override {
    is_1_1 = version >= 11;
    request.method.assign(method.data(), method.size());
    target.assign(text.data(), text.size());
  }

  void on_field_impl(beast_http::field name, boost::beast::string_view name_text, boost::beast::string_view value_text,
                     ParserError& problem) override {
    if (in_trailer) return;  // what comes behind a body must not change what was decided before it
    const std::string lower_name = lower_case({name_text.data(), name_text.size()});
    const std::string_view value(value_text.data(), value_text.size());
    const auto [place, is_new] = request.headers.emplace(lower_name, value);
    if (!is_new) {
      if (only_once(name)) return refuse(http_error(400, "the header " + lower_name + " comes twice"), problem);
      place->second.append(", ").append(value);
    }
    if (name == beast_http::field::content_length &&
        !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) {
      return refuse(http_error(400, "Content-Length is not a number"), problem);
    }
    if (name == beast_http::field::transfer_encoding && lower_case(value) != "chunked") {
      return refuse(http_error(501, "the only Transfer-Encoding of a request is chunked"), problem);
    }
  }

  void on_header_impl(ParserError&) override { in_trailer = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ParserError&) override {
    // A length is a promise: memory is taken as bytes come.
    if (length) request.body.reserve(std::min<std::uint64_t>(*length, first_body_reserve_bytes));
  }
  std::size_t on_body_impl(boost::beast::string_view bytes, ParserError&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, ParserError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view bytes, ParserError&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(ParserError&) override {}
  void on_response_impl(int, boost::beast::string_view, int, ParserError&) override {}
};

RequestReader::RequestReader(std::size_t max_header_bytes, std::size_t max_body_bytes)
    : max_header_bytes_(max_header_bytes),
      max_body_bytes_(max_body_bytes),
      parser_(std::make_unique<Parser>(max_body_bytes)) {}

RequestReader::~RequestReader() = default;

std::span<char> RequestReader::space() {
  const bool in_body = head_given_ && !parser_->is_done();
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (!in_body && buffer_.size() > small_buffer_bytes) std::vector<char>().swap(buffer_);
  }
  if (end_ == buffer_.size() || in_body) {
    // The head must lie in one piece, so the buffer can hold the largest one.
    const std::size_t most = std::max(max_header_bytes_, least_large_buffer_bytes);
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, pending());
      end_ -= begin_;
      begin_ = 0;
    }
    if (in_body) {
      buffer_.resize(most);
    } else if (end_ == buffer_.size()) {
      buffer_.resize(std::min(most, std::max(small_buffer_bytes, 2 * buffer_.size())));
    }
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

void RequestReader::wrote(std::size_t bytes) {
  KW_CHECK(bytes <= buffer_.size() - end_);
  end_ += bytes;
}

void RequestReader::consume(std::size_t bytes) {
  begin_ += bytes;
  bytes_taken_ += bytes;
}

bool RequestReader::begun() const { return pending() > 0 || header_bytes_ > 0; }

RequestReader::Step RequestReader::fail(HttpResponse why) {
  failure_ = std::move(why);
  return Step::failed;
}

RequestReader::Step RequestReader::next() {
  if (failure_) return Step::failed;
  if (!parser_->is_header_done()) {
    const Step step = read_head();
    if (step != Step::head) return step;
  }
  if (!head_given_) {
    head_given_ = true;
    return check_head();
  }
  return read_body();
}

RequestReader::Step RequestReader::read_head() {
  // Some clients put an empty line behind a body (RFC 9112, 2.2).
  while (!parser_->got_some() && pending() >= 2 && std::memcmp(buffer_.data() + begin_, "\r\n", 2) == 0) {
    consume(2);
    header_bytes_ += 2;
  }
  if (header_bytes_ >= max_header_bytes_) return fail(http_error(431, "the head of the request is too large"));
  while (!parser_->is_header_done()) {
    if (!parser_->got_some() && pending() == 1 && buffer_[begin_] == '\r') return Step::need_more;
    if (pending() == 0) return Step::need_more;
    const std::size_t allowed = max_header_bytes_ - std::min(max_header_bytes_, header_bytes_);
    const std::size_t given = std::min(pending(), allowed);
    ParserError problem;
    const std::size_t taken = parser_->put({buffer_.data() + begin_, given}, problem);
    consume(taken);
    header_bytes_ += taken;
    if (problem == beast_http::error::need_more) {
      if (given == allowed) return fail(http_error(431, "the head of the request is too large"));
      if (taken == 0) return Step::need_more;
    } else if (problem) {
      return fail(parser_->refusal ? *parser_->refusal : failure_for(problem));
    }
  }
  return Step::head;
}

RequestReader::Step RequestReader::read_body() {
  while (!parser_->is_done()) {
    if (pending() == 0) return Step::need_more;
    // Content is taken as it comes; what is not are the lines between chunks and the trailer.
    const std::size_t given = std::min(pending(), max_header_bytes_);
    ParserError problem;
    const std::size_t taken = parser_->put({buffer_.data() + begin_, given}, problem);
    consume(taken);
    if (problem && problem != beast_http::error::need_more) return fail(failure_for(problem));
    if (taken == 0 && given == max_header_bytes_) return fail(http_error(400, "a line between chunks is too long"));
    if (taken == 0) return Step::need_more;
  }
  return Step::complete;
}

RequestReader::Step RequestReader::check_head() {
  HttpRequest& request = parser_->request;
  if (const std::string& id = request.header("x-request-id"); is_request_id(id)) request.id = id;
  if (is_http_1_1() && !request.headers.contains("host")) return fail(http_error(400, "there is no Host header"));
  if (!is_http_1_1() && parser_->chunked()) return fail(http_error(400, "HTTP/1.0 has no Transfer-Encoding"));
  auto target = parse_http_target(parser_->target);
  if (!target.ok()) return fail(http_error(400, target.error().message));
  request.path = std::move(target->path);
  request.raw_path = std::move(target->raw_path);
  request.query = std::move(target->query);
  if (request.path == "*" && request.method != "OPTIONS") return fail(http_error(400, "only OPTIONS may ask for '*'"));
  return Step::head;
}

const HttpRequest& RequestReader::request() const { return parser_->request; }
bool RequestReader::keep_alive() const { return parser_->is_header_done() && parser_->keep_alive(); }
bool RequestReader::is_http_1_1() const { return parser_->is_1_1; }
bool RequestReader::expects_continue() const {
  return is_http_1_1() && lower_case(request().header("expect")) == "100-continue";
}
bool RequestReader::has_body() const { return parser_->is_header_done() && !parser_->is_done(); }
std::optional<std::uint64_t> RequestReader::content_length() const {
  const auto length = parser_->is_header_done() ? parser_->content_length() : boost::none;
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

HttpRequest RequestReader::take() { return std::move(parser_->request); }
const HttpResponse& RequestReader::failure() const { return *failure_; }

void RequestReader::restart() {
  parser_ = std::make_unique<Parser>(max_body_bytes_);
  header_bytes_ = 0;
  bytes_taken_ = 0;
  head_given_ = false;
}

}  // namespace kw
