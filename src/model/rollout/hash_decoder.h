#pragma once
// Test code: a decoder without a model. A slot of a page holds a hash of all tokens up to it, made from the slot before
// and the token; the next token is drawn from the hash at the end. So an answer is right only if every page held the
// right content at every step.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "model/rollout/decoder.h"

namespace kw {

class HashDecoder : public Decoder {
 public:
  struct Shape {
    std::int64_t pages = 64;
    std::int64_t page_tokens = 4;
    std::int64_t context = 200;
    std::int64_t most_tokens = 64;
    std::int32_t vocabulary = 50;
  };
  explicit HashDecoder(Shape shape)
      : shape_(shape), slots_(static_cast<std::size_t>(shape.pages * shape.page_tokens), 0xdead) {}

  std::int64_t page_tokens() const override { return shape_.page_tokens; }
  std::int64_t page_count() const override { return shape_.pages; }
  std::int64_t context() const override { return shape_.context; }
  std::int64_t most_tokens() const override { return shape_.most_tokens; }
  std::int64_t weights_version() const override { return version; }

  static std::uint64_t extend(std::uint64_t hash, std::int32_t token) {
    return Random(hash, static_cast<std::uint64_t>(token)).next();
  }
  static std::uint64_t start(std::int64_t version, std::int32_t adapter) {
    return Random(static_cast<std::uint64_t>(version), static_cast<std::uint64_t>(adapter + 1)).next();
  }
  static SampledToken draw(std::uint64_t hash, const SamplingRule& rule, std::int64_t index, std::int32_t vocabulary) {
    Random random(hash ^ rule.seed, static_cast<std::uint64_t>(index));
    SampledToken token;
    token.token = static_cast<std::int32_t>(random.integer(0, vocabulary - 1));
    token.log_prob = -static_cast<float>(random.uniform());
    return token;
  }

  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override {
    if (fail_next) {
      fail_next = false;
      return Error{"out of luck", "", {}};
    }
    check_pages(rows);
    std::vector<SampledToken> sampled;
    std::int64_t tokens = 0;
    for (const DecoderRow& row : rows) {
      std::uint64_t hash = row.first_position == 0 ? start(version, row.adapter) : slot(row, row.first_position - 1);
      for (std::size_t i = 0; i < row.tokens.size(); ++i) {
        hash = extend(hash, row.tokens[i]);
        slot(row, row.first_position + static_cast<std::int64_t>(i)) = hash;
      }
      tokens += static_cast<std::int64_t>(row.tokens.size());
      sampled.push_back(row.sample ? draw(hash, row.rule, row.answer_index, shape_.vocabulary) : SampledToken{});
    }
    EXPECT_LE(tokens, shape_.most_tokens);
    most_rows = std::max(most_rows, static_cast<std::int64_t>(rows.size()));
    return sampled;
  }

  Result<void> copy_page(std::int32_t from, std::int32_t to) override {
    for (std::int64_t i = 0; i < shape_.page_tokens; ++i) {
      slots_[index(to, i)] = slots_[index(from, i)];
    }
    return {};
  }

  std::int64_t version = 1;
  bool fail_next = false;
  std::int64_t most_rows = 0;

 private:
  std::size_t index(std::int32_t page, std::int64_t slot) const {
    EXPECT_TRUE(page >= 0 && page < shape_.pages);
    return static_cast<std::size_t>(page * shape_.page_tokens + slot);
  }
  std::uint64_t& slot(const DecoderRow& row, std::int64_t position) {
    const auto page = row.pages[static_cast<std::size_t>(position / shape_.page_tokens)];
    return slots_[index(page, position % shape_.page_tokens)];
  }

  // A page that one row writes is in no other row's list.
  void check_pages(std::span<const DecoderRow> rows) const {
    std::map<std::int32_t, int> owners;
    std::set<std::int32_t> written;
    for (const DecoderRow& row : rows) {
      ASSERT_FALSE(row.tokens.empty());
      for (const std::int32_t page : row.pages) ++owners[page];
      const std::int64_t last = row.first_position + static_cast<std::int64_t>(row.tokens.size()) - 1;
      ASSERT_LT(last / shape_.page_tokens, static_cast<std::int64_t>(row.pages.size()));
      ASSERT_LT(last, shape_.context);
      for (std::int64_t page = row.first_position / shape_.page_tokens; page <= last / shape_.page_tokens; ++page) {
        written.insert(row.pages[static_cast<std::size_t>(page)]);
      }
    }
    for (const std::int32_t page : written) EXPECT_EQ(owners[page], 1) << "page " << page << " is shared and written";
  }

  Shape shape_;
  std::vector<std::uint64_t> slots_;
};

}  // namespace kw
