#pragma once
// `kernelwright serve`: agents, judge, tasks, runs and experiments behind one HTTP server. It listens at once and
// answers 503 ("loading") until everything is there; drain() ends it without losing a request that was accepted.

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/http/http_server.h"
#include "base/http/router.h"
#include "base/result.h"

namespace kw {

struct ServiceParts;

struct ServeOptions {
  std::vector<std::string> models = {"tiny"};  // the first is everybody's; "" alone: no agents, a judge only
  HttpServerOptions http;
  std::vector<std::string> admins;  // names of keys that may change experiments
  std::string device = "auto";      // of the agents
  std::string backend = "auto";     // of the judge
  std::string profile;
  std::string judge_secret_file;  // empty: this machine's own secret
  int judge_workers = 0;          // 0: one for each core
  std::filesystem::path runs;     // training runs and experiments.db
  std::filesystem::path folder;   // conversations
  std::size_t max_kernels_waiting = 16'384;
};

class Service {
 public:
  // Returns when it listens. Loading goes on in the background.
  static Result<std::unique_ptr<Service>> start(ServeOptions options);
  ~Service();

  std::string address() const;
  // Until everything is loaded; what went wrong otherwise.
  Result<void> wait_until_ready();
  // Requests that were accepted are answered. Conversations that are still going on stay on disk, and the next service
  // resumes them. Returns how many requests were cut after the time for it.
  std::size_t drain();

 private:
  explicit Service(ServeOptions options);
  Result<void> load();

  ServeOptions options_;
  Router router_;
  std::unique_ptr<ServiceParts> parts_;
  std::thread loading_;
  Result<void> loaded_;
  std::unique_ptr<HttpServer> server_;  // last to come, first to go
  std::atomic<const HttpServer*> counted_ = nullptr;
};

}  // namespace kw
