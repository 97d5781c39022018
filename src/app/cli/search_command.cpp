#include "app/cli/search_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "agents/episode/agent_model.h"
#include "agents/episode/library_kernel.h"
#include "agents/grammar/problem.h"
#include "agents/search/search.h"
#include "agents/search/search_page.h"
#include "app/cli/conversation_print.h"
#include "app/cli/kernel_argument.h"
#include "app/cli/terminal_text.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/judge/judge_session.h"
#include "kernel/reference/check_reference.h"

namespace kw::cli {
namespace {

constexpr std::size_t niches_shown = 8;

Result<SearchOptions> options_from(const SearchArguments& arguments) {
  SearchOptions options;
  options.seed = arguments.seed;
  options.verdicts = arguments.verdicts;
  options.seconds = 60 * arguments.minutes;
  options.patience = arguments.patience;
  options.filter = arguments.filter;
  options.looks = arguments.looks;
  options.measured_share = arguments.measured_share;
  options.close_enough = arguments.close_enough / 100;
  options.levels = all_level_names();
  if (arguments.temperature >= 0) options.temperature = arguments.temperature;
  if (arguments.operators.empty()) return options;
  options.operators.clear();
  for (const std::string& name : arguments.operators) {
    const auto from = search_operator_from_name(name);
    if (!from || *from == SearchOperator::given)
      return Error{"there is no operator '" + name + "'", "generator, optimizer, constants, edits", {}};
    options.operators.push_back(*from);
  }
  return options;
}

bool asks_agents(const SearchOptions& options) {
  for (const SearchOperator from : options.operators)
    if (!needs_no_agent(from)) return true;
  return false;
}

// A line for each new best kernel, and on a terminal one below it that says how far the search is.
class SearchView {
 public:
  explicit SearchView(const SearchOptions& options) : options_(options), terminal_(::isatty(STDERR_FILENO) != 0) {}

  SearchHooks hooks() {
    SearchHooks hooks;
    hooks.on_gain = [this](const SearchOutcome& outcome, const Candidate& best) { gain(outcome, best); };
    hooks.on_progress = [this](const SearchOutcome& outcome) { progress(outcome); };
    return hooks;
  }
  void clear() {
    if (terminal_ && open_) std::fputs("\r\033[K", stderr);
    open_ = false;
  }

 private:
  std::string left(const SearchOutcome& outcome) const {
    std::string text = fmt::format("{}", outcome.verdicts);
    if (options_.verdicts > 0) text += fmt::format(" of {}", options_.verdicts);
    text += " verdicts";
    if (outcome.measurements > 0) text += fmt::format(", {} measurements", outcome.measurements);
    return text;
  }
  std::string time_left() const {
    if (!(options_.seconds > 0)) return "";
    return ", " + duration_text(std::max(0.0, options_.seconds - seconds())) + " left";
  }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }
  void gain(const SearchOutcome& outcome, const Candidate& best) {
    clear();
    const auto share = share_of_limit(outcome, best.time->us);
    std::cout << fmt::format("{:>6}  {:>10.2f} us  {:>5}  {}\n", best.number + 1, best.time->us,
                             share ? fmt::format("{:.0f} %", 100 * *share) : "-", terminal_text(origin_text(best)))
              << std::flush;
  }
  void progress(const SearchOutcome& outcome) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - drawn_ < std::chrono::milliseconds(200)) return;
    drawn_ = now;
    open_ = true;
    std::fputs(fmt::format("\r\033[K{}{}", left(outcome), time_left()).c_str(), stderr);
    std::fflush(stderr);
  }

  const SearchOptions& options_;
  bool terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), drawn_;
};

// The task with something that speedups are stated against, and the library's kernel where it is to begin with.
struct Subject {
  Episode episode;  // what library_kernel.h works on
  std::vector<Proposal> given;
};

Result<Subject> subject_of(const SearchArguments& arguments, const SearchOptions& options, JudgeSession& session) {
  KW_TRY(Task task, task_from_argument(arguments.task));
  KW_TRY_VOID(check_reference(task));
  Subject subject;
  EpisodeRequest& request = subject.episode.request;
  request.task = std::make_shared<const Task>(std::move(task));
  request.library = arguments.from_library ? LibraryUse::begin : LibraryUse::baseline;
  if (!arguments.kernel.empty()) {
    KW_TRY(request.kernel, read_kernel_argument(arguments.kernel));
    if (request.kernel.empty()) return Error{"the kernel is empty", "", {arguments.kernel, 0, 0}};
  }
  if (arguments.from_library && !arguments.kernel.empty())
    return Error{"a search begins with one kernel", "--kernel or --from library, not both", {}};
  if (asks_library(request)) {
    subject.episode.library = library_kernel(*request.task);
    const std::string& kernel = subject.episode.library->kernel;
    if (!kernel.empty()) {
      auto with = task_with_library(request.task, kernel);
      auto verdict = std::make_shared<const Verdict>(session.judge().judge(*with, kernel, "library.cu"));
      take_library_kernel(subject.episode, std::move(with), std::move(verdict));
    }
  }
  // The library's kernel is right already and differs from what agents write: whoever changes kernels may begin with
  // it.
  const bool changes =
      std::ranges::any_of(options.operators, [](SearchOperator from) { return from != SearchOperator::generator; });
  if (request.kernel.empty() && changes && subject.episode.naive_writer == KernelWriter::library)
    request.kernel = subject.episode.library->kernel;
  if (!request.kernel.empty())
    subject.given.push_back({SearchOperator::given, -1, "", request.kernel, AskedNames::kept});
  return subject;
}

ReportFacts facts_of(const AgentModel* model, const JudgeSession& session, const SearchOptions& options) {
  ReportFacts facts{{"judge", session.description()}, {"seed", fmt::format("{}", options.seed)}};
  if (model != nullptr) facts.insert(facts.begin(), {"model", fmt::format("{} on {}", model->name(), model->device())});
  return facts;
}

void print_result(const SearchArguments& arguments, const SearchOptions& options, const SearchOutcome& outcome) {
  std::cout << fmt::format("\nEnded after {}, {} verdicts and {} measurements: {}.\n", duration_text(outcome.seconds),
                           outcome.verdicts, outcome.measurements, end_text(outcome, options));
  if (outcome.looks > 0) std::cout << fmt::format("The model looked at {} kernels beforehand.\n", outcome.looks);
  if (outcome.twins > 0) std::cout << fmt::format("{} proposals became code that was judged already.\n", outcome.twins);
  if (!outcome.best) {
    std::cout << "No kernel is right.\n";
    return;
  }
  const auto r = Align::right;
  Table operators({"operator", "proposals", "judged", "right", "new best"}, {Align::left, r, r, r, r});
  for (std::size_t i = 0; i < search_operators; ++i)
    if (const OperatorStanding& each = outcome.operators[i]; each.answers > 0)
      operators.add({std::string(to_string(static_cast<SearchOperator>(i))), std::to_string(each.answers),
                     std::to_string(each.verdicts), std::to_string(each.right), std::to_string(each.bests)});
  Table niches({"fastest", "limited by", "from", "strategies"}, {r, Align::left, Align::left, Align::left});
  for (std::size_t i = 0; i < std::min(outcome.niches.size(), niches_shown); ++i) {
    const Niche& niche = outcome.niches[i];
    const Candidate& fastest = outcome.candidates.at(static_cast<std::size_t>(niche.members.front()));
    niches.add({fmt::format("{:.2f} us", fastest.time->us), niche.limiter, terminal_text(origin_text(fastest)),
                niche.strategies});
  }
  std::cout << operators.text() << "\n" << niches.text() << "\n";
  const Candidate& best = outcome.candidates.at(static_cast<std::size_t>(*outcome.best));
  const Verdict verdict = known_verdict(best);
  const auto share = share_of_limit(outcome, best.time->us);
  std::cout << terminal_text(best.proposal.kernel)
            << fmt::format("\nThe best kernel takes {:.2f} us ({}){}{}.\n", best.time->us, verdict.time_source,
                           verdict.speedup_naive ? fmt::format(", {:.2f} x naive", *verdict.speedup_naive) : "",
                           share ? fmt::format(", {:.0f} % of what the device allows", 100 * *share) : "");
  if (!arguments.html.empty()) std::cout << "The search is in " << arguments.html << "\n";
  if (!arguments.out.empty()) std::cout << "The best kernel is in " << arguments.out << "\n";
}

Result<void> write_results(const SearchArguments& arguments, const Task& task, const SearchOptions& options,
                           const SearchOutcome& outcome, const ReportFacts& facts) {
  if (!arguments.html.empty())
    KW_TRY_VOID(write_file_atomic(arguments.html, search_page(task, outcome, options, facts)));
  if (arguments.out.empty() || !outcome.best) return {};
  const Candidate& best = outcome.candidates.at(static_cast<std::size_t>(*outcome.best));
  return write_file_atomic(arguments.out, best.proposal.kernel);
}

// What an Optimizer is told of the device.
std::string device_facts(const DeviceProfile& profile) {
  return fmt::format(
      "{} ({} SMs at {:.2f} GHz, {:.0f} GB/s of memory bandwidth, {:.0f} MiB L2, {:.0f} KiB L1 and shared "
      "memory an SM)",
      profile.name, profile.multiprocessors, profile.clock_ghz, profile.dram_gb_per_s, profile.l2_mib, profile.l1_kib);
}

// A profile of another device than the one that measures says nothing about what that one allows.
SearchLimit limit_of(const Task& task, JudgeSession& session) {
  const JudgeOptions& judging = session.judge().options();
  if (judging.gpu != nullptr && judging.gpu->facts().name != judging.profile.name) return {};
  return search_limit(task, judging.profile);
}

// CLI11's own ranges let "nan" pass, and say what is beyond them with three hundred digits.
CLI::Validator between(double low, double high) {
  return {[low, high](std::string& text) {
            double value = 0;
            const bool inside = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return inside ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, low, high);
          },
          fmt::format("[{} to {}]", low, high)};
}

}  // namespace

void add_search_options(CLI::App& command, SearchArguments& arguments) {
  command
      .add_option("--minutes", arguments.minutes,
                  "search for so long instead of a conversation: a population of kernels")
      ->check(between(0.01, 100'000))
      ->group("Search");
  command
      .add_option("--verdicts", arguments.verdicts,
                  "search with so many verdicts; the same seed then gives the same search, where times are modelled")
      ->check(between(1, 1'000'000))
      ->group("Search");
  command.add_option("--patience", arguments.patience, "end the search when so many verdicts gained nothing; 0: never")
      ->capture_default_str()
      ->check(between(0, 1'000'000))
      ->group("Search");
  command
      .add_option("--operators", arguments.operators,
                  "who proposes kernels to the search: generator, optimizer, constants, edits; default: all")
      ->delimiter(',')
      ->group("Search");
  command
      .add_option("--filter", arguments.filter,
                  "on a GPU, measure what the model expects within this factor of the best; 0: every right kernel")
      ->capture_default_str()
      ->check(between(0, 1'000))
      ->group("Search");
  command
      .add_option(
          "--looks", arguments.looks,
          "let the performance model look at so many kernels for each verdict, and judge the most promising; 0: "
          "judge what comes")
      ->capture_default_str()
      ->check(between(0, 1'000))
      ->group("Search");
  command
      .add_option("--measured-share", arguments.measured_share,
                  "on a GPU, at most so many measurements for each right kernel; the most promising ones are measured")
      ->capture_default_str()
      ->check(between(0, 100))
      ->group("Search");
  command
      .add_option("--close-enough", arguments.close_enough,
                  "end the search when the best time is within so many percent of what the device allows")
      ->capture_default_str()
      ->check(between(-100, 1'000))
      ->group("Search");
}

std::string option_of_conversations(const CLI::App& command) {
  for (const char* name : {"--turns", "--samples", "--target", "--baseline", "--tell-target", "--tokens", "--seconds",
                           "--level", "--reward"})
    if (command.count(name) > 0) return name;
  return "";
}

Result<void> run_search(Context& context, const SearchArguments& arguments) {
  KW_TRY(const SearchOptions options, options_from(arguments));
  KW_TRY(const auto session, JudgeSession::start({arguments.backend, arguments.profile, 0, true}));
  KW_TRY(Subject subject, subject_of(arguments, options, *session));
  const std::shared_ptr<const Task> task = subject.episode.request.task;
  std::unique_ptr<AgentModel> model;
  std::unique_ptr<AnswerSource> answers;
  std::unique_ptr<SearchAgents> agents;
  if (asks_agents(options)) {
    KW_TRY(model, AgentModel::open(arguments.model, {.device = arguments.device}));
    KW_TRY(answers, model->make_answers());
    AgentLimits limits;
    limits.answer_tokens = arguments.answer_tokens;
    limits.top_p = arguments.top_p;
    limits.constrain = arguments.constrain;
    limits.device = device_facts(session->judge().options().profile);
    agents = std::make_unique<SearchAgents>(
        *answers, model->dialect(), [&](AgentRole role) { return model->adapter_of(role); }, *task, limits);
  } else if (subject.given.empty()) {
    return Error{"there is no kernel that could be changed", "name one with --kernel, or --from library", {}};
  }
  auto record = SearchRecord::in_memory();
  if (!arguments.store.empty()) {
    const std::string who = model ? fmt::format("{} {} {} {} {}", model->fingerprint(), model->device(),
                                                arguments.answer_tokens, arguments.top_p, arguments.constrain)
                                  : "";
    const std::string identity = search_identity(*task, options, subject.given, who, session->identity());
    KW_TRY(record, SearchRecord::open(arguments.store, identity, task->name));
  }
  const SearchLimit limit = limit_of(*task, *session);
  if (!context.json) {
    std::cout << fmt::format("{}\n{}{}\n", task->name + (task->summary.empty() ? "" : ": " + task->summary),
                             model ? fmt::format("{} on {}; ", model->name(), model->device()) : "",
                             session->description());
    print_library(subject.episode);
    if (limit.us > 0) std::cout << fmt::format("The device allows {:.2f} us: {}.\n", limit.us, limit.what);
    if (record->rounds() > 0) std::cout << fmt::format("It goes on after {} rounds.\n", record->rounds());
    std::cout << fmt::format("{:>6}  {:>13}  {:>5}  {}\n", "kernel", "best time", "limit", "from") << std::flush;
  }
  JudgeScorer scorer(*session, task);
  SearchView view(options);
  Search search(limit, options, scorer, agents.get(), *record, context.json ? SearchHooks{} : view.hooks());
  KW_TRY(const SearchOutcome outcome, search.run(subject.given));
  view.clear();
  KW_TRY_VOID(write_results(arguments, *task, options, outcome, facts_of(model.get(), *session, options)));
  if (context.json) {
    Json json = to_json(outcome);
    json["task"] = task->name;
    json["model"] = model ? Json(model->name()) : Json(nullptr);
    json["judge"] = session->description();
    json["seed"] = options.seed;
    print_json(json);
  } else {
    print_result(arguments, options, outcome);
    if (outcome.end == SearchEnd::unfinished && !arguments.store.empty()) std::cout << "The same command resumes it.\n";
  }
  context.exit_code = outcome.best ? exit_good : exit_not_good;
  if (outcome.end == SearchEnd::unfinished) context.exit_code = exit_interrupted;
  return {};
}

}  // namespace kw::cli
