#include "kernel/judge/verdict_file.h"

#include <array>
#include <iostream>
#include <limits>
#include <string>

#include "base/bounded_json.h"
#include "base/file.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

// Generous for a verdict; without them a line of a few bytes could cost seconds.
constexpr JsonBounds verdict_bounds{
    .max_depth = 8, .min_bytes_per_value = 1, .max_values = 400'000, .max_members = 128, .max_elements = 20'000};

// Converting a float, or a number out of range, to a whole one would not be an error in verdict_from_json.
constexpr std::array whole_number_keys{
    "line",   "column", "occurrences",    "registers",    "spill_bytes",      "stack_bytes",  "shared_bytes",
    "rounds", "seed",   "driver_version", "sm_clock_mhz", "memory_clock_mhz", "temperature_c"};
constexpr std::array wide_keys{"occurrences", "seed", "shared_bytes"};

template <class Keys>
bool one_of(const Keys& keys, std::string_view name) {
  for (const std::string_view key : keys)
    if (key == name) return true;
  return false;
}

Result<void> check_whole_numbers(const Json& json, bool sizes = false) {
  if (json.is_array()) {
    for (const Json& element : json) KW_TRY_VOID(check_whole_numbers(element));
    return {};
  }
  if (!json.is_object()) return {};
  for (const auto& [name, value] : json.items()) {
    if (value.is_structured()) {
      KW_TRY_VOID(check_whole_numbers(value, name == "size"));
      continue;
    }
    if (!sizes && !one_of(whole_number_keys, name)) continue;
    const bool wide = sizes || one_of(wide_keys, name);
    bool fits = value.is_number_integer();
    if (fits && value.is_number_unsigned()) {
      // Seeds use all 64 bits.
      fits = name == "seed" || value.get<std::uint64_t>() <=
                                   static_cast<std::uint64_t>(wide ? INT64_MAX : std::numeric_limits<int>::max());
    } else if (fits) {
      fits = value.get<std::int64_t>() >= 0 || name == "temperature_c";
      fits = fits && value.get<std::int64_t>() >= -1000;
    }
    if (!fits) return Error{"not a verdict: '" + name.substr(0, 100) + "' is no whole number in its range", "", {}};
  }
  return {};
}

Result<void> check_agreement(const Verdict& verdict) {
  const auto contradiction = [](const char* what) { return Error{std::string("not a verdict: ") + what, "", {}}; };
  if (verdict.correct != (verdict.status == VerdictStatus::correct))
    return contradiction("'correct' and 'status' contradict each other");
  if (verdict.correct && !verdict.compiled) return contradiction("it is correct and does not compile");
  if (verdict.correct && !verdict.findings.empty()) return contradiction("it is correct and has findings");
  if (verdict.time_us && !(*verdict.time_us > 0)) return contradiction("'time_us' is not above 0");
  for (const auto& speedup : {verdict.speedup_naive, verdict.speedup_pytorch, verdict.speedup_pytorch_tf32})
    if (speedup && !(*speedup > 0)) return contradiction("a speedup is not above 0");
  if (verdict.share_of_limit && !(*verdict.share_of_limit > 0 && *verdict.share_of_limit <= 1))
    return contradiction("'share_of_limit' is not a share");
  for (const CaseVerdict& one : verdict.cases)
    if (verdict.correct && !one.ok) return contradiction("it is correct and a case is not");
  for (const KernelUse& use : verdict.resources)
    if (!(use.occupancy >= 0 && use.occupancy <= 1)) return contradiction("an occupancy is not from 0 to 1");
  if (!(verdict.risk.score >= 0 && verdict.risk.score <= 1)) return contradiction("the risk is not from 0 to 1");
  return {};
}

}  // namespace

Result<Verdict> read_verdict_text(std::string_view text) {
  if (text.size() > max_verdict_bytes) return Error{"longer than a verdict can be", "at most 8 MiB", {}};
  const auto json = parse_bounded_ordered_json(text, verdict_bounds);
  if (!json.ok())
    return Error{"not a verdict: " + json.error().message, "a verdict is what kernelwright judge --json prints", {}};
  return read_verdict_json(*json);
}

Result<Verdict> read_verdict_json(const nlohmann::ordered_json& json) {
  KW_TRY_VOID(check_whole_numbers(json));
  KW_TRY(Verdict verdict, verdict_from_json(json));
  KW_TRY_VOID(check_agreement(verdict));
  return verdict;
}

Result<Verdict> read_verdict_file(const std::filesystem::path& path) {
  std::string text;
  if (path == "-") {
    std::array<char, 65536> part{};
    while (text.size() <= max_verdict_bytes && std::cin.read(part.data(), part.size()).gcount() > 0)
      text.append(part.data(), static_cast<std::size_t>(std::cin.gcount()));
  } else {
    KW_TRY(text, read_file(path, max_verdict_bytes));
  }
  auto verdict = read_verdict_text(text);
  if (!verdict.ok() && path != "-") {
    Error error = verdict.error();
    error.where.file = path.string();
    return error;
  }
  return verdict;
}

}  // namespace kw
