#include "agents/episode/conversation_page.h"

#include <regex>

#include "agents/episode/episode_test_support.h"

namespace kw {
namespace {

constexpr const char* hostile = "</div><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\xff\xe2\x80\xae";

Episode hostile_episode() {
  Episode episode;
  auto task = std::make_shared<Task>(suite_task("row_sum"));
  task->summary = hostile;
  episode.request.task = task;
  episode.request.kernel = std::string("// given ") + hostile + "\nint a;\n";
  Verdict verdict;
  verdict.status = VerdictStatus::wrong;
  verdict.compiled = true;
  verdict.summary = hostile;
  verdict.limiter = hostile;
  verdict.findings.push_back({hostile, Severity::error, 3, 1, hostile, hostile, hostile, 1});
  verdict.resources.push_back({hostile, 1, 2, 3, 4, hostile, hostile, 0.5, hostile});
  take_given(episode, std::make_shared<const Verdict>(verdict));
  const EpisodeOptions options = episode_options().value();
  for (int i = 0; i < 2; ++i) {
    Turn turn;
    turn.index = i;
    turn.role = AgentRole::optimizer;
    turn.samples.resize(2);
    for (TurnSample& sample : turn.samples) {
      sample.text = hostile;
      sample.said = hostile;
      sample.message = hostile;
    }
    turn.samples[1].kernel = std::string("int b;\n// ") + hostile + "\n";
    turn.samples[1].outcome = AnswerOutcome::kernel;
    verdict.status = i == 0 ? VerdictStatus::wrong : VerdictStatus::correct;
    verdict.correct = i == 1;
    verdict.speedup_naive = 2.5;
    verdict.time_us = 3;
    turn.samples[1].verdict = std::make_shared<const Verdict>(verdict);
    take_turn(episode, std::move(turn), options);
  }
  episode.end = EpisodeEnd::refused;
  episode.problem = hostile;
  return episode;
}

TEST(ConversationPage, NothingThatAKernelSaysIsMarkup) {
  const std::string page = conversation_page(hostile_episode(), {{hostile, hostile}});
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("\xff"), std::string::npos);
  EXPECT_EQ(page.find("\xe2\x80\xae"), std::string::npos) << "text is turned around";
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(page.find(" src="), page.find(" src=x")) << "only as text";
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(ConversationPage, ShowsTheConversation) {
  const Episode episode = Scripted(row_sum_script).run_one({0, shared_task("row_sum"), "", ""}, engine_options());
  const std::string page = conversation_page(episode, {{"model", "a script"}});
  for (const char* part : {"Sum of every row", "repairs the kernel of turn 1", "improves the kernel of turn 2", "fault",
                           "class=\"added\"", "class=\"removed\"", "It cannot be made any faster.", "The best kernel",
                           "a script", "prefers-color-scheme", "width=device-width"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_TRUE(std::regex_search(page, std::regex("([0-9]+) of \\1 right")));
}

TEST(ConversationPage, AnEpisodeWithoutTurnsIsAPageToo) {
  Episode episode;
  episode.request.task = shared_task("row_sum");
  EXPECT_NE(conversation_page(episode, {}).find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace kw
