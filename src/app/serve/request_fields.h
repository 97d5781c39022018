#pragma once
// The members of a request's JSON, read one by one. The first that is wrong is remembered with its name, so that a
// handler reads all of them and asks once whether they were right.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/http/http_message.h"

namespace kw {

class RequestFields {
 public:
  // A body that is not one JSON object, nested too deeply, or says something twice is a problem as well.
  explicit RequestFields(const HttpRequest& request);
  explicit RequestFields(nlohmann::json object) : object_(std::move(object)) {}

  // A member that is missing or null has the default; null is the same as nothing in OpenAI's API.
  bool has(const std::string& key) const;
  std::string text(const std::string& key, const std::string& if_missing = "", std::size_t most_bytes = 1u << 20);
  std::int64_t integer(const std::string& key, std::int64_t if_missing, std::int64_t low, std::int64_t high);
  double number(const std::string& key, double if_missing, double low, double high);
  bool flag(const std::string& key, bool if_missing);
  // One text, or a list of at most `most`.
  std::vector<std::string> texts(const std::string& key, std::size_t most);
  const nlohmann::json& value(const std::string& key) const;  // null where there is none

  void refuse(const std::string& key, const std::string& why);
  void answer_instead(HttpResponse response) { problem_ = std::move(response); }
  // What to answer: 400 with the member's name; none: everything was right.
  const std::optional<HttpResponse>& problem() const { return problem_; }

 private:
  nlohmann::json object_ = nlohmann::json::object();
  std::optional<HttpResponse> problem_;
};

}  // namespace kw
