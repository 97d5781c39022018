#include "agents/agent/answer_automaton.h"

#include <array>
#include <string>
#include <vector>

#include "kernel/source/rules.h"

namespace kw {
namespace {

using Mode = AnswerState::Mode;

constexpr std::uint8_t deepest = 30;  // brackets; more are refused
constexpr std::string_view fence_language = "cuda\n";
// A `;` stands in no round bracket but that of a statement: `for (;;)`.
enum Bracket : std::uint64_t { statement_bracket = 0, round_bracket = 1, square_bracket = 2, curly_bracket = 3 };

// Words by their beginnings: a place says which word has been read so far.
class WordTree {
 public:
  explicit WordTree(const std::vector<std::string>& words) : nodes_(1) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::uint16_t at = 0;
      std::string_view word = words[i];
      const bool any_rest = word.ends_with('*');
      if (any_rest) word.remove_suffix(1);
      for (const char c : word) at = child(at, c);
      (any_rest ? nodes_[at].open : nodes_[at].whole) = true;
      nodes_[at].index = static_cast<int>(i);
    }
  }

  static constexpr std::uint16_t none = 0xFFFF;
  std::uint16_t next(std::uint16_t at, char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 128 && nodes_[at].next[byte] != 0 ? nodes_[at].next[byte] : none;
  }
  bool whole(std::uint16_t at) const { return nodes_[at].whole; }
  bool open(std::uint16_t at) const { return nodes_[at].open; }  // any rest may follow
  int index(std::uint16_t at) const { return nodes_[at].index; }

 private:
  struct Node {
    std::array<std::uint16_t, 128> next{};
    bool whole = false, open = false;
    int index = -1;
  };

  std::uint16_t child(std::uint16_t at, char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (nodes_[at].next[byte] == 0) {
      nodes_[at].next[byte] = static_cast<std::uint16_t>(nodes_.size());
      nodes_.emplace_back();
    }
    return nodes_[at].next[byte];
  }

  std::vector<Node> nodes_;
};

// Words that matter; all others are alike.
enum KnownWord : int {
  word_extern,
  word_void,
  word_launch,
  word_global,
  word_statement,
  word_raw = word_statement + 4
};
const WordTree& known_words() {
  static const WordTree words(
      {"extern", "void", "launch", "__global__", "for", "if", "while", "switch", "R", "LR", "uR", "UR", "u8R"});
  return words;
}
// AnswerState::word: 0 none, 1 another word, 2 a number, 3 + place in known_words().
enum : std::uint8_t { no_word = 0, other_word = 1, number = 2, known = 3 };

const WordTree& directive_names() {
  static const WordTree names(
      {"include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning", "pragma"});
  return names;
}
constexpr int name_include = 0;

const WordTree& headers() {
  static const WordTree names(default_allowed_headers());
  return names;
}

// AnswerState::head
enum Head : std::uint8_t {
  no_head,
  head_extern,
  head_c,
  head_void,
  head_launch,
  other_launch,    // the word `launch`, without what has to stand before it
  head_statement,  // at any depth: `for`, `if`, `while`, `switch`
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

int word_index(const AnswerState& state) {
  if (state.word < known) return -1;
  const auto place = static_cast<std::uint16_t>(state.word - known);
  return known_words().whole(place) ? known_words().index(place) : -1;
}

bool is_raw_prefix(const AnswerState& state) { return word_index(state) >= word_raw; }

void end_word(AnswerState& state) {
  if (state.word == no_word) return;
  const int word = word_index(state);
  state.word = no_word;
  if (word == word_global) state.has_kernel = true;
  const std::uint8_t head = state.head;
  state.head = word >= word_statement && word < word_raw ? head_statement : no_head;
  if (state.depth > 0) return;
  if (word == word_extern) state.head = head_extern;
  if (word == word_void && head == head_c) state.head = head_void;
  if (word == word_launch) state.head = head == head_void ? head_launch : other_launch;
}

void take_word_byte(AnswerState& state, char byte) {
  if (state.word == no_word && is_digit(byte)) {
    state.word = number;
  } else if (state.word == no_word || state.word >= known) {
    const auto place = static_cast<std::uint16_t>(state.word == no_word ? 0 : state.word - known);
    const std::uint16_t next = known_words().next(place, byte);
    state.word = next == WordTree::none ? std::uint8_t{other_word} : static_cast<std::uint8_t>(known + next);
  }
}

bool open_bracket(AnswerState& state, Bracket bracket) {
  if (state.depth >= deepest) return false;
  if (state.depth == 0) {
    // `extern "C" {` would hide the launcher from what follows here.
    if (bracket == curly_bracket && state.head == head_c) return false;
    if (bracket == round_bracket && (state.head == other_launch || state.head == head_launch)) {
      if (state.head == other_launch || state.has_launcher) return false;
      state.mode = Mode::parameters;
      state.at = 0;
      state.head = no_head;
      return true;
    }
  }
  if (bracket == round_bracket && state.head == head_statement) bracket = statement_bracket;
  state.brackets = state.brackets << 2 | bracket;
  ++state.depth;
  state.head = no_head;
  return true;
}

bool close_bracket(AnswerState& state, Bracket bracket) {
  if (state.depth == 0) return false;
  const std::uint64_t opened = state.brackets & 3;
  if (opened != bracket && !(bracket == round_bracket && opened == statement_bracket)) return false;
  state.brackets >>= 2;
  --state.depth;
  state.head = no_head;
  if (state.depth == 0 && bracket == curly_bracket) state.pending = false;
  return true;
}

bool take_punctuation(AnswerState& state, char byte) {
  end_word(state);
  if (state.depth == 0 && byte != ';') state.pending = true;
  switch (byte) {
    case '(':
      return open_bracket(state, round_bracket);
    case '[':
      return open_bracket(state, square_bracket);
    case '{':
      return open_bracket(state, curly_bracket);
    case ')':
      return close_bracket(state, round_bracket);
    case ']':
      return close_bracket(state, square_bracket);
    case '}':
      return close_bracket(state, curly_bracket);
    case ';':
      if (state.depth == 0) state.pending = false;
      if (state.depth > 0 && ((state.brackets & 3) == round_bracket || (state.brackets & 3) == square_bracket))
        return false;
      break;
    case '@':
    case '\\':
      return false;  // no token of C++ begins with them
    default:
      break;
  }
  state.head = no_head;
  return true;
}

bool take_quote(AnswerState& state, char byte) {
  if (byte == '\'' && state.word == number) return true;  // 1'000
  if (is_raw_prefix(state)) return false;
  end_word(state);
  if (state.depth == 0) state.pending = true;
  state.mode = byte == '"' ? Mode::string : Mode::character;
  state.at = byte == '"' && state.head == head_extern ? 1 : 0;
  state.head = no_head;
  return true;
}

bool take_code(AnswerState& state, char byte) {
  const bool first = state.line_start;
  if (byte == '\n' || is_blank(byte)) {
    end_word(state);
    state.line_start = first || byte == '\n';
    return true;
  }
  state.line_start = false;
  if (is_letter(byte) || is_digit(byte)) {
    if (state.depth == 0) state.pending = true;
    take_word_byte(state, byte);
    return true;
  }
  switch (byte) {
    case '"':
    case '\'':
      return take_quote(state, byte);
    case '/':
      end_word(state);
      state.mode = Mode::slash;
      return true;
    case '#':
      if (!first) return false;
      end_word(state);
      state.mode = Mode::directive_name;
      state.at = 0;
      state.head = no_head;
      return true;
    case '`':
      if (!first || !state.fenced || !may_end(state)) return false;
      state.mode = Mode::closing_fence;
      state.at = 1;
      return true;
    default:
      return take_punctuation(state, byte);
  }
}

void begin_line(AnswerState& state) {
  state.mode = Mode::code;
  state.line_start = true;
  state.at = 0;
}

bool take_slash(AnswerState& state, char byte) {
  state.mode = Mode::code;
  if (byte == '/') {
    state.mode = Mode::line_comment;
  } else if (byte == '*') {
    state.mode = Mode::block_comment;
  } else {
    return take_punctuation(state, '/') && take_code(state, byte);
  }
  return true;
}

bool take_directive(AnswerState& state, char byte) {
  if (byte == '\n') {
    begin_line(state);
    return true;
  }
  state.mode = byte == '\\' ? Mode::directive_escape : byte == '/' ? Mode::directive_slash : Mode::directive;
  return true;
}

bool take_directive_name(AnswerState& state, char byte) {
  if (state.at == 0 && is_blank(byte)) return true;
  if (is_letter(byte) || is_digit(byte)) {
    state.at = directive_names().next(state.at, byte);
    return state.at != WordTree::none;
  }
  if (!directive_names().whole(state.at)) return false;
  const bool includes = directive_names().index(state.at) == name_include;
  state.at = 0;
  if (!includes) return take_directive(state, byte);
  state.mode = Mode::include;
  return take_byte(state, byte, {});
}

// `word` says meanwhile how the name is quoted; `head` whether it ended with a dot.
bool take_header(AnswerState& state, char byte) {
  const bool any = headers().open(state.at);
  if (byte == (state.word == 0 ? '>' : '"')) {
    if (!headers().whole(state.at) && !(any && state.pending)) return false;
    state.mode = Mode::header_end;
    state.at = state.word = state.head = 0;
    state.pending = false;
    return true;
  }
  if (const std::uint16_t next = headers().next(state.at, byte); !any || (next != WordTree::none && !state.pending)) {
    state.at = next;
    return next != WordTree::none;
  }
  const bool dot = byte == '.';
  if (!(is_letter(byte) || is_digit(byte) || byte == '/' || byte == '-' || (dot && state.head == 0))) return false;
  state.head = dot;
  state.pending = true;  // something of the rest was read
  return true;
}

bool take_parameter(AnswerState& state, char byte, std::string_view parameters) {
  if (state.at >= parameters.size() || parameters[state.at] != byte) return false;
  if (++state.at < parameters.size()) return true;
  state.mode = Mode::code;
  state.at = 0;
  state.has_launcher = true;
  state.brackets = curly_bracket;
  state.depth = 1;
  state.pending = true;
  return true;
}

bool take_preface(AnswerState& state, char byte) {
  state.at = byte == '`' ? static_cast<std::uint16_t>(state.at + 1) : 0;
  if (state.at == 3) {
    state.mode = Mode::language;
    state.at = 0;
  }
  return true;
}

// Inside a string or a character constant.
bool take_quoted(AnswerState& state, char byte, char quote, Mode escape) {
  if (byte == '\n') return false;
  if (byte == quote) {
    state.mode = Mode::code;
    state.head = state.at == 2 ? head_c : no_head;
    state.at = 0;
    return true;
  }
  state.at = state.at == 1 && byte == 'C' ? 2 : 0;
  if (byte == '\\') state.mode = escape;
  return true;
}

bool take_comment(AnswerState& state, char byte) {
  switch (state.mode) {
    case Mode::line_comment:
      if (byte == '\n') begin_line(state);
      if (byte == '\\') state.mode = Mode::line_comment_escape;
      return true;
    case Mode::line_comment_escape:  // the comment would go on in the next line
      if (byte != '\\') state.mode = Mode::line_comment;
      return byte != '\n';
    case Mode::block_comment:
      if (byte == '*') state.mode = Mode::block_comment_star;
      break;
    default:
      if (byte == '/') state.mode = Mode::code;
      if (byte != '/' && byte != '*') state.mode = Mode::block_comment;
  }
  if (byte == '\n') state.line_start = true;
  return true;
}

bool take_directive_part(AnswerState& state, char byte) {
  switch (state.mode) {
    case Mode::directive_name:
      return take_directive_name(state, byte);
    case Mode::directive_escape:
      state.mode = Mode::directive;
      return byte == '\n' || take_directive(state, byte);
    case Mode::directive_slash:
      if (byte == '*') return false;
      if (byte != '/') return take_directive(state, byte);
      state.mode = Mode::line_comment;
      return true;
    case Mode::include:
      if (is_blank(byte)) return true;
      if (byte != '<' && byte != '"') return false;
      state.mode = Mode::header;
      state.word = byte == '<' ? 0 : 1;
      state.head = 0;
      state.pending = false;
      return true;
    case Mode::header:
      return take_header(state, byte);
    case Mode::header_end:
      return is_blank(byte) || ((byte == '\n' || byte == '/') && take_directive(state, byte));
    default:
      return take_directive(state, byte);
  }
}

}  // namespace

AnswerState answer_start(bool fenced) {
  AnswerState state;
  state.fenced = fenced;
  if (fenced) state.mode = Mode::preface;
  return state;
}

bool take_byte(AnswerState& state, char byte, std::string_view parameters) {
  if (state.mode == Mode::preface) return take_preface(state, byte);
  const auto code = static_cast<unsigned char>(byte);
  if ((code < 0x20 && byte != '\n' && byte != '\t') || code >= 0x7F) return false;
  if (byte == '`' && state.mode != Mode::code && state.mode != Mode::closing_fence) return false;
  switch (state.mode) {
    case Mode::code:
      return take_code(state, byte);
    case Mode::language:
      if (byte != fence_language[state.at]) return false;
      if (++state.at == fence_language.size()) begin_line(state);
      return true;
    case Mode::slash:
      return take_slash(state, byte);
    case Mode::string:
      return take_quoted(state, byte, '"', Mode::string_escape);
    case Mode::character:
      return take_quoted(state, byte, '\'', Mode::character_escape);
    case Mode::string_escape:
    case Mode::character_escape:
      state.mode = state.mode == Mode::string_escape ? Mode::string : Mode::character;
      return byte != '\n';
    case Mode::parameters:
      return take_parameter(state, byte, parameters);
    case Mode::closing_fence:
      if (byte != '`') return false;
      if (++state.at == 3) state.mode = Mode::closed;
      return true;
    case Mode::closed:
      return byte == '\n' && state.at++ == 3;
    case Mode::line_comment:
    case Mode::line_comment_escape:
    case Mode::block_comment:
    case Mode::block_comment_star:
      return take_comment(state, byte);
    default:
      return take_directive_part(state, byte);
  }
}

bool may_end(const AnswerState& state) {
  if (state.fenced && state.mode == Mode::closed) return true;
  return state.mode == Mode::code && state.depth == 0 && state.word == no_word && !state.pending && state.has_kernel &&
         state.has_launcher;
}

AnswerState visible_part(const AnswerState& state, int closers) {
  AnswerState visible = state;
  if (state.depth <= closers) return visible;
  visible.depth = static_cast<std::uint8_t>(closers + 1);
  if (closers + 1 < 32) visible.brackets &= (std::uint64_t{1} << (2 * (closers + 1))) - 1;
  // Far from the end of the file, and from where a launcher can begin.
  visible.has_kernel = visible.has_launcher = false;
  return visible;
}

}  // namespace kw
