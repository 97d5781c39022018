#pragma once
// What carries a connection's bytes: a socket, TCP or Unix, or TLS over one. Inside the module only.

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>

namespace kw {

using HttpSocket = boost::asio::generic::stream_protocol::socket;
using IoError = boost::system::error_code;

// At most one read and one write at a time. Functions are called back by the socket's I/O thread, never at once.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual void begin(std::function<void(IoError)> done) = 0;  // TLS's handshake
  virtual void read_some(boost::asio::mutable_buffer bytes, std::function<void(IoError, std::size_t)> done) = 0;
  virtual void write_some(boost::asio::const_buffer bytes, std::function<void(IoError, std::size_t)> done) = 0;
  // TLS's goodbye, where nothing is being read or written. The socket below is not closed.
  virtual void say_goodbye(std::function<void()> done) = 0;
  virtual HttpSocket& socket() = 0;
};

std::unique_ptr<HttpTransport> plain_transport(HttpSocket socket);
// The context must outlive it.
std::unique_ptr<HttpTransport> tls_transport(HttpSocket socket, boost::asio::ssl::context& context);
// Of the side that asks. The context says whom to believe, and the certificate must be this host's.
std::unique_ptr<HttpTransport> tls_client_transport(HttpSocket socket, boost::asio::ssl::context& context,
                                                    const std::string& host);

}  // namespace kw
