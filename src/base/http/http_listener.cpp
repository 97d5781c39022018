#include "base/http/http_listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <memory>

namespace kw {
namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;

std::string address_text(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV))
    return "unknown";
  if (address->sa_family == AF_INET6) return fmt::format("[{}]:{}", host.data(), port.data());
  return fmt::format("{}:{}", host.data(), port.data());
}

int port_of(const sockaddr* address) {
  if (address->sa_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
}

void set_port(sockaddr* address, int port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(static_cast<std::uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<std::uint16_t>(port));
  }
}

Result<HttpAcceptor> listen_at(asio::io_context& context, const sockaddr* address, socklen_t length) {
  const auto wrong = [&](const IoError& problem) {
    const bool taken = problem == asio::error::address_in_use;
    return Error{fmt::format("cannot listen on {}: {}", address_text(address, length), problem.message()),
                 taken ? "another program has this port; choose another one" : "",
                 {}};
  };
  HttpAcceptor acceptor(context);
  IoError problem;
  acceptor.open(Protocol(address->sa_family, 0), problem);
  if (problem) return wrong(problem);
  acceptor.set_option(asio::socket_base::reuse_address(true), problem);
  if (address->sa_family == AF_INET6) {
    // "::" is for both, any other address is what it says.
    const bool only_6 = memcmp(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, &in6addr_any, 16) != 0;
    const int value = only_6 ? 1 : 0;
    setsockopt(acceptor.native_handle(), IPPROTO_IPV6, IPV6_V6ONLY, &value, sizeof value);
  }
  acceptor.bind(Protocol::endpoint(address, length), problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) return wrong(problem);
  return acceptor;
}

// Nobody answers at a socket whose server died; its file is left behind.
Result<void> remove_dead_socket(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return Error{path + " exists and is not a socket", "choose another path", {}};
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool answers = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const bool dead = !answers && errno == ECONNREFUSED;
  ::close(probe);
  if (!dead) return Error{"another program listens on " + path, "stop it, or choose another path", {}};
  ::unlink(path.c_str());
  return {};
}

}  // namespace

Result<HttpListener> listen_tcp(asio::io_context& context, const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* first = nullptr;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), "0", &hints, &first);
  if (code != 0) {
    return Error{fmt::format("there is no address for the host '{}': {}", host, gai_strerror(code)),
                 "name an address of this machine, for example 127.0.0.1",
                 {}};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(first, freeaddrinfo);
  HttpListener listener;
  listener.port = port;
  for (addrinfo* one = first; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    set_port(one->ai_addr, listener.port);
    auto acceptor = listen_at(context, one->ai_addr, one->ai_addrlen);
    // A name may have an address of a family that this machine does not have; one address is enough.
    if (!acceptor.ok() && one->ai_next == nullptr && listener.acceptors.empty()) return std::move(acceptor).error();
    if (!acceptor.ok()) continue;
    const auto endpoint = acceptor->local_endpoint();
    listener.port = port_of(endpoint.data());
    if (listener.address.empty()) {
      listener.address = address_text(endpoint.data(), static_cast<socklen_t>(endpoint.size()));
    }
    listener.acceptors.push_back(std::move(acceptor).value());
  }
  if (listener.acceptors.empty()) return Error{"cannot listen on any address of '" + host + "'", "", {}};
  return listener;
}

Result<HttpListener> listen_unix(asio::io_context& context, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{fmt::format("the path of a socket has at most {} bytes: {}", sizeof address.sun_path - 1, path),
                 "choose a shorter path",
                 {}};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  KW_TRY_VOID(remove_dead_socket(path, address));
  HttpAcceptor acceptor(context);
  IoError problem;
  acceptor.open(Protocol(AF_UNIX, 0), problem);
  if (!problem) acceptor.bind(Protocol::endpoint(&address, sizeof address), problem);
  if (problem) return Error{fmt::format("cannot make the socket {}: {}", path, problem.message()), "", {}};
  // Nobody can connect before listen(), so there is no moment in which others might.
  if (::chmod(path.c_str(), 0600) == 0) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) return Error{fmt::format("cannot listen on {}: {}", path, problem.message()), "", {}};
  HttpListener listener;
  listener.acceptors.push_back(std::move(acceptor));
  listener.address = path;
  return listener;
}

std::string peer_name(const HttpSocket& socket) {
  IoError problem;
  const auto endpoint = socket.remote_endpoint(problem);
  if (problem) return "unknown";
  if (endpoint.data()->sa_family == AF_UNIX) return "unix";
  return address_text(endpoint.data(), static_cast<socklen_t>(endpoint.size()));
}

Result<asio::ssl::context> server_tls(const std::string& certificate_file, const std::string& key_file) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  const auto wrong = [](const std::string& what, const std::string& file, const IoError& problem) {
    return Error{fmt::format("cannot use the {} in {}: {}", what, file, problem.message()),
                 "it must be a PEM file that this user may read",
                 {}};
  };
  IoError problem;
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_compression, problem);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A server must not stop to ask a person for a password.
  context.set_password_callback([](std::size_t, asio::ssl::context::password_purpose) { return std::string(); },
                                problem);
  context.use_certificate_chain_file(certificate_file, problem);
  if (problem) return wrong("certificate", certificate_file, problem);
  context.use_private_key_file(key_file, asio::ssl::context::pem, problem);
  if (problem) return wrong("key", key_file, problem);
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return Error{
        fmt::format("the key in {} does not belong to the certificate in {}", key_file, certificate_file), "", {}};
  }
  return context;
}

}  // namespace kw
