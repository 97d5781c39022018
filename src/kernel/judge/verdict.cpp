#include "kernel/judge/verdict.h"

#include <array>
#include <cmath>
#include <utility>

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<VerdictStatus, std::string_view>, 10> status_names{{
    {VerdictStatus::correct, "correct"},
    {VerdictStatus::wrong, "wrong"},
    {VerdictStatus::compile_error, "compile_error"},
    {VerdictStatus::rejected, "rejected"},
    {VerdictStatus::fault, "fault"},
    {VerdictStatus::race, "race"},
    {VerdictStatus::timeout, "timeout"},
    {VerdictStatus::unsupported, "unsupported"},
    {VerdictStatus::launcher_error, "launcher_error"},
    {VerdictStatus::internal_error, "internal_error"},
}};

Json sizes_json(const Sizes& sizes) {
  Json json = Json::object();
  for (const auto& [name, value] : sizes) json[name] = value;
  return json;
}

// JSON has no infinity: a value that is not finite is null, and the case says `ok: false` anyway.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }
Json interval_json(const Interval& interval) { return Json::array({number(interval.low), number(interval.high)}); }

double number_from(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::infinity();
}
std::optional<double> optional_from(const Json& json) {
  return json.is_number() ? std::optional<double>(json.get<double>()) : std::nullopt;
}
Interval interval_from(const Json& json) { return {number_from(json.at(0)), number_from(json.at(1))}; }

Json case_json(const CaseVerdict& one) {
  return {{"size", sizes_json(one.sizes)},      {"hidden", one.hidden}, {"seed", one.seed},
          {"inputs", name_of(one.inputs)},      {"output", one.output}, {"max_error", number(one.max_error)},
          {"tolerance", number(one.tolerance)}, {"ok", one.ok}};
}

Json finding_json(const VerdictFinding& finding) {
  Json json{{"kind", finding.kind},       {"severity", to_string(finding.severity)},
            {"line", finding.line},       {"column", finding.column},
            {"message", finding.message}, {"advice", finding.advice},
            {"kernel", finding.kernel},   {"occurrences", finding.occurrences}};
  return json;
}

Json resources_json(const KernelUse& use) {
  return {{"kernel", use.kernel},
          {"registers", use.registers},
          {"spill_bytes", use.spill_bytes},
          {"stack_bytes", use.stack_bytes},
          {"shared_bytes", use.shared_bytes},
          {"grid", use.grid},
          {"block", use.block},
          {"occupancy", use.occupancy},
          {"occupancy_limiter", use.occupancy_limiter}};
}

Json optional_interval_json(const std::optional<Interval>& interval) {
  return interval ? interval_json(*interval) : Json(nullptr);
}

Json time_json(const SizedTime& time) {
  Json json{{"size", sizes_json(time.sizes)},
            {"time_us", number(time.time_us)},
            {"time_interval_us", interval_json(time.interval_us)},
            {"naive_us", number(time.naive_us)},
            {"limiter", time.limiter},
            {"speedup_interval", optional_interval_json(time.speedup_interval)},
            {"pytorch_us", number(time.pytorch_us)},
            {"transfer_us", time.transfer_us},
            {"rounds", time.rounds},
            {"pytorch_interval_us", optional_interval_json(time.pytorch_interval_us)},
            {"pytorch_tf32_us", number(time.pytorch_tf32_us)},
            {"pytorch_tf32_interval_us", optional_interval_json(time.pytorch_tf32_interval_us)},
            {"limit_us", time.limit_us > 0 ? Json(time.limit_us) : Json(nullptr)},
            {"limit", time.limit}};
  return json;
}

Json audit_json(const FullSizeAudit& audit) {
  return {{"size", sizes_json(audit.sizes)}, {"method", audit.method},
          {"blocks", audit.blocks},          {"blocks_run", audit.blocks_run},
          {"elements", audit.elements},      {"compared", audit.compared},
          {"assumed", audit.assumed},        {"warp_instructions", audit.warp_instructions},
          {"inputs", audit.inputs}};
}

Json measured_json(const MeasuredOn& on) {
  return {{"device", on.device},
          {"driver_version", on.driver_version},
          {"sm_clock_mhz", on.sm_clock_mhz},
          {"memory_clock_mhz", on.memory_clock_mhz},
          {"temperature_c", on.temperature_c},
          {"throttled", on.throttled},
          {"worker", on.worker}};
}

Sizes sizes_from(const Json& json) {
  Sizes sizes;
  for (const auto& [name, value] : json.items()) sizes[name] = value.get<std::int64_t>();
  return sizes;
}

Severity severity_from(const std::string& text) {
  return text == "error" ? Severity::error : text == "warning" ? Severity::warning : Severity::note;
}

std::optional<Interval> optional_interval(const Json& json) {
  return json.is_array() ? std::optional<Interval>(interval_from(json)) : std::nullopt;
}

// Of a key that older verdicts lack.
Json or_null(const Json& json, const char* key) { return json.contains(key) ? json.at(key) : Json(nullptr); }

SizedTime time_from(const Json& one) {
  SizedTime time{sizes_from(one.at("size")),
                 number_from(one.at("time_us")),
                 interval_from(one.at("time_interval_us")),
                 optional_from(one.at("naive_us")),
                 one.at("limiter"),
                 optional_interval(one.at("speedup_interval")),
                 optional_from(one.at("pytorch_us")),
                 one.at("transfer_us"),
                 one.at("rounds")};
  time.pytorch_interval_us = optional_interval(or_null(one, "pytorch_interval_us"));
  time.pytorch_tf32_us = optional_from(or_null(one, "pytorch_tf32_us"));
  time.pytorch_tf32_interval_us = optional_interval(or_null(one, "pytorch_tf32_interval_us"));
  time.limit_us = optional_from(or_null(one, "limit_us")).value_or(0);
  time.limit = one.value("limit", "");
  return time;
}

void read_lists(const Json& json, Verdict& verdict) {
  for (const Json& one : json.at("cases"))
    verdict.cases.push_back({sizes_from(one.at("size")), one.at("hidden"), one.at("seed"),
                             input_kind_from(one.at("inputs").get<std::string>()), one.at("output"),
                             number_from(one.at("max_error")), number_from(one.at("tolerance")), one.at("ok")});
  for (const char* key : {"findings", "hints"})
    for (const Json& one : json.at(key))
      add_finding(verdict, {one.at("kind"), severity_from(one.at("severity")), one.at("line"), one.at("column"),
                            one.at("message"), one.at("advice"), one.at("kernel"), one.at("occurrences")});
  for (const Json& one : json.at("resources"))
    verdict.resources.push_back({one.at("kernel"), one.at("registers"), one.at("spill_bytes"), one.at("stack_bytes"),
                                 one.at("shared_bytes"), one.at("grid"), one.at("block"), one.at("occupancy"),
                                 one.at("occupancy_limiter")});
  for (const Json& one : json.at("times")) verdict.times.push_back(time_from(one));
  for (const Json& one : json.at("terms")) verdict.terms.push_back({one.at("name"), one.at("us")});
  for (const Json& one : json.at("hot_lines"))
    verdict.hot_lines.push_back({one.at("kernel"), one.at("line"), one.at("share"), one.at("reason")});
  for (const Json& one : json.at("counters"))
    if (auto counters = counters_from_json(one); counters.ok()) verdict.counters.push_back(std::move(counters).value());
  if (json.at("measured_limiter").is_string()) verdict.measured_limiter = json.at("measured_limiter");
  for (const Json& one : json.at("risk").at("reasons"))
    verdict.risk.reasons.push_back({one.at("what"), one.at("points"), {verdict.kernel_file, one.at("line"), 0}});
}

}  // namespace

std::string_view to_string(VerdictStatus status) {
  for (const auto& [each, name] : status_names)
    if (each == status) return name;
  return "";
}

std::optional<VerdictStatus> verdict_status_from_string(std::string_view text) {
  for (const auto& [each, name] : status_names)
    if (name == text) return each;
  return std::nullopt;
}

void add_finding(Verdict& verdict, VerdictFinding finding) {
  auto& list = finding.severity == Severity::error ? verdict.findings : verdict.hints;
  list.push_back(std::move(finding));
}

Json to_json(const Verdict& verdict) {
  Json json{{"task", verdict.task},         {"kernel_file", verdict.kernel_file}, {"status", to_string(verdict.status)},
            {"compiled", verdict.compiled}, {"correct", verdict.correct},         {"summary", verdict.summary},
            {"backend", verdict.backend},   {"profile", verdict.profile}};
  const auto list = [&](const char* key, const auto& items, auto make) {
    json[key] = Json::array();
    for (const auto& item : items) json[key].push_back(make(item));
  };
  list("cases", verdict.cases, case_json);
  list("findings", verdict.findings, finding_json);
  list("hints", verdict.hints, finding_json);
  list("resources", verdict.resources, resources_json);
  json["time_us"] = number(verdict.time_us);
  json["time_source"] = verdict.time_source.empty() ? Json(nullptr) : Json(verdict.time_source);
  json["time_interval_us"] = optional_interval_json(verdict.time_interval_us);
  json["speedup_naive"] = number(verdict.speedup_naive);
  json["speedup_pytorch"] = number(verdict.speedup_pytorch);
  json["speedup_interval"] = optional_interval_json(verdict.speedup_interval);
  json["speedup_pytorch_interval"] = optional_interval_json(verdict.speedup_pytorch_interval);
  json["speedup_pytorch_tf32"] = number(verdict.speedup_pytorch_tf32);
  json["share_of_limit"] = number(verdict.share_of_limit);
  json["faster_than_naive"] = verdict.faster_than_naive;
  json["measured_on"] = verdict.measured_on ? measured_json(*verdict.measured_on) : Json(nullptr);
  list("times", verdict.times, time_json);
  json["limiter"] = verdict.limiter.empty() ? Json(nullptr) : Json(verdict.limiter);
  list("terms", verdict.terms, [](const TimeTerm& term) { return Json{{"name", term.name}, {"us", term.us}}; });
  list("hot_lines", verdict.hot_lines, [](const HotLine& hot) {
    return Json{{"line", hot.line}, {"share", hot.share}, {"reason", hot.reason}, {"kernel", hot.kernel}};
  });
  list("counters", verdict.counters, [](const KernelCounters& counters) { return to_json(counters); });
  json["measured_limiter"] = verdict.measured_limiter.empty() ? Json(nullptr) : Json(verdict.measured_limiter);
  json["risk"] = {{"score", verdict.risk.score}, {"reasons", Json::array()}};
  for (const RiskReason& reason : verdict.risk.reasons)
    json["risk"]["reasons"].push_back({{"what", reason.what}, {"points", reason.points}, {"line", reason.where.line}});
  json["full_size"] = verdict.full_size.empty() ? Json(nullptr) : Json(verdict.full_size);
  list("audit", verdict.audit, audit_json);
  json["flags"] = verdict.flags;
  json["feedback"] = verdict.feedback;
  json["fingerprint"] = verdict.fingerprint;
  json["ptx_fingerprint"] = verdict.ptx_fingerprint;
  json["compile_ms"] = verdict.compile_ms;
  json["judge_ms"] = verdict.judge_ms;
  json["stages_ms"] = Json::object();
  for (const auto& [stage, ms] : verdict.stages_ms) json["stages_ms"][stage] = ms;
  json["work"] = {{"units", verdict.work.units},
                  {"allowed_units", verdict.work.allowed_units},
                  {"memory_bytes", verdict.work.memory_bytes},
                  {"allowed_memory_bytes", verdict.work.allowed_memory_bytes},
                  {"by_kind", Json::object()}};
  for (const auto& [kind, units] : verdict.work.by_kind) json["work"]["by_kind"][kind] = units;
  json["from_cache"] = verdict.from_cache;
  return json;
}

Result<Verdict> verdict_from_json(const Json& json) {
  try {
    Verdict verdict;
    verdict.task = json.at("task");
    verdict.kernel_file = json.at("kernel_file");
    const auto status = verdict_status_from_string(json.at("status").get<std::string>());
    if (!status) return Error{"a verdict with an unknown status", "", {}};
    verdict.status = *status;
    verdict.compiled = json.at("compiled");
    verdict.correct = json.at("correct");
    verdict.summary = json.at("summary");
    verdict.backend = json.at("backend");
    verdict.profile = json.at("profile");
    read_lists(json, verdict);
    verdict.time_us = optional_from(json.at("time_us"));
    if (json.at("time_source").is_string()) verdict.time_source = json.at("time_source");
    if (json.at("time_interval_us").is_array()) verdict.time_interval_us = interval_from(json.at("time_interval_us"));
    verdict.speedup_naive = optional_from(json.at("speedup_naive"));
    verdict.speedup_pytorch = optional_from(json.at("speedup_pytorch"));
    verdict.speedup_interval = optional_interval(json.at("speedup_interval"));
    verdict.faster_than_naive = json.at("faster_than_naive");
    verdict.speedup_pytorch_interval = optional_interval(or_null(json, "speedup_pytorch_interval"));
    verdict.speedup_pytorch_tf32 = optional_from(or_null(json, "speedup_pytorch_tf32"));
    verdict.share_of_limit = optional_from(or_null(json, "share_of_limit"));
    if (const Json& on = json.at("measured_on"); on.is_object())
      verdict.measured_on =
          MeasuredOn{on.at("device"),        on.at("driver_version"), on.at("sm_clock_mhz"), on.at("memory_clock_mhz"),
                     on.at("temperature_c"), on.at("throttled"),      on.value("worker", "")};
    if (json.at("limiter").is_string()) verdict.limiter = json.at("limiter");
    verdict.risk.score = json.at("risk").at("score");
    verdict.flags = json.at("flags").get<std::vector<std::string>>();
    verdict.feedback = json.at("feedback");
    verdict.fingerprint = json.at("fingerprint");
    verdict.ptx_fingerprint = json.at("ptx_fingerprint");
    verdict.compile_ms = json.at("compile_ms");
    verdict.judge_ms = json.at("judge_ms");
    for (const auto& [stage, ms] : json.at("stages_ms").items())
      verdict.stages_ms.emplace_back(stage, ms.get<double>());
    // Verdicts of earlier versions have neither of these.
    if (const auto size = json.find("full_size"); size != json.end() && size->is_string()) verdict.full_size = *size;
    if (const auto audit = json.find("audit"); audit != json.end())
      for (const Json& one : *audit)
        verdict.audit.push_back({sizes_from(one.at("size")), one.at("method"), one.at("blocks"), one.at("blocks_run"),
                                 one.at("elements"), one.at("compared"), one.at("warp_instructions"),
                                 one.at("assumed").get<std::vector<std::string>>(), one.value("inputs", "ordinary")});
    if (const auto work = json.find("work"); work != json.end()) {
      verdict.work = {
          work->at("units"), work->at("allowed_units"), work->at("memory_bytes"), work->at("allowed_memory_bytes"), {}};
      for (const auto& [kind, units] : work->at("by_kind").items())
        verdict.work.by_kind.emplace_back(kind, units.get<std::uint64_t>());
    }
    verdict.from_cache = json.at("from_cache");
    return verdict;
  } catch (const Json::exception& problem) {
    return Error{std::string("not a verdict: ") + problem.what(), "", {}};
  }
}

}  // namespace kw
