#include "base/log.h"

#include <atomic>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

namespace kw {
namespace {

std::atomic<LogFormat> current_format{LogFormat::human};

spdlog::logger& logger() {
  // Standard output belongs to results.
  static const auto instance = [] {
    auto made = spdlog::stderr_color_mt("kernelwright");
    made->set_pattern("%H:%M:%S %^%l%$ %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

// Only this file sees spdlog: its headers take seconds to compile.
spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::critical:
      return spdlog::level::critical;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string as_json(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  nlohmann::ordered_json line;
  line["level"] = std::string(spdlog::level::to_string_view(level_of(level)).data());
  line["event"] = event;
  for (const LogField& field : fields) {
    if (field.is_text) {
      line[std::string(field.name)] = field.value;
    } else {
      // Numbers were printed by us, but infinities and NaN have no JSON spelling.
      auto number = nlohmann::ordered_json::parse(field.value, nullptr, false);
      line[std::string(field.name)] = number.is_discarded() ? nlohmann::ordered_json(field.value) : number;
    }
  }
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string as_text(std::string_view event, std::initializer_list<LogField> fields) {
  std::string line(event);
  for (const LogField& field : fields) {
    line += fmt::format(" {}={}", field.name, field.is_text ? fmt::format("\"{}\"", field.value) : field.value);
  }
  return line;
}

}  // namespace

LogLevel log_level_from(std::string_view name) {
  for (const LogLevel level :
       {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error, LogLevel::critical})
    if (level_of(level) == spdlog::level::from_str(std::string(name))) return level;
  return LogLevel::off;
}

void configure_logging(LogFormat format, LogLevel level) {
  current_format = format;
  logger().set_pattern(format == LogFormat::json ? "%v" : "%H:%M:%S %^%l%$ %v");
  logger().set_level(level_of(level));
}

void log_event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!logger().should_log(level_of(level))) return;
  logger().log(level_of(level), "{}",
               current_format == LogFormat::json ? as_json(level, event, fields) : as_text(event, fields));
}

}  // namespace kw
