// What a worker says, and what it is told; and the files whose variables it looks for: decoding never crashes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernel/gpu/cubin_variables.h"
#include "kernel/gpu/message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto facts = decode_facts(bytes)) encode(*facts);
  if (const auto replies = decode_run_replies(bytes)) encode(*replies);
  if (const auto reply = decode_time_reply(bytes)) encode(*reply);
  if (const auto inputs = decode_inputs_request(bytes)) encode(*inputs);
  if (const auto runs = decode_run_requests(bytes))
    for (const RunRequest& run : *runs) is_consistent(run.plan, 3);
  if (const auto timing = decode_time_request(bytes)) is_consistent(timing->candidate.plan, 3);
  global_variables(bytes);
  return 0;
}
