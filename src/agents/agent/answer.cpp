#include "agents/agent/answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "agents/agent/code_block.h"
#include "kernel/source/fingerprint.h"
#include "kernel/source/rules_unicode.h"

namespace kw {
namespace {

using Outcome = AnswerOutcome;

struct OutcomeWords {
  Outcome outcome;
  std::string_view name;
  std::string_view message;
};

constexpr std::array<OutcomeWords, 15> outcomes{{
    {Outcome::kernel, "kernel", "the answer holds one kernel file"},
    {Outcome::empty, "empty", "the answer is empty"},
    {Outcome::no_code, "no_code", "the answer holds no code; write one CUDA file in a ```cuda block"},
    {Outcome::other_language, "other_language", "the code is not CUDA; write one CUDA file in a ```cuda block"},
    {Outcome::encoded, "encoded", "the code is wrapped in JSON, HTML or base64; write it plainly"},
    {Outcome::no_kernel, "no_kernel", "the code has no __global__ function"},
    {Outcome::no_launcher, "no_launcher", "the code has no extern \"C\" void launch(...)"},
    {Outcome::split_code, "split_code", "kernel and launcher stand in different blocks; write one file in one block"},
    {Outcome::several_candidates, "several_candidates", "there are several different kernel files; write one"},
    {Outcome::truncated, "truncated", "the code ends in the middle; write a shorter file"},
    {Outcome::unbalanced, "unbalanced", "brackets do not match, or a comment or string is not closed"},
    {Outcome::too_long, "too_long", "the answer is too long"},
    {Outcome::not_text, "not_text", "the answer holds NUL bytes or bytes that are no UTF-8"},
    {Outcome::hidden_characters, "hidden_characters", "the code holds characters that nobody sees"},
    {Outcome::look_alikes, "look_alikes", "the code holds letters beyond ASCII outside comments and strings"},
}};

constexpr std::array<std::string_view, 6> end_markers{"<|end|>",      "<|im_end|>", "<|endoftext|>",
                                                      "<|im_start|>", "<|eot_id|>", "</s>"};
constexpr std::string_view kernel_marker = "<|kernel|>";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A model that stops at a limit may stop in the middle of a character.
std::string_view without_cut_character(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return text;
    if (byte < 0xC0) continue;
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return needs > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

bool is_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == 0) return false;
    if (byte < 0x80) {
      ++at;
      continue;
    }
    const DecodedCharacter character = decode_utf8(text, at);
    if (!character.valid) return false;
    at += character.bytes;
  }
  return true;
}

std::string with_plain_line_ends(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 >= text.size() || text[i + 1] != '\n') plain += text[i];
  return plain;
}

bool looks_encoded(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view start : {"{\"", "{ \"", "{\n", "[\"", "[{"})
    if (text.starts_with(start) && (text.ends_with('}') || text.ends_with(']'))) return true;
  if (text.find("&lt;&lt;&lt;") != std::string_view::npos || text.find("&quot;C&quot;") != std::string_view::npos ||
      text.find("<pre") != std::string_view::npos || text.find("<code") != std::string_view::npos)
    return true;
  std::size_t run = 0;
  for (const char c : text) {
    const bool base64 =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '=';
    // Lines of base64 may be folded; a word of prose never is that long.
    run = base64 ? run + 1 : (c == '\n' && run >= 60) ? run : 0;
    if (run >= 120) return true;
  }
  return false;
}

// Why there is no kernel; the message where it says more than the outcome's own words.
struct Refusal {
  Outcome outcome = Outcome::empty;
  std::string message = "";

  Refusal(Outcome why) : outcome(why) {}
  Refusal(Outcome why, std::string words) : outcome(why), message(std::move(words)) {}
};

Refusal unbalanced(const CodeBlock& block) {
  return {Outcome::unbalanced, "the code is not balanced: " + block.unfinished_why};
}

Refusal check_candidate(const CodeBlock& block, bool ended, const AnswerLimits& limits) {
  if (block.text.size() > limits.kernel_bytes) return Outcome::too_long;
  if (block.hidden_characters) return Outcome::hidden_characters;
  if (block.foreign_letters) return Outcome::look_alikes;
  if (!block.finished) return block.open_ended && !ended ? Refusal(Outcome::truncated) : unbalanced(block);
  return Outcome::kernel;
}

// Why no block is a whole kernel file.
Refusal missing_part(const std::vector<CodeBlock>& blocks, bool ended, std::string_view text) {
  bool kernel = false, launcher = false, cuda = false;
  for (const CodeBlock& block : blocks) {
    if (!is_cuda_language(block.language)) continue;
    cuda = true;
    kernel |= block.has_kernel;
    launcher |= block.has_launcher;
    if (block.open_ended && !ended && (block.fenced || !block.finished)) return Outcome::truncated;
  }
  for (const CodeBlock& block : blocks)
    if (is_cuda_language(block.language) && block.hidden_characters) return Outcome::hidden_characters;
  if (kernel && launcher) return Outcome::split_code;
  for (const CodeBlock& block : blocks)
    if (is_cuda_language(block.language) && block.has_kernel) {
      if (block.foreign_letters) return Outcome::look_alikes;
      return block.finished ? Refusal(Outcome::no_launcher) : unbalanced(block);
    }
  if (launcher) return Outcome::no_kernel;
  if (looks_encoded(text)) return Outcome::encoded;
  return cuda ? Outcome::no_kernel : blocks.empty() ? Outcome::no_code : Outcome::other_language;
}

std::string cut_text(std::string_view text, std::size_t bytes) {
  text = trimmed(text);
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

class AnswerReading {
 public:
  AnswerReading(std::string_view text, const AnswerLimits& limits) : limits_(limits), raw_(text) {}

  Answer read() {
    if (raw_.size() > limits_.answer_bytes)
      return finish(Outcome::too_long,
                    fmt::format("the answer has {} bytes, {} are allowed", raw_.size(), limits_.answer_bytes));
    if (raw_.starts_with("\xEF\xBB\xBF")) raw_.remove_prefix(3);
    raw_ = without_cut_character(raw_);
    if (!is_text(raw_)) return finish(Outcome::not_text);
    text_ = with_plain_line_ends(raw_);
    cut_at_markers();
    if (trimmed(text_).empty()) return finish(Outcome::empty);
    auto blocks = fenced_blocks(text_);
    answer_.blocks = static_cast<int>(blocks.size());
    if (blocks.size() > max_code_blocks)
      return finish(Outcome::several_candidates, fmt::format("there are more than {} code blocks", max_code_blocks));
    if (blocks.empty()) {
      // A wrapped kernel has lines of code in it that are not the kernel's.
      if (looks_encoded(text_)) return finish(Outcome::encoded);
      if (CodeBlock bare = bare_block(text_); bare.has_kernel || bare.has_launcher) blocks.push_back(std::move(bare));
    }
    return choose(blocks);
  }

 private:
  Answer finish(Refusal refusal) { return finish(refusal.outcome, std::move(refusal.message)); }
  Answer finish(Outcome outcome, std::string message) {
    answer_.outcome = outcome;
    for (const OutcomeWords& words : outcomes)
      if (words.outcome == outcome && message.empty()) message = words.message;
    answer_.message = std::move(message);
    if (!text_.empty() && answer_.said.empty() && outcome != Outcome::kernel)
      answer_.said = cut_text(text_, limits_.said_bytes);
    answer_.claimed = strategies_claimed(answer_.said);
    return std::move(answer_);
  }

  void cut_at_markers() {
    std::size_t first = 0;
    while (first < text_.size() && is_space(text_[first])) ++first;
    if (std::string_view(text_).substr(first).starts_with(kernel_marker)) text_.erase(0, first + kernel_marker.size());
    std::size_t end = std::string::npos;
    for (const std::string_view marker : end_markers) end = std::min(end, text_.find(marker));
    if (end != std::string::npos) {
      answer_.ended = true;
      text_.resize(end);
    }
    // Code that was only thought about is no candidate.
    constexpr std::string_view thought = "</think>";
    if (const std::size_t at = text_.rfind(thought); at != std::string::npos) text_.erase(0, at + thought.size());
  }

  Answer choose(std::vector<CodeBlock>& blocks) {
    std::vector<const CodeBlock*> whole;
    for (const CodeBlock& block : blocks)
      if (is_cuda_language(block.language) && block.has_kernel && block.has_launcher) whole.push_back(&block);
    if (whole.empty()) return finish(missing_part(blocks, answer_.ended, text_));
    if (whole.size() > 1 && !all_same(whole))
      return finish(Outcome::several_candidates,
                    fmt::format("there are {} different kernel files; write one", whole.size()));
    const CodeBlock& taken = *whole.back();
    Refusal checked = check_candidate(taken, answer_.ended, limits_);
    answer_.fenced = taken.fenced;
    answer_.said = cut_text(trimmed(std::string_view(text_).substr(0, taken.first)), limits_.said_bytes);
    if (answer_.said.size() < limits_.said_bytes) {
      const std::string after =
          cut_text(std::string_view(text_).substr(taken.end), limits_.said_bytes - answer_.said.size());
      if (!after.empty()) answer_.said += (answer_.said.empty() ? "" : "\n") + after;
    }
    if (checked.outcome == Outcome::kernel) {
      answer_.kernel = taken.text;
      if (!answer_.kernel.ends_with('\n')) answer_.kernel += '\n';
    }
    return finish(std::move(checked));
  }

  static bool all_same(const std::vector<const CodeBlock*>& blocks) {
    const std::string first = fingerprint(blocks.front()->text);
    return std::all_of(blocks.begin() + 1, blocks.end(),
                       [&](const CodeBlock* block) { return fingerprint(block->text) == first; });
  }

  const AnswerLimits& limits_;
  std::string_view raw_;
  std::string text_;
  Answer answer_;
};

constexpr std::size_t max_prediction_bytes = 4096;
constexpr std::size_t max_prediction_findings = 20;

}  // namespace

std::string_view to_string(AnswerOutcome outcome) {
  for (const OutcomeWords& words : outcomes)
    if (words.outcome == outcome) return words.name;
  return "";
}

Answer parse_answer(std::string_view text, const AnswerLimits& limits) { return AnswerReading(text, limits).read(); }

Result<VerdictPrediction> parse_prediction(std::string_view text) {
  if (text.size() > max_prediction_bytes) return Error{"the prediction is too long", "", {}};
  for (const std::string_view marker : end_markers) text = text.substr(0, text.find(marker));
  text = trimmed(text);
  const auto take_word = [&text] {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    const std::string_view word = text.substr(0, end);
    text = trimmed(text.substr(end));
    return word;
  };
  VerdictPrediction prediction;
  const auto status = verdict_status_from_string(take_word());
  if (!status) return Error{"the prediction does not begin with a status", "correct, wrong, compile_error, ...", {}};
  prediction.status = *status;
  while (!text.empty()) {
    const std::string_view word = take_word();
    const char* end = word.data() + word.size();
    double speedup = 0;
    int line = 0;
    if (word.ends_with('x') && std::from_chars(word.data(), end, speedup).ptr == end - 1) {
      if (std::isfinite(speedup) && speedup > 0 && !prediction.speedup) prediction.speedup = speedup;
    } else if (std::from_chars(word.data(), end, line).ptr == end && line > 0 && !text.empty()) {
      if (prediction.findings.size() < max_prediction_findings)
        prediction.findings.emplace_back(line, std::string(take_word()));
    }
  }
  return prediction;
}

}  // namespace kw
