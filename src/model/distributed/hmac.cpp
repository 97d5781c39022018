#include "model/distributed/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include <fmt/format.h>

#include "base/check.h"

namespace kw {

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, 32> digest;
  unsigned int length = 0;
  KW_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), &length) != nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace kw
