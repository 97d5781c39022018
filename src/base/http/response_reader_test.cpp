#include "base/http/response_reader.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

using Step = ResponseReader::Step;
using Fault = ResponseReader::Fault;

struct Read {
  Step step = Step::need_more;
  Fault fault = Fault::none;
  HttpResponse response;
};

Read read(const std::string& bytes, std::size_t part_bytes, bool ends) {
  ResponseReader reader(1024, 4096);
  Read read;
  for (std::size_t at = 0; at < bytes.size() && read.step == Step::need_more; at += part_bytes)
    read.step = reader.add(std::string_view(bytes).substr(at, part_bytes));
  if (read.step == Step::need_more && ends) read.step = reader.end();
  read.fault = reader.fault();
  if (read.step == Step::complete) read.response = reader.take();
  return read;
}

// However the bytes come, the same comes of them.
Read read_both(const std::string& bytes, bool ends = true) {
  const Read whole = read(bytes, bytes.size() + 1, ends), parts = read(bytes, 1, ends);
  EXPECT_EQ(whole.step, parts.step) << bytes;
  EXPECT_EQ(whole.fault, parts.fault) << bytes;
  EXPECT_EQ(whole.response.body, parts.response.body);
  return whole;
}

TEST(ResponseReader, ReadsAnswersOfAllForms) {
  const Read sized =
      read_both("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", false);
  EXPECT_EQ(sized.step, Step::complete);
  EXPECT_EQ(sized.response.body, "{}");
  EXPECT_EQ(sized.response.content_type, "application/json");
  const Read chunks = read_both(
      "HTTP/1.1 429 Slow\r\nTransfer-Encoding: chunked\r\nRetry-After: 3\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: "
      "y\r\n\r\n",
      false);
  EXPECT_EQ(chunks.response.status, 429);
  EXPECT_EQ(chunks.response.body, "abcde");
  EXPECT_EQ(header_of(chunks.response, "retry-after"), "3");
  EXPECT_EQ(header_of(chunks.response, "x"), "");
  const Read until_end = read_both("HTTP/1.0 200 OK\r\n\r\nall of it");
  EXPECT_EQ(until_end.response.body, "all of it");
  EXPECT_EQ(read_both("HTTP/1.0 200 OK\r\n\r\nall of it", false).step, Step::need_more);
  EXPECT_EQ(read_both("HTTP/1.1 204 Nothing\r\n\r\n", false).step, Step::complete);
}

TEST(ResponseReader, GoesOnAfterContinue) {
  const Read read = read_both(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
      false);
  EXPECT_EQ(read.response.status, 200);
  EXPECT_EQ(read.response.body, "x");
  EXPECT_EQ(header_of(read.response, "link"), "");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(read_both(many).fault, Fault::too_large);
  EXPECT_EQ(read_both("HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n").fault, Fault::not_http);
}

TEST(ResponseReader, NamesWhatIsWrong) {
  EXPECT_EQ(read_both("").fault, Fault::cut_off);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nContent-Le").fault, Fault::cut_off);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").fault, Fault::cut_off);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab").fault, Fault::cut_off);
  EXPECT_EQ(read_both("SSH-2.0-OpenSSH\r\n").fault, Fault::not_http);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc").fault, Fault::not_http);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").fault, Fault::not_http);
}

TEST(ResponseReader, BoundsEverything) {
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nX: " + std::string(5000, 'a')).fault, Fault::too_large);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n").fault, Fault::too_large);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'a')).fault, Fault::too_large);
  EXPECT_EQ(read_both("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n").fault, Fault::too_large);
  EXPECT_NE(read_both("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(5000, 'a')).fault,
            Fault::none);
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 5000; ++i) chunks += "1\r\na\r\n";
  EXPECT_EQ(read_both(chunks).fault, Fault::too_large);
}

}  // namespace
}  // namespace kw
