// What comes over the socket or from a cache file: decoding never crashes, and what it accepts it encodes to the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/compile/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const Result<CompilerOutput> output = decode_output(bytes)) KW_CHECK(encode(*output) == bytes);
  if (const Result<CompilerJob> job = decode_job(bytes)) KW_CHECK(encode(*job) == bytes);
  if (const Result<WorkerGreeting> greeting = decode_greeting(bytes)) KW_CHECK(encode(*greeting) == bytes);
  return 0;
}
