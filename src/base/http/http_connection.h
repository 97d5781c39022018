#pragma once
// One client's connection: reads requests, hands them over, sends the answers, one after the other. Everything but what
// says otherwise is done by its own I/O thread. Inside the module only.
//
//   handshake -> idle -> head -> body -> answering -> idle ...        keep-alive, or a request that was sent ahead
//                                            `-> lingering -> ended   Connection: close, refused, draining

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "base/http/http_server_state.h"
#include "base/http/http_transport.h"
#include "base/http/request_reader.h"

namespace kw {

class HttpExchange;

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // to_refuse: there are too many connections; this one gets a 503.
  HttpConnection(std::shared_ptr<HttpServerState> server, std::unique_ptr<HttpTransport> transport, std::string peer,
                 bool to_refuse);

  // These may be called by any thread.
  void start();
  void post(std::function<void(HttpConnection&)> work);  // dropped if the connection has ended
  void cut();                                            // ends at once
  void evict();                                          // ends if no request is complete
  void close_if_idle();                                  // ends if no byte of a request has come
  // When it began to wait for a request, as the steady clock counts; 0: it is busy, or was chosen to be closed already.
  std::atomic<std::int64_t> waiting_since_ns{0};
  std::atomic<std::size_t> unsent_bytes{0};

  // Called by the exchange, on the I/O thread. The slot ends there.
  std::uint64_t exchange_number() const { return exchange_number_; }
  void send_answer(const HttpResponse& response, std::shared_ptr<HttpSlot> slot);
  void begin_stream(const HttpResponse& head);
  void send_part(const std::string& bytes);
  void end_stream(std::shared_ptr<HttpSlot> slot);
  void exchange_dropped();  // without an answer
  void cut_slow_reader();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { handshake, idle, head, body, answering, lingering, ended };

  void run_posted();
  void set_phase(Phase phase);
  void set_timer(std::chrono::milliseconds time);
  void on_timer();
  void set_answer_timer();
  void on_answer_timer();

  void read_more();
  void on_read(IoError problem, std::size_t bytes);
  void on_end_of_input();
  void begin_request();
  void read_requests();
  void open_record();
  void on_head();
  void on_complete();
  void refuse(const HttpResponse& response);  // an answer of the server itself, after which nothing more is read

  void send_head(const HttpResponse& response, bool stream);
  void send_framed(std::string_view bytes);
  void send(std::string_view bytes);
  void complete_answer(std::shared_ptr<HttpSlot> slot);
  void write_more();
  void on_written(IoError problem, std::size_t bytes);
  void answer_flushed();
  void log_access(bool gone);

  void linger();
  void say_goodbye();
  void throw_away();
  void end();

  const std::shared_ptr<HttpServerState> server_;  // also keeps the contexts that the members below need
  std::unique_ptr<HttpTransport> transport_;
  boost::asio::steady_timer phase_timer_;
  boost::asio::steady_timer write_timer_;
  RequestReader reader_;
  const std::string peer_;
  const bool to_refuse_;

  std::mutex posted_mutex_;
  std::vector<std::function<void(HttpConnection&)>> posted_;
  std::shared_ptr<HttpConnection> self_;  // from the start to the end
  Phase phase_ = Phase::handshake;
  bool reading_ = false;
  bool input_ended_ = false;  // the client has closed its sending side, or all
  std::uint64_t answers_ = 0;

  // The request at hand.
  std::weak_ptr<HttpExchange> exchange_;
  std::uint64_t exchange_number_ = 0;
  std::shared_ptr<HttpSlot> slot_;       // until it is handed over
  std::optional<HttpResponse> refusal_;  // to be sent when the body, which is short, has been read
  AccessRecord record_;
  Clock::time_point begin_, last_send_;
  bool request_open_ = false;  // record_ is still to be logged
  bool keep_alive_ = false;
  bool is_http_1_1_ = true;
  bool is_head_ = false;  // the method HEAD: no body is sent
  bool head_sent_ = false;
  bool streaming_ = false;
  bool is_events_ = false;
  bool answer_complete_ = false;

  // Bytes on their way out: the first are being written, more gather behind them.
  std::string writing_, gathered_;
  std::size_t written_ = 0;
  bool write_active_ = false;
};

}  // namespace kw
