#pragma once
// One question, many servers that would all answer it alike. Questions wait in one queue, and a server is given the
// next one when it has room: who is slow gets less. A server that dies, hangs or has no time gives its questions back
// to the queue; it is looked at again, later and later, and is greeted anew before it gets another one. When the queue
// is empty, a question that hangs is also put to a server that has nothing to do; the first answer counts, the other
// call is cancelled.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/http/http_client.h"

namespace kw {

struct ServerPoolLimits {
  int failures = 8;  // of servers, with one question at hand; then the question itself is taken for the reason
  std::chrono::milliseconds first_wait{200};       // before a server that failed is looked at again; then twice as long
  std::chrono::milliseconds longest_wait{5'000};   // each time
  std::chrono::milliseconds look_every{2'000};     // at a server that works
  std::chrono::milliseconds look_time{20'000};     // in which it must say that it is there
  std::chrono::milliseconds opening_time{60'000};  // in which servers that are still loading may become ready
  std::chrono::milliseconds tell_every{10'000};    // while it waits for them
  std::chrono::milliseconds patience{600'000};     // of a question, while there is no server at all
  std::chrono::milliseconds hang_time{3'000};      // at least, before a question is put to a second server, too
  HttpClientLimits http;                           // of a question
};

// Asked of each server before its first question, and again whenever it was away.
struct ServerGreeting {
  std::function<HttpCall()> call;
  // How many questions it bears at a time. An error: this server is not to be used, and why.
  std::function<Result<std::size_t>(const HttpUrl& server, const HttpResponse& answer)> check;
  // Told while the pool opens: who is missing ("http://a:8000: nobody listens there"), and how long it will still wait.
  // The first time as soon as one could not be reached.
  std::function<void(const std::vector<std::string>& missing, std::chrono::milliseconds left)> waiting = {};
};

enum class AnswerUse : std::uint8_t {
  take,
  ask_another,  // once more; what the next one says is taken
  nonsense,     // the server is not what it should be
};

struct ServerCounts {
  std::string server;
  std::string state;          // "ready", or what is wrong
  std::int64_t answered = 0;  // questions whose answer counted
  std::int64_t failed = 0;    // calls
  std::int64_t second = 0;    // calls that were made because another server hung
};

class ServerPool {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Member {
    HttpUrl url;
    Headers headers = {};  // of each call: the key
  };
  using Judgement = std::function<AnswerUse(const HttpResponse&)>;  // of an answer with status 200

  // Waits until every server has been greeted, or could not be for opening_time. An error: a server is not to be used,
  // or none is there. Servers that come later are greeted then, and left out if they are wrong.
  static Result<std::unique_ptr<ServerPool>> open(std::vector<Member> members, ServerGreeting greeting,
                                                  ServerPoolLimits limits = {});
  // Nobody may be asking any more.
  ~ServerPool();
  ServerPool(const ServerPool&) = delete;
  ServerPool& operator=(const ServerPool&) = delete;

  // Blocks; from any number of threads. The outcome has a response of status 200 that `use` takes, one that says that
  // the question itself is wrong (4xx), or a fault: patience is over, or an interrupt.
  HttpOutcome ask(HttpCall call, const Judgement& use);

  std::size_t calls_at_a_time() const;  // of all servers that were ever greeted
  std::vector<ServerCounts> counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Server;
  struct Question;
  using Lock = std::unique_lock<std::mutex>;

  ServerPool(ServerGreeting greeting, ServerPoolLimits limits);
  // The lock is held for all of these.
  void wait_for_all(Lock& lock);
  void tell_who_is_missing(std::chrono::milliseconds left) const;
  void pump();
  void put(const std::shared_ptr<Question>& question, Server& server);
  void ask_twice();
  void look(Server& server);
  void looked(Server& server, const HttpOutcome& outcome);
  void greet(Server& server);
  void greeted(Server& server, const HttpOutcome& outcome);
  void answered(Server& server, const std::shared_ptr<Question>& question, HttpOutcome outcome);
  void away(Server& server, const std::string& problem, std::chrono::milliseconds at_least);
  void leave_out(Server& server, const std::string& problem);
  void give_back(Server& server);
  void finish(const std::shared_ptr<Question>& question, HttpOutcome outcome);
  void give_up_waiting();
  Server* idlest();
  // It is not.
  void keep();

  const ServerGreeting greeting_;
  const ServerPoolLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // a server's state, or the end
  bool ending_ = false;
  std::deque<std::shared_ptr<Question>> waiting_;
  std::vector<std::shared_ptr<Question>> asked_;  // of servers, not answered yet
  Clock::time_point somebody_there_ = Clock::now();
  double usual_seconds_ = 0;  // that an answer takes: a moving mean; 0: not known
  std::vector<std::unique_ptr<Server>> servers_;
  std::thread keeper_;  // looks at servers, and at what hangs
};

}  // namespace kw
