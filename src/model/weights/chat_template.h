#pragma once
// The template of a model's chats (Jinja), as its files have it. It is not run: the models that are known are spoken to
// in ChatML, and only what their templates say first is read from it.

#include <filesystem>
#include <string>

namespace kw {

// Of a GGUF file or a Hugging Face folder; empty: there is none.
std::string chat_template_of(const std::filesystem::path& model);

// The system message that the template of a known model puts first where a chat has none; empty: none.
std::string default_system_of(const std::string& chat_template);

}  // namespace kw
