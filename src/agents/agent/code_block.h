#pragma once
// Where in a model's answer code stands: Markdown fences, finished or not, or plain CUDA with words around it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct CodeBlock {
  std::string language;  // of the fence, lower case; empty: none was given
  std::string text;
  std::size_t first = 0;  // the span in the answer, fences included
  std::size_t end = 0;
  bool fenced = false;
  bool open_ended = false;  // the fence is not closed

  // What its tokens say.
  bool has_kernel = false;         // __global__
  bool has_launcher = false;       // void launch(...) {
  bool finished = false;           // brackets balanced, no comment or string left open
  std::string unfinished_why;      // the first thing wrong with it, "line 9: ...", lines of the block; or empty
  bool foreign_letters = false;    // beyond ASCII, outside comments and strings
  bool hidden_characters = false;  // anywhere
};

inline constexpr std::size_t max_code_blocks = 64;

// The text is valid UTF-8 with plain line ends. At most max_code_blocks + 1. A fence inside a comment or a string of
// the code does not end the block, where the code then goes on to an end that makes sense.
std::vector<CodeBlock> fenced_blocks(std::string_view text);

// CUDA without fences: from the first line that looks like code to the last that can end it. None: `text` is empty.
CodeBlock bare_block(std::string_view text);

// Whether a fence's language means a CUDA file; none does too.
bool is_cuda_language(std::string_view language);

// Fills in what the tokens say.
void inspect(CodeBlock& block);

}  // namespace kw
