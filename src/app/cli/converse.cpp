// generate and optimize: the agents at work on one task.

#include <fmt/format.h>

#include <iostream>

#include "agents/episode/agent_model.h"
#include "agents/episode/conversation_page.h"
#include "agents/episode/episode_engine.h"
#include "agents/episode/episode_json.h"
#include "agents/grammar/problem.h"
#include "agents/normal_form/normal_form.h"
#include "app/cli/command.h"
#include "app/cli/conversation_print.h"
#include "app/cli/kernel_argument.h"
#include "app/cli/model_load.h"
#include "app/cli/search_command.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "kernel/judge/judge_session.h"
#include "kernel/reference/check_reference.h"

namespace kw::cli {
namespace {

struct ConverseArguments {
  bool optimize = false;
  std::string task;
  std::string kernel;
  std::string model = "tiny";
  std::string device = "auto";
  std::string level;
  std::string from = "best";
  std::string reward = "weighted";
  std::string backend = "auto";
  std::string profile;
  std::string store;
  std::string html;
  std::string out;
  int turns = 1;
  std::int64_t samples = 1;
  std::uint64_t seed = 1;
  float temperature = -1;  // -1: by the number of samples
  float top_p = 1;
  std::int64_t answer_tokens = 1024;
  bool constrain = true;
  std::int64_t tokens = 0;
  double seconds = 0;
  double target = 0;
  std::string baseline = std::string(name_of(Baseline::naive));
  bool tell_target = false;
  SearchArguments search;
};

// What a person would choose: the likeliest answer when there is one, different ones when there are several.
constexpr float temperature_of_several = 0.8f;
// An answer that is cut off has nothing to judge. More than this, and the model does not know how to end it.
constexpr std::int64_t most_resamples = 2;

Result<EpisodeOptions> options_from(const ConverseArguments& arguments) {
  KW_TRY(EpisodeOptions options, episode_options(arguments.reward));
  options.seed = arguments.seed;
  options.turns = arguments.turns;
  options.samples = arguments.samples;
  options.temperature =
      arguments.temperature >= 0 ? arguments.temperature : (arguments.samples > 1 ? temperature_of_several : 0);
  options.top_p = arguments.top_p;
  options.answer_tokens = arguments.answer_tokens;
  options.constrain = arguments.constrain;
  options.most_resamples = arguments.constrain ? most_resamples : 0;
  options.episode_tokens = arguments.tokens;
  options.episode_s = arguments.seconds;
  options.from = arguments.from == "last" ? ContinueFrom::last : ContinueFrom::best;  // library: of the next turns
  if (arguments.target > 0) options.stop_speedup = arguments.target;
  options.baseline = baseline_from_name(arguments.baseline).value_or(Baseline::naive);
  if (arguments.tell_target) options.asked_speedup = options.stop_speedup;
  return options;
}

ReportFacts facts_of(const AgentModel& model, const JudgeSession& session, const EpisodeOptions& options) {
  return {{"model", fmt::format("{} on {}", model.name(), model.device())},
          {"weights", model.fingerprint().substr(0, 16)},
          {"judge", session.description()},
          {"sampling", fmt::format("seed {}, temperature {}, top-p {}, {} samples a turn", options.seed,
                                   options.temperature, options.top_p, options.samples)},
          {"turns", fmt::format("at most {}", options.turns)}};
}

Json json_of(const Episode& episode, const AgentModel& model, const JudgeSession& session) {
  Json json = to_json(episode);
  json["model"] = model.name();
  json["device"] = model.device();
  json["weights"] = model.fingerprint();
  json["judge"] = session.description();
  return json;
}

Result<void> write_results(const ConverseArguments& arguments, const Episode& episode, const ReportFacts& facts) {
  if (!arguments.html.empty()) KW_TRY_VOID(write_file_atomic(arguments.html, conversation_page(episode, facts)));
  if (arguments.out.empty() || !episode.best) return {};
  return write_file_atomic(arguments.out, kernel_of(episode, *episode.best));
}

// What the agents read. A kernel that a conversation begins with has the names that the task has.
NormalForm asked_of(const Episode& episode) {
  const EpisodeRequest& request = episode.request;
  return normal_form(*request.task, request.kernel.empty() ? AskedNames::learned : AskedNames::kept);
}

Result<void> converse(Context& context, const ConverseArguments& arguments) {
  KW_TRY(Task task, task_from_argument(arguments.task));
  KW_TRY_VOID(check_reference(task));  // a broken one is reported before anything is sampled
  EpisodeRequest request;
  request.task = std::make_shared<const Task>(std::move(task));
  request.level = arguments.level;
  if (!arguments.kernel.empty()) {
    KW_TRY(request.kernel, read_kernel_argument(arguments.kernel));
    if (request.kernel.empty()) return Error{"the kernel is empty", "", {arguments.kernel, 0, 0}};
  }
  const bool from_library = arguments.from == "library";
  if (from_library && !arguments.kernel.empty())
    return Error{"a conversation begins with one kernel", "--kernel or --from library, not both", {}};
  if (arguments.baseline == name_of(Baseline::given) && arguments.kernel.empty() && !from_library)
    return Error{"there is no given kernel to compare with", "name it with --kernel", {}};
  request.library = from_library ? LibraryUse::begin : LibraryUse::baseline;
  KW_TRY(const EpisodeOptions options, options_from(arguments));
  KW_TRY_VOID(check_options(options));
  KW_TRY(const auto model, AgentModel::open(arguments.model, {.device = arguments.device}));
  KW_TRY(const auto session, JudgeSession::start({arguments.backend, arguments.profile, 0, true}));
  std::unique_ptr<EpisodeStore> store;
  if (!arguments.store.empty()) {
    KW_TRY(store, EpisodeStore::open(arguments.store));
  }

  EngineOptions engine_options;
  engine_options.episode = options;
  engine_options.store = store.get();
  engine_options.judge_workers = session->workers();
  engine_options.model = fmt::format("{} {} {}", model->fingerprint(), model->device(), session->identity());
  ConversationView view(options.samples);
  EpisodeHooks hooks = context.json ? EpisodeHooks{} : view.hooks();
  if (!context.json) {
    const std::string about = request.task->summary.empty() ? "" : ": " + request.task->summary;
    std::cout << fmt::format("{}{}\n{} on {}; {}\n", request.task->name, about, model->name(), model->device(),
                             session->description())
              << std::flush;
    hooks.on_begin = [](const Episode& episode) {
      const std::string put = description_of(asked_of(episode));
      std::cout << put << (put.empty() ? "" : "\n");
      print_library(episode);
    };
  }
  KW_TRY(const auto answers, model->make_answers());
  KW_TRY(const auto engine,
         EpisodeEngine::make(
             *answers, model->dialect(), session->judge(), [&](AgentRole role) { return model->adapter_of(role); },
             engine_options, std::move(hooks)));
  KW_TRY(std::vector<Episode> episodes, engine->run({request}));
  const Episode& episode = episodes.front();
  KW_TRY_VOID(write_results(arguments, episode, facts_of(*model, *session, options)));
  if (context.json) {
    Json json = json_of(episode, *model, *session);
    const NormalForm asked = asked_of(episode);
    json["asked"] = asked.task.pytorch;
    if (!asked.not_understood.empty()) json["not_understood"] = asked.not_understood;
    json["renamed"] = Json::object();
    for (const auto& [before, now] : asked.renamed) json["renamed"][before] = now;
    print_json(json);
  } else {
    if (episode.from_store) view.show_stored(episode);
    print_outcome(episode);
    if (!arguments.html.empty()) std::cout << "The conversation is in " << arguments.html << "\n";
    if (!arguments.out.empty() && episode.best) std::cout << "The best kernel is in " << arguments.out << "\n";
    if (episode.end == EpisodeEnd::unfinished && store) std::cout << "The same command resumes it.\n";
  }
  context.exit_code = episode.best ? exit_good : exit_not_good;
  if (episode.end == EpisodeEnd::unfinished) context.exit_code = exit_interrupted;
  return {};
}

void add_options(CLI::App& command, ConverseArguments& arguments) {
  command.add_option("TASK", arguments.task, "a task of the suite by name, a task's folder, or a YAML file")
      ->required();
  command
      .add_option(
          "--model", arguments.model,
          "tiny, smollm2, a run's name or folder, a folder with agents.json, a model, or URL#NAME of an endpoint")
      ->capture_default_str();
  add_device_option(command, arguments.device);
  command.add_option("--samples", arguments.samples, "answers sampled in each turn; the best one is kept")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command.add_option("--seed", arguments.seed, "the same seed gives the same conversation")->capture_default_str();
  command
      .add_option("--temperature", arguments.temperature,
                  "0: always the likeliest token; default: 0 for one sample, 0.8 for several")
      ->check(CLI::Range(0.0, 100.0));
  command.add_option("--top-p", arguments.top_p, "sample from the likeliest tokens with this total probability")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--max-tokens", arguments.answer_tokens, "maximum length of an answer")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_flag("--constrain,!--no-constrain", arguments.constrain,
                   "hold answers to what is known while they are sampled: the launcher's parameters, headers, brackets "
                   "(default)");
  command.add_option("--level", arguments.level, "which kind of kernel to ask the Generator for")
      ->check(CLI::IsMember(all_level_names()));
  command.add_option("--backend", arguments.backend, "where kernels are judged")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "emulator", "gpu"}));
  command.add_option("--profile", arguments.profile, "the device whose time is modelled");
  command.add_option("--reward", arguments.reward, "which reward is shown with each answer")
      ->capture_default_str()
      ->check(CLI::IsMember(reward_shape_names()));
  command.add_option("--store", arguments.store,
                     "keep the conversation in this file as it happens; the same command then resumes it");
  command.add_option("--html", arguments.html, "write the conversation as a page");
  command.add_option("-o,--out", arguments.out, "write the best kernel here");
}

void add_optimize_options(CLI::App& command, ConverseArguments& arguments) {
  command.add_option("--kernel", arguments.kernel,
                     "start from this kernel instead of one that the Generator writes; - reads standard input");
  command.add_option("--turns", arguments.turns, "maximum number of turns")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command.add_option("--target", arguments.target, "stop at this speedup over the baseline")
      ->check(CLI::PositiveNumber);
  command
      .add_option(
          "--baseline", arguments.baseline,
          "what the target is stated against: the task's naive kernel (the library's, where it has none), the one of "
          "--kernel, or PyTorch (measured)")
      ->capture_default_str()
      ->check(CLI::IsMember({"naive", "given", "pytorch", "pytorch_tf32"}));
  command.add_flag("--tell-target", arguments.tell_target, "name the target in the prompts");
  command
      .add_option("--from", arguments.from,
                  "which kernel the Optimizer improves next: the best so far, or the last; library: the best, and the "
                  "first one is the library's")
      ->capture_default_str()
      ->check(CLI::IsMember({"best", "last", "library"}));
  command.add_option("--tokens", arguments.tokens, "token budget of the conversation; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seconds", arguments.seconds, "time budget of the conversation; 0: no limit")
      ->check(CLI::NonNegativeNumber);
}

// What a search takes of them.
SearchArguments search_from(const ConverseArguments& arguments) {
  SearchArguments search = arguments.search;
  search.task = arguments.task;
  search.kernel = arguments.kernel;
  search.model = arguments.model;
  search.device = arguments.device;
  search.backend = arguments.backend;
  search.profile = arguments.profile;
  search.store = arguments.store;
  search.html = arguments.html;
  search.out = arguments.out;
  search.from_library = arguments.from == "library";
  search.seed = arguments.seed;
  search.temperature = arguments.temperature;
  search.top_p = arguments.top_p;
  search.answer_tokens = arguments.answer_tokens;
  search.constrain = arguments.constrain;
  return search;
}

Result<void> converse_or_search(Context& context, const CLI::App& command, const ConverseArguments& arguments) {
  if (!arguments.search.wanted()) return converse(context, arguments);
  if (const std::string option = option_of_conversations(command); !option.empty())
    return Error{fmt::format("a search has no {}", option), "leave it out, or --minutes and --verdicts", {}};
  return run_search(context, search_from(arguments));
}

}  // namespace

void add_converse_commands(CLI::App& app, Context& context) {
  for (const bool optimize : {false, true}) {
    auto arguments = std::make_shared<ConverseArguments>();
    arguments->optimize = optimize;
    auto* command =
        optimize ? app.add_subcommand("optimize", "The agents write, repair and improve a kernel, turn by turn")
                 : app.add_subcommand("generate", "The Generator writes a kernel for a task and the judge judges it");
    add_json_flag(*command, context);
    if (optimize) {
      arguments->turns = 5;
      arguments->samples = 8;
    }
    add_options(*command, *arguments);
    if (optimize) {
      add_optimize_options(*command, *arguments);
      add_search_options(*command, arguments->search);
    }
    command->footer(optimize ? "Examples:\n"
                               "  kernelwright optimize softmax\n"
                               "  kernelwright optimize softmax --kernel my.cu --turns 5 --samples 8 -o best.cu\n"
                               "  kernelwright optimize row_sum --samples 1 --html conversation.html\n"
                               "  kernelwright optimize my_task.yaml --from library\n"
                               "  kernelwright optimize softmax --minutes 5 --store search.db --html search.html"
                             : "Examples:\n"
                               "  kernelwright generate softmax\n"
                               "  kernelwright generate row_sum --samples 8 --model smollm2 --json");
    command->callback([&context, command, arguments] {
      const auto done = converse_or_search(context, *command, *arguments);
      if (!done.ok()) fail(context, done.error());
    });
  }
}

}  // namespace kw::cli
