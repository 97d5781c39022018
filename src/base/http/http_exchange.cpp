#include "base/http/http_exchange.h"

#include "base/check.h"

namespace kw {

HttpExchange::HttpExchange(std::weak_ptr<HttpConnection> connection, std::uint64_t number,
                           std::shared_ptr<HttpSlot> slot, std::size_t max_unsent_bytes)
    : connection_(std::move(connection)),
      number_(number),
      max_unsent_bytes_(max_unsent_bytes),
      slot_(std::move(slot)) {}

HttpExchange::~HttpExchange() {
  if (state_ == State::done) return;
  post(connection_.lock(), [](HttpConnection& connection) { connection.exchange_dropped(); });
}

void HttpExchange::post(const std::shared_ptr<HttpConnection>& connection,
                        std::function<void(HttpConnection&)> work) const {
  if (connection == nullptr) return;
  connection->post([number = number_, work = std::move(work)](HttpConnection& open) {
    if (open.exchange_number() == number) work(open);
  });
}

void HttpExchange::respond(HttpResponse response) {
  std::vector<std::function<void()>> forgotten;  // destroyed without the lock: they may hold anything
  const auto connection = connection_.lock();
  const std::scoped_lock lock(mutex_);
  KW_CHECK(state_ == State::waiting);
  state_ = State::done;
  forgotten.swap(when_gone_);
  post(connection, [response = std::move(response), slot = std::move(slot_)](HttpConnection& open) mutable {
    open.send_answer(response, std::move(slot));
  });
  slot_.reset();
}

void HttpExchange::begin_stream(HttpResponse head) {
  const auto connection = connection_.lock();
  const std::scoped_lock lock(mutex_);
  KW_CHECK(state_ == State::waiting);
  state_ = State::streaming;
  post(connection, [head = std::move(head)](HttpConnection& open) { open.begin_stream(head); });
}

bool HttpExchange::write(std::string chunk) {
  const auto connection = connection_.lock();
  {
    const std::scoped_lock lock(mutex_);
    KW_CHECK(state_ == State::streaming);
    if (gone_ || connection == nullptr) return false;
    if (chunk.empty()) return true;
    const std::size_t unsent = connection->unsent_bytes.load();
    if (unsent == 0 || unsent + chunk.size() <= max_unsent_bytes_) {
      connection->unsent_bytes += chunk.size();
      connection->post([chunk = std::move(chunk), number = number_](HttpConnection& open) {
        open.unsent_bytes -= chunk.size();  // it is counted again with what frames it
        if (open.exchange_number() == number) open.send_part(chunk);
      });
      return true;
    }
    post(connection, [](HttpConnection& open) { open.cut_slow_reader(); });
  }
  client_left();
  return false;
}

void HttpExchange::end_stream() {
  std::vector<std::function<void()>> forgotten;
  const auto connection = connection_.lock();
  const std::scoped_lock lock(mutex_);
  KW_CHECK(state_ == State::streaming);
  state_ = State::done;
  forgotten.swap(when_gone_);
  post(connection, [slot = std::move(slot_)](HttpConnection& open) mutable { open.end_stream(std::move(slot)); });
  slot_.reset();
}

void HttpExchange::on_gone(std::function<void()> then) {
  {
    const std::scoped_lock lock(mutex_);
    if (state_ == State::done) return;
    if (!gone_) {
      when_gone_.push_back(std::move(then));
      return;
    }
  }
  then();
}

bool HttpExchange::gone() const {
  const std::scoped_lock lock(mutex_);
  return gone_;
}

std::size_t HttpExchange::unsent_bytes() const {
  const auto connection = connection_.lock();
  return connection == nullptr ? 0 : connection->unsent_bytes.load();
}

void HttpExchange::client_left() {
  std::vector<std::function<void()>> told;
  {
    const std::scoped_lock lock(mutex_);
    gone_ = true;
    told.swap(when_gone_);
  }
  for (const auto& then : told) then();
}

}  // namespace kw
