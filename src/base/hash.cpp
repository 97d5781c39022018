#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <array>

#include "base/check.h"

namespace kw {
namespace {

std::string to_hex(const unsigned char* bytes, std::size_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(count * 2, '0');
  for (std::size_t i = 0; i < count; ++i) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest;
  unsigned int length = 0;
  KW_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
  return to_hex(digest.data(), length);
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  KW_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::add(std::string_view part) {
  const std::uint64_t length = part.size();
  KW_CHECK(EVP_DigestUpdate(state_->context, &length, sizeof length) == 1);
  KW_CHECK(EVP_DigestUpdate(state_->context, part.data(), part.size()) == 1);
  return *this;
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest;
  unsigned int length = 0;
  KW_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &length) == 1);
  return to_hex(digest.data(), length);
}

std::uint64_t checksum64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct Checksum64::State {
  XXH3_state_t* stream = XXH3_createState();
  ~State() { XXH3_freeState(stream); }
};

Checksum64::Checksum64() : state_(std::make_unique<State>()) {
  KW_CHECK(state_->stream != nullptr && XXH3_64bits_reset(state_->stream) == XXH_OK);
}
Checksum64::~Checksum64() = default;

void Checksum64::add(std::string_view bytes) {
  KW_CHECK(XXH3_64bits_update(state_->stream, bytes.data(), bytes.size()) == XXH_OK);
}

std::uint64_t Checksum64::value() const { return XXH3_64bits_digest(state_->stream); }

}  // namespace kw
