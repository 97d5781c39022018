#pragma once
// The kernel in a model's answer, or a named reason why there is none. Strict about what it takes (one whole CUDA file
// with a launcher, in plain characters), lenient about where it stands: a fence with or without a language, finished or
// not, words around it, no fence at all, or the compact form that ends with <|end|>. What comes after an end marker,
// such as a turn that the model made up, is not looked at.
//
// Every text gives an answer: there is no error. Time is linear in the text, up to a small factor. It does not
// check whether the kernel is any good; that is the judge's work.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agent/strategies.h"
#include "kernel/judge/verdict.h"

namespace kw {

enum class AnswerOutcome : std::uint8_t {
  kernel,
  empty,               // nothing but white space
  no_code,             // words only
  other_language,      // code, none of it CUDA
  encoded,             // wrapped in JSON, HTML or base64
  no_kernel,           // CUDA or C++ without a __global__ function
  no_launcher,         // kernels without `void launch(...)`
  split_code,          // kernel and launcher in different blocks
  several_candidates,  // different whole files: the judge will not choose
  truncated,           // ends in the middle
  unbalanced,          // brackets do not match, or a comment or string is not closed
  too_long,
  not_text,           // NUL or bytes that are no UTF-8
  hidden_characters,  // zero-width, bidirectional, control characters in the code
  look_alikes,        // letters beyond ASCII in the code
};
std::string_view to_string(AnswerOutcome outcome);

struct AnswerLimits {
  std::size_t answer_bytes = std::size_t{256} << 10;
  std::size_t kernel_bytes = std::size_t{64} << 10;
  std::size_t said_bytes = std::size_t{4} << 10;
};

struct Answer {
  AnswerOutcome outcome = AnswerOutcome::empty;
  std::string message;            // one sentence for the agent
  std::string kernel;             // the file; empty unless outcome is kernel
  std::string said;               // what else was said, cut
  std::vector<Strategy> claimed;  // strategies named there
  bool fenced = false;
  bool ended = false;  // with an end marker
  int blocks = 0;      // fenced ones, CUDA or not
};

Answer parse_answer(std::string_view text, const AnswerLimits& limits = {});

// A Tester's prediction: the first word is a status of docs/verdict.md; a speedup such as `1.8x` and lines with
// findings
// (`12 out_of_bounds`) may follow.
struct VerdictPrediction {
  VerdictStatus status = VerdictStatus::correct;
  std::optional<double> speedup;
  std::vector<std::pair<int, std::string>> findings;  // line, kind
};
Result<VerdictPrediction> parse_prediction(std::string_view text);

}  // namespace kw
