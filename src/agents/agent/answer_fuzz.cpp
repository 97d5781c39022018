// Arbitrary bytes as an answer: always a named outcome, and a kernel only when it is plain text with a kernel and a
// launcher that the parser finds again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/agent/answer.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Answer answer = parse_answer(text);
  KW_CHECK(!to_string(answer.outcome).empty() && !answer.message.empty());
  KW_CHECK(answer.kernel.empty() == (answer.outcome != AnswerOutcome::kernel));
  KW_CHECK(answer.said.size() <= AnswerLimits{}.said_bytes + 1);
  if (answer.outcome == AnswerOutcome::kernel) {
    KW_CHECK(answer.kernel.size() <= AnswerLimits{}.kernel_bytes + 1);
    KW_CHECK(answer.kernel.find("__global__") != std::string::npos &&
             answer.kernel.find("launch") != std::string::npos);
    for (const std::string_view bad : {"<|im_start|>", "<|im_end|>", "<|end|>"})
      KW_CHECK(answer.kernel.find(bad) == std::string::npos);
    for (const char c : answer.kernel) KW_CHECK(c != '\0' && c != '\r');
  }
  const auto prediction = parse_prediction(text);
  KW_CHECK(prediction.ok() || !prediction.error().message.empty());
  return 0;
}
