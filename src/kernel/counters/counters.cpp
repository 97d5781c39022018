#include "kernel/counters/counters.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace kw {
namespace {

using Json = nlohmann::ordered_json;
using Field = double KernelCounters::*;

constexpr double percent = 0.01;

struct FieldMetric {
  std::string_view metric;
  Field field;
  double factor;  // from the metric's base unit to the field's
  bool brief;
};
constexpr std::array field_metrics{
    FieldMetric{"gpu__time_duration.sum", &KernelCounters::duration_us, 1e-3, true},
    FieldMetric{"sm__warps_active.avg.pct_of_peak_sustained_active", &KernelCounters::achieved_occupancy, percent,
                true},
    FieldMetric{"dram__bytes_read.sum", &KernelCounters::dram_bytes_read, 1, true},
    FieldMetric{"dram__bytes_write.sum", &KernelCounters::dram_bytes_written, 1, true},
    FieldMetric{"dram__throughput.avg.pct_of_peak_sustained_elapsed", &KernelCounters::dram_throughput, percent, true},
    FieldMetric{"lts__throughput.avg.pct_of_peak_sustained_elapsed", &KernelCounters::l2_throughput, percent, false},
    FieldMetric{"l1tex__throughput.avg.pct_of_peak_sustained_active", &KernelCounters::l1_throughput, percent, false},
    FieldMetric{"l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_active",
                &KernelCounters::shared_throughput, percent, true},
    FieldMetric{"sm__throughput.avg.pct_of_peak_sustained_elapsed", &KernelCounters::sm_throughput, percent, false},
    FieldMetric{"smsp__thread_inst_executed_per_inst_executed.ratio", &KernelCounters::warp_efficiency, 1.0 / 32, true},
    FieldMetric{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
                &KernelCounters::sectors_per_request_load, 1, true},
    FieldMetric{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
                &KernelCounters::sectors_per_request_store, 1, true},
    FieldMetric{"smsp__issue_active.avg.pct_of_peak_sustained_active", &KernelCounters::issue_rate, percent, true},
    FieldMetric{"l1tex__t_sector_hit_rate.pct", &KernelCounters::l1_hit_rate, percent, true},
    FieldMetric{"lts__t_sector_hit_rate.pct", &KernelCounters::l2_hit_rate, percent, true},
    FieldMetric{"smsp__inst_executed.sum", &KernelCounters::instructions, 1, true},
};

constexpr std::string_view conflicts_metric = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
constexpr std::string_view wavefronts_metric = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";

// Named with the words of TimeEstimate::limiter. A warp-group matrix instruction keeps the tensor pipe busy for many
// cycles, so cycles are counted there and instructions elsewhere.
struct PipeMetric {
  std::string_view metric;
  std::string_view pipe;
};
constexpr std::array pipe_metrics{
    PipeMetric{"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "fp32 pipe"},
    PipeMetric{"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", "int pipe"},
    PipeMetric{"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", "fp64 pipe"},
    PipeMetric{"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "special function pipe"},
    PipeMetric{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor pipe"},
};

// Cycles between two instructions of a warp, and how many of them it spent for each reason.
constexpr std::string_view latency_metric = "smsp__average_warp_latency_per_inst_issued.ratio";
constexpr std::string_view stall_prefix = "smsp__average_warps_issue_stalled_";
constexpr std::string_view stall_suffix = "_per_issue_active.ratio";
constexpr std::array<std::string_view, 12> stall_reasons{
    "long_scoreboard", "short_scoreboard",   "barrier", "mio_throttle",
    "lg_throttle",     "math_pipe_throttle", "wait",    "not_selected",
    "membar",          "branch_resolving",   "drain",   "gmma"};

std::string stall_metric(std::string_view reason) {
  return std::string(stall_prefix) + std::string(reason) + std::string(stall_suffix);
}

void sort_largest_first(std::vector<NamedShare>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const NamedShare& a, const NamedShare& b) { return a.share > b.share; });
}

struct JsonField {
  const char* key;
  Field field;
};
constexpr std::array json_fields{
    JsonField{"duration_us", &KernelCounters::duration_us},
    JsonField{"achieved_occupancy", &KernelCounters::achieved_occupancy},
    JsonField{"dram_bytes_read", &KernelCounters::dram_bytes_read},
    JsonField{"dram_bytes_written", &KernelCounters::dram_bytes_written},
    JsonField{"dram_throughput", &KernelCounters::dram_throughput},
    JsonField{"l2_throughput", &KernelCounters::l2_throughput},
    JsonField{"l1_throughput", &KernelCounters::l1_throughput},
    JsonField{"shared_throughput", &KernelCounters::shared_throughput},
    JsonField{"sm_throughput", &KernelCounters::sm_throughput},
    JsonField{"warp_efficiency", &KernelCounters::warp_efficiency},
    JsonField{"sectors_per_request_load", &KernelCounters::sectors_per_request_load},
    JsonField{"sectors_per_request_store", &KernelCounters::sectors_per_request_store},
    JsonField{"shared_bank_conflict_share", &KernelCounters::shared_bank_conflict_share},
    JsonField{"issue_rate", &KernelCounters::issue_rate},
    JsonField{"l1_hit_rate", &KernelCounters::l1_hit_rate},
    JsonField{"l2_hit_rate", &KernelCounters::l2_hit_rate},
    JsonField{"instructions", &KernelCounters::instructions},
};

Json shares_json(const std::vector<NamedShare>& shares) {
  Json json = Json::array();
  for (const NamedShare& one : shares) json.push_back(Json{{"name", one.name}, {"share", one.share}});
  return json;
}

Error wrong_type(const std::string& key) { return Error{"counters: `" + key + "` has the wrong type", "", {}}; }

Result<std::vector<NamedShare>> shares_from(const Json& json, const char* key) {
  std::vector<NamedShare> shares;
  if (!json.contains(key)) return shares;
  if (!json[key].is_array()) return wrong_type(key);
  for (const Json& one : json[key]) {
    if (!one.is_object() || !one.contains("name") || !one["name"].is_string() || !one.contains("share") ||
        !one["share"].is_number())
      return wrong_type(key);
    shares.push_back({one["name"].get<std::string>(), one["share"].get<double>()});
  }
  return shares;
}

Result<std::vector<std::string>> strings_from(const Json& json, const char* key) {
  std::vector<std::string> strings;
  if (!json.contains(key)) return strings;
  if (!json[key].is_array()) return wrong_type(key);
  for (const Json& one : json[key]) {
    if (!one.is_string()) return wrong_type(key);
    strings.push_back(one.get<std::string>());
  }
  return strings;
}

Result<std::string> string_from(const Json& json, const char* key) {
  if (!json.contains(key)) return std::string();
  if (!json[key].is_string()) return wrong_type(key);
  return json[key].get<std::string>();
}

}  // namespace

std::vector<std::string> counter_metrics(CounterDetail detail) {
  const bool full = detail == CounterDetail::full;
  std::vector<std::string> metrics;
  for (const FieldMetric& one : field_metrics)
    if (full || one.brief) metrics.emplace_back(one.metric);
  metrics.emplace_back(conflicts_metric);
  metrics.emplace_back(wavefronts_metric);
  for (const PipeMetric& one : pipe_metrics) metrics.emplace_back(one.metric);
  if (full) {
    metrics.emplace_back(latency_metric);
    for (const std::string_view reason : stall_reasons) metrics.push_back(stall_metric(reason));
  }
  return metrics;
}

KernelCounters counters_from_metrics(std::string kernel, const std::vector<MetricValue>& values) {
  const auto value_of = [&](std::string_view name) {
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.name == name; });
    // An infinite ratio says no more than one without a value.
    return found != values.end() && std::isfinite(found->value) ? found->value : not_measured;
  };
  KernelCounters counters;
  counters.kernel = std::move(kernel);
  for (const FieldMetric& one : field_metrics) counters.*one.field = value_of(one.metric) * one.factor;

  const double conflicts = value_of(conflicts_metric);
  const double wavefronts = value_of(wavefronts_metric);
  if (measured(conflicts) && measured(wavefronts))
    counters.shared_bank_conflict_share = wavefronts > 0 ? std::clamp(conflicts / wavefronts, 0.0, 1.0) : 0;

  for (const PipeMetric& one : pipe_metrics)
    if (const double value = value_of(one.metric); measured(value))
      counters.pipes.push_back({std::string(one.pipe), value * percent});
  sort_largest_first(counters.pipes);

  if (const double latency = value_of(latency_metric); measured(latency) && latency > 0) {
    for (const std::string_view reason : stall_reasons)
      if (const double stalled = value_of(stall_metric(reason)); measured(stalled))
        counters.stalls.push_back({std::string(reason), std::clamp(stalled / latency, 0.0, 1.0)});
    sort_largest_first(counters.stalls);
  }
  return counters;
}

Json to_json(const KernelCounters& counters) {
  Json json;
  json["kernel"] = counters.kernel;
  for (const JsonField& one : json_fields) {
    const double value = counters.*one.field;
    json[one.key] = std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  json["pipes"] = shares_json(counters.pipes);
  json["stalls"] = shares_json(counters.stalls);
  return json;
}

Json to_json(const CounterReport& report) {
  Json json;
  json["source"] = report.source;
  json["passes"] = report.passes;
  json["kernels"] = Json::array();
  for (const KernelCounters& one : report.kernels) json["kernels"].push_back(to_json(one));
  json["missing_metrics"] = report.missing_metrics;
  json["notes"] = report.notes;
  return json;
}

Result<KernelCounters> counters_from_json(const Json& json) {
  if (!json.is_object()) return wrong_type("kernel counters");
  KernelCounters counters;
  KW_TRY(counters.kernel, string_from(json, "kernel"));
  for (const JsonField& one : json_fields) {
    if (!json.contains(one.key) || json[one.key].is_null()) continue;
    if (!json[one.key].is_number()) return wrong_type(one.key);
    counters.*one.field = json[one.key].get<double>();
  }
  KW_TRY(counters.pipes, shares_from(json, "pipes"));
  KW_TRY(counters.stalls, shares_from(json, "stalls"));
  return counters;
}

Result<CounterReport> counter_report_from_json(const Json& json) {
  if (!json.is_object()) return wrong_type("counter report");
  CounterReport report;
  KW_TRY(report.source, string_from(json, "source"));
  if (json.contains("passes")) {
    if (!json["passes"].is_number_unsigned()) return wrong_type("passes");
    report.passes = json["passes"].get<std::size_t>();
  }
  if (json.contains("kernels")) {
    if (!json["kernels"].is_array()) return wrong_type("kernels");
    for (const Json& one : json["kernels"]) {
      KW_TRY(KernelCounters counters, counters_from_json(one));
      report.kernels.push_back(std::move(counters));
    }
  }
  KW_TRY(report.missing_metrics, strings_from(json, "missing_metrics"));
  KW_TRY(report.notes, strings_from(json, "notes"));
  return report;
}

}  // namespace kw
