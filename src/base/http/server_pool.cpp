#include "base/http/server_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/http/response_reader.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds tick{50};
constexpr milliseconds slow_answer{1'000};  // to the greeting
constexpr milliseconds longest_asked_wait{60'000};
constexpr double hang_factor = 4;  // of the usual time
constexpr double mean_memory = 0.9;

// Retry-After in seconds; 0: it does not say.
milliseconds asked_to_wait(const HttpResponse& response) {
  const std::string_view text = header_of(response, "retry-after");
  int seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || read.ec != std::errc() || seconds < 0) return milliseconds(0);
  return std::min<milliseconds>(std::chrono::seconds(std::min(seconds, 3600)), longest_asked_wait);
}

bool has_no_time(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }
bool refuses_us(int status) { return status == 401 || status == 403; }

std::string problem_of(const HttpOutcome& outcome) {
  return outcome.response ? fmt::format("it answers HTTP {}", outcome.response->status) : outcome.problem;
}

}  // namespace

struct ServerPool::Question {
  struct Asked {
    Server* server;
    std::uint64_t number;  // of the call
    HttpClient::Ticket ticket;
    Clock::time_point begun;
  };
  HttpCall call;
  Judgement use;
  int failures = 0;
  bool asked_another = false;
  std::vector<Asked> asked;
  bool done = false;
  HttpOutcome outcome;
  std::condition_variable ended;
};

struct ServerPool::Server {
  enum class State : std::uint8_t { away, ready, left_out };
  Member member;
  State state = State::away;
  std::string problem = "it has not answered yet";
  bool heard_of = false;  // it was greeted, or something is known to be wrong with it
  std::size_t at_a_time = 0;
  std::size_t running = 0;
  bool looking = false;
  Clock::time_point look_at = {};
  milliseconds wait{0};
  std::int64_t answered = 0, failed = 0, second = 0;
  std::uint64_t next_call = 1;
  std::unique_ptr<HttpClient> looks, calls;  // last: their threads end before what they use

  std::string name() const { return to_string(member.url); }
  bool has_room() const { return state == State::ready && running < at_a_time; }
  HttpCall with_headers(HttpCall call) const {
    call.path = member.url.path + call.path;
    call.headers.insert(call.headers.end(), member.headers.begin(), member.headers.end());
    return call;
  }
};

ServerPool::ServerPool(ServerGreeting greeting, ServerPoolLimits limits)
    : greeting_(std::move(greeting)), limits_(std::move(limits)) {}

Result<std::unique_ptr<ServerPool>> ServerPool::open(std::vector<Member> members, ServerGreeting greeting,
                                                     ServerPoolLimits limits) {
  KW_CHECK(!members.empty());
  std::unique_ptr<ServerPool> pool(new ServerPool(std::move(greeting), std::move(limits)));
  for (Member& member : members) {
    auto server = std::make_unique<Server>();
    server->member = std::move(member);
    HttpClientOptions looks;
    looks.limits.connect_time = looks.limits.answer_time = pool->limits_.look_time;
    KW_TRY(server->looks, HttpClient::open(server->member.url, looks));
    KW_TRY(server->calls, HttpClient::open(server->member.url, {pool->limits_.http, {}}));
    pool->servers_.push_back(std::move(server));
  }
  pool->keeper_ = std::thread([self = pool.get()] { self->keep(); });
  Lock lock(pool->mutex_);
  pool->wait_for_all(lock);
  const auto& servers = pool->servers_;
  bool one_is_ready = false;
  for (const auto& server : servers) {
    if (server->state == Server::State::left_out) return Error{server->name() + ": " + server->problem, "", {}};
    one_is_ready |= server->state == Server::State::ready;
  }
  if (!one_is_ready)
    return Error{interrupted()
                     ? "interrupted"
                     : fmt::format("none of {} servers was ready within {} s: {}: {}", servers.size(),
                                   std::chrono::ceil<std::chrono::seconds>(pool->limits_.opening_time).count(),
                                   servers.front()->name(), servers.front()->problem),
                 "are they running? GET /ready says when one is",
                 {}};
  for (const auto& server : servers)
    if (server->state == Server::State::away)
      log_event(LogLevel::warn, "server_away", {{"server", server->name()}, {"problem", server->problem}});
  return pool;
}

void ServerPool::wait_for_all(Lock& lock) {
  const auto deadline = Clock::now() + limits_.opening_time;
  const auto all_heard = [&] {
    return interrupted() || std::ranges::all_of(servers_, [](const auto& server) { return server->heard_of; });
  };
  // Whoever is there and ready answers in milliseconds: about them nothing is said.
  const auto one_failed = [](const auto& server) { return !server->heard_of && server->wait > milliseconds(0); };
  auto tell_at = Clock::now() + slow_answer;
  bool told = false;
  while (Clock::now() < deadline && !changed_.wait_for(lock, tick, all_heard)) {
    const auto now = Clock::now();
    if (now < tell_at && (told || !std::ranges::any_of(servers_, one_failed))) continue;
    tell_who_is_missing(std::chrono::ceil<milliseconds>(deadline - now));
    told = true;
    tell_at = now + limits_.tell_every;
  }
}

void ServerPool::tell_who_is_missing(milliseconds left) const {
  if (!greeting_.waiting) return;
  std::vector<std::string> missing;
  for (const auto& server : servers_)
    if (!server->heard_of) missing.push_back(server->name() + ": " + server->problem);
  greeting_.waiting(missing, std::max(left, milliseconds(0)));
}

ServerPool::~ServerPool() {
  {
    const Lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (keeper_.joinable()) keeper_.join();
  for (const auto& server : servers_) {
    server->calls.reset();
    server->looks.reset();
  }
}

HttpOutcome ServerPool::ask(HttpCall call, const Judgement& use) {
  const auto question = std::make_shared<Question>();
  question->call = std::move(call);
  question->use = use;
  Lock lock(mutex_);
  waiting_.push_back(question);
  pump();
  while (!question->ended.wait_for(lock, tick, [&] { return question->done; }))
    if (interrupted()) finish(question, {{}, HttpFault::cut_off, "interrupted"});
  return std::move(question->outcome);
}

std::size_t ServerPool::calls_at_a_time() const {
  const Lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& server : servers_) sum += server->at_a_time;
  return sum;
}

std::vector<ServerCounts> ServerPool::counts() const {
  const Lock lock(mutex_);
  std::vector<ServerCounts> all;
  for (const auto& server : servers_)
    all.push_back({server->name(), server->state == Server::State::ready ? "ready" : server->problem, server->answered,
                   server->failed, server->second});
  return all;
}

ServerPool::Server* ServerPool::idlest() {
  Server* best = nullptr;
  const auto load = [](const Server& server) {
    return static_cast<double>(server.running) / static_cast<double>(server.at_a_time);
  };
  for (const auto& server : servers_)
    if (server->has_room() && (best == nullptr || load(*server) < load(*best))) best = server.get();
  return best;
}

void ServerPool::pump() {
  while (!waiting_.empty() && !ending_) {
    Server* const server = idlest();
    if (server == nullptr) return;
    const auto question = std::move(waiting_.front());
    waiting_.pop_front();
    asked_.push_back(question);
    put(question, *server);
  }
}

void ServerPool::put(const std::shared_ptr<Question>& question, Server& server) {
  const std::uint64_t number = server.next_call++;
  ++server.running;
  const auto begun = Clock::now();
  const HttpClient::Ticket ticket = server.calls->send(
      server.with_headers(question->call), [this, &server, question, number, begun](HttpOutcome outcome) {
        const Lock lock(mutex_);
        const auto is_this = [&](const Question::Asked& asked) {
          return asked.server == &server && asked.number == number;
        };
        if (std::erase_if(question->asked, is_this) == 0) return;  // given back, or another one was faster
        --server.running;
        if (outcome.response && outcome.response->status == 200) {
          const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
          usual_seconds_ = usual_seconds_ > 0 ? mean_memory * usual_seconds_ + (1 - mean_memory) * seconds : seconds;
        }
        answered(server, question, std::move(outcome));
        pump();
      });
  question->asked.push_back({&server, number, ticket, begun});
}

void ServerPool::answered(Server& server, const std::shared_ptr<Question>& question, HttpOutcome outcome) {
  const auto wait_again = [&] {
    if (!question->asked.empty()) return;  // another server still has it
    std::erase(asked_, question);
    waiting_.push_front(question);
  };
  const int status = outcome.response ? outcome.response->status : 0;
  if (status == 200) {
    AnswerUse use = question->use(*outcome.response);
    if (use == AnswerUse::ask_another && question->asked_another) use = AnswerUse::take;
    if (use == AnswerUse::take) {
      ++server.answered;
      return finish(question, std::move(outcome));
    }
    if (use == AnswerUse::ask_another) {
      question->asked_another = true;
      return wait_again();
    }
    outcome = {{}, HttpFault::not_http, "its answer makes no sense"};
  } else if (refuses_us(status)) {
    leave_out(server, fmt::format("it refuses us (HTTP {}); is the key right?", status));
    return wait_again();
  } else if (has_no_time(status)) {
    away(server, problem_of(outcome), asked_to_wait(*outcome.response));
    return wait_again();
  } else if (status >= 400 && status < 500) {
    return finish(question, std::move(outcome));
  }
  // The others that it has are given back by away(), and it is not their fault that this one failed.
  away(server, problem_of(outcome), milliseconds(0));
  if (outcome.response || outcome.fault != HttpFault::no_connection) ++question->failures;
  if (question->failures >= limits_.failures)
    return finish(question, {{},
                             HttpFault::cut_off,
                             fmt::format("{} servers failed with it, the last one: {}", question->failures,
                                         problem_of(outcome))});
  wait_again();
}

void ServerPool::finish(const std::shared_ptr<Question>& question, HttpOutcome outcome) {
  if (question->done) return;
  for (const Question::Asked& other : question->asked) {
    other.server->calls->cancel(other.ticket);
    --other.server->running;
  }
  question->asked.clear();
  std::erase(asked_, question);
  std::erase(waiting_, question);
  question->outcome = std::move(outcome);
  question->done = true;
  question->ended.notify_all();
}

void ServerPool::give_back(Server& server) {
  for (std::size_t i = asked_.size(); i-- > 0;) {
    const auto question = asked_[i];
    const std::size_t before = question->asked.size();
    std::erase_if(question->asked, [&](const Question::Asked& asked) {
      if (asked.server != &server) return false;
      server.calls->cancel(asked.ticket);
      --server.running;
      return true;
    });
    if (question->asked.size() == before || !question->asked.empty()) continue;
    ++question->failures;
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(i));
    waiting_.push_front(question);
  }
}

void ServerPool::away(Server& server, const std::string& problem, milliseconds at_least) {
  if (server.state == Server::State::left_out) return;
  const bool was_ready = server.state == Server::State::ready;
  if (was_ready) {
    ++server.failed;
    log_event(LogLevel::debug, "server_away", {{"server", server.name()}, {"problem", problem}});
    // Who has no time keeps what it has taken.
    if (at_least == milliseconds(0)) give_back(server);
  }
  server.state = Server::State::away;
  server.problem = problem;
  server.wait = std::clamp(2 * server.wait, limits_.first_wait, limits_.longest_wait);
  server.look_at = Clock::now() + std::max(server.wait, at_least);
  changed_.notify_all();
}

void ServerPool::leave_out(Server& server, const std::string& problem) {
  if (server.state == Server::State::left_out) return;
  give_back(server);
  log_event(LogLevel::warn, "server_left_out", {{"server", server.name()}, {"problem", problem}});
  server.state = Server::State::left_out;
  server.problem = problem;
  server.heard_of = true;
  changed_.notify_all();
}

void ServerPool::look(Server& server) {
  server.looking = true;
  HttpCall call;
  call.method = "GET";
  call.path = "/ready";
  server.looks->send(server.with_headers(std::move(call)), [this, &server](const HttpOutcome& outcome) {
    const Lock lock(mutex_);
    server.looking = false;
    looked(server, outcome);
    pump();
  });
}

void ServerPool::looked(Server& server, const HttpOutcome& outcome) {
  if (server.state == Server::State::left_out || ending_) return;
  if (!outcome.response || outcome.response->status != 200) return away(server, problem_of(outcome), milliseconds(0));
  server.look_at = Clock::now() + limits_.look_every;
  if (server.state == Server::State::away) greet(server);
}

void ServerPool::greet(Server& server) {
  server.looking = true;
  server.looks->send(server.with_headers(greeting_.call()), [this, &server](const HttpOutcome& outcome) {
    const Lock lock(mutex_);
    server.looking = false;
    greeted(server, outcome);
    pump();
  });
}

void ServerPool::greeted(Server& server, const HttpOutcome& outcome) {
  if (server.state == Server::State::left_out || ending_) return;
  const int status = outcome.response ? outcome.response->status : 0;
  if (refuses_us(status)) return leave_out(server, fmt::format("it refuses us (HTTP {}); is the key right?", status));
  if (status == 404)
    return leave_out(server, "it does not know what is asked of it (HTTP 404): another version, or another program");
  if (status != 200) return away(server, problem_of(outcome), milliseconds(0));
  const auto bears = greeting_.check(server.member.url, *outcome.response);
  if (!bears.ok()) return leave_out(server, to_string(bears.error()));
  server.at_a_time = std::max<std::size_t>(1, *bears);
  server.state = Server::State::ready;
  server.heard_of = true;
  server.wait = milliseconds(0);
  server.look_at = Clock::now() + limits_.look_every;
  changed_.notify_all();
}

void ServerPool::ask_twice() {
  if (!waiting_.empty()) return;
  const auto usual = milliseconds(static_cast<std::int64_t>(1000 * hang_factor * usual_seconds_));
  const auto too_long = std::max(limits_.hang_time, usual);
  for (const auto& question : asked_) {
    if (question->asked.size() != 1 || Clock::now() - question->asked.front().begun < too_long) continue;
    Server* const server = idlest();
    if (server == nullptr) return;
    if (server == question->asked.front().server) continue;
    ++server->second;
    put(question, *server);
  }
}

void ServerPool::give_up_waiting() {
  const bool all_out =
      std::ranges::all_of(servers_, [](const auto& server) { return server->state == Server::State::left_out; });
  if (!all_out && Clock::now() - somebody_there_ < limits_.patience) return;
  const std::string why = all_out
                              ? fmt::format("no server may be used: {}", servers_.front()->problem)
                              : fmt::format("no server was there for {} s: {}",
                                            std::chrono::duration_cast<std::chrono::seconds>(limits_.patience).count(),
                                            servers_.front()->problem);
  while (!waiting_.empty()) finish(waiting_.front(), {{}, HttpFault::no_connection, why});
}

void ServerPool::keep() {
  Lock lock(mutex_);
  while (!ending_) {
    const auto now = Clock::now();
    for (const auto& server : servers_) {
      if (server->state == Server::State::ready) somebody_there_ = now;
      if (server->state != Server::State::left_out && !server->looking && server->look_at <= now) look(*server);
    }
    give_up_waiting();
    ask_twice();
    changed_.wait_for(lock, tick);
  }
}

}  // namespace kw
