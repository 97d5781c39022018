#include "kernel/counters/ncu.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/child_process.h"

namespace kw {
namespace {

constexpr std::string_view permission_code = "ERR_NVGPUCTRPERM";

Error no_permission() {
  return Error{"ncu may not read the GPU's counters (ERR_NVGPUCTRPERM)",
               "run as root (in a container with CAP_SYS_ADMIN), or load the nvidia module with "
               "NVreg_RestrictProfilingToAdminUsers=0",
               {}};
}

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// The fields of one line; none when it is no CSV (a quote that does not end, text after one) or has too many columns.
// Rows of ncu never span lines.
std::optional<std::vector<std::string>> split_row(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    if (fields.size() == max_ncu_columns) return std::nullopt;
    std::string& field = fields.emplace_back();
    if (line.starts_with('"')) {
      line.remove_prefix(1);
      while (true) {
        const std::size_t quote = line.find('"');
        if (quote == std::string_view::npos) return std::nullopt;
        field += line.substr(0, quote);
        line.remove_prefix(quote + 1);
        if (!line.starts_with('"')) break;
        field += '"';
        line.remove_prefix(1);
      }
    } else {
      field = line.substr(0, line.find(','));
      line.remove_prefix(field.size());
    }
    if (line.empty()) return fields;
    if (line.front() != ',') return std::nullopt;
    line.remove_prefix(1);
  }
}

// "1,234.5" is 1234.5; "n/a", "" and everything else that is no number are not measured.
double number_of(std::string_view text) {
  std::string digits;
  if (text.size() > 64) return not_measured;
  for (const char c : text)
    if (c != ',' && c != ' ') digits += c;
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value) ? value : not_measured;
}

// ncu scales units by powers of 1000 unless it is told not to: "Mbyte", "us", "msecond".
double factor_to_base(std::string_view unit) {
  if (unit == "us" || unit == "usecond") return 1e3;
  if (unit == "ms" || unit == "msecond") return 1e6;
  if (unit == "s" || unit == "second") return 1e9;
  if (unit.size() < 2 || unit[1] < 'a' || unit[1] > 'z') return 1;
  switch (unit[0]) {
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1;
  }
}

// ==PROF== Profiling "add" - 0: 0%....50%....100% - 13 passes
std::size_t passes_in(std::string_view line) {
  constexpr std::string_view ending = " passes";
  if (!line.starts_with("==PROF==") || !line.ends_with(ending)) return 0;
  line.remove_suffix(ending.size());
  const std::size_t start = line.rfind(' ') + 1;  // 0 when there is none
  std::uint32_t passes = 0;
  const auto [stop, error] = std::from_chars(line.data() + start, line.data() + line.size(), passes);
  return error == std::errc() && stop == line.data() + line.size() ? passes : 0;
}

bool is_row_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Column {
  std::size_t index = 0;
  std::string metric;
  double factor = 1;
};

// The table's header, and which of its columns are ours.
struct Table {
  std::size_t width = 0;
  std::size_t name = 0;
  std::vector<Column> columns;
};

std::optional<Table> read_header(std::string_view line) {
  if (!line.starts_with("\"ID\",") && !line.starts_with("ID,")) return std::nullopt;
  const auto fields = split_row(line);
  if (!fields) return std::nullopt;
  const auto name = std::find(fields->begin(), fields->end(), "Kernel Name");
  if (name == fields->end()) return std::nullopt;
  Table table;
  table.width = fields->size();
  table.name = static_cast<std::size_t>(name - fields->begin());
  const std::vector<std::string> known = counter_metrics(CounterDetail::full);
  for (std::size_t i = 0; i < fields->size(); ++i) {
    const std::string& field = (*fields)[i];
    const bool ours = std::find(known.begin(), known.end(), field) != known.end();
    const bool again = std::any_of(table.columns.begin(), table.columns.end(),
                                   [&](const Column& column) { return column.metric == field; });
    if (ours && !again) table.columns.push_back({i, field, 1});
  }
  return table;
}

KernelCounters read_kernel(const Table& table, std::vector<std::string>& fields) {
  std::vector<MetricValue> values;
  for (const Column& column : table.columns)
    values.push_back({column.metric, number_of(fields[column.index]) * column.factor});
  std::string name = std::move(fields[table.name]);
  if (name.size() > max_ncu_name_bytes) name.resize(max_ncu_name_bytes);
  return counters_from_metrics(std::move(name), values);
}

// The last lines that ncu itself wrote about a failure: "==ERROR== ...".
std::string complaint_in(std::string_view text) {
  std::string complaint;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.starts_with("==ERROR==") || line.starts_with("==WARNING=="))
      complaint = line.substr(line.find(' ') == std::string_view::npos ? line.size() : line.find(' ') + 1, 300);
  }
  return complaint;
}

}  // namespace

Result<CounterReport> parse_ncu_csv(std::string_view text, const std::vector<std::string>& wanted) {
  if (text.size() > max_ncu_bytes) {
    return Error{"the output of ncu is larger than " + std::to_string(max_ncu_bytes >> 20) + " MiB",
                 "profile fewer launches, or a program that prints less",
                 {}};
  }
  CounterReport report;
  report.source = "ncu";
  std::optional<Table> table;
  bool saw_permission = false;
  std::size_t malformed = 0;
  std::size_t beyond = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.starts_with("==")) {
      report.passes = std::max(report.passes, passes_in(line));
      saw_permission |= line.starts_with("==ERROR==") && line.find(permission_code) != std::string_view::npos;
      continue;
    }
    if (!table) {
      table = read_header(line);
      continue;
    }
    if (!line.starts_with('"')) continue;  // ncu quotes every field; this is the program's own output
    std::optional<std::vector<std::string>> fields = split_row(line);
    if (!fields || fields->size() != table->width) {
      ++malformed;
      continue;
    }
    if (fields->front().empty() && report.kernels.empty()) {  // the row of units
      for (Column& column : table->columns) column.factor = factor_to_base((*fields)[column.index]);
    } else if (!is_row_number(fields->front())) {
      ++malformed;
    } else if (report.kernels.size() == max_ncu_kernels) {
      ++beyond;
    } else {
      report.kernels.push_back(read_kernel(*table, *fields));
    }
  }
  if (report.kernels.empty()) {
    if (saw_permission) return no_permission();
    if (!table) return Error{"the output of ncu has no table", complaint_in(text), {}};
    return Error{"ncu profiled no kernel", complaint_in(text), {}};
  }
  for (const std::string& metric : wanted) {
    const bool present = std::any_of(table->columns.begin(), table->columns.end(),
                                     [&](const Column& column) { return column.metric == metric; });
    if (!present) report.missing_metrics.push_back(metric);
  }
  if (malformed > 0) report.notes.push_back(std::to_string(malformed) + " damaged rows were left out");
  if (beyond > 0) {
    report.notes.push_back(std::to_string(beyond) + " launches beyond the first " + std::to_string(max_ncu_kernels) +
                           " were left out");
  }
  return report;
}

std::vector<std::string> ncu_command(const std::vector<std::string>& program, const NcuOptions& options) {
  std::string metrics;
  for (const std::string& metric : counter_metrics(options.detail)) metrics += (metrics.empty() ? "" : ",") + metric;
  std::vector<std::string> command{options.ncu,     "--csv", "--page",    "raw",   "--clock-control",    "none",
                                   "--print-units", "base",  "--metrics", metrics, "--target-processes", "all"};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

Result<CounterReport> run_ncu(const std::vector<std::string>& program, const NcuOptions& options) {
  if (program.empty()) return Error{"there is no program to profile", "", {}};
  ChildCommand command;
  command.arguments = ncu_command(program, options);
  command.extra_environment = {"LC_ALL=C"};  // the table's decimal point
  ChildLimits limits;
  limits.wall = options.wall;
  limits.output_bytes = max_ncu_bytes;
  Result<ChildOutcome> outcome = run_child(command, limits);
  if (!outcome.ok()) {
    return Error{"Nsight Compute could not be started: " + outcome.error().message,
                 "install it (package nsight-compute) and put `ncu` on PATH",
                 {}};
  }
  if (outcome->end == ChildEnd::deadline) {
    return Error{"ncu did not end within " + std::to_string(options.wall.count() / 1000) + " s",
                 "profile fewer launches or fewer metrics",
                 {}};
  }
  if (outcome->end == ChildEnd::output_limit) return Error{"the profiled program printed too much", "", {}};
  // ncu ends with the program's own code, so the table decides.
  Result<CounterReport> report = parse_ncu_csv(outcome->output, counter_metrics(options.detail));
  if (report.ok()) return report;
  if (outcome->error_output.find(permission_code) != std::string::npos) return no_permission();
  Error error = std::move(report).error();
  if (error.advice.empty()) error.advice = complaint_in(outcome->error_output);
  if (!outcome->succeeded()) {
    error.message += outcome->end == ChildEnd::exited
                         ? "; it ended with code " + std::to_string(outcome->exit_code)
                         : "; it was ended by signal " + std::to_string(outcome->signal_number);
  }
  return error;
}

}  // namespace kw
