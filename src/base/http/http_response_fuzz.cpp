// Arbitrary bytes as what a server sends: one answer or one failure, the same however the bytes come, and never more
// than the bounds allow.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/http/response_reader.h"

namespace {

using Step = kw::ResponseReader::Step;

constexpr std::size_t max_header_bytes = 512, max_body_bytes = 256;

struct Came {
  Step step = Step::need_more;
  kw::HttpResponse response;
};

Came read(std::string_view bytes, std::size_t part_bytes) {
  kw::ResponseReader reader(max_header_bytes, max_body_bytes);
  Came came;
  while (!bytes.empty() && came.step == Step::need_more) {
    came.step = reader.add(bytes.substr(0, part_bytes));
    bytes.remove_prefix(std::min(part_bytes, bytes.size()));
  }
  if (came.step == Step::need_more) came.step = reader.end();
  KW_CHECK(came.step != Step::need_more);
  KW_CHECK((came.step == Step::failed) == !reader.problem().empty());
  if (came.step == Step::complete) came.response = reader.take();
  return came;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Came whole = read(bytes, bytes.size() + 1), parts = read(bytes, 1 + data[0] % 64);
  if (whole.step == Step::failed || parts.step == Step::failed) return 0;  // a bound may be seen earlier in parts
  KW_CHECK(whole.response.status == parts.response.status && whole.response.body == parts.response.body);
  KW_CHECK(whole.response.headers == parts.response.headers);
  KW_CHECK(whole.response.body.size() <= max_body_bytes && whole.response.status / 100 != 1);
  std::size_t header_bytes = 0;
  for (const auto& [name, value] : whole.response.headers) header_bytes += name.size() + value.size();
  KW_CHECK(header_bytes <= max_header_bytes);
  return 0;
}
