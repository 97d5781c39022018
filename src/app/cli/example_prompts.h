#pragma once
// What a model is asked about an example of a store, and what it should say, as training asks it.

#include <nlohmann/json.hpp>

#include <string>

#include "agents/agent/prompt.h"

namespace kw::cli {

std::string dumped(const nlohmann::ordered_json& json);
// Empty where there is none.
std::string text_at(const nlohmann::ordered_json& line, const char* key);

class ExamplePrompts {
 public:
  static Result<ExamplePrompts> make(PromptStyle style);

  // Adds "prompt" (a text; for ChatML "messages" too) and "answer".
  Result<void> add(nlohmann::ordered_json& line) const;

 private:
  ExamplePrompts(PromptStyle style, PromptBook book) : style_(style), book_(std::move(book)) {}
  // One word where every token counts, a phrase for a model that reads English.
  std::string level_text(const std::string& name) const;

  PromptStyle style_;
  PromptBook book_;
};

}  // namespace kw::cli
