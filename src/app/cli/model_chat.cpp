#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "agents/episode/agent_set.h"
#include "app/cli/model_command.h"
#include "app/cli/model_load.h"
#include "base/interrupt.h"
#include "model/rollout/rollout.h"
#include "model/tokenizer/chatml.h"
#include "model/weights/chat_template.h"

namespace kw::cli {
namespace {

struct ChatArguments {
  std::string model;
  std::string prompt;
  bool has_prompt = false;
  std::string adapter;
  std::string system;
  bool has_system = false;
  bool greedy = false;
  std::int64_t max_tokens = 512;
  float temperature = 0.7f;
  float top_p = 0.95f;
  std::int32_t top_k = 0;
  std::uint64_t seed = 1;
  std::string device = "auto";
};

struct Answer {
  GeneratedSample sample;
  double seconds = 0;
  double prompt_seconds = 0;
  bool stopped = false;  // by the user
};

// A conversation as token ids: what was generated is never tokenised again.
class Conversation {
 public:
  Conversation(Rollout& rollout, const Tokenizer& tokenizer, const ModelDescription& model,
               const ChatArguments& arguments)
      : rollout_(rollout), tokenizer_(tokenizer), encoder_(tokenizer), arguments_(arguments) {
    stop_tokens_.assign(model.eos_ids.begin(), model.eos_ids.end());
    if (const auto end = tokenizer.find("<|im_end|>")) stop_tokens_.push_back(*end);
  }

  Result<void> begin(const std::string& system) {
    if (system.empty()) return {};
    KW_TRY(ids_,
           chatml_ids(encoder_, tokenizer_, {{"system", system}}, {.default_system = {}, .generation_prompt = false}));
    return {};
  }

  Result<Answer> ask(const std::string& text, bool show) {
    KW_TRY(const auto turn, chatml_ids(encoder_, tokenizer_, {{"user", text}}));
    ids_.insert(ids_.end(), turn.begin(), turn.end());
    GenerationRequest request;
    request.prompt = ids_;
    request.rule = {arguments_.greedy ? 0.0f : arguments_.temperature, arguments_.greedy ? 0 : arguments_.top_k,
                    arguments_.greedy ? 1.0f : arguments_.top_p,
                    arguments_.seed + static_cast<std::uint64_t>(turns_++)};
    request.max_tokens = arguments_.max_tokens;
    request.stop_tokens = stop_tokens_;
    request.adapter = arguments_.adapter.empty() ? -1 : 0;
    if (show) {
      request.on_token = [](const TokenEvent& event) {
        std::fwrite(event.text.data(), 1, event.text.size(), stdout);
        std::fflush(stdout);
      };
    }
    const auto start = std::chrono::steady_clock::now();
    KW_TRY(const RequestId id, rollout_.submit(std::move(request)));
    Answer answer;
    while (!rollout_.idle()) {
      if (interrupted() && !answer.stopped) {
        answer.stopped = true;
        rollout_.cancel(id);
      }
      KW_TRY([[maybe_unused]] const bool worked, rollout_.advance());
    }
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    auto results = rollout_.take_finished();
    KW_CHECK(results.size() == 1 && results[0].samples.size() == 1);
    answer.sample = std::move(results[0].samples[0]);
    answer.prompt_seconds = answer.sample.first_token_s;
    KW_TRY_VOID(close_turn(answer.sample.tokens));
    return answer;
  }

 private:
  // The turn ends as the template has it, whether the model said so or was cut off.
  Result<void> close_turn(const std::vector<std::int32_t>& tokens) {
    ids_.insert(ids_.end(), tokens.begin(), tokens.end());
    const auto end = tokenizer_.find("<|im_end|>");
    if (end && (ids_.empty() || ids_.back() != *end)) ids_.push_back(*end);
    KW_TRY(const auto line, encoder_.encode("\n"));
    ids_.insert(ids_.end(), line.begin(), line.end());
    return {};
  }

  Rollout& rollout_;
  const Tokenizer& tokenizer_;
  Encoder encoder_;
  const ChatArguments& arguments_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> stop_tokens_;
  int turns_ = 0;
};

void print_speed(const Answer& answer) {
  const auto tokens = static_cast<double>(answer.sample.tokens.size());
  const double later = answer.seconds - answer.prompt_seconds;
  std::fprintf(stderr, "[%zu tokens%s, first after %.2f s, then %.1f tokens/s; %s]\n", answer.sample.tokens.size(),
               answer.stopped ? ", stopped" : "", answer.prompt_seconds, later > 0 ? (tokens - 1) / later : 0.0,
               std::string(to_string(answer.sample.finish)).c_str());
}

Result<void> talk(Context& context, const ChatArguments& arguments) {
  KW_TRY(const ModelFiles files, open_model(arguments.model));
  KW_TRY(const Tokenizer tokenizer, files.tokenizer());
  KW_TRY(const std::vector<Adapter> adapters, load_adapters(arguments.adapter, files.description()));
  std::string system = arguments.system;
  if (!arguments.has_system) {
    KW_TRY(const AgentSet agents, find_agents(arguments.model));
    system = default_system_of(chat_template_of(agents.base));
  }
  ThreadTeam team;
  // Rows beyond the tokenizer are padding.
  const auto usable =
      std::min<std::int64_t>(files.description().vocabulary, static_cast<std::int64_t>(tokenizer.size()));
  KW_TRY(const auto decoder, open_decoder(arguments.device, team, files, adapters, usable));
  Rollout rollout(*decoder, &tokenizer);
  Conversation conversation(rollout, tokenizer, files.description(), arguments);
  KW_TRY_VOID(conversation.begin(system));
  if (arguments.has_prompt) {
    KW_TRY(const Answer answer, conversation.ask(arguments.prompt, !context.json));
    if (context.json) {
      print_json({{"answer", answer.sample.text},
                  {"tokens", answer.sample.tokens},
                  {"log_probs", answer.sample.log_probs},
                  {"finish", to_string(answer.sample.finish)},
                  {"seconds", answer.seconds}});
    } else {
      std::cout << std::endl;
      print_speed(answer);
    }
    if (answer.stopped) context.exit_code = exit_interrupted;
    return {};
  }
  const bool person = ::isatty(STDIN_FILENO) != 0;
  if (person) std::cout << "A line is a message; Ctrl-C ends an answer, Ctrl-D or /exit ends the conversation.\n";
  for (std::string line;;) {
    if (person) std::cout << "> " << std::flush;
    if (!std::getline(std::cin, line) || line == "/exit") break;
    if (line.empty()) continue;
    KW_TRY(const Answer answer, conversation.ask(line, true));
    std::cout << std::endl;
    if (person) print_speed(answer);
    if (answer.stopped) clear_interrupt();
  }
  if (interrupted()) context.exit_code = exit_interrupted;
  return {};
}

}  // namespace

void add_model_chat_command(CLI::App& model, Context& context) {
  auto* chat = model.add_subcommand("chat", "Chats with a model (ChatML); answers are streamed");
  add_json_flag(*chat, context);
  auto arguments = std::make_shared<ChatArguments>();
  chat->add_option("MODEL", arguments->model, "GGUF file, Hugging Face folder, or a fetched name")->required();
  auto* prompt = chat->add_option("--prompt", arguments->prompt, "ask once and exit; without it, a conversation");
  auto* system =
      chat->add_option("--system", arguments->system, "system message (default: that of the model's template)");
  chat->add_option("--adapter", arguments->adapter, "folder of a LoRA adapter (PEFT)");
  add_device_option(*chat, arguments->device);
  chat->add_flag("--greedy", arguments->greedy, "always the likeliest token");
  chat->add_option("--max-tokens", arguments->max_tokens, "maximum length of an answer")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  chat->add_option("--temperature", arguments->temperature, "0: always the likeliest token")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  chat->add_option("--top-p", arguments->top_p, "sample from the likeliest tokens with this total probability")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  chat->add_option("--top-k", arguments->top_k, "sample from this many of the likeliest tokens; 0: all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  chat->add_option("--seed", arguments->seed, "the same seed gives the same answer")->capture_default_str();
  chat->footer(
      "Examples:\n  kernelwright model chat smollm2-135m\n"
      "  kernelwright model chat smollm2-135m --prompt \"What is the capital of France?\" --greedy");
  chat->callback([&context, arguments, prompt, system] {
    arguments->has_prompt = prompt->count() > 0;
    arguments->has_system = system->count() > 0;
    if (context.json && !arguments->has_prompt)
      return fail(context, Error{"--json needs --prompt", "a conversation has no one result", {}});
    const auto done = talk(context, *arguments);
    if (!done.ok()) fail(context, done.error());
  });
}

}  // namespace kw::cli
