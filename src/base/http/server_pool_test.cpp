#include "base/http/server_pool.h"

#include <atomic>
#include <future>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/http/http_test_support.h"

namespace kw {
namespace {

using namespace std::chrono_literals;
using Reply = std::shared_ptr<HttpReply>;

// A server that is ready, says its name when it is greeted, and does with questions what the test wants.
class Answerer {
 public:
  using Script = std::function<void(const HttpRequest&, const Reply&)>;

  explicit Answerer(std::string name, Script script = {}, std::string socket = "")
      : name_(std::move(name)), script_(std::move(script)), socket_(std::move(socket)) {
    start();
  }

  void start() {
    HttpServerOptions options;
    options.socket = socket_;
    auto started = HttpServer::start(options, [this](const HttpRequest& request, const Reply& reply) {
      if (request.path == "/ready") return reply->respond({ready ? 200 : 503, "application/json", "{}", {}});
      if (request.path == "/greet") return reply->respond({200, "text/plain", name_, {}});
      ++asked;
      if (script_) return script_(request, reply);
      reply->respond({200, "text/plain", request.body + " by " + name_, {}});
    });
    ASSERT_TRUE(started.ok()) << to_string(started.error());
    server_ = std::move(started).value();
  }
  void stop() { server_.reset(); }

  ServerPool::Member member() const {
    return {parse_http_url(socket_.empty() ? server_->address() : "unix:" + socket_).value(), {}};
  }

  std::atomic<int> asked = 0;
  std::atomic<bool> ready = true;

 private:
  std::string name_;
  Script script_;
  std::string socket_;
  std::unique_ptr<HttpServer> server_;
};

// Keeps what is asked until the test answers.
struct Keeper {
  std::mutex mutex;
  std::vector<std::pair<std::string, Reply>> kept;
  Answerer::Script script() {
    return [this](const HttpRequest& request, const Reply& reply) {
      const std::scoped_lock lock(mutex);
      kept.emplace_back(request.body, reply);
    };
  }
  std::size_t count() {
    const std::scoped_lock lock(mutex);
    return kept.size();
  }
  void answer_all() {
    const std::scoped_lock lock(mutex);
    for (auto& [body, reply] : kept) reply->respond({200, "text/plain", body + " by keeper", {}});
    kept.clear();
  }
};

ServerGreeting plain_greeting(std::size_t at_a_time) {
  return {[] { return HttpCall{"GET", "/greet", {}, ""}; },
          [at_a_time](const HttpUrl&, const HttpResponse& answer) -> Result<std::size_t> {
            if (answer.body == "stranger") return Error{"it is a stranger", "", {}};
            return at_a_time;
          }};
}

ServerPoolLimits quick() {
  ServerPoolLimits limits;
  limits.first_wait = 1ms;
  limits.longest_wait = 20ms;
  limits.look_every = 10ms;
  limits.hang_time = std::chrono::hours(1);
  limits.opening_time = 300'000ms;
  return limits;
}

std::unique_ptr<ServerPool> open(const std::vector<const Answerer*>& servers, ServerPoolLimits limits = quick(),
                                 std::size_t at_a_time = 2) {
  std::vector<ServerPool::Member> members;
  for (const Answerer* server : servers) members.push_back(server->member());
  auto pool = ServerPool::open(members, plain_greeting(at_a_time), std::move(limits));
  EXPECT_TRUE(pool.ok()) << to_string(pool.error());
  return std::move(pool).value();
}

HttpOutcome ask(ServerPool& pool, const std::string& body = "q") {
  return pool.ask({"POST", "/ask", {}, body}, [](const HttpResponse& response) {
    return response.body == "nonsense" ? AnswerUse::nonsense
           : response.body == "sick"   ? AnswerUse::ask_another
                                       : AnswerUse::take;
  });
}

std::string answer_to(ServerPool& pool, const std::string& body = "q") {
  const HttpOutcome outcome = ask(pool, body);
  return outcome.response ? outcome.response->body : "fault: " + outcome.problem;
}

std::map<std::string, ServerCounts> counts_of(const ServerPool& pool) {
  std::map<std::string, ServerCounts> all;
  for (const ServerCounts& each : pool.counts()) all[each.server] = each;
  return all;
}

std::string name_of(const Answerer& server) { return to_string(server.member().url); }

TEST(ServerPool, WhoIsSlowGetsLess) {
  Keeper keeper;
  Answerer fast("fast"), slow("slow", keeper.script());
  const auto pool = open({&fast, &slow});
  EXPECT_EQ(pool->calls_at_a_time(), 4u);
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 40; ++i)
    answers.push_back(std::async(std::launch::async, [&, i] { return answer_to(*pool, std::to_string(i)); }));
  ASSERT_TRUE(comes_true([&] { return counts_of(*pool)[name_of(fast)].answered == 38; }))
      << "all but the two that the slow one holds";
  EXPECT_EQ(slow.asked, 2);
  keeper.answer_all();
  int by_slow = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string answer = answers[static_cast<std::size_t>(i)].get();
    EXPECT_TRUE(answer.starts_with(std::to_string(i) + " by ")) << answer;
    by_slow += answer.ends_with("keeper") ? 1 : 0;
  }
  EXPECT_EQ(by_slow, 2);
}

TEST(ServerPool, WhatHangsIsAlsoPutToAnIdleOneAndCountsOnce) {
  Keeper keeper;
  Answerer hanging("hanging", keeper.script()), idle("idle", {});
  auto limits = quick();
  limits.hang_time = 1ms;
  const auto pool = open({&hanging, &idle}, limits, 1);
  idle.ready = false;  // until the first one has the question
  ASSERT_TRUE(comes_true([&] { return counts_of(*pool)[name_of(idle)].state != "ready"; }));
  auto answer = std::async(std::launch::async, [&] { return answer_to(*pool); });
  ASSERT_TRUE(comes_true([&] { return keeper.count() == 1; }));
  idle.ready = true;
  EXPECT_EQ(answer.get(), "q by idle");
  auto counts = counts_of(*pool);
  EXPECT_EQ(counts[name_of(idle)].second, 1);
  EXPECT_EQ(counts[name_of(idle)].answered, 1);
  keeper.answer_all();  // too late: nobody hears it
  EXPECT_EQ(answer_to(*pool, "next").substr(0, 8), "next by ");
  EXPECT_LE(counts_of(*pool)[name_of(hanging)].answered, 1);
}

TEST(ServerPool, AQuestionOfADeadServerGoesToAnother) {
  Answerer dying("dying", [](const HttpRequest&, const Reply&) {}), good("good");
  const auto pool = open({&dying, &good});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(answer_to(*pool, std::to_string(i)), std::to_string(i) + " by good");
  EXPECT_GE(counts_of(*pool)[name_of(dying)].failed, 1);
}

TEST(ServerPool, AServerThatComesBackIsGreetedAndUsedAgain) {
  const TemporaryFolder folder;
  Answerer one("one", {}, (folder.path() / "one.sock").string());
  const auto pool = open({&one});
  EXPECT_EQ(answer_to(*pool), "q by one");
  one.stop();
  auto answer = std::async(std::launch::async, [&] { return answer_to(*pool, "again"); });
  ASSERT_TRUE(comes_true([&] { return counts_of(*pool)[name_of(one)].state != "ready"; }));
  one.start();
  EXPECT_EQ(answer.get(), "again by one");
}

TEST(ServerPool, WhoHasNoTimeIsLeftAlone) {
  std::atomic<bool> busy = true;
  Answerer server("busy", [&](const HttpRequest& request, const Reply& reply) {
    if (busy.exchange(false)) return reply->respond({429, "application/json", "{}", {{"Retry-After", "0"}}});
    reply->respond({200, "text/plain", request.body + " by busy", {}});
  });
  const auto pool = open({&server});
  EXPECT_EQ(answer_to(*pool), "q by busy");
  EXPECT_EQ(server.asked, 2);
}

TEST(ServerPool, WhatKillsEveryServerIsGivenUp) {
  Answerer a("a", [](const HttpRequest&, const Reply&) {}), b("b", [](const HttpRequest&, const Reply&) {});
  auto limits = quick();
  limits.failures = 3;
  const auto pool = open({&a, &b}, limits);
  const std::string said = answer_to(*pool);
  EXPECT_TRUE(said.starts_with("fault: 3 servers failed with it")) << said;
  EXPECT_EQ(a.asked + b.asked, 3);
}

TEST(ServerPool, AWrongQuestionIsNotAskedAgain) {
  Answerer server("strict", [](const HttpRequest&, const Reply& reply) { reply->respond({409, "", "no", {}}); });
  const auto pool = open({&server});
  const HttpOutcome outcome = ask(*pool);
  ASSERT_TRUE(outcome.response);
  EXPECT_EQ(outcome.response->status, 409);
  EXPECT_EQ(server.asked, 1);
}

TEST(ServerPool, ASickAnswerIsTakenOnlyIfTheNextOneIsSickToo) {
  std::atomic<int> sick = 1;
  Answerer server("s", [&](const HttpRequest&, const Reply& reply) {
    reply->respond({200, "text/plain", sick-- > 0 ? "sick" : "well", {}});
  });
  const auto pool = open({&server});
  EXPECT_EQ(answer_to(*pool), "well");
  sick = 10;
  EXPECT_EQ(answer_to(*pool), "sick");
  EXPECT_EQ(sick, 8);
}

TEST(ServerPool, StrangersAndKeysThatAreRefusedEndIt) {
  Answerer good("good"), stranger("stranger");
  const auto mixed = ServerPool::open({good.member(), stranger.member()}, plain_greeting(1), quick());
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().message, name_of(stranger) + ": it is a stranger");
  // A key that is refused later costs that server alone.
  Answerer locked("locked", [](const HttpRequest&, const Reply& reply) { reply->respond({401, "", "", {}}); });
  const auto pool = open({&good, &locked});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(answer_to(*pool), "q by good");
  EXPECT_LE(locked.asked, 1);
}

TEST(ServerPool, NobodyThereIsAnErrorInTime) {
  const TemporaryFolder folder;
  auto limits = quick();
  limits.opening_time = 100ms;
  const HttpUrl nowhere = parse_http_url("unix:" + (folder.path() / "no.sock").string()).value();
  const auto pool = ServerPool::open({{nowhere, {}}}, plain_greeting(1), limits);
  ASSERT_FALSE(pool.ok());
  EXPECT_NE(pool.error().message.find("none of 1 servers was ready within 1 s"), std::string::npos)
      << pool.error().message;
  // And when the last one goes for good.
  Answerer only("only", {}, (folder.path() / "only.sock").string());
  auto short_patience = quick();
  short_patience.patience = 50ms;
  const auto left = open({&only}, short_patience);
  only.stop();
  EXPECT_TRUE(answer_to(*left).starts_with("fault: no server was there for")) << answer_to(*left);
}

TEST(ServerPool, WhoIsWaitedForIsSaidAtOnceAndAgainAndNobodyElse) {
  const TemporaryFolder folder;
  Answerer there("there");
  const std::string socket = (folder.path() / "late.sock").string();
  const HttpUrl late_url = parse_http_url("unix:" + socket).value();
  auto limits = quick();
  limits.tell_every = 1ms;
  std::unique_ptr<Answerer> late;
  int told = 0;
  ServerGreeting greeting = plain_greeting(1);
  greeting.waiting = [&](const std::vector<std::string>& missing, std::chrono::milliseconds left) {
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_TRUE(missing.front().starts_with(to_string(late_url) + ": ")) << missing.front();
    EXPECT_GT(left, 0ms);
    EXPECT_LE(left, limits.opening_time);
    if (++told == 3) late = std::make_unique<Answerer>("late", Answerer::Script(), socket);
  };
  const auto pool = ServerPool::open({there.member(), {late_url, {}}}, greeting, limits);
  ASSERT_TRUE(pool.ok()) << to_string(pool.error());
  EXPECT_GE(told, 3);
  EXPECT_EQ((*pool)->calls_at_a_time(), 2u);
}

TEST(ServerPool, NoAnswerIsLostWhileServersComeAndGo) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<Answerer>> servers;
  for (int i = 0; i < 3; ++i)
    servers.push_back(
        std::make_unique<Answerer>("s", Answerer::Script(), (folder.path() / (std::to_string(i) + ".sock")).string()));
  auto limits = quick();
  limits.failures = 1'000'000;
  const auto pool = open({servers[0].get(), servers[1].get(), servers[2].get()}, limits);
  std::atomic<bool> over = false;
  std::thread killer([&] {
    for (std::size_t i = 0; !over; i = (i + 1) % servers.size()) {
      servers[i]->stop();
      servers[i]->start();
    }
  });
  std::atomic<int> right = 0;
  std::vector<std::thread> askers;
  for (int t = 0; t < 8; ++t)
    askers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(100 * t + i);
        right += answer_to(*pool, body) == body + " by s" ? 1 : 0;
      }
    });
  for (std::thread& asker : askers) asker.join();
  over = true;
  killer.join();
  EXPECT_EQ(right, 400);
  std::int64_t counted = 0;
  for (const ServerCounts& each : pool->counts()) counted += each.answered;
  EXPECT_EQ(counted, 400) << "each once";
}

}  // namespace
}  // namespace kw
