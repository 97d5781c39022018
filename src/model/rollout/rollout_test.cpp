#include "model/rollout/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "model/rollout/hash_decoder.h"

namespace kw {
namespace {

std::vector<std::int32_t> random_prompt(Random& random, std::int64_t length) {
  std::vector<std::int32_t> prompt;
  for (std::int64_t i = 0; i < length; ++i) prompt.push_back(static_cast<std::int32_t>(random.integer(0, 49)));
  return prompt;
}

// What HashDecoder must give for a sample whose weights never changed.
GeneratedSample expected_sample(const GenerationRequest& request, std::int64_t sample, std::int64_t room,
                                std::int64_t version = 1) {
  GeneratedSample expected;
  std::uint64_t hash = HashDecoder::start(version, request.adapter);
  for (const std::int32_t token : request.prompt) hash = HashDecoder::extend(hash, token);
  SamplingRule rule = request.rule;
  rule.seed = sample_seed(rule.seed, sample);
  while (true) {
    const auto index = static_cast<std::int64_t>(expected.tokens.size());
    const SampledToken token = HashDecoder::draw(hash, rule, index, 50);
    expected.tokens.push_back(token.token);
    expected.log_probs.push_back(token.log_prob);
    hash = HashDecoder::extend(hash, token.token);
    if (std::ranges::find(request.stop_tokens, token.token) != request.stop_tokens.end()) {
      expected.finish = FinishReason::stop_token;
      return expected;
    }
    if (index + 1 == request.max_tokens) {
      expected.finish = FinishReason::length;
      return expected;
    }
    if (index + 1 + static_cast<std::int64_t>(request.prompt.size()) == room) {
      expected.finish = FinishReason::context;
      return expected;
    }
  }
}

void expect_equal(const GeneratedSample& sample, const GeneratedSample& expected) {
  EXPECT_EQ(sample.tokens, expected.tokens);
  EXPECT_EQ(sample.log_probs, expected.log_probs);
  EXPECT_EQ(to_string(sample.finish), to_string(expected.finish));
}

TEST(Rollout, OneRequest) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  Random random(1);
  GenerationRequest request;
  request.prompt = random_prompt(random, 11);
  request.max_tokens = 9;
  request.rule.seed = 5;
  const auto results = rollout.generate({request});
  ASSERT_TRUE(results.ok());
  expect_equal((*results)[0].samples[0], expected_sample(request, 0, 200));
  EXPECT_EQ((*results)[0].samples[0].weights_version, 1);
  EXPECT_EQ(rollout.used_pages(), 0);
  EXPECT_TRUE(rollout.idle());
  EXPECT_EQ(rollout.statistics().steps, 9);
  EXPECT_EQ(rollout.statistics().prompt_tokens, 11);
  EXPECT_EQ(rollout.statistics().recomputed_tokens, 0);
}

TEST(Rollout, SamplesShareThePrompt) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  Random random(2);
  GenerationRequest request;
  request.prompt = random_prompt(random, 30);
  request.samples = 8;
  request.max_tokens = 3;
  const auto results = rollout.generate({request});
  ASSERT_TRUE(results.ok());
  for (std::int64_t i = 0; i < 8; ++i) {
    expect_equal((*results)[0].samples[static_cast<std::size_t>(i)], expected_sample(request, i, 200));
  }
  EXPECT_NE((*results)[0].samples[0].tokens, (*results)[0].samples[1].tokens);
  // 29 tokens once, the last token of the prompt by each.
  EXPECT_EQ(rollout.statistics().prompt_tokens, 29 + 8);
  EXPECT_EQ(rollout.statistics().copied_pages, 8);
  // Seven full pages that all share, the trunk's last one, and one of each sample.
  EXPECT_EQ(rollout.statistics().most_pages, 8 + 8);
  EXPECT_EQ(rollout.used_pages(), 0);
}

TEST(Rollout, RefusesWhatCannotBe) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  EXPECT_FALSE(rollout.submit({}).ok());
  GenerationRequest request;
  request.prompt.assign(200, 1);
  EXPECT_FALSE(rollout.submit(request).ok());
  request.prompt.assign(199, 1);
  EXPECT_TRUE(rollout.submit(request).ok());
  request.prompt.assign(3, 1);
  request.stop_strings = {"x"};
  EXPECT_FALSE(rollout.submit(request).ok());
}

TEST(Rollout, CancelsAndStreams) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  GenerationRequest request;
  request.prompt = {1, 2, 3};
  request.samples = 2;
  request.max_tokens = 100;
  std::vector<std::vector<std::int32_t>> seen(2);
  int ends = 0;
  request.on_token = [&](const TokenEvent& event) {
    if (event.token.token >= 0) seen[static_cast<std::size_t>(event.sample)].push_back(event.token.token);
    ends += event.finished;
    if (event.sample == 1 && seen[1].size() == 5) rollout.cancel(event.request);
  };
  const auto results = rollout.generate({request});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(ends, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*results)[0].samples[i].finish, FinishReason::cancelled);
    EXPECT_EQ((*results)[0].samples[i].tokens, seen[i]);
    EXPECT_EQ(seen[i].size(), 5u);
  }
  EXPECT_EQ(rollout.used_pages(), 0);
}

TEST(Rollout, NewWeightsDropThePages) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  GenerationRequest request;
  request.prompt = {4, 5, 6, 7, 8, 9};
  request.samples = 3;
  request.max_tokens = 10;
  ASSERT_TRUE(rollout.submit(request).ok());
  while (rollout.statistics().sampled_tokens < 9) ASSERT_TRUE(rollout.advance().ok());
  decoder.version = 2;
  while (!rollout.idle()) ASSERT_TRUE(rollout.advance().ok());
  const auto results = rollout.take_finished();
  ASSERT_EQ(results.size(), 1u);
  for (std::int64_t i = 0; i < 3; ++i) {
    const GeneratedSample& sample = results[0].samples[static_cast<std::size_t>(i)];
    EXPECT_EQ(sample.weights_version, 1);
    EXPECT_EQ(sample.last_weights_version, 2);
    // The rest is what the new weights give for the prompt and the old tokens.
    const GeneratedSample before = expected_sample(request, i, 200, 1);
    std::uint64_t hash = HashDecoder::start(2, -1);
    for (const std::int32_t token : request.prompt) hash = HashDecoder::extend(hash, token);
    for (std::size_t n = 0; n < 10; ++n) {
      SamplingRule rule = request.rule;
      rule.seed = sample_seed(rule.seed, i);
      const auto token = n < 3 ? before.tokens[n] : HashDecoder::draw(hash, rule, static_cast<int>(n), 50).token;
      EXPECT_EQ(sample.tokens[n], token) << n;
      hash = HashDecoder::extend(hash, sample.tokens[n]);
    }
  }
  EXPECT_EQ(rollout.statistics().flushes, 1);
  EXPECT_EQ(rollout.used_pages(), 0);
}

TEST(Rollout, AStepThatFailedCanBeTriedAgain) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  Random random(4);
  GenerationRequest request;
  request.prompt = random_prompt(random, 21);
  request.samples = 4;
  request.max_tokens = 12;
  ASSERT_TRUE(rollout.submit(request).ok());
  int failures = 0;
  for (int i = 0; !rollout.idle(); ++i) {
    decoder.fail_next = i % 3 == 1;
    failures += !rollout.advance().ok();
  }
  EXPECT_GT(failures, 2);
  const auto results = rollout.take_finished();
  for (std::int64_t i = 0; i < 4; ++i) {
    expect_equal(results[0].samples[static_cast<std::size_t>(i)], expected_sample(request, i, 200));
  }
}

TEST(Rollout, ALongPromptDoesNotHoldUpAnswers) {
  HashDecoder decoder({});
  Rollout rollout(decoder, nullptr, {16, 256});
  Random random(6);
  GenerationRequest answering;
  answering.prompt = random_prompt(random, 5);
  answering.max_tokens = 40;
  std::int64_t tokens = 0;
  answering.on_token = [&](const TokenEvent&) { ++tokens; };
  ASSERT_TRUE(rollout.submit(answering).ok());
  ASSERT_TRUE(rollout.advance().ok());
  EXPECT_EQ(tokens, 1);
  GenerationRequest prompting;
  prompting.prompt = random_prompt(random, 150);
  prompting.max_tokens = 1;
  bool done = false;
  prompting.on_token = [&](const TokenEvent& event) { done = event.finished; };
  ASSERT_TRUE(rollout.submit(prompting).ok());
  // Fifteen tokens of the prompt in each step, beside one of the answer.
  for (int step = 0; step < 10; ++step) {
    EXPECT_FALSE(done);
    ASSERT_TRUE(rollout.advance().ok());
    EXPECT_EQ(tokens, 2 + step);
  }
  EXPECT_TRUE(done);
}

TEST(Rollout, ManyWaitingRequestsEndInOrder) {
  HashDecoder decoder({});
  Rollout rollout(decoder, nullptr, {16, 8});
  GenerationRequest request;
  request.prompt = {1, 2};
  request.max_tokens = 4;
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(rollout.submit(request).ok());
  RequestId last = 0;
  while (!rollout.idle()) {
    ASSERT_TRUE(rollout.advance().ok());
    for (const GenerationResult& result : rollout.take_finished()) {
      EXPECT_EQ(result.id, last + 1);
      last = result.id;
    }
  }
  EXPECT_EQ(last, 500);
  EXPECT_EQ(decoder.most_rows, 8);
}

TEST(Rollout, SubmitsFromOtherThreads) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  std::vector<GenerationRequest> requests;
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    GenerationRequest request;
    request.prompt = random_prompt(random, random.integer(1, 20));
    request.max_tokens = random.integer(1, 20);
    requests.push_back(request);
  }
  std::map<RequestId, std::size_t> places;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < requests.size(); i += 3) {
        const std::lock_guard lock(mutex);
        places[*rollout.submit(requests[i])] = i;
      }
    });
  }
  std::size_t done = 0;
  while (done < requests.size()) {
    ASSERT_TRUE(rollout.advance().ok());
    for (const GenerationResult& result : rollout.take_finished()) {
      const std::lock_guard lock(mutex);
      expect_equal(result.samples[0], expected_sample(requests[places.at(result.id)], 0, 200));
      ++done;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(rollout.used_pages(), 0);
}

// Random requests that come at random times, on memory from ample to barely enough: every answer is the one that the
// request has alone, every request ends, no page stays behind.
void run_random(std::uint64_t seed, std::int64_t* preemptions) {
  Random random(seed);
  HashDecoder::Shape shape;
  shape.page_tokens = std::int64_t{1} << random.integer(0, 4);
  shape.context = random.integer(20, 120);
  const std::int64_t least = (shape.context + shape.page_tokens - 1) / shape.page_tokens + 1;
  shape.pages = least + (random.integer(0, 2) == 0 ? 0 : random.integer(0, 3 * least));
  shape.most_tokens = random.integer(0, 3) == 0 ? random.integer(1, 4) : random.integer(5, 100);
  HashDecoder decoder(shape);
  RolloutOptions options;
  options.step_tokens = random.integer(1, 80);
  options.most_running = random.integer(0, 3) == 0 ? random.integer(1, 3) : random.integer(4, 40);
  Rollout rollout(decoder, nullptr, options);
  std::map<RequestId, GenerationRequest> open;
  std::set<RequestId> cancelled;
  std::int64_t to_submit = random.integer(1, 25);
  for (int step = 0; to_submit > 0 || !open.empty(); ++step) {
    ASSERT_LT(step, 200000) << "seed " << seed;
    while (to_submit > 0 && random.integer(0, 3) == 0) {
      GenerationRequest request;
      request.prompt = random_prompt(random, random.integer(1, shape.context - 1));
      request.samples = random.integer(0, 1) == 0 ? 1 : random.integer(2, 6);
      request.max_tokens = random.integer(1, 60);
      request.rule.seed = random.next();
      request.adapter = static_cast<std::int32_t>(random.integer(-1, 2));
      if (random.integer(0, 1) == 0) request.stop_tokens = {3, 17};
      const auto id = rollout.submit(request);
      ASSERT_TRUE(id.ok());
      open.emplace(*id, request);
      --to_submit;
    }
    if (!open.empty() && random.integer(0, 60) == 0) {
      rollout.cancel(open.rbegin()->first);
      cancelled.insert(open.rbegin()->first);
    }
    ASSERT_TRUE(rollout.advance().ok());
    for (const GenerationResult& result : rollout.take_finished()) {
      const auto place = open.find(result.id);
      ASSERT_NE(place, open.end());
      ASSERT_EQ(static_cast<std::int64_t>(result.samples.size()), place->second.samples);
      for (std::int64_t i = 0; i < place->second.samples; ++i) {
        const GeneratedSample& sample = result.samples[static_cast<std::size_t>(i)];
        GeneratedSample expected = expected_sample(place->second, i, shape.context);
        if (sample.finish == FinishReason::cancelled) {
          EXPECT_TRUE(cancelled.contains(result.id));
          expected.finish = sample.finish;
          ASSERT_LE(sample.tokens.size(), expected.tokens.size());
          expected.tokens.resize(sample.tokens.size());
          expected.log_probs.resize(sample.tokens.size());
        }
        expect_equal(sample, expected);
      }
      open.erase(place);
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_TRUE(rollout.idle());
  EXPECT_EQ(rollout.used_pages(), 0) << "seed " << seed;
  *preemptions += rollout.statistics().preemptions;
}

TEST(Rollout, RandomRequests) {
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    run_random(seed, &preemptions);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(preemptions, 100);
}

TEST(RolloutSlow, RandomRequests) {
  std::int64_t preemptions = 0;
  for (std::uint64_t seed = 1000; seed <= 6000; ++seed) {
    run_random(seed, &preemptions);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kw
