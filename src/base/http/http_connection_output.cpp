// How a connection sends answers, and how it ends.
#include "base/http/http_connection.h"
#include "base/http/http_exchange.h"
#include "base/http/http_head.h"
#include "base/http/server_sent_events.h"
#include "base/log.h"

namespace kw {
namespace {

namespace asio = boost::asio;

constexpr std::size_t throw_away_bytes = 16u << 10;
constexpr std::size_t kept_output_bytes = 16u << 10;  // memory that a quiet connection may hold

}  // namespace

void HttpConnection::send_answer(const HttpResponse& response, std::shared_ptr<HttpSlot> slot) {
  send_head(response, false);
  if (!is_head_ && status_has_body(response.status)) send(response.body);
  complete_answer(std::move(slot));
}

void HttpConnection::begin_stream(const HttpResponse& head) {
  streaming_ = true;
  send_head(head, true);
  is_events_ = head.content_type.starts_with(sse_content_type);
  if (is_head_ || !status_has_body(head.status)) {
    // All that the client asked for is said; whoever makes the stream is told that nobody listens.
    if (const auto exchange = exchange_.lock()) exchange->client_left();
    ++exchange_number_;
    return complete_answer(nullptr);
  }
  if (!head.body.empty()) send_framed(head.body);
  write_more();
  set_answer_timer();
  if (input_ended_) end();
}

void HttpConnection::send_part(const std::string& bytes) {
  send_framed(bytes);
  write_more();
}

void HttpConnection::end_stream(std::shared_ptr<HttpSlot> slot) {
  if (is_http_1_1_) send(http_last_chunk);
  complete_answer(std::move(slot));
}

// The slot is given back before the last bytes go out: a client that has its answer may count on its place.
void HttpConnection::complete_answer(std::shared_ptr<HttpSlot> slot) {
  answer_complete_ = true;
  is_events_ = false;
  slot.reset();
  write_more();
}

void HttpConnection::exchange_dropped() {
  if (head_sent_ || input_ended_) return end();
  log_event(LogLevel::error, "http_no_answer", {{"request", record_.id}, {"path", record_.path}});
  send_answer(http_error(500, "the request was given up without an answer"), nullptr);
}

void HttpConnection::cut_slow_reader() {
  server_->count([](HttpCounts& totals) { ++totals.cut_off; });
  end();
}

void HttpConnection::send_head(const HttpResponse& response, bool stream) {
  const bool until_end = stream && !is_http_1_1_;
  if (server_->draining || until_end) keep_alive_ = false;
  head_sent_ = true;
  record_.status = response.status;
  send(http_head(response, record_.id, {is_http_1_1_, keep_alive_, stream && status_has_body(response.status)}));
}

void HttpConnection::send_framed(std::string_view bytes) { is_http_1_1_ ? send(http_chunk(bytes)) : send(bytes); }

void HttpConnection::send(std::string_view bytes) {
  unsent_bytes += bytes.size();
  last_send_ = Clock::now();
  gathered_.append(bytes);
}

void HttpConnection::write_more() {
  if (write_active_) return;
  if (written_ == writing_.size()) {
    writing_.clear();
    if (writing_.capacity() > kept_output_bytes) std::string().swap(writing_);
    writing_.swap(gathered_);
    written_ = 0;
  }
  if (writing_.empty()) {
    if (answer_complete_) answer_flushed();
    return;
  }
  write_active_ = true;
  write_timer_.expires_after(server_->options.limits.write_time);
  write_timer_.async_wait([weak = weak_from_this()](IoError problem) {
    const auto self = weak.lock();
    if (problem || self == nullptr || !self->write_active_ || self->write_timer_.expiry() > Clock::now()) return;
    self->server_->count([](HttpCounts& totals) { ++totals.timed_out; });
    self->end();
  });
  transport_->write_some(
      asio::buffer(writing_.data() + written_, writing_.size() - written_),
      [self = shared_from_this()](IoError problem, std::size_t bytes) { self->on_written(problem, bytes); });
}

void HttpConnection::on_written(IoError problem, std::size_t bytes) {
  write_active_ = false;
  write_timer_.cancel();
  if (phase_ == Phase::ended) return;
  if (problem) return end();
  unsent_bytes -= bytes;
  written_ += bytes;
  record_.bytes_out += bytes;
  write_more();
}

void HttpConnection::answer_flushed() {
  ++answers_;
  ++exchange_number_;
  answer_complete_ = false;
  log_access(false);
  if (!keep_alive_ || server_->draining) return linger();
  reader_.restart();
  if (reader_.begun()) {
    begin_request();
    return read_requests();
  }
  if (input_ended_) return end();
  set_phase(Phase::idle);
  read_more();
}

void HttpConnection::log_access(bool gone) {
  if (!std::exchange(request_open_, false)) return;
  if (gone && !head_sent_) record_.status = 499;
  record_.gone = gone;
  record_.duration_s = std::chrono::duration<double>(Clock::now() - begin_).count();
  server_->count_answer(record_.status);
  if (server_->options.access_log) server_->options.access_log(record_);
}

// Closing a socket whose input was not read resets the connection, and the client may lose the answer with it. So the
// sending side is closed first, and what still comes is thrown away for a while.
void HttpConnection::linger() {
  set_phase(Phase::lingering);
  if (reading_) {
    IoError ignored;
    transport_->socket().cancel(ignored);  // on_read goes on
  } else {
    say_goodbye();
  }
}

void HttpConnection::say_goodbye() {
  transport_->say_goodbye([self = shared_from_this()] {
    if (self->phase_ == Phase::ended) return;
    IoError ignored;
    self->transport_->socket().shutdown(HttpSocket::shutdown_send, ignored);
    self->writing_.assign(throw_away_bytes, '\0');
    self->throw_away();
  });
}

void HttpConnection::throw_away() {
  transport_->socket().async_read_some(asio::buffer(writing_),
                                       [self = shared_from_this()](IoError problem, std::size_t) {
                                         if (self->phase_ == Phase::ended) return;
                                         if (problem) return self->end();
                                         self->throw_away();
                                       });
}

void HttpConnection::end() {
  if (phase_ == Phase::ended) return;
  const auto until_return = std::move(self_);
  set_phase(Phase::ended);
  write_timer_.cancel();
  slot_.reset();
  IoError ignored;
  transport_->socket().close(ignored);
  log_access(true);
  if (const auto exchange = exchange_.lock()) exchange->client_left();
  server_->remove_connection(this);
}

}  // namespace kw
