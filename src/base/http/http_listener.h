#pragma once
// Sockets that listen: TCP addresses of a name, or a Unix socket. Inside the module only.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <string>
#include <vector>

#include "base/http/http_transport.h"
#include "base/result.h"

namespace kw {

using HttpAcceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

struct HttpListener {
  std::vector<HttpAcceptor> acceptors;  // a name may have several addresses; all have the same port
  int port = 0;
  std::string address;  // "127.0.0.1:8000", "[::1]:8000" or the path
};

Result<HttpListener> listen_tcp(boost::asio::io_context& context, const std::string& host, int port);
// Mode 0600. A socket that a dead server left is replaced, any other file is not.
Result<HttpListener> listen_unix(boost::asio::io_context& context, const std::string& path);

// "127.0.0.1:40312", "[::1]:40312" or "unix".
std::string peer_name(const HttpSocket& socket);

// TLS 1.2 and 1.3 with the files' certificate and key.
Result<boost::asio::ssl::context> server_tls(const std::string& certificate_file, const std::string& key_file);

}  // namespace kw
