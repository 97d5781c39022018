#pragma once
// The subcommands of `kernelwright model`, one file a group.

#include <string>

#include "app/cli/command.h"
#include "base/result.h"

namespace kw::cli {

struct ConvertArguments {
  std::string from;
  std::string to;
  std::string type;  // empty: as stored; float32 for block formats
  std::int64_t shard_bytes = 0;
};

// A Hugging Face folder from any model.
Result<void> convert_model(const ConvertArguments& arguments);

void add_model_info_commands(CLI::App& model, Context& context);     // info, tokenize
void add_model_fetch_command(CLI::App& model, Context& context);     // fetch
void add_model_convert_commands(CLI::App& model, Context& context);  // convert, quantize
void add_model_plan_command(CLI::App& model, Context& context);      // plan
void add_model_init_command(CLI::App& model, Context& context);      // init
void add_model_chat_command(CLI::App& model, Context& context);      // chat
void add_model_generate_command(CLI::App& model, Context& context);  // generate
void add_model_parity_commands(CLI::App& model, Context& context);   // logits, gradients

}  // namespace kw::cli
