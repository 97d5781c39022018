#include "agents/agent/constant_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "agents/agent/kernel_constants.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 3> end_markers{"<|end|>", "<|im_end|>", "<|endoftext|>"};
constexpr std::string_view spaces = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

Error no_change(std::string_view part) {
  return {fmt::format("'{}' is no change of a constant", part.substr(0, 80)), "write NAME = NUMBER, NAME = NUMBER", {}};
}

// The parts between commas, semicolons and line ends. Lines of a fence and of a strategy are no parts.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("```") || line.starts_with("Strategy:")) continue;
    while (!line.empty()) {
      const std::size_t stop = std::min(line.find_first_of(",;"), line.size());
      if (const std::string_view part = trimmed(line.substr(0, stop)); !part.empty()) parts.push_back(part);
      line.remove_prefix(std::min(stop + 1, line.size()));
    }
  }
  return parts;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<ConstantAnswer> parse_constant_answer(std::string_view text, std::string_view given) {
  for (const std::string_view marker : end_markers) text = text.substr(0, text.find(marker));
  if (text.size() > max_constant_answer_bytes) return Error{"that is too long for a change of constants", "", {}};
  const std::vector<std::string_view> parts = parts_of(text);
  if (parts.empty()) return Error{"there is no change", "write NAME = NUMBER, NAME = NUMBER", {}};
  if (parts.size() > most_answered_constants)
    return Error{fmt::format("{} constants at most", most_answered_constants), "", {}};
  const std::vector<KernelConstant> constants = kernel_constants(given);
  std::vector<ConstantChange> changes;
  for (const std::string_view part : parts) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return no_change(part);
    const std::string_view name = trimmed(part.substr(0, equals));
    const auto value = number_of(trimmed(part.substr(equals + 1)));
    if (!value) return no_change(part);
    if (*value < 1 || *value > most_constant_value)
      return Error{fmt::format("{} is not from 1 to {}", *value, most_constant_value), "", {}};
    const auto constant = std::ranges::find(constants, name, &KernelConstant::name);
    if (constant == constants.end())
      return Error{fmt::format("the kernel has no constant '{}'", name.substr(0, 80)), "", {}};
    const bool twice =
        std::ranges::any_of(changes, [&](const ConstantChange& each) { return each.first == &*constant; });
    if (twice) return Error{fmt::format("'{}' is given twice", constant->name), "", {}};
    if (*value != constant->value) changes.emplace_back(&*constant, *value);
  }
  if (changes.empty()) return Error{"nothing is changed", "", {}};
  return ConstantAnswer{with_values(given, changes), to_string(changes)};
}

Answer with_constants_changed(Answer answer, std::string_view text, std::string_view given) {
  const bool words = answer.outcome == AnswerOutcome::no_code || answer.outcome == AnswerOutcome::other_language ||
                     answer.outcome == AnswerOutcome::no_kernel;
  if (!words || given.empty()) return answer;
  auto changed = parse_constant_answer(text, given);
  if (!changed.ok()) return answer;
  answer.outcome = AnswerOutcome::kernel;
  answer.message = "constants are changed: " + changed->change;
  answer.said = changed->change;
  answer.kernel = std::move(changed->kernel);
  return answer;
}

}  // namespace kw
