#include "agents/agent/answer_constraint.h"

#include <gtest/gtest.h>

#include "agents/agent/answer_automaton.h"
#include "agents/agent/dialect.h"
#include "base/file.h"
#include "base/random.h"
#include "kernel/task/task_file.h"
#include "model/rollout/token_trie.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw {
namespace {

const std::string root = KW_SOURCE_ROOT;

const Dialect& tiny() {
  static const Dialect dialect = [] {
    auto tokenizer = load_tokenizer_json(root + "/weights/tiny/tokenizer.json");
    EXPECT_TRUE(tokenizer.ok()) << to_string(tokenizer.error());
    return Dialect::make(std::move(tokenizer).value()).value();
  }();
  return dialect;
}

const Task& softmax() {
  static const Task task = *load_task(root + "/tasks/softmax");
  return task;
}

std::shared_ptr<const Constraint> constraint_for(const Task& task) {
  return make_answer_constraint(tiny().masks(), expected_parameters(task));
}

std::string text_of(const std::vector<TokenId>& tokens) { return tiny().tokenizer().decode(tokens, true).value(); }

// Tokens that an answer with this text is taught with.
std::vector<TokenId> taught(const std::string& text) {
  auto ids = tiny().tokenizer().encode(text).value();
  ids.push_back(tiny().stop_tokens().front());
  return ids;
}

TEST(TokenTrie, FindsEveryTokenOnce) {
  const Tokenizer& tokenizer = tiny().tokenizer();
  const TokenTrie trie(tokenizer);
  std::vector<int> found(tokenizer.size(), 0);
  trie.walk(
      std::string(),
      [](std::string& state, std::uint8_t byte) {
        state += static_cast<char>(byte);
        return true;
      },
      [&](TokenId token, const std::string& state) {
        EXPECT_EQ(state, tokenizer.bytes_of(token));
        ++found[static_cast<std::size_t>(token)];
      });
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i], tokenizer.is_special(static_cast<TokenId>(i)) ? 0 : 1) << i;
  int without_a = 0;
  trie.walk(
      0, [](int&, std::uint8_t byte) { return byte != 'a'; },
      [&](TokenId token, int) {
        EXPECT_EQ(tokenizer.bytes_of(token).find('a'), std::string::npos);
        ++without_a;
      });
  EXPECT_GT(without_a, 100);
}

// A kernel as agents are taught it goes through with every token, and inside the launcher's parameters these are the
// very tokens that are forced.
TEST(AnswerConstraint, TakesWhatAgentsAreTaught) {
  int kernels = 0, forced = 0;
  for (const char* name : {"softmax", "row_sum", "relu", "gelu", "matmul"}) {
    const auto task = load_task(root + "/tasks/" + name);
    if (!task.ok()) continue;
    const auto constraint = constraint_for(*task);
    ASSERT_NE(constraint, nullptr);
    const auto state = constraint->begin();
    for (const TokenId token : taught(task->naive)) {
      const TokenMask* mask = state->allowed();
      ASSERT_NE(mask, nullptr);
      EXPECT_TRUE(mask->allows(token)) << name << ": '" << tiny().tokenizer().bytes_of(token) << "'";
      if (state->forced() >= 0) {
        ++forced;
        EXPECT_EQ(state->forced(), token) << name;
        EXPECT_EQ(mask->count(), 1);
      }
      state->take(token);
    }
    ++kernels;
  }
  EXPECT_GE(kernels, 3);
  EXPECT_GT(forced, 4 * kernels);
}

// Masks against each token's bytes one by one, in the states of random answers; they never leave an answer without a
// token, and an answer that ends is a kernel with the launcher that was asked for.
TEST(AnswerConstraint, MasksAreWhatTheAutomatonTakes) {
  const Tokenizer& tokenizer = tiny().tokenizer();
  const std::string parameters = expected_parameters(softmax());
  const auto constraint = constraint_for(softmax());
  std::int64_t compared = 0, ended = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed, 2);
    const auto state = constraint->begin();
    AnswerState bytes = answer_start(false);
    std::vector<TokenId> said;
    const std::vector<TokenId> start = taught(softmax().naive);
    // As it is taught up to some token, then anything; every fourth to its end.
    const auto follow = seed % 4 == 0
                            ? start.size()
                            : static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(start.size())));
    for (int n = 0; n < 400; ++n) {
      const TokenMask* mask = state->allowed();
      ASSERT_NE(mask, nullptr);
      ASSERT_GT(mask->count(), 0);
      TokenId token = state->forced();
      if (token < 0 && n % 17 == 0) {
        ++compared;
        for (std::size_t i = 0; i < tokenizer.size(); ++i) {
          const auto candidate = static_cast<TokenId>(i);
          const bool stop = tiny().stop_tokens().front() == candidate;
          AnswerState after = bytes;
          bool takes = !tokenizer.is_special(candidate);
          if (takes)
            for (const char byte : tokenizer.bytes_of(candidate)) takes = takes && take_byte(after, byte, parameters);
          ASSERT_EQ(mask->allows(candidate), stop ? may_end(bytes) : takes)
              << text_of(said) << "|" << tokenizer.bytes_of(candidate);
        }
      }
      if (token < 0 && said.size() < follow && mask->allows(start[said.size()])) token = start[said.size()];
      while (token < 0) {
        const auto drawn = static_cast<TokenId>(random.integer(0, static_cast<std::int64_t>(tokenizer.size()) - 1));
        if (mask->allows(drawn)) token = drawn;
      }
      ASSERT_TRUE(mask->allows(token));
      state->take(token);
      if (token == tiny().stop_tokens().front()) {
        ++ended;
        const Answer answer = tiny().read_answer(text_of(said), true);
        EXPECT_EQ(answer.outcome, AnswerOutcome::kernel) << answer.message << "\n" << text_of(said);
        EXPECT_NE(answer.kernel.find("launch(" + parameters), std::string::npos);
        break;
      }
      said.push_back(token);
      for (const char byte : tokenizer.bytes_of(token)) ASSERT_TRUE(take_byte(bytes, byte, parameters));
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(ended, 0);
}

TEST(AnswerConstraint, MasksAreSharedByTasks) {
  const auto masks = make_answer_masks(
      std::make_shared<const Tokenizer>(load_tokenizer_json(root + "/weights/tiny/tokenizer.json").value()), {8},
      false);
  std::size_t after_first = 0;
  for (const char* name : {"softmax", "softmax", "row_sum"}) {
    const Task task = *load_task(root + "/tasks/" + std::string(name));
    const auto constraint = make_answer_constraint(masks, expected_parameters(task));
    const auto state = constraint->begin();
    for (const TokenId token : taught(task.naive)) {
      static_cast<void>(state->allowed());
      state->take(token);
    }
    EXPECT_TRUE(after_first == 0 || masks_made(*masks) < 2 * after_first);
    if (after_first == 0) after_first = masks_made(*masks);
  }
  EXPECT_GT(after_first, 5u);
}

TEST(AnswerConstraint, ATokenThatWasNotAllowedFreesTheAnswer) {
  const auto constraint = constraint_for(softmax());
  const auto state = constraint->begin();
  const TokenId closing = tiny().tokenizer().find("}").value();
  EXPECT_FALSE(state->allowed()->allows(closing));
  state->take(closing);
  EXPECT_EQ(state->allowed(), nullptr);
  EXPECT_EQ(state->forced(), -1);
  EXPECT_FALSE(state->complete());
  const std::vector<TokenId> tokens{closing, closing};
  for (const TokenMask* mask : masks_of(*constraint, tokens)) EXPECT_EQ(mask, nullptr);
}

}  // namespace
}  // namespace kw
