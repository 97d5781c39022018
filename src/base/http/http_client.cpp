#include "base/http/http_client.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <map>
#include <thread>

#include "base/http/http_transport.h"
#include "base/http/response_reader.h"

namespace kw {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

constexpr std::size_t read_bytes = 16u << 10;

Result<asio::ssl::context> client_tls(const std::string& trusted_file) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  IoError problem;
  context.set_verify_mode(asio::ssl::verify_peer, problem);
  if (!problem) {
    trusted_file.empty() ? context.set_default_verify_paths(problem) : context.load_verify_file(trusted_file, problem);
  }
  if (problem) return Error{"cannot read whose certificates are trusted: " + problem.message(), "", {}};
  return context;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

std::string request_text(const HttpUrl& server, const HttpCall& call) {
  std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept-Encoding: identity\r\n",
                                 call.method, call.path, host_header(server));
  // A line end in a value would be a header of its own.
  for (const auto& [name, value] : call.headers)
    if (is_plain(name) && is_plain(value)) text += fmt::format("{}: {}\r\n", name, value);
  if (!call.body.empty() || call.method == "POST") text += fmt::format("Content-Length: {}\r\n", call.body.size());
  return text + "\r\n" + call.body;
}

Protocol::endpoint unix_endpoint(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return {&address, sizeof address};
}

HttpFault fault_of(ResponseReader::Fault fault) {
  switch (fault) {
    case ResponseReader::Fault::too_large:
      return HttpFault::too_large;
    case ResponseReader::Fault::cut_off:
      return HttpFault::cut_off;
    default:
      return HttpFault::not_http;
  }
}

}  // namespace

struct HttpClient::Running {
  HttpUrl server;
  HttpClientOptions options;
  asio::ssl::context tls;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::atomic<Ticket> next_ticket{1};
  std::map<Ticket, std::shared_ptr<Exchange>> open{};  // of the client's thread
  std::thread thread{};
};

// One call, on the client's thread. It holds itself as long as something is under way.
class HttpClient::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Running& client, Ticket ticket, const HttpCall& call, Done done)
      : client_(client),
        ticket_(ticket),
        text_(request_text(client.server, call)),
        done_(std::move(done)),
        resolver_(client.context),
        deadline_(client.context),
        reader_(client.options.limits.max_header_bytes, client.options.limits.max_body_bytes) {}

  void begin() {
    wait(client_.options.limits.connect_time, HttpFault::no_connection, "the connection takes too long");
    if (client_.server.host.empty()) return connect({unix_endpoint(client_.server.socket)});
    resolver_.async_resolve(
        client_.server.host, std::to_string(client_.server.port),
        [self = shared_from_this()](const IoError& problem, const asio::ip::tcp::resolver::results_type& found) {
          if (!self->done_) return;
          if (problem)
            return self->fail(HttpFault::no_connection, fmt::format("the host {} is not known: {}",
                                                                    self->client_.server.host, problem.message()));
          std::vector<Protocol::endpoint> endpoints;
          for (const auto& each : found) endpoints.emplace_back(each.endpoint());
          self->connect(std::move(endpoints));
        });
  }

  // Nothing is called back any more.
  void drop() {
    done_ = nullptr;
    close();
  }

 private:
  void wait(std::chrono::milliseconds time, HttpFault fault, const char* problem) {
    deadline_.expires_after(time);
    deadline_.async_wait([self = shared_from_this(), fault, problem](const IoError& cancelled) {
      if (!cancelled && self->done_) self->fail(fault, problem);
    });
  }

  void connect(std::vector<Protocol::endpoint> endpoints) {
    socket_.emplace(client_.context);
    auto list = std::make_shared<std::vector<Protocol::endpoint>>(std::move(endpoints));
    asio::async_connect(
        *socket_, *list, [self = shared_from_this(), list](const IoError& problem, const Protocol::endpoint&) {
          if (!self->done_) return;
          if (problem)
            return self->fail(
                HttpFault::no_connection,
                fmt::format("cannot connect to {}: {}", to_string(self->client_.server), problem.message()));
          self->shake_hands();
        });
  }

  void shake_hands() {
    transport_ = client_.server.tls ? tls_client_transport(std::move(*socket_), client_.tls, client_.server.host)
                                    : plain_transport(std::move(*socket_));
    transport_->begin([self = shared_from_this()](const IoError& problem) {
      if (!self->done_) return;
      if (problem)
        return self->fail(HttpFault::not_trusted,
                          fmt::format("no TLS with {}: {}", to_string(self->client_.server), problem.message()));
      self->wait(self->client_.options.limits.answer_time, HttpFault::timed_out, "the answer takes too long");
      self->write();
      self->read();
    });
  }

  void write() {
    if (sent_ == text_.size()) return;
    transport_->write_some(asio::buffer(text_.data() + sent_, text_.size() - sent_),
                           [self = shared_from_this()](const IoError& problem, std::size_t count) {
                             self->sent_ += count;
                             // Who refuses a request may close before all of it was sent: the answer says why.
                             if (!problem && self->done_) self->write();
                           });
  }

  void read() {
    transport_->read_some(asio::buffer(bytes_), [self = shared_from_this()](const IoError& problem, std::size_t count) {
      if (self->done_) self->take(problem, count);
    });
  }

  void take(const IoError& problem, std::size_t count) {
    auto step = count > 0 ? reader_.add({bytes_.data(), count}) : ResponseReader::Step::need_more;
    if (step == ResponseReader::Step::need_more && !problem) return read();
    if (step == ResponseReader::Step::need_more) {
      // TLS without a goodbye may have been cut by anybody on the way.
      if (problem != asio::error::eof) return fail(HttpFault::cut_off, "the connection was lost: " + problem.message());
      step = reader_.end();
    }
    if (step != ResponseReader::Step::complete) return fail(fault_of(reader_.fault()), reader_.problem());
    finish({reader_.take(), {}, {}});
  }

  void fail(HttpFault fault, std::string problem) { finish({std::nullopt, fault, std::move(problem)}); }

  void finish(HttpOutcome outcome) {
    const Done done = std::exchange(done_, nullptr);
    close();
    client_.open.erase(ticket_);
    done(std::move(outcome));
  }

  void close() {
    deadline_.cancel();
    resolver_.cancel();
    IoError ignored;
    if (transport_)
      transport_->socket().close(ignored);
    else if (socket_)
      socket_->close(ignored);
  }

  Running& client_;
  const Ticket ticket_;
  const std::string text_;
  Done done_;  // null: it is over
  asio::ip::tcp::resolver resolver_;
  asio::steady_timer deadline_;
  std::optional<HttpSocket> socket_;
  std::unique_ptr<HttpTransport> transport_;
  ResponseReader reader_;
  std::size_t sent_ = 0;
  std::array<char, read_bytes> bytes_{};
};

HttpClient::HttpClient(std::unique_ptr<Running> running) : running_(std::move(running)) {
  running_->thread = std::thread([client = running_.get()] { client->context.run(); });
}

HttpClient::~HttpClient() {
  running_->context.stop();
  running_->thread.join();
  for (const auto& [ticket, exchange] : running_->open) exchange->drop();
}

Result<std::unique_ptr<HttpClient>> HttpClient::open(const HttpUrl& server, HttpClientOptions options) {
  KW_TRY(asio::ssl::context tls, client_tls(options.trusted_file));
  std::unique_ptr<Running> running(new Running{server, std::move(options), std::move(tls)});
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(running)));
}

HttpClient::Ticket HttpClient::send(HttpCall call, Done done) {
  const Ticket ticket = running_->next_ticket++;
  auto exchange = std::make_shared<Exchange>(*running_, ticket, call, std::move(done));
  asio::post(running_->context, [client = running_.get(), ticket, exchange] {
    client->open.emplace(ticket, exchange);
    exchange->begin();
  });
  return ticket;
}

void HttpClient::cancel(Ticket ticket) {
  asio::post(running_->context, [client = running_.get(), ticket] {
    const auto found = client->open.find(ticket);
    if (found == client->open.end()) return;
    const auto exchange = found->second;
    client->open.erase(found);
    exchange->drop();
  });
}

void HttpClient::after(std::chrono::milliseconds delay, std::function<void()> action) {
  auto timer = std::make_shared<asio::steady_timer>(running_->context, delay);
  asio::post(running_->context, [timer, action = std::move(action)] {
    timer->async_wait([timer, action](const IoError& cancelled) {
      if (!cancelled) action();
    });
  });
}

}  // namespace kw
