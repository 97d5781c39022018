#pragma once
// `optimize` with a budget: a search instead of a conversation.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/command.h"

namespace kw::cli {

struct SearchArguments {
  // Its own.
  double minutes = 0;
  std::int64_t verdicts = 0;
  std::int64_t patience = 128;
  double filter = 1.5;
  std::int64_t looks = 8;
  double measured_share = 0.16;
  double close_enough = 5;  // percent
  std::vector<std::string> operators;

  // As of a conversation.
  std::string task, kernel, model, device, backend, profile, store, html, out;
  bool from_library = false;
  std::uint64_t seed = 1;
  float temperature = -1;  // -1: the search's own
  float top_p = 1;
  std::int64_t answer_tokens = 1024;
  bool constrain = true;

  bool wanted() const { return minutes > 0 || verdicts > 0; }
};

void add_search_options(CLI::App& command, SearchArguments& arguments);
// An option of a conversation that a search does not know; empty: there is none. By what the command line has.
std::string option_of_conversations(const CLI::App& command);

Result<void> run_search(Context& context, const SearchArguments& arguments);

}  // namespace kw::cli
