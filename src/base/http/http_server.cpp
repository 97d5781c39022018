#include "base/http/http_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/check.h"
#include "base/http/http_connection.h"
#include "base/http/http_listener.h"
#include "base/log.h"

namespace kw {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// Files, databases, workers and others need descriptors besides connections.
constexpr std::size_t other_descriptors = 512;
constexpr std::chrono::milliseconds accept_pause{100};  // when there are no descriptors left
constexpr std::chrono::milliseconds drain_look_time{20};

// So that connections never use up the process's descriptors.
std::size_t connections_that_fit(std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t needed = wanted + other_descriptors;
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, needed);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= needed) return wanted;
  const std::size_t fitting = limit.rlim_cur > 2 * other_descriptors ? limit.rlim_cur - other_descriptors
                                                                     : std::max<std::size_t>(limit.rlim_cur / 2, 1);
  log_event(LogLevel::warn, "http_fewer_connections",
            {{"wanted", wanted}, {"possible", fitting}, {"advice", "raise the limit of open files (ulimit -n)"}});
  return fitting;
}

void set_socket_options(HttpSocket& socket) {
  const int yes = 1;
  // Events are small and must not wait for more; a peer whose cable was cut is noticed some day. Unix sockets refuse.
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

}  // namespace

std::string access_line(const AccessRecord& record) {
  const nlohmann::ordered_json line = {{"id", record.id},
                                       {"method", record.method},
                                       {"path", record.path},
                                       {"status", record.status},
                                       {"gone", record.gone},
                                       {"bytes_in", record.bytes_in},
                                       {"bytes_out", record.bytes_out},
                                       {"duration_s", record.duration_s},
                                       {"user", record.user},
                                       {"peer", record.peer}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Accepts for all contexts; lives on the first one's thread.
struct HttpServer::Running {
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> guards;
  std::vector<std::thread> threads;
  HttpListener listener;
  std::size_t next_context = 0;

  void take(HttpServerState& state, HttpSocket socket) {
    const HttpServerState::Room room = state.make_room();
    if (room == HttpServerState::Room::none || state.stopped) return;  // closes it
    set_socket_options(socket);
    std::string peer = peer_name(socket);
    auto transport = state.tls ? tls_transport(std::move(socket), *state.tls) : plain_transport(std::move(socket));
    const auto connection = std::make_shared<HttpConnection>(state.shared_from_this(), std::move(transport),
                                                             std::move(peer), room == HttpServerState::Room::to_refuse);
    state.add_connection(connection);
    connection->start();
  }

  void accept_next(const std::shared_ptr<HttpServerState>& state, HttpAcceptor& acceptor) {
    asio::io_context& context = *state->contexts[next_context++ % state->contexts.size()];
    acceptor.async_accept(context, [this, state, &acceptor](IoError problem, HttpSocket socket) {
      if (!acceptor.is_open()) return;
      if (!problem) take(*state, std::move(socket));
      if (problem != asio::error::no_descriptors && problem != asio::error::no_memory &&
          problem != asio::error::no_buffer_space) {
        return accept_next(state, acceptor);
      }
      log_event(LogLevel::warn, "http_accept_failed", {{"problem", problem.message()}});
      const auto pause = std::make_shared<asio::steady_timer>(acceptor.get_executor(), accept_pause);
      pause->async_wait([this, state, &acceptor, pause](IoError) {
        if (acceptor.is_open()) accept_next(state, acceptor);
      });
    });
  }

  // What has connected already is taken; then nothing listens any more.
  void close(const std::shared_ptr<HttpServerState>& state) {
    std::promise<void> closed;
    asio::post(*state->contexts.front(), [&] {
      for (HttpAcceptor& acceptor : listener.acceptors) {
        IoError problem;
        acceptor.non_blocking(true, problem);
        while (!problem && acceptor.is_open()) {
          HttpSocket socket = acceptor.accept(*state->contexts[next_context++ % state->contexts.size()], problem);
          if (!problem) take(*state, std::move(socket));
        }
        acceptor.close(problem);
      }
      closed.set_value();
    });
    closed.get_future().wait();
    if (!state->options.socket.empty()) ::unlink(state->options.socket.c_str());
  }
};

HttpServer::HttpServer(std::shared_ptr<HttpServerState> state)
    : state_(std::move(state)), running_(std::make_unique<Running>()) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, Handler handler) {
  KW_CHECK(handler != nullptr && options.threads > 0);
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return Error{"TLS needs a certificate and its key", "give both files, or none", {}};
  }
  options.limits.max_connections = connections_that_fit(options.limits.max_connections);
  auto state = std::make_shared<HttpServerState>(std::move(options), std::move(handler));
  const HttpServerOptions& chosen = state->options;
  if (!chosen.tls_cert.empty()) {
    KW_TRY(auto tls, server_tls(chosen.tls_cert, chosen.tls_key));
    state->tls = std::move(tls);
  }
  for (int i = 0; i < chosen.threads; ++i) state->contexts.push_back(std::make_unique<asio::io_context>(1));
  asio::io_context& first = *state->contexts.front();
  auto listener =
      chosen.socket.empty() ? listen_tcp(first, chosen.host, chosen.port) : listen_unix(first, chosen.socket);
  if (!listener.ok()) return std::move(listener).error();
  std::unique_ptr<HttpServer> server(new HttpServer(state));
  Running& running = *server->running_;
  running.listener = std::move(listener).value();
  for (HttpAcceptor& acceptor : running.listener.acceptors) running.accept_next(state, acceptor);
  for (auto& context : state->contexts) {
    running.guards.push_back(asio::make_work_guard(*context));
    running.threads.emplace_back([&context = *context] { context.run(); });
  }
  return server;
}

HttpServer::~HttpServer() { stop(); }

std::string HttpServer::address() const {
  if (!state_->options.socket.empty()) return "unix:" + running_->listener.address;
  return (state_->tls ? "https://" : "http://") + running_->listener.address;
}

int HttpServer::port() const { return state_->options.socket.empty() ? running_->listener.port : 0; }

std::size_t HttpServer::drain() {
  if (state_->draining.exchange(true)) return 0;
  const auto deadline = Clock::now() + state_->options.limits.drain_time;
  {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_until(lock, deadline, [&] { return state_->in_flight == 0; });
  }
  running_->close(state_);
  // All answers are made; now they are sent, and who comes in this moment is told to go elsewhere.
  std::size_t cut = 0;
  while (true) {
    for (const auto& connection : state_->connections_now()) connection->close_if_idle();
    std::unique_lock lock(state_->mutex);
    const auto look_again = std::min(deadline, Clock::now() + drain_look_time);
    state_->changed.wait_until(lock, look_again, [&] { return state_->connections.empty(); });
    cut = state_->in_flight;
    if (state_->connections.empty() || Clock::now() >= deadline) break;
  }
  stop();
  return cut;
}

void HttpServer::stop() {
  if (state_->stopped.exchange(true)) return;
  running_->close(state_);
  for (const auto& connection : state_->connections_now()) connection->cut();
  running_->guards.clear();
  for (std::thread& thread : running_->threads) thread.join();
}

HttpCounts HttpServer::counts() const {
  const std::scoped_lock lock(state_->mutex);
  HttpCounts counts = state_->totals;
  counts.connections = state_->connections.size();
  counts.in_flight = state_->in_flight;
  return counts;
}

}  // namespace kw
