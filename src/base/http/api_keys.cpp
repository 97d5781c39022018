#include "base/http/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/hash.h"
#include "base/text_lines.h"

namespace kw {
namespace {

constexpr std::size_t max_key_file_bytes = 4u << 20;
constexpr std::size_t digest_digits = 64;
constexpr int max_quota = 1'000'000;
constexpr double rounding_s = 1e-6;  // 30.0000000001 seconds are 30

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '@';
  });
}

bool is_digest(std::string_view text) {
  return text.size() == digest_digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<int> quota_number(const std::string& text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0 || number > max_quota) return {};
  return number;
}

}  // namespace

struct ApiKeys::State {
  struct Key {
    std::string name;
    std::string digest;
    ApiKeyQuota quota;
    // A bucket that holds a minute's requests and is refilled evenly.
    double tokens = 0;
    Clock::time_point filled{};
    bool used = false;
    int in_flight = 0;
  };
  std::mutex mutex;  // for what changes: tokens and requests in flight
  std::vector<Key> keys;
};

Result<ApiKeys> ApiKeys::load(const std::filesystem::path& path) {
  KW_TRY(const std::string text, read_file(path, max_key_file_bytes));
  return parse(text, path.string());
}

Result<ApiKeys> ApiKeys::parse(std::string_view text, const std::string& file_name) {
  auto state = std::make_shared<State>();
  std::set<std::string> names;
  for (const TextLine& line : written_lines(text)) {
    std::istringstream words{std::string(line.text)};
    const auto wrong = [&](std::string message) {
      return Error{std::move(message),
                   "a line is: name sha256-of-the-key [requests a minute [requests in flight]]",
                   {file_name, line.number, 0}};
    };
    State::Key key;
    words >> key.name;
    if (key.name.starts_with('#')) continue;
    if (!is_name(key.name)) return wrong("this is not the name of a key");
    words >> key.digest;
    if (!is_digest(key.digest)) return wrong("this is not a SHA-256 in 64 lowercase hexadecimal digits");
    if (!names.insert(key.name).second) return wrong("the name '" + key.name + "' comes twice");
    for (int* number : {&key.quota.requests_per_minute, &key.quota.in_flight}) {
      std::string word;
      if (!(words >> word) || word.starts_with('#')) break;
      const auto parsed = quota_number(word);
      if (!parsed) return wrong("'" + word + "' is not a number from 0 (no limit) to 1000000");
      *number = *parsed;
    }
    key.tokens = key.quota.requests_per_minute;
    state->keys.push_back(std::move(key));
  }
  if (state->keys.empty()) return Error{"there is no key in it", "nobody could use the service", {file_name, 0, 0}};
  return ApiKeys(std::move(state));
}

std::string ApiKeys::make_key() {
  static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::string key = "kw-";
  while (key.size() < 3 + 43) {
    unsigned char byte = 0;
    KW_CHECK(RAND_bytes(&byte, 1) == 1);
    if (byte < 4 * letters.size()) key.push_back(letters[byte % letters.size()]);  // else the first ones were likelier
  }
  return key;
}

std::string ApiKeys::line_for(std::string_view name, std::string_view key, ApiKeyQuota quota) {
  std::string line = std::string(name) + " " + sha256_hex(key);
  if (quota.requests_per_minute > 0 || quota.in_flight > 0) line += " " + std::to_string(quota.requests_per_minute);
  if (quota.in_flight > 0) line += " " + std::to_string(quota.in_flight);
  return line;
}

std::size_t ApiKeys::size() const { return state_->keys.size(); }

std::optional<std::size_t> ApiKeys::check(std::string_view key) const {
  const std::string digest = sha256_hex(key);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < state_->keys.size(); ++i) {
    if (CRYPTO_memcmp(digest.data(), state_->keys[i].digest.data(), digest_digits) == 0) found = i;
  }
  return found;
}

const std::string& ApiKeys::name(std::size_t who) const { return state_->keys.at(who).name; }

ApiKeys::Admission ApiKeys::admit(std::size_t who, Clock::time_point now) const {
  const std::scoped_lock lock(state_->mutex);
  State::Key& key = state_->keys.at(who);
  if (key.quota.in_flight > 0 && key.in_flight >= key.quota.in_flight) {
    return {false, 1, "this key has too many requests in flight"};
  }
  if (key.quota.requests_per_minute > 0) {
    const double per_s = key.quota.requests_per_minute / 60.0;
    if (key.used) key.tokens += per_s * std::max(0.0, std::chrono::duration<double>(now - key.filled).count());
    key.tokens = std::min<double>(key.tokens, key.quota.requests_per_minute);
    key.filled = now;
    key.used = true;
    if (key.tokens < 1) {
      return {false, std::max(1, static_cast<int>(std::ceil((1 - key.tokens) / per_s - rounding_s))),
              "this key's requests of the minute are used"};
    }
    key.tokens -= 1;
  }
  ++key.in_flight;
  return {true, 0, ""};
}

void ApiKeys::release(std::size_t who) const {
  const std::scoped_lock lock(state_->mutex);
  State::Key& key = state_->keys.at(who);
  KW_CHECK(key.in_flight > 0);
  --key.in_flight;
}

}  // namespace kw
