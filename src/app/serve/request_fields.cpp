#include "app/serve/request_fields.h"

#include <fmt/format.h>

#include <cmath>

#include "base/bounded_json.h"

namespace kw {
namespace {

const nlohmann::json nothing;

}  // namespace

RequestFields::RequestFields(const HttpRequest& request) {
  const auto type = request.headers.find("content-type");
  if (type != request.headers.end() && type->second.find("json") == std::string::npos) {
    problem_ = http_error(415, "the body must be JSON (Content-Type: application/json)");
    return;
  }
  auto parsed = parse_bounded_json(request.body, {.max_depth = 16, .min_bytes_per_value = 2, .max_values = 200'000});
  if (parsed.ok())
    object_ = std::move(parsed).value();
  else
    problem_ = http_error(400, "the body is not a JSON object: " + parsed.error().message);
}

const nlohmann::json& RequestFields::value(const std::string& key) const {
  const auto member = object_.find(key);
  return member == object_.end() ? nothing : *member;
}

bool RequestFields::has(const std::string& key) const { return !value(key).is_null(); }

void RequestFields::refuse(const std::string& key, const std::string& why) {
  if (!problem_) problem_ = http_error(400, fmt::format("'{}' {}", key, why), key);
}

std::string RequestFields::text(const std::string& key, const std::string& if_missing, std::size_t most_bytes) {
  const auto& member = value(key);
  if (member.is_null()) return if_missing;
  if (!member.is_string()) {
    refuse(key, "must be a text");
    return if_missing;
  }
  const auto& text = member.get_ref<const std::string&>();
  if (text.size() > most_bytes) {
    refuse(key, fmt::format("has {} bytes; at most {} are allowed", text.size(), most_bytes));
    return if_missing;
  }
  return text;
}

std::int64_t RequestFields::integer(const std::string& key, std::int64_t if_missing, std::int64_t low,
                                    std::int64_t high) {
  const auto& member = value(key);
  if (member.is_null()) return if_missing;
  const bool small_enough =
      member.is_number_integer() && (!member.is_number_unsigned() || member.get<std::uint64_t>() <= INT64_MAX);
  if (!small_enough || member.get<std::int64_t>() < low || member.get<std::int64_t>() > high) {
    refuse(key, fmt::format("must be an integer from {} to {}", low, high));
    return if_missing;
  }
  return member.get<std::int64_t>();
}

double RequestFields::number(const std::string& key, double if_missing, double low, double high) {
  const auto& member = value(key);
  if (member.is_null()) return if_missing;
  if (!member.is_number() || !(member.get<double>() >= low && member.get<double>() <= high)) {
    refuse(key, fmt::format("must be a number from {:g} to {:g}", low, high));
    return if_missing;
  }
  return member.get<double>();
}

bool RequestFields::flag(const std::string& key, bool if_missing) {
  const auto& member = value(key);
  if (member.is_null()) return if_missing;
  if (!member.is_boolean()) refuse(key, "must be true or false");
  return member.is_boolean() ? member.get<bool>() : if_missing;
}

std::vector<std::string> RequestFields::texts(const std::string& key, std::size_t most) {
  const auto& member = value(key);
  if (member.is_null()) return {};
  if (member.is_string()) return {member.get<std::string>()};
  std::vector<std::string> all;
  if (!member.is_array() || member.size() > most) {
    refuse(key, fmt::format("must be a text or a list of at most {} texts", most));
    return {};
  }
  for (const auto& one : member) {
    if (!one.is_string()) {
      refuse(key, "must be a text or a list of texts");
      return {};
    }
    all.push_back(one.get<std::string>());
  }
  return all;
}

}  // namespace kw
