#include "app/serve/agent_question.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

constexpr const char* own_task = R"(pytorch: |
  def reference(x):
      return torch.relu(x)
inputs:
  x: {dtype: float32, shape: [64, 128]}
outputs:
  y: {dtype: float32, shape: [64, 128]}
)";

class AgentQuestionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = TaskBook::open();
    ASSERT_TRUE(opened.ok()) << to_string(opened.error());
    tasks_ = std::move(opened).value();
  }
  Result<AgentQuestion> ask(const std::string& content) {
    return read_agent_question(*tasks_, {{"system", "x"}, {"user", "old"}, {"assistant", "y"}, {"user", content}});
  }
  std::unique_ptr<TaskBook> tasks_;
};

TEST_F(AgentQuestionTest, ATaskByNameOrByText) {
  EXPECT_EQ(ask("softmax").value().task->task()->name, "softmax");
  EXPECT_EQ(ask("  softmax\n").value().task->task()->name, "softmax");
  EXPECT_NE(ask(own_task).value().task->task()->pytorch.find("relu"), std::string::npos);
  const auto fenced = ask("Please make this fast:\n```yaml\n" + std::string(own_task) + "```\nThanks!");
  ASSERT_TRUE(fenced.ok()) << to_string(fenced.error());
  EXPECT_TRUE(fenced->kernel.empty());
}

TEST_F(AgentQuestionTest, AKernelInABlock) {
  const auto question = ask("softmax\n```cuda\n__global__ void k() {}\n```\n");
  ASSERT_TRUE(question.ok()) << to_string(question.error());
  EXPECT_EQ(question->kernel, "__global__ void k() {}\n");
  EXPECT_EQ(question->task->task()->name, "softmax");
}

TEST_F(AgentQuestionTest, WhatNamesNoTaskIsToldHowToAsk) {
  for (const char* content : {"", "hello there", "sofmax", "```cuda\n__global__ void k() {}\n```", "pytorch: ["}) {
    const auto question = ask(content);
    ASSERT_FALSE(question.ok()) << content;
    EXPECT_NE(question.error().advice.find("YAML"), std::string::npos);
  }
  EXPECT_FALSE(read_agent_question(*tasks_, {{"system", "softmax"}}).ok());
}

TEST_F(AgentQuestionTest, ATaskNeverNamesAFile) {
  for (const char* name : {"/etc/passwd", "../tasks/softmax", "tasks/softmax/task.yaml"})
    EXPECT_FALSE(tasks_->find(nlohmann::json(name)).ok()) << name;
  EXPECT_FALSE(tasks_->find(nlohmann::json{{"file", "/etc/passwd"}}).ok());
  EXPECT_FALSE(tasks_->find(nlohmann::json{{"yaml", std::string(max_task_bytes + 1, ' ')}}).ok());
}

}  // namespace
}  // namespace kw
