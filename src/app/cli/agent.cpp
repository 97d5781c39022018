// What agents read and write, for a person to look at: `prompt` and `answer`.

#include <fmt/format.h>

#include <iostream>

#include "agents/agent/answer_json.h"
#include "agents/agent/prompt.h"
#include "agents/grammar/problem.h"
#include "agents/normal_form/normal_form.h"
#include "app/cli/command.h"
#include "app/cli/kernel_argument.h"
#include "base/file.h"
#include "kernel/judge/verdict_file.h"

namespace kw::cli {
namespace {

struct PromptArguments {
  std::string task;
  std::string role = "generator";
  std::string style = "chatml";
  std::string level;
  std::string kernel;
  std::string verdict;
  double target = 0;
  bool as_written = false;
};

struct WrittenPrompt {
  Prompt prompt;
  std::string not_understood;  // what normal_form() could not put in the learned words
};

Result<WrittenPrompt> prompt_from(const PromptArguments& arguments) {
  KW_TRY(const std::filesystem::path folder, prompts_folder());
  KW_TRY(const PromptBook book, PromptBook::load(folder));
  KW_TRY(const Task task, task_from_argument(arguments.task));
  PromptRequest request;
  request.role = *agent_role_from_string(arguments.role);
  const NormalForm form = normal_form(task, arguments.kernel.empty() ? AskedNames::learned : AskedNames::kept);
  request.task = arguments.as_written ? &task : &form.task;
  request.level = arguments.level;
  if (arguments.target > 0) request.target = arguments.target;
  if (!arguments.kernel.empty()) {
    KW_TRY(request.kernel, read_kernel_argument(arguments.kernel));
  }
  Verdict verdict;
  if (!arguments.verdict.empty()) {
    KW_TRY(verdict, read_verdict_file(arguments.verdict));
    if (verdict.task != task.name)
      return Error{fmt::format("the verdict is of the task {}", verdict.task), "", {arguments.verdict, 0, 0}};
    request.verdict = &verdict;
  }
  KW_TRY(Prompt prompt, book.write(arguments.style == "compact" ? PromptStyle::compact : PromptStyle::chatml, request));
  return WrittenPrompt{std::move(prompt), arguments.as_written ? "" : form.not_understood};
}

void run_prompt(Context& context, const PromptArguments& arguments) {
  const auto written = prompt_from(arguments);
  if (!written.ok()) return fail(context, written.error());
  const Prompt& prompt = written->prompt;
  if (!context.json) {
    if (!written->not_understood.empty())
      std::cerr << "kernelwright: " << written->not_understood << "; the question is given to the model as written\n";
    std::cout << prompt.text << "\n";
    return;
  }
  Json json{{"style", arguments.style}, {"role", arguments.role}, {"text", prompt.text}, {"messages", Json::array()}};
  if (!written->not_understood.empty()) json["not_understood"] = written->not_understood;
  for (const ChatMessage& message : prompt.messages)
    json["messages"].push_back({{"role", message.role}, {"content", message.content}});
  print_json(json);
}

// The file as it is, and not more than is needed to see that it is too long.
Result<std::string> read_answer(const std::string& path) {
  if (path != "-") return read_file(path, std::size_t{16} << 20);
  std::string text;
  for (char c = 0; text.size() <= AnswerLimits{}.answer_bytes && std::cin.get(c);) text += c;
  return text;
}

void run_answer(Context& context, const std::string& path) {
  const auto text = read_answer(path);
  if (!text.ok()) return fail(context, text.error());
  const Answer answer = parse_answer(*text);
  const bool found = answer.outcome == AnswerOutcome::kernel;
  context.exit_code = found ? exit_good : exit_not_good;
  if (context.json) {
    print_json(kw::to_json(answer));
  } else if (found) {
    std::cout << answer.kernel;
  } else {
    std::cerr << fmt::format("kernelwright: {}: {}\n", to_string(answer.outcome), answer.message);
  }
}

}  // namespace

void add_agent_commands(CLI::App& app, Context& context) {
  auto* prompt = app.add_subcommand("prompt", "What an agent is told about a task, a kernel and its verdict");
  auto asked = std::make_shared<PromptArguments>();
  add_json_flag(*prompt, context);
  prompt->add_option("TASK", asked->task, "a task of the suite by name, a task's folder, or a YAML file")->required();
  prompt->add_option("--role", asked->role, "who is asked")
      ->check(CLI::IsMember({"generator", "optimizer", "tester"}))
      ->capture_default_str();
  prompt->add_option("--style", asked->style, "for the tiny model or for chat models")
      ->check(CLI::IsMember({"compact", "chatml"}))
      ->capture_default_str();
  prompt->add_option("--level", asked->level, "generator: which kind of kernel to ask for")
      ->check(CLI::IsMember(all_level_names()));
  prompt->add_option("--target", asked->target, "the speedup over the naive kernel to reach");
  prompt->add_option("--kernel", asked->kernel, "optimizer and tester: the current kernel");
  prompt->add_option("--verdict", asked->verdict, "optimizer: what judge --json says about it");
  prompt->add_flag("--as-written", asked->as_written, "ask with the task's own text, not its normal form");
  prompt->footer(
      "Examples:\n"
      "  kernelwright prompt softmax --style compact\n"
      "  kernelwright prompt softmax --role optimizer --kernel my.cu --verdict v.json");
  prompt->callback([&context, asked] { run_prompt(context, *asked); });

  auto* answer = app.add_subcommand("answer", "The kernel in a model's answer, or why there is none");
  auto path = std::make_shared<std::string>();
  add_json_flag(*answer, context);
  answer->add_option("ANSWER", *path, "the answer's text; - reads standard input")->required();
  answer->footer("Example:\n  kernelwright answer answer.txt > kernel.cu");
  answer->callback([&context, path] { run_answer(context, *path); });
}

}  // namespace kw::cli
