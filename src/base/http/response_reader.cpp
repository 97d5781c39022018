#include "base/http/response_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>

#include "base/check.h"
#include "base/http/http_target.h"

namespace kw {
namespace {

namespace beast_http = boost::beast::http;
using ParserError = boost::beast::error_code;

constexpr std::size_t first_body_reserve_bytes = 64u << 10;
constexpr std::string_view answer_begin = "HTTP/1.";

}  // namespace

class ResponseReader::Parser : public beast_http::basic_parser<false> {
 public:
  explicit Parser(std::size_t max_body_bytes) {
    body_limit(max_body_bytes);
    header_limit(UINT32_MAX);  // ours is in add()
    eager(false);
  }

  HttpResponse response;

 private:
  void on_request_impl(beast_http::verb, boost::beast::string_view, boost::beast::string_view, int,
                       ParserError&) override {}
  void on_response_impl(int code, boost::beast::string_view, int, ParserError&) override { response.status = code; }
  void on_field_impl(beast_http::field name, boost::beast::string_view name_text, boost::beast::string_view value_text,
                     ParserError&) override {
    if (in_trailer_) return;
    const std::string_view value(value_text.data(), value_text.size());
    if (name == beast_http::field::content_type) response.content_type = value;
    response.headers.emplace_back(lower_case({name_text.data(), name_text.size()}), value);
  }
  void on_header_impl(ParserError&) override { in_trailer_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ParserError&) override {
    // A length is a promise: memory is taken as bytes come.
    if (length) response.body.reserve(std::min<std::uint64_t>(*length, first_body_reserve_bytes));
  }
  std::size_t on_body_impl(boost::beast::string_view bytes, ParserError&) override {
    response.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, ParserError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view bytes, ParserError&) override {
    response.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(ParserError&) override {}

  bool in_trailer_ = false;
};

ResponseReader::ResponseReader(std::size_t max_header_bytes, std::size_t max_body_bytes)
    : max_header_bytes_(max_header_bytes), max_body_bytes_(max_body_bytes) {
  restart();
}

ResponseReader::~ResponseReader() = default;

void ResponseReader::restart() {
  parser_ = std::make_unique<Parser>(max_body_bytes_);
  parser_->response.content_type.clear();
}

ResponseReader::Step ResponseReader::fail(Fault fault, std::string problem) {
  if (fault_ == Fault::none) {
    fault_ = fault;
    problem_ = std::move(problem);
  }
  return Step::failed;
}

ResponseReader::Step ResponseReader::settle() {
  // "100 Continue" and its like come before the answer.
  while (parser_->is_done() && parser_->response.status / 100 == 1) {
    if (parser_->response.status == 101) return fail(Fault::not_http, "it wants to speak another protocol");
    restart();
    if (!pending_.empty()) return add("");
  }
  if (!parser_->is_done()) return Step::need_more;
  return parser_->response.body.size() > max_body_bytes_ ? fail(Fault::too_large, "the body is too large")
                                                         : Step::complete;
}

ResponseReader::Step ResponseReader::add(std::string_view bytes) {
  if (fault_ != Fault::none) return Step::failed;
  pending_.append(bytes);
  // Said at once, however few bytes there are: some other service listens there.
  const std::string_view first = std::string_view(pending_).substr(0, answer_begin.size());
  if (!parser_->got_some() && !answer_begin.starts_with(first)) return fail(Fault::not_http, "what came is not HTTP");
  std::size_t begin = 0;
  while (begin < pending_.size() && !parser_->is_done()) {
    const bool in_head = !parser_->is_header_done();
    // The head must lie in one piece, and so must the lines between chunks; content is taken as it comes.
    const std::size_t allowed = in_head ? max_header_bytes_ - std::min(max_header_bytes_, header_bytes_)
                                        : std::max(max_header_bytes_, pending_.size() - begin);
    const std::size_t given = std::min(pending_.size() - begin, allowed);
    if (given == 0) return fail(Fault::too_large, "the head of the answer is too large");
    ParserError problem;
    const std::size_t taken = parser_->put({pending_.data() + begin, given}, problem);
    begin += taken;
    if (in_head) header_bytes_ += taken;
    if (problem == beast_http::error::body_limit) return fail(Fault::too_large, "the body is too large");
    if (problem && problem != beast_http::error::need_more)
      return fail(Fault::not_http, "what came is not HTTP: " + problem.message());
    if (taken == 0 && given >= max_header_bytes_) return fail(Fault::too_large, "a line of the answer is too long");
    if (taken == 0 && given == allowed) return fail(Fault::too_large, "the head of the answer is too large");
    if (taken == 0) break;
    if (parser_->response.body.size() > max_body_bytes_) return fail(Fault::too_large, "the body is too large");
  }
  pending_.erase(0, begin);
  return settle();
}

ResponseReader::Step ResponseReader::end() {
  if (fault_ != Fault::none) return Step::failed;
  if (parser_->is_done()) return settle();
  if (!parser_->got_some()) return fail(Fault::cut_off, "the connection was closed before an answer came");
  ParserError problem;
  if (parser_->is_header_done()) parser_->put_eof(problem);
  if (problem || !parser_->is_done())
    return fail(Fault::cut_off, "the connection was closed before the answer was complete");
  return settle();
}

HttpResponse ResponseReader::take() {
  KW_CHECK(parser_->is_done() && fault_ == Fault::none);
  return std::move(parser_->response);
}

std::string_view header_of(const HttpResponse& response, std::string_view lower_case_name) {
  for (const auto& [name, value] : response.headers)
    if (name == lower_case_name) return value;
  return {};
}

}  // namespace kw
