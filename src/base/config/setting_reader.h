#pragma once
// A configuration whose reads are counted, so that a test can say which keys nobody looks at: such a key would promise
// something that does not happen.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/configuration.h"

namespace kw {

class SettingReader {
 public:
  explicit SettingReader(const Configuration& configuration) : configuration_(configuration) {}

  template <class Number = std::int64_t>
  Number whole(std::string_view key) {
    return static_cast<Number>(configuration_.whole(noted(key)));
  }
  double number(std::string_view key) { return configuration_.number(noted(key)); }
  bool flag(std::string_view key) { return configuration_.flag(noted(key)); }
  const std::string& text(std::string_view key) { return configuration_.text(noted(key)); }
  const std::vector<std::string>& list(std::string_view key) { return configuration_.list(noted(key)); }

  const SettingValue& value(std::string_view key) { return configuration_.value(noted(key)); }

  const Configuration& configuration() const { return configuration_; }
  const std::set<std::string, std::less<>>& read() const { return read_; }

 private:
  std::string_view noted(std::string_view key) {
    read_.emplace(key);
    return key;
  }

  const Configuration& configuration_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace kw
