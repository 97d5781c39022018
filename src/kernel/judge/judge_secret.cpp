#include "kernel/judge/judge_secret.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/hash.h"

namespace kw {
namespace {

constexpr std::size_t least_bytes = 32, most_bytes = 4096;

}  // namespace

Result<std::string> read_judge_secret(const std::filesystem::path& file) {
  KW_TRY(std::string secret, read_file(file, most_bytes));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r' || secret.back() == ' ')) secret.pop_back();
  if (secret.size() < least_bytes)
    return Error{fmt::format("a secret of {} bytes can be guessed; at least {} are needed", secret.size(), least_bytes),
                 "openssl rand -hex 32 > FILE makes one",
                 {file.string(), 0, 0}};
  struct stat facts {};
  if (::stat(file.c_str(), &facts) == 0 && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return Error{"others on this machine may read the secret", "chmod 600 FILE", {file.string(), 0, 0}};
  return secret;
}

Result<std::string> judge_challenge() {
  std::array<char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error{"this machine has no random numbers to give", "", {}};
  return sha256_hex(std::string_view(bytes.data(), bytes.size()));
}

bool is_judge_challenge(std::string_view text) {
  return text.size() == challenge_digits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string secret_proof(std::string_view secret, std::string_view challenge) {
  const std::string inner = Sha256().add("kernelwright judge, inner").add(secret).add(challenge).hex();
  return Sha256().add("kernelwright judge, outer").add(secret).add(inner).hex();
}

}  // namespace kw
