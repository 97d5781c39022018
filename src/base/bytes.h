#pragma once
// Plain binary records between processes of one machine and in cache files: whole numbers in native order, strings with
// their length. Reading is bounded and never trusts a length.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kw {

class ByteWriter {
 public:
  void number(std::uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After a failed read every further read fails and returns nothing.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof value) {
      fail();
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }

  // At most `limit`, for counts of things that will be allocated.
  std::uint64_t count(std::uint64_t limit) {
    const std::uint64_t value = number();
    if (value > limit) {
      fail();
      return 0;
    }
    return value;
  }

  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }

  void fail() {
    failed_ = true;
    rest_ = {};
  }
  // Everything was there and nothing is left over.
  bool complete() const { return !failed_ && rest_.empty(); }
  bool failed() const { return failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace kw
