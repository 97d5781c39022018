// Messages of reference processes, which nobody vouches for, and requests, in one stream of bytes.

#include <cstdint>

#include "base/check.h"
#include "kernel/reference/message.h"
#include "kernel/reference/worker.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // What is understood is understood again after it was written.
  if (data[0] % 3 == 0) {
    if (const auto reply = kw::decode_reference_reply(bytes); reply.ok())
      KW_CHECK(kw::decode_reference_reply(kw::encode(*reply)).ok());
  } else if (data[0] % 3 == 1) {
    if (const auto request = kw::decode_reference_request(bytes); request.ok())
      KW_CHECK(kw::decode_reference_request(kw::encode(*request)).ok());
  } else if (const auto greeting = kw::decode_reference_greeting(bytes); greeting.ok()) {
    KW_CHECK(kw::decode_reference_greeting(kw::encode(*greeting)).ok());
  }
  return 0;
}
