// Conversations of an endpoint become lessons of a model that speaks otherwise.

#include "agents/endpoint/endpoint_test_server.h"
#include "agents/episode/episode_test_support.h"
#include "base/file.h"
#include "learn/sft/conversation_lessons.h"

namespace kw {
namespace {

TEST(RetoldConversation, IsALessonInTheLearnersWords) {
  const RowSum kernels;
  const auto said = [](const std::string& kernel) { return chat_answer("Well.\n```cuda\n" + kernel + "\n```"); };
  EndpointServer server(in_turn({said(kernels.broken), said(kernels.naive), said(kernels.fast), said("no")}));
  const TemporaryFolder folder;
  auto store = EpisodeStore::open(folder.path() / "talk.db").value();
  EngineOptions options = engine_options();
  options.episode.turns = 4;
  options.store = store.get();
  const auto task = shared_task("row_sum");
  {
    const auto answers = EndpointAnswers::open(server.name(), {}, test_bytes().tokenizer(), quick_limits()).value();
    const auto engine =
        EpisodeEngine::make(*answers, test_bytes(), test_judge(), [](AgentRole) { return -1; }, options).value();
    ASSERT_EQ(engine->run({{0, task}}).value().at(0).best, 2);
  }

  const Dialect& learner = test_dialect();
  Scribe scribe(learner);
  const auto lessons = ConversationLessons::load(*store, 1, 1 << 20, scribe);
  ASSERT_TRUE(lessons.ok()) << to_string(lessons.error());
  EXPECT_EQ(lessons->answers(), 4);
  EXPECT_EQ(lessons->retold(), 2);
  ASSERT_EQ(lessons->lessons().size(), 2u);

  // Exactly the question that the learner would be asked in that conversation, had it been its own.
  Scripted own(row_sum_script);
  EngineOptions own_options = engine_options();
  own_options.episode.turns = 3;
  const Episode episode = own.run_one({0, task}, own_options);
  for (std::size_t i = 0; i < 2; ++i) {
    const Lesson& lesson = lessons->lessons()[i];
    EXPECT_EQ(lesson.kind, i == 0 ? LessonKind::repair : LessonKind::optimise);
    const Turn& turn = episode.turns.at(i + 1);
    const auto all = std::span(lesson.tokens);
    const auto at = static_cast<std::size_t>(lesson.answer);
    EXPECT_EQ(learner.tokenizer().decode(all.first(at)).value(), learner.tokenizer().decode(turn.prompt).value());
    EXPECT_EQ(learner.tokenizer().decode(all.subspan(at), true).value(),
              learner.answer_text(AgentRole::optimizer, i == 0 ? kernels.naive : kernels.fast));
    EXPECT_EQ(lesson.tokens.back(), learner.stop_tokens().front());
  }
  const auto cut = ConversationLessons::load(*store, 1, 10, scribe);
  EXPECT_FALSE(cut.ok());  // none fits
}

// A conversation of an endpoint about a task, whose naive kernel is the one answer, into a store.
void talk_about(const Task& task, const std::filesystem::path& file) {
  EndpointServer server(in_turn({chat_answer("```cuda\n" + RowSum().naive + "\n```")}));
  auto store = EpisodeStore::open(file).value();
  EngineOptions options = engine_options();
  options.episode.turns = 1;
  options.store = store.get();
  const auto answers = EndpointAnswers::open(server.name(), {}, test_bytes().tokenizer(), quick_limits()).value();
  const auto engine =
      EpisodeEngine::make(*answers, test_bytes(), test_judge(), [](AgentRole) { return -1; }, options).value();
  ASSERT_EQ(engine->run({{0, std::make_shared<const Task>(task)}}).value().at(0).best, 0);
}

TEST(RetoldConversation, LessonsOfABenchmarkAreKnownAsSuch) {
  const TemporaryFolder folder;
  Task task = *shared_task("row_sum");
  talk_about(task, folder.path() / "own.db");
  task.family = "kernelbench";
  talk_about(task, folder.path() / "bench.db");
  Scribe scribe(test_dialect());
  for (const auto& [name, benchmarks] :
       {std::pair("own.db", std::set<std::string>()), std::pair("bench.db", std::set<std::string>{"kernelbench"})}) {
    const auto store = EpisodeStore::open(folder.path() / name).value();
    const auto lessons = ConversationLessons::load(*store, 1, 1 << 20, scribe);
    ASSERT_TRUE(lessons.ok()) << to_string(lessons.error());
    EXPECT_EQ(lessons->benchmarks(), benchmarks);
    EXPECT_EQ(lessons->unreadable(), 0);
  }
}

TEST(RetoldConversation, ATaskThatCannotBeReadCostsItsConversationAlone) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "talk.db";
  Task task = *shared_task("row_sum");
  talk_about(task, file);
  task.name = "row_sum_too";
  talk_about(task, file);
  {
    Database database = Database::open(file).value();
    ASSERT_TRUE(database.execute("UPDATE episodes SET task_text = '{\"name\": 7' WHERE task = 'row_sum'").ok());
  }
  Scribe scribe(test_dialect());
  const auto store = EpisodeStore::open(file).value();
  const auto lessons = ConversationLessons::load(*store, 1, 1 << 20, scribe);
  ASSERT_TRUE(lessons.ok()) << to_string(lessons.error());
  EXPECT_EQ(lessons->lessons().size(), 1u);
  EXPECT_EQ(lessons->unreadable(), 1);
  EXPECT_FALSE(lessons->first_problem().empty());
}

}  // namespace
}  // namespace kw
