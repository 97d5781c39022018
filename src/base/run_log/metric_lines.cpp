#include "base/run_log/metric_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/file.h"
#include "base/file_error.h"
#include "base/log.h"
#include "base/run_log/json_text.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t lines_limit_bytes = std::size_t{4} << 30;

Error line_error(const std::string& what, const std::filesystem::path& path) { return file_error(what, path, errno); }

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::optional<double> number_from(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return {};
}

std::optional<LoggedLine> parse_line(std::string_view text) {
  const auto json = parse_bounded_ordered_json(text, stored_json_line);
  if (!json.ok() || !json->contains("step") || !(*json)["step"].is_number_integer()) return {};
  LoggedLine line{.step = (*json)["step"].get<std::int64_t>(), .metrics = {}, .texts = {}};
  if (json->contains("text")) {
    if (!(*json)["text"].is_string() || !json->contains("tag") || !(*json)["tag"].is_string()) return {};
    line.texts.push_back({line.step, (*json)["tag"].get<std::string>(), (*json)["text"].get<std::string>()});
    return line;
  }
  for (const auto& [name, value] : json->items()) {
    if (name == "step") continue;
    const auto number = number_from(value);
    if (!number) return {};
    line.metrics.emplace_back(name, *number);
  }
  return line;
}

}  // namespace

std::string metric_line(std::int64_t step, const std::vector<std::pair<std::string, double>>& metrics) {
  Json line = {{"step", step}};
  for (const auto& [name, value] : metrics) line[name] = number_json(value);
  return json_text(line) + "\n";
}

std::string text_line(const RunText& text) {
  return json_text({{"step", text.step}, {"tag", text.tag}, {"text", text.text}}) + "\n";
}

Result<LineFile> LineFile::append_to(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return line_error("cannot write", path);
  return LineFile(path, file);
}

LineFile::~LineFile() {
  if (file_ >= 0) ::close(file_);
}

Result<void> LineFile::add(std::string_view line) {
  while (!line.empty()) {
    const ssize_t count = ::write(file_, line.data(), line.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return line_error("cannot write", path_);
    line.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> LineFile::sync() {
  if (::fsync(file_) != 0) return line_error("cannot sync", path_);
  return {};
}

Result<LoggedLines> read_metric_lines(const std::filesystem::path& path, std::size_t limit_bytes) {
  KW_TRY(const std::string text, read_file(path, limit_bytes));
  LoggedLines read;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto parsed = parse_line(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (parsed)
      read.lines.push_back(std::move(*parsed));
    else
      ++read.unreadable;
  }
  return read;
}

Result<std::vector<LoggedLine>> drop_lines_after(const std::filesystem::path& path, std::int64_t step) {
  std::vector<LoggedLine> lines;
  if (!std::filesystem::exists(path)) return lines;
  KW_TRY(const std::string text, read_file(path, lines_limit_bytes));
  std::string kept;
  std::int64_t unreadable = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(text).substr(at, end + 1 - at);
    at = end + 1;
    auto parsed = parse_line(line);
    if (!parsed) {
      ++unreadable;
    } else if (parsed->step <= step) {
      kept += line;
      lines.push_back(std::move(*parsed));
    }
  }
  if (unreadable > 0)
    log_event(LogLevel::warn, "metric_lines_unreadable", {{"file", path.string()}, {"lines", unreadable}});
  if (kept.size() != text.size()) KW_TRY_VOID(write_file_atomic(path, kept));
  return lines;
}

}  // namespace kw
