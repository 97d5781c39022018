#pragma once
// Hashes. Sha256 names content that comes from outside (nobody may be able to make two texts collide);
// checksum64 guards against torn and flipped bytes only.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kw {

// 64 lowercase hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// Incremental, for keys made of several parts. Each part is length-prefixed, so ("ab", "c") differs from ("a", "bc").
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& add(std::string_view part);
  // Ends the hash; nothing may be added afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// XXH3; not safe against an adversary.
std::uint64_t checksum64(std::string_view bytes);

// The same, of bytes that come in parts, for files that should not lie in memory.
class Checksum64 {
 public:
  Checksum64();
  ~Checksum64();
  Checksum64(const Checksum64&) = delete;
  Checksum64& operator=(const Checksum64&) = delete;

  void add(std::string_view bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw
