#include "model/rollout/answer_text.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw {
namespace {

TEST(AnswerText, StopAcrossTokens) {
  const std::vector<std::string> stops{"</answer>"};
  AnswerText text(stops);
  EXPECT_FALSE(text.append("x = 1<"));
  EXPECT_FALSE(text.append("/ans"));
  EXPECT_TRUE(text.append("wer> more"));
  EXPECT_EQ(text.text(), "x = 1");
}

TEST(AnswerText, EarliestStopCounts) {
  const std::vector<std::string> stops{"bc", "abcd", "d"};
  AnswerText text(stops);
  EXPECT_TRUE(text.append("xxabcd"));
  EXPECT_EQ(text.text(), "xx");
}

TEST(AnswerText, HoldsBackWhatMayBecomeAStop) {
  const std::vector<std::string> stops{"END"};
  AnswerText text(stops);
  EXPECT_FALSE(text.append("abE"));
  EXPECT_EQ(text.take_visible(false), "ab");
  EXPECT_FALSE(text.append("N"));
  EXPECT_EQ(text.take_visible(false), "");
  EXPECT_FALSE(text.append("E"));
  EXPECT_EQ(text.take_visible(false), "EN");
  EXPECT_EQ(text.take_visible(true), "E");
  EXPECT_EQ(text.take_visible(true), "");
}

TEST(AnswerText, HoldsBackPartsOfCharacters) {
  AnswerText text;
  const std::string euro = "\xE2\x82\xAC", smile = "\xF0\x9F\x98\x80";
  text.append(euro.substr(0, 1));
  EXPECT_EQ(text.take_visible(false), "");
  text.append(euro.substr(1, 1));
  EXPECT_EQ(text.take_visible(false), "");
  text.append(euro.substr(2) + smile.substr(0, 3));
  EXPECT_EQ(text.take_visible(false), euro);
  text.append(smile.substr(3));
  EXPECT_EQ(text.take_visible(false), smile);
}

// However the text is cut into tokens, the result is that of looking at the whole text, and what was shown adds up.
TEST(AnswerText, AnyCutGivesTheSame) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> stops;
    for (auto count = random.integer(0, 3); count > 0; --count) {
      std::string stop;
      for (auto length = random.integer(1, 4); length > 0; --length) {
        stop += static_cast<char>('a' + random.integer(0, 1));
      }
      stops.push_back(stop);
    }
    std::string whole;
    for (auto length = random.integer(0, 12); length > 0; --length) {
      whole += static_cast<char>('a' + random.integer(0, 2));
    }
    AnswerText text(stops);
    std::string shown;
    bool stopped = false;
    std::size_t at = 0;
    while (at < whole.size() && !stopped) {
      const auto length = static_cast<std::size_t>(random.integer(1, 4));
      stopped = text.append(std::string_view(whole).substr(at, length));
      at = std::min(at + length, whole.size());
      shown += text.take_visible(false);
      EXPECT_TRUE(text.text().starts_with(shown));
    }
    shown += text.take_visible(true);
    std::size_t first = std::string::npos;
    for (const std::string& stop : stops) first = std::min(first, whole.substr(0, at).find(stop));
    EXPECT_EQ(stopped, first != std::string::npos);
    EXPECT_EQ(text.text(), whole.substr(0, stopped ? first : at));
    EXPECT_EQ(shown, text.text());
  }
}

}  // namespace
}  // namespace kw
