#include "base/http/request_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw {
namespace {

using Step = RequestReader::Step;

// Gives the reader as many of the bytes as it takes.
std::size_t give(RequestReader& reader, std::string_view bytes) {
  const std::span<char> space = reader.space();
  const std::size_t count = std::min(space.size(), bytes.size());
  std::copy_n(bytes.data(), count, space.data());
  reader.wrote(count);
  return count;
}

// Every request of the bytes, which come in parts of this size; "failed 400" where it ends so.
std::vector<std::string> read_all(std::string_view bytes, std::size_t part_bytes, std::size_t max_header_bytes = 1000) {
  RequestReader reader(max_header_bytes, 1000);
  std::vector<std::string> requests;
  while (true) {
    switch (reader.next()) {
      case Step::need_more:
        if (bytes.empty()) return requests;
        bytes.remove_prefix(give(reader, bytes.substr(0, part_bytes)));
        break;
      case Step::head:
        break;
      case Step::complete: {
        const HttpRequest request = reader.take();
        requests.push_back(request.method + " " + request.path + " " + request.body);
        reader.restart();
        break;
      }
      case Step::failed:
        requests.push_back("failed " + std::to_string(reader.failure().status));
        return requests;
    }
  }
}

TEST(RequestReader, DoesNotDependOnHowBytesCome) {
  const std::string bytes =
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"
      "GET /b HTTP/1.1\r\nHost: h\r\n\r\n\r\n"
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n02\r\nde\r\n0\r\nT: u\r\n\r\n"
      "GET /d HTTP/1.0\r\n\r\n"
      "BROKEN\r\n\r\n";
  const std::vector<std::string> expected = {"POST /a hello", "GET /b ", "POST /c abcde", "GET /d ", "failed 400"};
  for (std::size_t part = 1; part < bytes.size(); ++part) EXPECT_EQ(read_all(bytes, part), expected) << part;
}

TEST(RequestReader, TheHeadsLimitIsOfAllItsBytes) {
  std::string head = "GET / HTTP/1.1\r\nHost: h\r\n";
  while (head.size() < 960) head += "A: b\r\n";
  const std::size_t size = head.size() + 2;
  for (const std::size_t part : {1u, 7u, 5000u}) {
    EXPECT_EQ(read_all(head + "\r\n", part, size), std::vector<std::string>{"GET / "}) << part;
    EXPECT_EQ(read_all(head + "\r\n", part, size - 1), std::vector<std::string>{"failed 431"}) << part;
  }
  EXPECT_EQ(read_all(std::string(5000, '\r'), 10), std::vector<std::string>{"failed 400"});
  std::string empty_lines;
  for (int i = 0; i < 1000; ++i) empty_lines += "\r\n";
  EXPECT_EQ(read_all(empty_lines, 10), std::vector<std::string>{"failed 431"});
}

TEST(RequestReader, HeadersAreInLowerCaseAndJoined) {
  RequestReader reader(1000, 1000);
  give(reader, "GET /x?y=z HTTP/1.1\r\nHOST: h\r\nX-Request-ID: mine\r\nAccept: a\r\naccept: b\r\n\r\n");
  ASSERT_EQ(reader.next(), Step::head);
  EXPECT_EQ(reader.request().header("host"), "h");
  EXPECT_EQ(reader.request().header("accept"), "a, b");
  EXPECT_EQ(reader.request().header("none"), "");
  EXPECT_EQ(reader.request().id, "mine");
  EXPECT_EQ(reader.request().query.at("y"), "z");
  EXPECT_TRUE(reader.keep_alive());
  EXPECT_FALSE(reader.has_body());
  EXPECT_EQ(reader.next(), Step::complete);
}

TEST(RequestReader, KeepsABoundedPartOfWhatIsSentAhead) {
  RequestReader reader(1000, 1000);
  give(reader, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(reader.next(), Step::head);
  ASSERT_EQ(reader.next(), Step::complete);
  std::size_t kept = 0;
  while (const std::size_t count = give(reader, std::string(1000, 'x'))) kept += count;
  EXPECT_LE(kept, 16u << 10);
}

TEST(RequestReader, SaysWhatIsNeededToRefuseABody) {
  RequestReader reader(1000, 1000);
  give(reader, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nExpect: 100-Continue\r\nConnection: close\r\n\r\n");
  ASSERT_EQ(reader.next(), Step::head);
  EXPECT_TRUE(reader.has_body());
  EXPECT_TRUE(reader.expects_continue());
  EXPECT_FALSE(reader.keep_alive());
  EXPECT_EQ(reader.content_length(), 10u);
  EXPECT_EQ(reader.next(), Step::need_more);
}

}  // namespace
}  // namespace kw
