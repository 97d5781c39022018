// How a connection reads requests; http_connection_output.cpp is about answers.
#include "base/http/http_connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include "base/check.h"
#include "base/http/http_admission.h"
#include "base/http/http_exchange.h"
#include "base/http/server_sent_events.h"
#include "base/log.h"

namespace kw {
namespace {

namespace asio = boost::asio;

// A body that is refused is read and thrown away up to this size, so that the connection can go on.
constexpr std::uint64_t max_discarded_body_bytes = 64u << 10;
constexpr std::chrono::milliseconds watch_time{1000};

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpServerState> server, std::unique_ptr<HttpTransport> transport,
                               std::string peer, bool to_refuse)
    : server_(std::move(server)),
      transport_(std::move(transport)),
      phase_timer_(transport_->socket().get_executor()),
      write_timer_(transport_->socket().get_executor()),
      reader_(server_->options.limits.max_header_bytes, server_->options.limits.max_body_bytes),
      peer_(std::move(peer)),
      to_refuse_(to_refuse) {}

void HttpConnection::start() {
  asio::post(transport_->socket().get_executor(), [self = shared_from_this()] {
    self->self_ = self;
    self->set_phase(Phase::handshake);
    self->transport_->begin([self](IoError problem) {
      if (self->phase_ == Phase::ended) return;
      if (problem) return self->end();
      self->set_phase(Phase::idle);
      self->read_more();
    });
  });
}

// Asio does not promise that what two threads post, one after the other, runs in that order. A stream's parts must.
void HttpConnection::post(std::function<void(HttpConnection&)> work) {
  {
    const std::scoped_lock lock(posted_mutex_);
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return;  // somebody has called already
  }
  asio::post(transport_->socket().get_executor(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->run_posted();
  });
}

void HttpConnection::run_posted() {
  std::vector<std::function<void(HttpConnection&)>> work;
  {
    const std::scoped_lock lock(posted_mutex_);
    work.swap(posted_);
  }
  for (const auto& one : work) {
    if (phase_ != Phase::ended) one(*this);
  }
}

void HttpConnection::cut() {
  post([](HttpConnection& connection) { connection.end(); });
}

void HttpConnection::evict() {
  post([](HttpConnection& connection) {
    const Phase phase = connection.phase_;
    if (phase == Phase::handshake || phase == Phase::idle || phase == Phase::head) connection.end();
  });
}

void HttpConnection::close_if_idle() {
  post([](HttpConnection& connection) {
    IoError problem;
    if (connection.phase_ != Phase::idle || connection.transport_->socket().available(problem) > 0) return;
    connection.end();
  });
}

void HttpConnection::set_phase(Phase phase) {
  phase_ = phase;
  const HttpLimits& limits = server_->options.limits;
  const bool waits = phase == Phase::handshake || phase == Phase::idle || phase == Phase::head;
  waiting_since_ns = waits ? Clock::now().time_since_epoch().count() : 0;
  switch (phase) {
    case Phase::handshake:
      return set_timer(limits.header_time);
    // A connection that never asked anything is less welcome than one that did.
    case Phase::idle:
      return set_timer(answers_ == 0 ? limits.header_time : limits.idle_time);
    case Phase::head:
      return set_timer(limits.header_time);
    case Phase::body:
      return set_timer(limits.body_time);
    case Phase::lingering:
      return set_timer(limits.linger_time);
    case Phase::answering:
    case Phase::ended:
      phase_timer_.cancel();
      return;
  }
}

void HttpConnection::set_timer(std::chrono::milliseconds time) {
  phase_timer_.expires_after(time);
  phase_timer_.async_wait([weak = weak_from_this()](IoError problem) {
    // A timer that was set again while this call waited its turn has another end.
    const auto self = weak.lock();
    if (problem || self == nullptr || self->phase_ == Phase::ended || self->phase_timer_.expiry() > Clock::now())
      return;
    self->on_timer();
  });
}

void HttpConnection::on_timer() {
  switch (phase_) {
    case Phase::handshake:
    case Phase::head:
    case Phase::body:
      server_->count([](HttpCounts& totals) { ++totals.timed_out; });
      if (phase_ == Phase::handshake || !reader_.begun()) return end();
      return refuse(http_error(408, "the request took too long to arrive"));
    case Phase::idle:
    case Phase::lingering:
      return end();
    case Phase::answering:
      return on_answer_timer();
    case Phase::ended:
      return;
  }
}

// While an answer is being made: a sign of life for event streams, and a look whether the client is still there where
// nothing can be read because it has sent enough for now.
void HttpConnection::on_answer_timer() {
  if (!reading_ && !input_ended_) {
    pollfd descriptor{transport_->socket().native_handle(), POLLRDHUP, 0};
    if (::poll(&descriptor, 1, 0) > 0 && (descriptor.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      return on_end_of_input();
    }
  }
  const auto quiet = Clock::now() - last_send_;
  if (is_events_ && !answer_complete_ && unsent_bytes == 0 && quiet >= server_->options.limits.comment_time) {
    send_framed(sse_comment("keep-alive"));
    write_more();
  }
  set_answer_timer();
}

void HttpConnection::set_answer_timer() {
  if (!reading_ && !input_ended_) {
    set_timer(watch_time);
  } else if (is_events_) {
    const auto quiet = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_send_);
    const auto left = server_->options.limits.comment_time - quiet;
    set_timer(std::max(left, std::chrono::milliseconds(1)));
  }
}

void HttpConnection::read_more() {
  if (reading_ || input_ended_) return;
  const std::span<char> space = reader_.space();
  if (space.empty()) {
    KW_CHECK(phase_ == Phase::answering);  // else the reader would have taken bytes or failed
    return set_answer_timer();
  }
  reading_ = true;
  transport_->read_some(
      asio::buffer(space.data(), space.size()),
      [self = shared_from_this()](IoError problem, std::size_t bytes) { self->on_read(problem, bytes); });
}

void HttpConnection::on_read(IoError problem, std::size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::ended) return;
  if (phase_ == Phase::lingering) return say_goodbye();
  if (problem == asio::error::eof || problem == asio::ssl::error::stream_truncated) return on_end_of_input();
  if (problem) return end();
  reader_.wrote(bytes);
  if (phase_ == Phase::answering) return read_more();
  // What came together with the head is at most a buffer, and is not counted.
  if (phase_ == Phase::body && slot_ != nullptr && !slot_->hold(bytes)) {
    server_->count([](HttpCounts& totals) { ++totals.refused; });
    return refuse(http_error(503, "too many large requests at once", "", "overloaded"));
  }
  if (phase_ == Phase::idle) begin_request();
  read_requests();
}

void HttpConnection::on_end_of_input() {
  input_ended_ = true;
  switch (phase_) {
    case Phase::head:
    case Phase::body:
      return read_requests();
    case Phase::answering:
      if (const auto exchange = exchange_.lock()) exchange->client_left();
      // Half-closed or gone? An answer may still be read by somebody, a stream is not worth the doubt.
      if (phase_ == Phase::answering && streaming_ && !answer_complete_) end();
      return;
    default:
      return end();
  }
}

void HttpConnection::begin_request() {
  record_ = AccessRecord();
  record_.peer = peer_;
  begin_ = Clock::now();
  request_open_ = false;
  keep_alive_ = false;
  is_http_1_1_ = true;
  is_head_ = head_sent_ = streaming_ = is_events_ = answer_complete_ = false;
  set_phase(Phase::head);
}

void HttpConnection::read_requests() {
  while (phase_ == Phase::head || phase_ == Phase::body) {
    switch (reader_.next()) {
      case RequestReader::Step::need_more:
        if (!input_ended_) return read_more();
        if (!reader_.begun()) return end();
        return refuse(http_error(400, "the request ended before it was complete"));
      case RequestReader::Step::head:
        on_head();
        break;
      case RequestReader::Step::complete:
        return on_complete();
      case RequestReader::Step::failed:
        return refuse(reader_.failure());
    }
  }
}

void HttpConnection::open_record() {
  request_open_ = true;
  const HttpRequest& request = reader_.request();
  record_.id = request.id.empty() ? server_->new_request_id() : request.id;
  record_.method = request.method;
  record_.path = request.path;
}

void HttpConnection::on_head() {
  open_record();
  is_http_1_1_ = reader_.is_http_1_1();
  is_head_ = record_.method == "HEAD";
  keep_alive_ = reader_.keep_alive();
  HttpAdmission admission = admit_request(*server_, reader_.request(), to_refuse_);
  record_.user = admission.user;
  slot_ = std::move(admission.slot);
  refusal_ = std::move(admission.refusal);
  if (admission.close) keep_alive_ = false;
  const bool announced = reader_.has_body() && reader_.expects_continue();
  if (refusal_ && reader_.has_body()) {
    const auto length = reader_.content_length();
    if (announced || !length || *length > max_discarded_body_bytes) return refuse(*std::exchange(refusal_, {}));
  }
  if (announced) {
    send("HTTP/1.1 100 Continue\r\n\r\n");
    write_more();
  }
  set_phase(Phase::body);
}

void HttpConnection::on_complete() {
  record_.bytes_in = reader_.bytes_taken();
  set_phase(Phase::answering);
  read_more();  // only to see that the client leaves, and up to a buffer of what it sends ahead
  if (refusal_) return send_answer(*std::exchange(refusal_, {}), nullptr);
  HttpRequest request = reader_.take();
  request.id = record_.id;
  request.peer = peer_;
  request.user = record_.user;
  auto exchange = std::make_shared<HttpExchange>(weak_from_this(), ++exchange_number_, std::exchange(slot_, nullptr),
                                                 server_->options.limits.max_unsent_bytes);
  exchange_ = exchange;
  if (input_ended_) exchange->client_left();
  try {
    server_->handler(std::move(request), std::move(exchange));
  } catch (const std::exception& problem) {
    log_event(LogLevel::error, "http_handler_failed",
              {{"request", record_.id}, {"path", record_.path}, {"problem", problem.what()}});
  }
}

void HttpConnection::refuse(const HttpResponse& response) {
  if (!request_open_) open_record();
  record_.bytes_in = reader_.bytes_taken();
  keep_alive_ = false;
  slot_.reset();
  set_phase(Phase::answering);
  send_answer(response, nullptr);
}

}  // namespace kw
