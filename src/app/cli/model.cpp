#include "app/cli/model_command.h"

namespace kw::cli {

void add_model_command(CLI::App& app, Context& context) {
  auto* model = app.add_subcommand("model", "Models: inspect, fetch, convert, quantise, chat");
  model->require_subcommand(1);
  model->footer(
      "MODEL is a GGUF file, a Hugging Face folder (Llama or Qwen2), or a name that `model fetch` knows.\n"
      "Examples:\n"
      "  kernelwright model fetch smollm2-135m\n"
      "  kernelwright model info smollm2-135m\n"
      "  kernelwright model chat smollm2-135m --prompt \"What is a warp?\" --greedy");
  add_model_info_commands(*model, context);
  add_model_fetch_command(*model, context);
  add_model_convert_commands(*model, context);
  add_model_init_command(*model, context);
  add_model_plan_command(*model, context);
  add_model_chat_command(*model, context);
  add_model_generate_command(*model, context);
  add_model_parity_commands(*model, context);
}

}  // namespace kw::cli
