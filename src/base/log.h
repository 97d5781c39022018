#pragma once
// Structured logging on standard error: human lines, or one JSON object a line for machines.

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace kw {

enum class LogFormat { human, json };
enum class LogLevel { trace, debug, info, warn, error, critical, off };
LogLevel log_level_from(std::string_view name);  // "warn"; what is no name switches logging off

// Called once by main; until then warnings and errors are shown in the human form.
void configure_logging(LogFormat format, LogLevel level);

// log_event(info, "worker_restarted", {{"pid", pid}, {"reason", text}}): named fields instead of prose.
struct LogField {
  std::string_view name;
  std::string value;
  bool is_text;

  LogField(std::string_view field, std::string_view text) : name(field), value(text), is_text(true) {}
  LogField(std::string_view field, const char* text) : name(field), value(text), is_text(true) {}
  LogField(std::string_view field, const std::string& text) : name(field), value(text), is_text(true) {}
  template <class Number>
    requires std::is_arithmetic_v<Number>
  LogField(std::string_view field, Number number) : name(field), value(fmt::format("{}", number)), is_text(false) {}
};

void log_event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

}  // namespace kw
