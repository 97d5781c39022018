#pragma once
// HMAC (RFC 2104) with SHA-256: who does not know the key cannot make it.

#include <string>
#include <string_view>

namespace kw {

// 64 lowercase hexadecimal digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

}  // namespace kw
