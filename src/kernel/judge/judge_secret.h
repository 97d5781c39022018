#pragma once
// The secret that decides what inputs kernels are judged with, where several judges share one; and how they find out
// that they do, without any of them saying it.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

// From a file that its owner alone may read: at least 32 bytes, white space at its end not counted.
Result<std::string> read_judge_secret(const std::filesystem::path& file);

inline constexpr std::size_t challenge_digits = 64;  // hexadecimal
// A new one for each question, so that nobody can answer with what he has heard before.
Result<std::string> judge_challenge();
bool is_judge_challenge(std::string_view text);
// Only who has the secret can say it, and it does not tell the secret: a keyed hash (SHA-256, nested as in RFC 2104, so
// that it cannot be extended).
std::string secret_proof(std::string_view secret, std::string_view challenge);

}  // namespace kw
