#include "app/serve/conversation.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "app/serve/conversation_store.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

ConversationFacts facts(const std::string& id = "conv-1") {
  ConversationFacts made;
  made.id = id;
  made.user = "ada";
  made.task = "softmax";
  made.kind = "optimize";
  made.request = R"({"task":"softmax"})";
  made.experiment = "night";
  made.exposure = 7;
  made.created_s = 12.5;
  return made;
}

TEST(Conversation, ListenersGetWhatWasAndWhatComes) {
  Conversation conversation(facts(), nullptr);
  conversation.add("begin", {{"id", "conv-1"}});
  conversation.add("question", {{"turn", 0}, {"role", "generator"}});
  std::vector<std::string> all, later;
  conversation.listen(0, [&](const ConversationEvent& event) { return all.push_back(event.name), true; });
  conversation.listen(1, [&](const ConversationEvent& event) { return later.push_back(event.name), true; });
  conversation.add_passing("text", {{"text", "x"}});
  conversation.add("end", {{"end", "turns"}, {"best", nullptr}});
  conversation.add("turn", {{"turn", 9}});  // nothing comes after the end
  EXPECT_EQ(all, (std::vector<std::string>{"begin", "question", "text", "end"}));
  EXPECT_EQ(later, (std::vector<std::string>{"question", "text", "end"}));
  EXPECT_EQ(conversation.last_event(), 3);
  EXPECT_EQ(conversation.state(), ConversationState::ended);
}

TEST(Conversation, OneWhoLeavesIsNotToldAgain) {
  Conversation conversation(facts(), nullptr);
  int told = 0;
  conversation.listen(0, [&](const ConversationEvent&) { return ++told < 2; });
  for (int i = 0; i < 5; ++i) conversation.add("question", {{"turn", i}, {"role", "generator"}});
  EXPECT_EQ(told, 2);
}

TEST(Conversation, CancelIsCalledOnceHoweverEarly) {
  int cancelled = 0;
  Conversation early(facts(), nullptr);
  early.cancel();
  early.set_cancel([&] { ++cancelled; });
  EXPECT_EQ(cancelled, 1);
  Conversation late(facts(), nullptr);
  late.set_cancel([&] { ++cancelled; });
  late.cancel();
  late.cancel();
  EXPECT_EQ(cancelled, 2);
  Conversation over(facts(), nullptr);
  over.set_cancel([&] { ++cancelled; });
  over.add("end", {{"end", "cancelled"}});
  over.cancel();
  EXPECT_EQ(cancelled, 2);
  EXPECT_EQ(over.state(), ConversationState::cancelled);
}

TEST(Conversation, ATurnThatIsAskedAgainIsToldOnce) {
  Conversation conversation(facts(), nullptr);
  for (int attempt = 0; attempt < 2; ++attempt) {
    conversation.add("question", {{"turn", 0}, {"role", "generator"}});
    conversation.add("answer", {{"turn", 0}, {"sample", 1}, {"kernel", "k"}});
  }
  conversation.add("verdict", {{"turn", 0}, {"sample", 1}, {"reward", 0.5}});
  conversation.add("turn", {{"turn", 0}, {"chosen", 1}, {"seconds", 2.0}, {"best", {{"speedup", 3.0}}}});
  const Json json = conversation.to_json();
  ASSERT_EQ(json["turns"].size(), 1u);
  EXPECT_EQ(json["turns"][0]["samples"].size(), 2u);
  EXPECT_EQ(json["turns"][0]["samples"][1]["kernel"], "k");
  EXPECT_EQ(json["turns"][0]["samples"][1]["reward"], 0.5);
  EXPECT_EQ(json["best"]["speedup"], 3.0);
  EXPECT_EQ(conversation.summary()["best_speedup"], 3.0);
  int told = 0;
  conversation.when_over([&] { ++told; });
  EXPECT_EQ(told, 0);
  conversation.add("end", {{"end", "turns"}, {"best", {{"speedup", 3.0}}}});
  conversation.when_over([&] { ++told; });
  EXPECT_EQ(told, 2);
}

class ConversationStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("conversations-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<ConversationStore> open() {
    auto opened = ConversationStore::open(folder_ / "conversations.db");
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    return std::move(opened).value();
  }
  std::filesystem::path folder_;
};

TEST_F(ConversationStoreTest, WhatWasKeptIsReadBack) {
  {
    const auto store = open();
    ASSERT_TRUE(store->begin(facts()).ok());
    ASSERT_TRUE(store->begin(facts("conv-2")).ok());
    EXPECT_FALSE(store->begin(facts()).ok());
    ASSERT_TRUE(store->add("conv-1", {1, "begin", "{}"}).ok());
    ASSERT_TRUE(store->add("conv-2", {1, "end", R"({"end":"cancelled"})"}).ok());
  }
  const auto store = open();
  EXPECT_EQ(store->unfinished().value(), std::vector<std::string>{"conv-1"});
  EXPECT_EQ(store->newest("ada", 10).value(), (std::vector<std::string>{"conv-2", "conv-1"}));
  EXPECT_TRUE(store->newest("bob", 10).value().empty());
  const auto read = store->find("conv-1").value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->facts.kind, "optimize");
  EXPECT_EQ(read->facts.request, facts().request);
  EXPECT_EQ(read->facts.experiment, "night");
  EXPECT_EQ(read->facts.exposure, 7);
  EXPECT_EQ(read->events.size(), 1u);
  EXPECT_EQ(read->state, ConversationState::waiting);
  EXPECT_EQ(store->find("conv-2").value()->state, ConversationState::cancelled);
  EXPECT_FALSE(store->find("conv-3").value());
}

TEST_F(ConversationStoreTest, OldOnesThatAreOverAreForgotten) {
  const auto store = open();
  for (int i = 0; i < 10; ++i) {
    const std::string id = "conv-" + std::to_string(i);
    ASSERT_TRUE(store->begin(facts(id)).ok());
    if (i == 3) continue;
    ASSERT_TRUE(store->add(id, {1, "end", R"({"end":"turns"})"}).ok());
  }
  EXPECT_TRUE(store->forget_some(4, UINT64_MAX).value());
  EXPECT_FALSE(store->forget_some(4, UINT64_MAX).value());
  EXPECT_EQ(store->newest("ada", 100).value(),
            (std::vector<std::string>{"conv-9", "conv-8", "conv-7", "conv-6", "conv-3"}));
}

TEST_F(ConversationStoreTest, TheFileIsBounded) {
  const auto store = open();
  const std::string megabyte(1u << 20, 'x');
  std::uint64_t largest = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string id = "conv-" + std::to_string(i);
    ASSERT_TRUE(store->begin(facts(id)).ok());
    ASSERT_TRUE(store->add(id, {1, "answer", "\"" + megabyte.substr(0, 100'000) + "\""}).ok());
    if (i == 0) continue;  // goes on for long
    ASSERT_TRUE(store->add(id, {2, "end", R"({"end":"turns"})"}).ok());
    while (i % 20 == 0 && store->forget_some(1000, 10u << 20).value()) continue;
    largest = std::max<std::uint64_t>(largest, std::filesystem::file_size(folder_ / "conversations.db"));
  }
  EXPECT_LT(largest, 20u << 20);
  const auto left = store->newest("ada", 1000).value();
  EXPECT_EQ(left.front(), "conv-399");
  EXPECT_EQ(left.back(), "conv-0");
  EXPECT_LT(left.size(), 120u);
}

TEST_F(ConversationStoreTest, ASummaryReadsTurnsAndTheEndAlone) {
  const auto store = open();
  ASSERT_TRUE(store->begin(facts()).ok());
  ASSERT_TRUE(store->add("conv-1", {1, "answer", R"({"kernel":"long"})"}).ok());
  ASSERT_TRUE(store->add("conv-1", {2, "turn", R"({"turn":0,"best":{"speedup":2.0}})"}).ok());
  ASSERT_TRUE(store->add("conv-1", {3, "end", R"({"end":"turns"})"}).ok());
  const auto whole = store->find("conv-1").value(), part = store->find_summary("conv-1").value();
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(whole->events.size(), 3u);
  EXPECT_EQ(part->events.size(), 2u);
  EXPECT_EQ(Conversation(part->facts, nullptr, part->events, part->state).summary(),
            Conversation(whole->facts, nullptr, whole->events, whole->state).summary());
}

}  // namespace
}  // namespace kw
