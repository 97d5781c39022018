#pragma once
// An answer with a kernel, read byte by byte while it is written: which bytes may come next, and whether it may end.
// What it holds an agent to:
//
// - `extern "C" void launch(` is followed by exactly the parameters that are expected, and by ` {`; there is one
// launcher
// - #include names an allowed header, other directives are those that a kernel may have
// - brackets match, no statement ends inside of one; strings and character constants end in their line; bytes are ASCII
// - the answer, or the fence around it, ends only behind a whole file: a __global__ function, a launcher, every bracket
//   closed, no statement begun
// - in a fence (ChatML): words before it are free, it begins with ```cuda, and nothing follows it
//
// It reads comments, strings, character constants, numbers and directives as the lexer does (kernel/source/lexer.h). A
// few rare forms that it does not follow are refused: raw strings, `extern "C" {`, block comments in directives.

#include <cstdint>
#include <string>
#include <string_view>

namespace kw {

struct AnswerState {
  enum class Mode : std::uint8_t {
    preface,   // words before the fence; at: ` in a row
    language,  // behind ```; at: bytes of "cuda\n"
    code,
    slash,  // `/`, of a comment or an operator
    line_comment,
    line_comment_escape,
    block_comment,
    block_comment_star,
    string,  // at, behind `extern`: 1 nothing read, 2 `C` read
    string_escape,
    character,
    character_escape,
    directive_name,  // behind `#`; at: place among the names
    directive,
    directive_escape,
    directive_slash,
    include,        // the name is still to come
    header,         // at: place among the headers
    header_end,     // behind its name
    parameters,     // of the launcher; at: bytes of them
    closing_fence,  // at: ` in a row
    closed,
  };

  Mode mode = Mode::code;
  bool fenced = false;
  bool line_start = true;  // nothing but white space in this line
  bool has_kernel = false;
  bool has_launcher = false;
  bool pending = false;    // a declaration outside of brackets was begun and not ended
  std::uint8_t word = 0;   // the word that is being read: nothing, or its place among known ones
  std::uint8_t head = 0;   // how much of `extern "C" void launch` the last words are
  std::uint8_t depth = 0;  // brackets that are open
  std::uint16_t at = 0;
  std::uint64_t brackets = 0;  // two bits each, the innermost lowest

  bool operator==(const AnswerState&) const = default;
};

// Before the first byte.
AnswerState answer_start(bool fenced);

// `parameters`: everything behind `launch(`, the body's bracket included: "const float* x, float* y, int n,
// cudaStream_t stream) {". False: the byte may not come here; the state is of no use then.
bool take_byte(AnswerState& state, char byte, std::string_view parameters);

// Whether a whole file has been written.
bool may_end(const AnswerState& state);

// The state as far as the next bytes can tell, if they close at most `closers` brackets.
AnswerState visible_part(const AnswerState& state, int closers);

}  // namespace kw
