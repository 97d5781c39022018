#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <atomic>
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

std::string as_json(spdlog::level::level_enum level, std::string_view event, std::initializer_list<LogField> fields) {
  nlohmann::ordered_json line;
  line["level"] = std::string(spdlog::level::to_string_view(level).data());
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

void configure_logging(LogFormat format, spdlog::level::level_enum level) {
  current_format = format;
  logger().set_pattern(format == LogFormat::json ? "%v" : "%H:%M:%S %^%l%$ %v");
  logger().set_level(level);
}

void log_event(spdlog::level::level_enum level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!logger().should_log(level)) return;
  logger().log(level, "{}", current_format == LogFormat::json ? as_json(level, event, fields) : as_text(event, fields));
}

}  // namespace kw
