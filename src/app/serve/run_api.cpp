#include "app/serve/run_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/http/server_sent_events.h"
#include "base/run_log/run_headline.h"

namespace kw {
namespace {

constexpr std::chrono::milliseconds look_again{1000};
constexpr std::size_t max_steps_of_answer = 20'000, max_names = 64, max_texts = 50, max_watchers = 256;

std::int64_t number_from(const HttpRequest& request, const std::string& key, std::int64_t if_missing) {
  const auto asked = request.query.find(key);
  if (asked == request.query.end()) return if_missing;
  std::int64_t number = if_missing;
  std::from_chars(asked->second.data(), asked->second.data() + asked->second.size(), number);
  return number;
}

std::vector<std::string> names_from(const HttpRequest& request) {
  std::vector<std::string> names;
  const auto asked = request.query.find("names");
  if (asked == request.query.end()) return names;
  std::string_view text = asked->second;
  while (!text.empty() && names.size() < max_names) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

// The steps that a run intends to take, where its configuration says so.
std::optional<std::int64_t> steps_planned(const RunRecord& run) {
  for (const char* part : {"rl", "sft"}) {
    const auto stage = run.configuration.find(part);
    if (stage == run.configuration.end() || !stage->is_object()) continue;
    const auto steps = stage->find("steps");
    if (run.kind == part && steps != stage->end() && steps->is_number_integer() && steps->get<std::int64_t>() > 0)
      return steps->get<std::int64_t>();
  }
  return std::nullopt;
}

// A run writes down how long it ran when it ends; until then it is the time since it began.
double busy_seconds(const RunRecord& run) {
  return run.busy_s > 0 || status_now(run) != "running" ? run.busy_s : seconds_since_1970() - run.started_s;
}

Json to_json(const RunRecord& run) {
  return {{"name", run.name},
          {"kind", run.kind},
          {"status", status_now(run)},
          {"started_s", number_or_null(run.started_s)},
          {"updated_s", number_or_null(run.updated_s)},
          {"busy_s", number_or_null(busy_seconds(run))},
          {"last_step", run.last_step}};
}

Json left_of(const RunRecord& run) {
  const auto steps = steps_planned(run);
  if (!steps || run.last_step <= 0 || status_now(run) != "running" || run.last_step >= *steps) return nullptr;
  return busy_seconds(run) / static_cast<double>(run.last_step) * static_cast<double>(*steps - run.last_step);
}

}  // namespace

RunApi::RunApi(std::filesystem::path folder, WorkQueue& work)
    : folder_(std::move(folder)), work_(work), thread_([this] { watch(); }) {}

RunApi::~RunApi() { stop(); }

void RunApi::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const Watcher& watcher : watchers_) watcher.reply->end_stream();
    watchers_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<RunStore> RunApi::open() const {
  if (!std::filesystem::exists(folder_ / "runs.db")) return Error{"there are no runs yet", "", {}};
  return RunStore::open(folder_, {.read_only = true});
}

void RunApi::answer(std::shared_ptr<HttpReply> reply, std::function<Result<Json>(RunStore&)> question) {
  const auto work = [this, reply, question = std::move(question)] {
    auto store = open();
    if (!store.ok()) return reply->respond(http_error(404, to_string(store.error())));
    const auto json = question(*store);
    reply->respond(json.ok() ? json_response(*json) : http_error(404, to_string(json.error())));
  };
  if (!work_.submit(work)) reply->respond(busy_response());
}

void RunApi::list(std::shared_ptr<HttpReply> reply) {
  if (!std::filesystem::exists(folder_ / "runs.db")) return reply->respond(json_response({{"runs", Json::array()}}));
  answer(std::move(reply), [](RunStore& store) -> Result<Json> {
    KW_TRY(const auto runs, store.list());
    Json all = Json::array();
    for (auto run = runs.rbegin(); run != runs.rend() && all.size() < 500; ++run) {
      Json one = to_json(*run);
      one["headline"] = nullptr;
      KW_TRY(const auto names, store.metric_names(run->id));
      if (const auto metric = headline_metric(names)) {
        KW_TRY(const auto series, store.series(run->id, *metric));
        if (!series.empty()) one["headline"] = {{"metric", *metric}, {"value", number_or_null(series.back().second)}};
      }
      all.push_back(std::move(one));
    }
    return Json{{"runs", std::move(all)}};
  });
}

void RunApi::show(const std::string& name, std::shared_ptr<HttpReply> reply) {
  answer(std::move(reply), [name](RunStore& store) -> Result<Json> {
    KW_TRY(const RunRecord run, store.named(name));
    Json json = to_json(run);
    json["configuration"] = run.configuration;
    json["machine"] = run.machine;
    json["summary"] = run.summary;
    KW_TRY(json["metrics"], store.metric_names(run.id));
    const auto steps = steps_planned(run);
    json["steps_planned"] = steps ? Json(*steps) : Json(nullptr);
    json["left_s"] = left_of(run);
    return json;
  });
}

void RunApi::metrics(const std::string& name, const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  answer(
      std::move(reply),
      [name, names = names_from(request), after = number_from(request, "after", -1)](RunStore& store) -> Result<Json> {
        KW_TRY(const RunRecord run, store.named(name));
        Json all = Json::object();
        for (const std::string& metric : names) {
          KW_TRY(const auto series, store.series(run.id, metric));
          Json points = Json::array();
          // Of a very long series every nth point is drawn anyway.
          const std::size_t stride = 1 + series.size() / max_steps_of_answer;
          for (std::size_t i = 0; i < series.size(); i += stride)
            if (series[i].first > after) points.push_back({series[i].first, number_or_null(series[i].second)});
          all[metric] = std::move(points);
        }
        return Json{{"series", std::move(all)}, {"last_step", run.last_step}};
      });
}

void RunApi::texts(const std::string& name, std::shared_ptr<HttpReply> reply) {
  answer(std::move(reply), [name](RunStore& store) -> Result<Json> {
    KW_TRY(const RunRecord run, store.named(name));
    KW_TRY(const auto texts, store.texts(run.id));
    Json all = Json::array();
    for (auto text = texts.rbegin(); text != texts.rend() && all.size() < max_texts; ++text)
      all.push_back({{"step", text->step}, {"tag", text->tag}, {"text", text->text}});
    return Json{{"texts", std::move(all)}};
  });
}

void RunApi::events(const std::string& name, const HttpRequest& request, std::shared_ptr<HttpReply> reply) {
  std::int64_t after = number_from(request, "after", -1);
  if (const std::string& seen = request.header("last-event-id"); !seen.empty())
    std::from_chars(seen.data(), seen.data() + seen.size(), after);
  const auto work = [this, name, after, reply] {
    auto store = open();
    if (!store.ok()) return reply->respond(http_error(404, to_string(store.error())));
    const auto run = store->named(name);
    if (!run.ok()) return reply->respond(http_error(404, to_string(run.error())));
    Watcher watcher{run->name, after, reply};
    const std::lock_guard lock(mutex_);
    if (ending_ || watchers_.size() >= max_watchers) return reply->respond(busy_response());
    reply->begin_stream(event_stream());
    if (feed(*store, watcher)) watchers_.push_back(std::move(watcher));
    changed_.notify_all();
  };
  if (!work_.submit(work)) reply->respond(busy_response());
}

bool RunApi::feed(RunStore& store, Watcher& watcher) {
  const auto run = store.named(watcher.run);
  const auto steps = run.ok() ? store.steps_after(run->id, watcher.after) : Result<RunSteps>(run.error());
  if (!steps.ok()) {
    watcher.reply->end_stream();
    return false;
  }
  bool there = !watcher.reply->gone();
  for (const auto& [step, values] : *steps) {
    Json json = Json::object();
    for (const auto& [metric, value] : values) json[metric] = number_or_null(value);
    there = watcher.reply->write(sse_event(step, "metrics", dump_json({{"step", step}, {"values", std::move(json)}})));
    watcher.after = step;
  }
  const std::string status = status_now(*run);
  if (!steps->empty() || status != "running")
    there = watcher.reply->write(sse_event(
        -1, "status", dump_json({{"status", status}, {"left_s", left_of(*run)}, {"busy_s", busy_seconds(*run)}})));
  if (there && status == "running") return true;
  watcher.reply->end_stream();
  return false;
}

void RunApi::watch() {
  for (std::unique_lock lock(mutex_);;) {
    if (ending_) return;
    if (watchers_.empty())
      changed_.wait(lock, [this] { return ending_ || !watchers_.empty(); });
    else
      changed_.wait_for(lock, look_again, [this] { return ending_; });
    if (ending_ || watchers_.empty()) continue;
    auto store = open();
    std::erase_if(watchers_, [&](Watcher& watcher) {
      if (store.ok()) return !feed(*store, watcher);
      watcher.reply->end_stream();
      return true;
    });
  }
}

}  // namespace kw
