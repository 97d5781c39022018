#pragma once
// The server's HttpReply: carries a handler's answer from any thread to the connection's I/O thread. Inside the module
// only.

#include <mutex>
#include <vector>

#include "base/http/http_connection.h"
#include "base/http/http_reply.h"

namespace kw {

class HttpExchange : public HttpReply {
 public:
  // `number` is the connection's for this request: what comes late from an earlier one is dropped.
  HttpExchange(std::weak_ptr<HttpConnection> connection, std::uint64_t number, std::shared_ptr<HttpSlot> slot,
               std::size_t max_unsent_bytes);
  ~HttpExchange() override;

  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  bool write(std::string chunk) override;
  void end_stream() override;
  void on_gone(std::function<void()> then) override;
  bool gone() const override;
  std::size_t unsent_bytes() const override;

  // The connection says so.
  void client_left();

 private:
  enum class State { waiting, streaming, done };
  void post(const std::shared_ptr<HttpConnection>& connection, std::function<void(HttpConnection&)> work) const;

  const std::weak_ptr<HttpConnection> connection_;
  const std::uint64_t number_;
  const std::size_t max_unsent_bytes_;
  mutable std::mutex mutex_;  // held while work is posted, so that parts of several threads keep their order
  State state_ = State::waiting;
  bool gone_ = false;
  std::shared_ptr<HttpSlot> slot_;
  std::vector<std::function<void()>> when_gone_;
};

}  // namespace kw
