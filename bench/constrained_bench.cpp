// What holding answers to what is known does to them: answers to the same questions, sampled freely and held, in turns
// within one run. Of each answer: is there a kernel in it, and does its launcher fit the task (it is interpreted for
// the task's small sizes; nothing is compiled or run). And how fast answers come.
//   build/src/app/evaluate/constrained_bench [--model tiny] [--split composition|novel|suite] [--tasks N]
//   [--temperature T]
//     [--rounds N] [--seed N] [--threads N] [--resamples N] [--show N] [--kernels FOLDER]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>

#include "agents/episode/agent_model.h"
#include "agents/normal_form/launcher_order.h"
#include "app/evaluate/exam.h"
#include "base/file.h"
#include "kernel/source/interpreter.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"

namespace {

using namespace kw;

struct Arguments {
  std::string model = "tiny", split = "composition";
  std::size_t tasks = 200;
  float temperature = 0;
  int rounds = 8, threads = 1;
  std::uint64_t seed = 7001;
  std::int64_t resamples = 0;
  std::string kernels;  // a folder that gets the kernels, for `kernelwright judge --batch`
  int show = 0;         // failures that are printed, of each kind and mode
};

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Tally {
  std::int64_t answers = 0, no_kernel = 0, refused_file = 0, launcher = 0, signature = 0, cut = 0, resampled = 0;
  std::int64_t tokens = 0, forced = 0, steps = 0;
  double cpu_s = 0, wall_s = 0;
  std::map<std::string, std::int64_t> reasons;
  int shown = 0;
};

struct Question {
  Task task;
  NormalForm asked;
  std::vector<TokenId> prompt;
};

// A job of `kernelwright judge --batch`, and the task that it names.
Result<void> keep_kernel(const std::filesystem::path& folder, const Question& question, const std::string& kernel,
                         bool held) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const std::filesystem::path task = folder / (question.task.name + ".yaml");
  KW_TRY_VOID(write_file_atomic(task.string(), task_json(question.task).dump(1)));
  const nlohmann::ordered_json job{{"id", question.task.name}, {"task", task.string()}, {"kernel", kernel}};
  std::ofstream jobs(folder / (held ? "held.jsonl" : "free.jsonl"), std::ios::app);
  jobs << job.dump() << "\n";
  return {};
}

// Whether the launcher could be interpreted for every small size.
void look_at(const Question& question, const Answer& answer, const GeneratedSample& sample, int show, Tally& tally) {
  const auto failed = [&](std::int64_t& count, std::string reason) {
    ++count;
    ++tally.reasons[reason];
    if (tally.shown++ < show) fmt::print("--- {}: {}\n{}\n", question.task.name, reason, sample.text);
  };
  ++tally.answers;
  tally.cut += sample.finish == FinishReason::length || sample.finish == FinishReason::context;
  tally.resampled += sample.resampled;
  if (answer.outcome != AnswerOutcome::kernel)
    return failed(tally.no_kernel, fmt::format("no kernel: {}", to_string(answer.outcome)));
  const auto file = read_kernel_file(in_task_order(question.asked, answer.kernel), "answer.cu");
  if (!file.ok()) return failed(tally.refused_file, "file: " + file.error().message.substr(0, 60));
  for (const Sizes& sizes : question.task.sizes_small) {
    const auto plan = make_launch_plan(*file, question.task, sizes);
    if (plan.ok()) continue;
    tally.signature += plan.error().advice.starts_with("the task expects: ");
    return failed(tally.launcher, "launcher: " + plan.error().message.substr(0, 60));
  }
}

Result<std::vector<Question>> questions_of(const Arguments& arguments, const Dialect& dialect) {
  std::vector<Task> tasks;
  if (arguments.split == "suite") {
    std::vector<std::filesystem::path> folders;
    for (const auto& entry : std::filesystem::directory_iterator("tasks")) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    for (const auto& folder : folders)
      if (auto task = load_task(folder); task.ok() && tasks.size() < arguments.tasks) tasks.push_back(*std::move(task));
  } else {
    const DataSplit split = arguments.split == "novel" ? DataSplit::novel : DataSplit::composition;
    for (ExamQuestion& each : drawn_questions(split, arguments.seed, arguments.tasks))
      tasks.push_back(std::move(each.task));
  }
  Scribe scribe(dialect);
  std::vector<Question> questions;
  for (Task& task : tasks) {
    Question question{std::move(task), {}, {}};
    question.asked = normal_form(question.task);
    PromptRequest request;
    request.task = &question.asked.task;
    auto prompt = scribe.prompt_ids(request);
    if (!prompt.ok()) continue;
    question.prompt = std::move(prompt).value();
    questions.push_back(std::move(question));
  }
  return questions;
}

Result<void> answer(AgentModel& model, std::span<const Question> questions, bool held, const Arguments& arguments,
                    std::uint64_t first, Tally& tally) {
  const Dialect& dialect = model.dialect();
  Rollout rollout(*model.decoder(), &dialect.tokenizer());
  std::vector<GenerationRequest> requests;
  const double cpu = cpu_seconds(), wall = wall_seconds();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    GenerationRequest request;
    request.prompt = questions[i].prompt;
    request.rule.temperature = arguments.temperature;
    request.rule.seed = arguments.seed * 1'000'003 + first + i;
    request.max_tokens = 1024;
    request.stop_tokens.assign(dialect.stop_tokens().begin(), dialect.stop_tokens().end());
    request.adapter = model.adapter_of(AgentRole::generator);
    if (held) {
      request.constraint = make_answer_constraint(dialect.masks(), expected_parameters(questions[i].asked.task));
      request.most_resamples = arguments.resamples;
    }
    requests.push_back(std::move(request));
  }
  KW_TRY(const auto results, rollout.generate(std::move(requests)));
  tally.cpu_s += cpu_seconds() - cpu;
  tally.wall_s += wall_seconds() - wall;
  tally.steps += rollout.statistics().steps;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const GeneratedSample& sample = results[i].samples[0];
    tally.tokens += static_cast<std::int64_t>(sample.tokens.size());
    tally.forced += sample.forced_tokens;
    const Answer read = dialect.read_answer(sample.text, sample.finish == FinishReason::stop_token);
    look_at(questions[i], read, sample, arguments.show, tally);
    if (!arguments.kernels.empty() && read.outcome == AnswerOutcome::kernel)
      KW_TRY_VOID(keep_kernel(arguments.kernels, questions[i], in_task_order(questions[i].asked, read.kernel), held));
  }
  return {};
}

void print(const char* name, const Tally& tally) {
  const auto share = [&](std::int64_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, tally.answers));
  };
  fmt::print(
      "{}: {} answers; no kernel {} ({:.2f} %), file refused {} ({:.2f} %), launcher error {} ({:.2f} %), of these "
      "by parameters {}; cut off {}, sampled again {}\n",
      name, tally.answers, tally.no_kernel, share(tally.no_kernel), tally.refused_file, share(tally.refused_file),
      tally.launcher, share(tally.launcher), tally.signature, tally.cut, tally.resampled);
  fmt::print(
      "{}: {} tokens ({} forced), {} steps, {:.2f} s of processor time: {:.0f} tokens/s; {:.2f} s: {:.0f} tokens/s\n",
      name, tally.tokens, tally.forced, tally.steps, tally.cpu_s, static_cast<double>(tally.tokens) / tally.cpu_s,
      tally.wall_s, static_cast<double>(tally.tokens) / tally.wall_s);
  for (const auto& [reason, count] : tally.reasons) fmt::print("  {:5}  {}\n", count, reason);
}

Result<void> run(const Arguments& arguments) {
  KW_TRY(const auto model, AgentModel::open(arguments.model, {.device = "cpu", .threads = arguments.threads}));
  if (model->decoder() == nullptr) return Error{"the model is elsewhere: it cannot be held to anything", "", {}};
  KW_TRY(const std::vector<Question> questions, questions_of(arguments, model->dialect()));
  fmt::print("{} on {} ({} threads), {} questions of {}, seed {}, temperature {}\n", model->name(), model->device(),
             arguments.threads, questions.size(), arguments.split, arguments.seed, arguments.temperature);
  Tally free, held;
  for (int round = 0; round < arguments.rounds; ++round) {
    const std::size_t first =
        questions.size() * static_cast<std::size_t>(round) / static_cast<std::size_t>(arguments.rounds);
    const std::size_t end =
        questions.size() * (static_cast<std::size_t>(round) + 1) / static_cast<std::size_t>(arguments.rounds);
    const std::span part = std::span(questions).subspan(first, end - first);
    for (int turn = 0; turn < 2; ++turn) {
      const bool now_held = (turn + round) % 2 != 0;
      KW_TRY_VOID(answer(*model, part, now_held, arguments, first, now_held ? held : free));
    }
  }
  print("free", free);
  print("held", held);
  fmt::print("tokens/s, held to free: {:.3f} of processor time, {:.3f} of the wall's; masks made: {}\n",
             static_cast<double>(held.tokens) / held.cpu_s / (static_cast<double>(free.tokens) / free.cpu_s),
             static_cast<double>(held.tokens) / held.wall_s / (static_cast<double>(free.tokens) / free.wall_s),
             masks_made(*model->dialect().masks()));
  return {};
}

Arguments read_arguments(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = values[i];
    const std::string value = values[i + 1];
    if (name == "--model") arguments.model = value;
    if (name == "--split") arguments.split = value;
    if (name == "--tasks") arguments.tasks = std::stoul(value);
    if (name == "--temperature") arguments.temperature = std::stof(value);
    if (name == "--rounds") arguments.rounds = std::max(1, std::stoi(value));
    if (name == "--seed") arguments.seed = std::stoull(value);
    if (name == "--threads") arguments.threads = std::stoi(value);
    if (name == "--resamples") arguments.resamples = std::stoll(value);
    if (name == "--kernels") arguments.kernels = value;
    if (name == "--show") arguments.show = std::stoi(value);
  }
  return arguments;
}

}  // namespace

int main(int count, char** values) try {
  const auto done = run(read_arguments(count, values));
  if (!done.ok()) fmt::print(stderr, "{}\n", kw::to_string(done.error()));
  return done.ok() ? 0 : 1;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 2;
}
