#include "kernel/judge/judge_services.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/bounded_json.h"
#include "base/bytes.h"
#include "base/progress.h"
#include "kernel/judge/judge_secret.h"
#include "kernel/judge/task_identity.h"
#include "kernel/judge/verdict_file.h"
#include "kernel/task/task_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_services = 256, most_key_bytes = 4096;
constexpr const char* key_variable = "KERNELWRIGHT_API_KEY";
// While one kernel of a worker's is judged, the next one is on its way.
constexpr std::size_t calls_a_worker = 2;
constexpr int most_threads = 1024;
constexpr std::ptrdiff_t most_named = 8;  // in one line
constexpr JsonBounds answer_bounds{
    .max_depth = 10, .min_bytes_per_value = 1, .max_values = 400'000, .max_members = 128, .max_elements = 20'000};

// A key is sent over TLS or on this machine alone: everywhere else it could be read on the way.
Result<ServerPool::Headers> headers_for(const HttpUrl& url) {
  const char* value = std::getenv(key_variable);
  if (value == nullptr || *value == '\0') return ServerPool::Headers{};
  const std::string key(value);
  if (key.size() > most_key_bytes || !std::ranges::all_of(key, [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
    return Error{
        fmt::format("{} holds no key: it is too long or has a space or a line end in it", key_variable), "", {}};
  if (!url.tls && !is_this_machine(url))
    return Error{fmt::format("the key of {} would travel to {} where others can read it", key_variable, to_string(url)),
                 "give the service --tls-cert and --tls-key and name it https://..., or unset the key",
                 {}};
  return ServerPool::Headers{{"Authorization", "Bearer " + key}};
}

Verdict not_judged(const Task& task, const std::string& file, const std::string& why) {
  Verdict verdict;
  verdict.task = task.name;
  verdict.kernel_file = file;
  verdict.summary = why;
  verdict.feedback = "status: internal_error\n" + why + "\n";
  verdict.may_differ = true;
  return verdict;
}

Result<Verdict> verdict_of(const HttpResponse& response) {
  if (response.body.size() > max_verdict_bytes) return Error{"longer than a verdict can be", "", {}};
  KW_TRY(const Json json, parse_bounded_ordered_json(response.body, answer_bounds));
  const auto found = json.find("verdict");
  if (found == json.end() || !found->is_object()) return Error{"there is no verdict in it", "", {}};
  return read_verdict_json(*found);
}

// What a refusal says, in one line that is safe to show.
std::string refusal(const HttpResponse& response) {
  std::string said;
  const auto json = parse_bounded_json(response.body, {.max_depth = 4, .max_members = 64});
  if (json.ok() && json->contains("error") && (*json)["error"].is_object())
    said = json_string_or((*json)["error"], "message", "").ok() ? *json_string_or((*json)["error"], "message", "") : "";
  for (char& c : said)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return fmt::format("HTTP {}{}{}", response.status, said.empty() ? "" : ": ", said.substr(0, 400));
}

// At once and in the open: a person may have started the command before the services.
void say_who_is_missing(const std::vector<std::string>& missing, std::chrono::milliseconds left) {
  const auto end = missing.begin() + std::min<std::ptrdiff_t>(most_named, std::ssize(missing));
  const std::string line = fmt::format("waiting up to {} for {} of the services of --judge-on: {}\n",
                                       duration_text(std::chrono::duration<double>(left).count()), missing.size(),
                                       fmt::join(missing.begin(), end, "; "));
  std::fputs(line.c_str(), stderr);
}

bool is_utf8(std::string_view text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace

bool names_judge_services(std::string_view where) { return looks_like_http_url(where); }

Result<std::vector<HttpUrl>> parse_judge_services(std::string_view where) {
  std::vector<HttpUrl> urls;
  std::set<std::string> names;
  for (std::size_t at = 0; at <= where.size();) {
    const std::size_t end = std::min(where.find(',', at), where.size());
    std::string_view one = where.substr(at, end - at);
    at = end + 1;
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    KW_TRY(HttpUrl url, parse_http_url(one));
    if (!names.insert(to_string(url)).second) return Error{to_string(url) + " is named twice", "", {}};
    urls.push_back(std::move(url));
    if (urls.size() > most_services) return Error{fmt::format("more than {} services", most_services), "", {}};
  }
  return urls;
}

std::string judge_question(const Task& task, std::string_view kernel_text, std::string_view purpose) {
  Json json{{"task", {{"yaml", task_json(task).dump(-1, ' ', false, Json::error_handler_t::replace)}}},
            {"task_identity", task_identity(task)},
            {"purpose", purpose}};
  if (is_utf8(kernel_text)) {
    json["kernel"] = kernel_text;
  } else {
    std::string digits;
    for (const unsigned char c : kernel_text) digits += fmt::format("{:02x}", c);
    json["kernel_hex"] = digits;
  }
  return json.dump();
}

Result<std::unique_ptr<JudgeServices>> JudgeServices::open(JudgeServicesOptions options) {
  KW_TRY(const std::vector<HttpUrl> urls, parse_judge_services(options.where));
  std::unique_ptr<JudgeServices> services(new JudgeServices(std::move(options)));
  KW_TRY(services->challenge_, judge_challenge());
  std::vector<ServerPool::Member> members;
  for (const HttpUrl& url : urls) {
    KW_TRY(ServerPool::Headers headers, headers_for(url));
    headers.emplace_back("Content-Type", "application/json");
    members.push_back({url, std::move(headers)});
  }
  JudgeServices* const self = services.get();
  const ServerGreeting greeting{
      [self] { return self->greeting(); },
      [self](const HttpUrl& server, const HttpResponse& answer) { return self->check(server, answer); },
      say_who_is_missing};
  auto pool = ServerPool::open(std::move(members), greeting, services->options_.limits);
  if (!pool.ok()) {
    Error error = std::move(pool).error();
    error.message = "--judge-on: " + error.message;
    return error;
  }
  services->pool_ = std::move(pool).value();
  return services;
}

HttpCall JudgeServices::greeting() {
  HttpCall call;
  call.method = "GET";
  call.path = fmt::format("/v1/judge?challenge={}&purpose={}", challenge_, options_.purpose);
  return call;
}

Result<std::size_t> JudgeServices::check(const HttpUrl& server, const HttpResponse& answer) {
  KW_TRY(JudgeFacts facts, read_judge_facts(answer.body));
  if (facts.proof != secret_proof(options_.secret, challenge_))
    return Error{"it judges with another secret, so its verdicts would not be ours",
                 "start every service of a run, and this program, with the same --judge-secret-file (docs/judges.md)",
                 {}};
  if (!options_.profile_digest.empty() && facts.profile_digest != options_.profile_digest)
    return Error{fmt::format("it models times for {}, which is not the profile that was asked for", facts.profile),
                 "start it with the same --profile",
                 {}};
  if (!options_.rules.empty() && facts.rules != options_.rules)
    return Error{"it is another version of the judge, or was started with other limits", "", {}};
  const std::scoped_lock lock(mutex_);
  if (!facts_) {
    facts_ = facts;
    first_ = to_string(server);
  }
  if (const std::string how = difference(*facts_, facts); !how.empty())
    return Error{fmt::format("it is not like {}: {}", first_, how),
                 "a pool judges on GPUs that are named alike, or in emulators with one profile",
                 {}};
  return static_cast<std::size_t>(facts.workers) * calls_a_worker;
}

int JudgeServices::workers() const {
  return static_cast<int>(std::clamp<std::size_t>(pool_->calls_at_a_time(), 1, most_threads));
}

Verdict JudgeServices::judge(const Task& task, std::string_view kernel_text, const std::string& file) {
  HttpCall call;
  call.path = "/v1/judge";
  call.body = judge_question(task, kernel_text, options_.purpose);
  std::optional<Verdict> verdict;
  const HttpOutcome outcome = pool_->ask(std::move(call), [&](const HttpResponse& response) {
    auto read = verdict_of(response);
    if (!read.ok()) return AnswerUse::nonsense;
    verdict = std::move(read).value();
    // A machine's own trouble may be that machine's alone.
    return verdict->status == VerdictStatus::internal_error ? AnswerUse::ask_another : AnswerUse::take;
  });
  if (!outcome.response) return not_judged(task, file, "the kernel was not judged: " + outcome.problem);
  if (outcome.response->status != 200)
    return not_judged(task, file, "a judge refuses the question: " + refusal(*outcome.response));
  verdict->kernel_file = file;
  return std::move(*verdict);
}

}  // namespace kw
