#pragma once
// Training runs over HTTP: what is in the folder of runs, their curves, and what a run says while it goes on. Read from
// the store that training writes (base/run_log); nothing here changes a run.

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/serve/api_json.h"
#include "app/serve/work_queue.h"
#include "base/http/http_reply.h"
#include "base/run_log/run_store.h"

namespace kw {

class RunApi {
 public:
  RunApi(std::filesystem::path folder, WorkQueue& work);
  ~RunApi();

  void list(std::shared_ptr<HttpReply> reply);
  void show(const std::string& name, std::shared_ptr<HttpReply> reply);
  void metrics(const std::string& name, const HttpRequest& request, std::shared_ptr<HttpReply> reply);
  void texts(const std::string& name, std::shared_ptr<HttpReply> reply);
  // What is logged after a step, as it is logged; ends when the run does.
  void events(const std::string& name, const HttpRequest& request, std::shared_ptr<HttpReply> reply);
  void stop();  // ends all streams, and takes no more

 private:
  struct Watcher {
    std::string run;
    std::int64_t after = -1;  // the last step that was sent
    std::shared_ptr<HttpReply> reply;
  };
  void answer(std::shared_ptr<HttpReply> reply, std::function<Result<Json>(RunStore&)> question);
  Result<RunStore> open() const;
  void watch();
  // False: it is over, or nobody listens.
  bool feed(RunStore& store, Watcher& watcher);

  const std::filesystem::path folder_;
  WorkQueue& work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watcher> watchers_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace kw
