// Arbitrary bytes as what an endpoint sends, from the connection to the answer that is judged.
#include <cstdint>

#include "agents/endpoint/completion.h"
#include "base/check.h"
#include "base/http/response_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  kw::HttpResponse response{200, "application/json", std::string(bytes), {}};
  if (data[0] % 2 == 0) {
    kw::ResponseReader reader(4096, 1u << 16);
    auto step = reader.add(bytes);
    if (step == kw::ResponseReader::Step::need_more) step = reader.end();
    if (step != kw::ResponseReader::Step::complete) return 0;
    response = reader.take();
  }
  for (const bool chat : {false, true})
    if (const auto completion = kw::read_completion(response, chat); completion.ok()) {
      KW_CHECK(completion->text.size() <= response.body.size());
      KW_CHECK(completion->usage.answer_tokens >= 0 && completion->usage.prompt_tokens >= 0);
      KW_CHECK(completion->usage.answer_tokens <= 100'000'000 && completion->usage.prompt_tokens <= 100'000'000);
      KW_CHECK(completion->finish == kw::FinishReason::stop_token || completion->finish == kw::FinishReason::length);
    }
  const std::string said = kw::refusal_of(response);
  KW_CHECK(said.size() < 600 && said.find_first_of("\r\n") == std::string::npos);
  kw::EndpointManners manners;
  (void)kw::learn_manners(response, manners);
  if (const auto wait = kw::asked_to_wait(response)) KW_CHECK(wait->count() >= 0);
  KW_CHECK(kw::facts_of_model(response, "tiny").context >= 0);
  return 0;
}
