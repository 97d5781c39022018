#include "base/http/http_transport.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "base/check.h"

namespace kw {
namespace {

namespace asio = boost::asio;

class PlainTransport : public HttpTransport {
 public:
  explicit PlainTransport(HttpSocket socket) : socket_(std::move(socket)) {}

  void begin(std::function<void(IoError)> done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(asio::mutable_buffer bytes, std::function<void(IoError, std::size_t)> done) override {
    socket_.async_read_some(bytes, std::move(done));
  }
  void write_some(asio::const_buffer bytes, std::function<void(IoError, std::size_t)> done) override {
    socket_.async_write_some(bytes, std::move(done));
  }
  void say_goodbye(std::function<void()> done) override { asio::post(socket_.get_executor(), std::move(done)); }
  HttpSocket& socket() override { return socket_; }

 private:
  HttpSocket socket_;
};

class TlsTransport : public HttpTransport {
 public:
  TlsTransport(HttpSocket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}
  // The side that asks: the certificate must be the host's.
  TlsTransport(HttpSocket socket, asio::ssl::context& context, const std::string& host)
      : stream_(std::move(socket), context), side_(asio::ssl::stream_base::client) {
    SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    IoError problem;
    stream_.set_verify_callback(asio::ssl::host_name_verification(host), problem);
    KW_CHECK(!problem);
  }

  void begin(std::function<void(IoError)> done) override { stream_.async_handshake(side_, std::move(done)); }
  void read_some(asio::mutable_buffer bytes, std::function<void(IoError, std::size_t)> done) override {
    stream_.async_read_some(bytes, std::move(done));
  }
  void write_some(asio::const_buffer bytes, std::function<void(IoError, std::size_t)> done) override {
    stream_.async_write_some(bytes, std::move(done));
  }
  void say_goodbye(std::function<void()> done) override {
    stream_.async_shutdown([done = std::move(done)](IoError) { done(); });
  }
  HttpSocket& socket() override { return stream_.next_layer(); }

 private:
  asio::ssl::stream<HttpSocket> stream_;
  asio::ssl::stream_base::handshake_type side_ = asio::ssl::stream_base::server;
};

}  // namespace

std::unique_ptr<HttpTransport> plain_transport(HttpSocket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<HttpTransport> tls_transport(HttpSocket socket, asio::ssl::context& context) {
  return std::make_unique<TlsTransport>(std::move(socket), context);
}

std::unique_ptr<HttpTransport> tls_client_transport(HttpSocket socket, asio::ssl::context& context,
                                                    const std::string& host) {
  return std::make_unique<TlsTransport>(std::move(socket), context, host);
}

}  // namespace kw
