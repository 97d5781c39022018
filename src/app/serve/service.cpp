#include "app/serve/service.h"

#include "agents/episode/episode_store_size.h"
#include "app/serve/service_parts.h"
#include "app/serve/service_routes.h"
#include "base/log.h"

namespace kw {
namespace {

constexpr std::uint64_t most_episode_bytes = std::uint64_t{2} << 30;  // of each set of agents

// A page of another site can send requests to this machine without asking; browsers then name that site.
bool changes_from_another_site(const HttpRequest& request) {
  const std::string& origin = request.header("origin");
  if (origin.empty() || request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS")
    return false;
  const std::size_t scheme = origin.find("://");
  return scheme == std::string::npos || origin.substr(scheme + 3) != request.header("host");
}

// What the agents keep to go on after a crash; one file for each set of agents that ever was.
void bound_episodes(const std::filesystem::path& folder) {
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("episodes-") || !name.ends_with(".db")) continue;
    const auto forgotten = forget_ended_episodes(entry.path(), most_episode_bytes);
    if (!forgotten.ok())
      log_event(LogLevel::error, "episodes_not_forgotten", {{"problem", to_string(forgotten.error())}});
  }
}

}  // namespace

Service::Service(ServeOptions options) : options_(std::move(options)), parts_(std::make_unique<ServiceParts>()) {}

Result<std::unique_ptr<Service>> Service::start(ServeOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(options)));
  Service* self = service.get();
  ServiceParts& parts = *service->parts_;
  KW_TRY(parts.page, PageFiles::load());
  parts.has_keys = service->options_.http.keys != nullptr;
  parts.admins = {service->options_.admins.begin(), service->options_.admins.end()};
  add_routes(service->router_, parts);
  // The server comes last, and the watch asks it for its counts as soon as it is there.
  parts.watch = std::make_unique<ServiceWatch>([self] {
    ServiceCounts now = self->parts_->counts();
    if (const HttpServer* server = self->counted_) now.http = server->counts();
    return now;
  });
  HttpServerOptions http = service->options_.http;
  http.open_paths = {"/", "/health", "/ready", "/page/", "/openapi.json"};
  http.always_paths = {"/health", "/ready", "/metrics"};
  http.access_log = [watch = parts.watch.get(), log = std::move(http.access_log)](const AccessRecord& record) {
    watch->note_access(record);
    if (log) log(record);
  };
  KW_TRY(service->server_,
         HttpServer::start(std::move(http), [self](HttpRequest request, std::shared_ptr<HttpReply> reply) {
           if (changes_from_another_site(request))
             return reply->respond(http_error(403, "pages of other sites may not use this service"));
           self->router_(std::move(request), std::move(reply));
         }));
  service->counted_ = service->server_.get();
  service->loading_ = std::thread([self] {
    self->loaded_ = self->load();
    if (self->loaded_.ok()) self->parts_->not_ready = nullptr;
  });
  return service;
}

Service::~Service() {
  if (loading_.joinable()) loading_.join();
  parts_->not_ready = "draining";
  if (parts_->watch) parts_->watch->stop();  // not there yet where the start failed
  counted_ = nullptr;
  server_.reset();
  if (!parts_->complete) return;
  // Whatever may still call back ends before what it calls.
  parts_->housekeeping.reset();
  parts_->conversations->close();
  parts_->sets->close();
  parts_->work.stop();
  parts_->judges->close();
  parts_->pool.reset();
}

std::string Service::address() const { return server_->address(); }

Result<void> Service::load() {
  ServiceParts& parts = *parts_;
  JudgeSessionOptions judging;
  judging.backend = options_.backend;
  judging.profile = options_.profile;
  judging.workers = options_.judge_workers;
  judging.secret_file = options_.judge_secret_file;
  KW_TRY(parts.judge, JudgeSession::start(judging));
  JudgePoolOptions pool;
  pool.workers = parts.judge->workers();
  parts.pool = std::make_unique<JudgePool>(parts.judge->judge(), pool);
  parts.judges = std::make_unique<PurposeJudges>(*parts.judge, *parts.pool);
  KW_TRY(parts.tasks, TaskBook::open());
  KW_TRY(const auto prompts, prompts_folder());
  KW_TRY(parts.prompts, PromptBook::load(prompts));
  AgentServiceOptions agents;
  agents.loading.device = options_.device;
  agents.store = options_.folder;
  parts.sets = std::make_unique<AgentSets>(agents, *parts.pool, parts.judge->identity(), parts.work);
  for (const std::string& model : options_.models) {
    if (model.empty()) continue;
    KW_TRY([[maybe_unused]] const auto set, parts.sets->load(model, AgentSets::Stay::yes));
  }
  KW_TRY(parts.experiments, ExperimentDesk::open(options_.runs / "experiments.db", *parts.sets));
  KW_TRY(parts.conversations, ConversationDesk::open(options_.folder / "conversations.db", *parts.tasks, *parts.sets,
                                                     *parts.experiments, parts.work, parts.judge->description()));
  parts.chat = std::make_unique<ChatApi>(*parts.sets, *parts.tasks, *parts.pool, parts.work);
  parts.judge_api =
      std::make_unique<JudgeApi>(*parts.tasks, *parts.judges, parts.work, options_.max_kernels_waiting,
                                 [watch = parts.watch.get()](const Verdict& v) { watch->note_verdict(v); });
  parts.conversation_api = std::make_unique<ConversationApi>(*parts.conversations, parts.work);
  parts.runs = std::make_unique<RunApi>(options_.runs, parts.work);
  parts.housekeeping = std::make_unique<Housekeeping>(
      std::chrono::minutes(1), [&parts] { parts.experiments->expire(); },
      [&parts] { parts.conversations->forget_old(); }, [folder = options_.folder] { bound_episodes(folder); });
  parts.complete = true;
  return parts.conversations->resume_unfinished();
}

Result<void> Service::wait_until_ready() {
  if (loading_.joinable()) loading_.join();
  return loaded_;
}

std::size_t Service::drain() {
  if (loading_.joinable()) loading_.join();
  parts_->not_ready = "draining";
  if (parts_->complete) parts_->runs->stop();  // a run may go on for hours
  return server_->drain();
}

}  // namespace kw
