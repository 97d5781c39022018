#include "app/serve/service_watch.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/sandbox/worker_deaths.h"

namespace kw {
namespace {

constexpr std::chrono::seconds between_points{5};
constexpr std::size_t kept_points = 120;

// Requests of one kind have durations that can be compared.
std::string kind_of(const std::string& path) {
  for (const char* kind : {"judge", "generate", "optimize", "chat", "completions"})
    if (path.starts_with(fmt::format("/v1/{}", kind))) return kind;
  return "other";
}

double cpu_seconds() {
  double all_s = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use{};
    getrusage(who, &use);
    for (const timeval& part : {use.ru_utime, use.ru_stime})
      all_s += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  }
  return all_s;
}

std::uint64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm", 4096);
  unsigned long long total = 0, resident = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct NamedKind {
  const char* name;
  WorkerKind kind;
};
constexpr std::array<NamedKind, 3> worker_kinds = {
    {{"compiler", WorkerKind::compiler}, {"reference", WorkerKind::reference}, {"gpu", WorkerKind::gpu}}};

void write_deaths(MetricsText& text) {
  constexpr std::string_view name = "kernelwright_worker_deaths_total";
  text.begin(name, "counter", "Worker processes that ended while they were needed, and were replaced.");
  for (const NamedKind& one : worker_kinds)
    text.value(name, {{"kind", one.name}}, static_cast<double>(worker_deaths(one.kind)));
}

void write_arms(MetricsText& text, const std::vector<ArmCount>& arms) {
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    text.begin(name, type, help);
    for (const ArmCount& arm : arms)
      text.value(name, {{"experiment", arm.experiment}, {"arm", arm.arm}}, static_cast<double>(value(arm)));
  };
  family("kernelwright_experiment_users_total", "counter", "Users who were given an arm of the present experiment.",
         [](const ArmCount& arm) { return arm.users; });
  family("kernelwright_experiment_outcomes_total", "counter", "Their requests whose outcome is known.",
         [](const ArmCount& arm) { return arm.requests; });
  family("kernelwright_experiment_arm_stopped", "gauge", "1: the arm was rolled back.",
         [](const ArmCount& arm) { return arm.stopped ? 1 : 0; });
}

}  // namespace

ServiceWatch::ServiceWatch(std::function<ServiceCounts()> counts)
    : counts_(std::move(counts)), started_s_(seconds_since_1970()) {
  for (const char* kind : {"judge", "generate", "optimize", "chat", "completions", "other"}) durations_[kind];
  thread_ = std::thread([this] { sample(); });
}

ServiceWatch::~ServiceWatch() { stop(); }

void ServiceWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ServiceWatch::note_access(const AccessRecord& record) {
  durations_.at(kind_of(record.path)).add(record.duration_s);
}

void ServiceWatch::note_verdict(const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  ++verdicts_[std::string(to_string(verdict.status))];
  if (verdict.from_cache) ++cached_;
}

void ServiceWatch::sample() {
  const auto gpu_reader = GpuUseReader::open();  // most machines have none
  const auto look_at_gpus = [&] {
    if (!gpu_reader.ok()) return;
    auto gpus = gpu_reader->read();
    const std::lock_guard lock(mutex_);
    gpus_ = std::move(gpus);
  };
  look_at_gpus();
  ServiceCounts before = counts_();
  double cpu_before_s = cpu_seconds();
  auto time_before = std::chrono::steady_clock::now();
  for (std::unique_lock lock(mutex_); !changed_.wait_for(lock, between_points, [this] { return ending_; });) {
    lock.unlock();  // counting takes other locks
    look_at_gpus();
    const ServiceCounts now = counts_();
    const double cpu_s = cpu_seconds();
    const auto time = std::chrono::steady_clock::now();
    const double passed_s = std::chrono::duration<double>(time - time_before).count();
    const auto rate = [&](auto from, auto to) { return static_cast<double>(to - from) / passed_s; };
    const Point point{seconds_since_1970(),
                      rate(before.http.requests_total, now.http.requests_total),
                      rate(before.sampled_tokens, now.sampled_tokens),
                      rate(before.kernels_asked, now.kernels_asked),
                      100 * (cpu_s - cpu_before_s) / passed_s,
                      resident_bytes()};
    before = now;
    cpu_before_s = cpu_s;
    time_before = time;
    lock.lock();
    history_.push_back(point);
    if (history_.size() > kept_points) history_.pop_front();
  }
}

Json ServiceWatch::to_json() const {
  const ServiceCounts now = counts_();
  Json latency = Json::object();
  for (const auto& [kind, durations] : durations_)
    if (const auto p50_s = durations.quantile_s(0.5))
      latency[kind] = {{"p50", 1000 * *p50_s}, {"p99", 1000 * *durations.quantile_s(0.99)}};
  const std::lock_guard lock(mutex_);
  const Point last = history_.empty() ? Point{} : history_.back();
  Json history = Json::array();
  for (const Point& point : history_)
    history.push_back({{"time_s", point.time_s},
                       {"requests_per_s", point.requests_per_s},
                       {"tokens_per_s", point.tokens_per_s},
                       {"kernels_per_s", point.kernels_per_s},
                       {"cpu_percent", point.cpu_percent},
                       {"memory_bytes", point.memory_bytes}});
  Json deaths = Json::object();
  for (const NamedKind& one : worker_kinds) deaths[one.name] = worker_deaths(one.kind);
  Json gpus = Json::array();
  for (const GpuUse& gpu : gpus_)
    gpus.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"memory_used_bytes", gpu.memory_used_bytes},
                    {"memory_bytes", gpu.memory_bytes},
                    {"busy_percent", gpu.busy_percent ? Json(*gpu.busy_percent) : Json(nullptr)}});
  const auto& classes = now.http.answers_by_class;
  Json verdicts = Json::object();
  for (const auto& [status, count] : verdicts_) verdicts[status] = count;
  return {{"uptime_s", seconds_since_1970() - started_s_},
          {"requests",
           {{"in_flight", now.http.in_flight},
            {"total", now.http.requests_total},
            {"errors", classes[5]},
            {"client_errors", classes[4]},
            {"refused", now.http.refused}}},
          {"connections", now.http.connections},
          {"queue",
           {{"kernels", now.kernels_waiting},
            {"conversations", now.conversations_open},
            {"answers", now.answers_waiting},
            {"jobs", now.jobs_waiting}}},
          {"batch_rows", now.batch_rows},
          {"verdicts", std::move(verdicts)},
          {"tokens_per_s", last.tokens_per_s},
          {"kernels_per_s", last.kernels_per_s},
          {"latency_ms", std::move(latency)},
          {"cpu_percent", last.cpu_percent},
          {"memory_bytes", resident_bytes()},
          {"worker_deaths", std::move(deaths)},
          {"gpus", std::move(gpus)},
          {"history", std::move(history)}};
}

void ServiceWatch::write_machine(MetricsText& text) const {
  if (gpus_.empty()) return;
  const auto family = [&](std::string_view name, std::string_view help, auto value) {
    text.begin(name, "gauge", help);
    for (const GpuUse& gpu : gpus_)
      if (const std::optional<double> found = value(gpu))
        text.value(name, {{"gpu", std::to_string(gpu.index)}, {"name", gpu.name}}, *found);
  };
  family("kernelwright_gpu_memory_used_bytes", "Memory of the GPU in use, by anybody.",
         [](const GpuUse& gpu) { return std::optional(static_cast<double>(gpu.memory_used_bytes)); });
  family("kernelwright_gpu_memory_bytes", "Memory of the GPU.",
         [](const GpuUse& gpu) { return std::optional(static_cast<double>(gpu.memory_bytes)); });
  family("kernelwright_gpu_busy_ratio", "Share of the last moment in which a kernel ran on the GPU.",
         [](const GpuUse& gpu) {
           return gpu.busy_percent ? std::optional(*gpu.busy_percent / 100) : std::optional<double>();
         });
}

std::string ServiceWatch::metrics() const {
  const ServiceCounts now = counts_();
  MetricsText text;
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    text.begin(name, type, help);
    text.value(name, {}, static_cast<double>(value));
  };
  text.begin("kernelwright_http_requests_total", "counter", "Requests answered, by class of status.");
  for (std::size_t i = 1; i < now.http.answers_by_class.size(); ++i)
    text.value("kernelwright_http_requests_total", {{"status", fmt::format("{}xx", i)}},
               static_cast<double>(now.http.answers_by_class[i]));
  one("kernelwright_http_requests_refused_total", "counter", "Refused by a limit of the server.", now.http.refused);
  one("kernelwright_http_requests_in_flight", "gauge", "Requests that are being answered.", now.http.in_flight);
  one("kernelwright_http_connections", "gauge", "Open connections.", now.http.connections);
  text.begin("kernelwright_http_request_duration_seconds", "histogram", "From a request's first to its last byte.");
  for (const auto& [kind, durations] : durations_)
    durations.write(text, "kernelwright_http_request_duration_seconds", {{"kind", kind}});
  one("kernelwright_kernels_waiting", "gauge", "Kernels that nobody judges yet.", now.kernels_waiting);
  one("kernelwright_kernels_asked_total", "counter", "Kernels that were asked about.", now.kernels_asked);
  one("kernelwright_kernels_judged_total", "counter", "Of them, really judged: equal ones once.", now.kernels_judged);
  one("kernelwright_conversations_open", "gauge", "Conversations that are not over.", now.conversations_open);
  one("kernelwright_conversations_ended_total", "counter", "Conversations that are over.", now.conversations_ended);
  one("kernelwright_answers_waiting", "gauge", "Answers that have no token yet.", now.answers_waiting);
  one("kernelwright_answers_running", "gauge", "Answers that are being generated.", now.answers_running);
  one("kernelwright_batch_rows", "gauge", "Rows of the batch.", now.batch_rows);
  one("kernelwright_sampled_tokens_total", "counter", "Tokens that were sampled.", now.sampled_tokens);
  one("kernelwright_prompt_tokens_total", "counter", "Tokens of prompts that were computed.", now.prompt_tokens);
  write_deaths(text);
  write_arms(text, now.arms);
  one("kernelwright_jobs_waiting", "gauge", "Tasks to read and databases to ask.", now.jobs_waiting);
  one("process_cpu_seconds_total", "counter", "CPU time of the service and its ended workers.", cpu_seconds());
  one("process_resident_memory_bytes", "gauge", "Memory of the service.", resident_bytes());
  one("process_start_time_seconds", "gauge", "Since 1970.", started_s_);
  const std::lock_guard lock(mutex_);
  write_machine(text);
  text.begin("kernelwright_verdicts_total", "counter", "Verdicts that were given, by status.");
  for (const auto& [status, count] : verdicts_)
    text.value("kernelwright_verdicts_total", {{"status", status}}, static_cast<double>(count));
  text.begin("kernelwright_verdict_cache_hits_total", "counter", "Verdicts that were known already.");
  text.value("kernelwright_verdict_cache_hits_total", {}, static_cast<double>(cached_));
  return text.text();
}

}  // namespace kw
