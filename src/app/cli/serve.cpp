// kernelwright serve: agents and judge for a team, over HTTP.

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include "app/cli/command.h"
#include "app/serve/service.h"
#include "base/interrupt.h"
#include "base/run_log/run_log.h"

namespace kw::cli {
namespace {

struct ServeArguments {
  std::vector<std::string> models = {"tiny"};
  bool no_agents = false;
  std::vector<std::string> admins;
  std::string listen = "127.0.0.1:8000";
  std::string socket, key_file, tls_cert, tls_key, device = "auto", backend = "auto", profile, runs, folder;
  std::string secret_file;
  int judge_workers = 0;
  int drain_s = 30;
  int parent = 0;
  bool quiet = false, open_to_all = false;
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

// "host:port", "[::1]:8000", or a port alone.
Result<void> set_address(const std::string& listen, HttpServerOptions& http) {
  const std::size_t colon = listen.rfind(':');
  std::string host = colon == std::string::npos ? "" : listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!host.empty()) http.host = host;
  const std::string port = colon == std::string::npos ? listen : listen.substr(colon + 1);
  const auto read = std::from_chars(port.data(), port.data() + port.size(), http.port);
  if (port.empty() || read.ec != std::errc() || read.ptr != port.data() + port.size() || http.port < 0 ||
      http.port > 65535)
    return Error{fmt::format("'{}' is not an address", listen), "write host:port, for example 127.0.0.1:8000", {}};
  return {};
}

Result<ServeOptions> service_options(const ServeArguments& arguments, std::optional<ApiKeys>& keys) {
  ServeOptions options;
  options.models = arguments.no_agents ? std::vector<std::string>{} : arguments.models;
  options.http.socket = arguments.socket;
  if (arguments.socket.empty()) KW_TRY_VOID(set_address(arguments.listen, options.http));
  options.admins = arguments.admins;
  options.http.tls_cert = arguments.tls_cert;
  options.http.tls_key = arguments.tls_key;
  options.http.limits.drain_time = std::chrono::seconds(arguments.drain_s);
  if (!arguments.key_file.empty()) {
    KW_TRY(keys, ApiKeys::load(arguments.key_file));
    options.http.keys = &*keys;
  } else if (arguments.socket.empty() && !arguments.open_to_all) {
    if (!is_loopback(options.http.host))
      return Error{
          fmt::format("without keys the service listens on this machine alone, not on {}", options.http.host),
          "--api-key-file FILE names a file of keys (`kernelwright serve --help` shows how to make one); in a network "
          "of your own, --open-to-all does without",
          {}};
    options.http.allowed_hosts = {"localhost", "127.0.0.1", "::1", "[::1]", options.http.host};
  }
  options.device = arguments.device;
  options.backend = arguments.backend;
  options.profile = arguments.profile;
  options.judge_secret_file = arguments.secret_file;
  options.judge_workers = arguments.judge_workers;
  options.runs = arguments.runs.empty() ? runs_folder() : std::filesystem::path(arguments.runs);
  options.folder = arguments.folder.empty() ? options.runs / "service" : std::filesystem::path(arguments.folder);
  if (!arguments.quiet)
    options.http.access_log = [](const AccessRecord& record) { std::cout << access_line(record) + "\n" << std::flush; };
  return options;
}

// A program that started the service as its own wants it no longer than it lives, however it ends. Asked for by its
// number, because it may have ended before we look for the first time.
bool is_orphan(const ServeArguments& arguments) { return arguments.parent > 0 && ::getppid() != arguments.parent; }

Result<void> serve(Context& context, const ServeArguments& arguments) {
  std::optional<ApiKeys> keys;
  KW_TRY(ServeOptions options, service_options(arguments, keys));
  const bool page = options.http.socket.empty();
  KW_TRY(const auto service, Service::start(std::move(options)));
  std::cerr << "listening on " << service->address() << "; loading\n";
  KW_TRY_VOID(service->wait_until_ready());
  std::cerr << "ready" << (page ? "; the page is at " + service->address() + "/" : std::string()) << "\n";
  if (arguments.key_file.empty() && page)
    std::cerr << (arguments.open_to_all
                      ? "There are no keys: whoever reaches this address may use it.\n"
                      : "There are no keys, so only this machine is served; --api-key-file FILE admits others.\n");
  while (!interrupted() && !is_orphan(arguments)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::cerr << "draining: requests that were accepted are answered\n";
  clear_interrupt();  // a second Ctrl-C ends the program at once
  const std::size_t cut = service->drain();
  if (cut > 0) std::cerr << fmt::format("{} requests were not finished in {} s and are cut\n", cut, arguments.drain_s);
  std::cerr << "ended\n";
  context.exit_code = exit_good;
  return {};
}

}  // namespace

void add_serve_command(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ServeArguments>();
  auto* command = app.add_subcommand("serve", "Serves agents and judge over HTTP, with a web page");
  command
      ->add_option(
          "--model", arguments->models,
          "agents: tiny, smollm2, a run, a folder, an agents.kwz file or URL#NAME of an endpoint; the first answers by "
          "default")
      ->capture_default_str();
  command->add_flag("--no-agents", arguments->no_agents, "a judge alone");
  command->add_option("--listen", arguments->listen, "address and port; port 0 takes any free one")
      ->capture_default_str();
  command->add_option("--socket", arguments->socket, "listen on this Unix socket instead, which only you can use");
  command->add_option("--judge-workers", arguments->judge_workers, "kernels judged at a time; 0: one for each core")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--api-key-file", arguments->key_file,
                   "who may use it: a line `NAME SHA256-OF-KEY [REQUESTS-PER-MINUTE] [AT-A-TIME]` for each key")
      ->check(CLI::ExistingFile);
  command->add_flag("--open-to-all", arguments->open_to_all,
                    "without keys, listen on any address: for a container or a network of your own");
  command->add_option("--admin", arguments->admins, "name of a key that may start, promote and abort experiments");
  auto* cert = command->add_option("--tls-cert", arguments->tls_cert, "certificate with its chain (PEM), for HTTPS");
  auto* key = command->add_option("--tls-key", arguments->tls_key, "its private key (PEM)");
  cert->needs(key);
  key->needs(cert);
  command->add_option("--device", arguments->device, "where agents compute: auto, cpu or gpu")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}));
  command->add_option("--backend", arguments->backend, "where kernels are judged")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "emulator", "gpu"}));
  command->add_option("--profile", arguments->profile, "the device whose time is modelled");
  command->add_option("--judge-secret-file", arguments->secret_file,
                      "file with the secret that all judges of a pool share (docs/judges.md)");
  command->add_option("--runs", arguments->runs, "folder of training runs and experiments (default: runs/)");
  command->add_option("--folder", arguments->folder, "where conversations are kept (default: runs/service)");
  command->add_option("--drain-seconds", arguments->drain_s, "how long Ctrl-C or SIGTERM waits for open requests")
      ->capture_default_str()
      ->check(CLI::Range(0, 3600));
  command->add_option("--end-with", arguments->parent, "end when this process, which started the service, has ended")
      ->check(CLI::PositiveNumber);
  command->add_flag("--quiet", arguments->quiet, "no access log on standard output");
  command->footer(
      "Examples:\n"
      "  kernelwright serve                                       agents, judge and page on http://127.0.0.1:8000\n"
      "  kernelwright serve --socket /tmp/kw.sock --no-agents     a judge for programs of yours\n"
      "  echo \"ada $(printf %s \"$KEY\" | sha256sum | cut -c1-64)\" > keys && \\\n"
      "  kernelwright serve --listen 0.0.0.0:8000 --api-key-file keys --tls-cert cert.pem --tls-key key.pem\n"
      "docs/service.md describes the API.");
  command->callback([&context, arguments] {
    const auto done = serve(context, *arguments);
    if (!done.ok()) fail(context, done.error());
  });
}

}  // namespace kw::cli
