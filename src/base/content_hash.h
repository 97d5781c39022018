#pragma once
// SHA-256 of content that comes in parts, as `sha256sum` prints it. For keys made of several values there is Sha256
// (hash.h), which also hashes where one ends.

#include <memory>
#include <string>
#include <string_view>

namespace kw {

class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void add(std::string_view bytes);
  // 64 lowercase hexadecimal digits. Ends the hash; nothing may be added afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw
