#include "agents/agent/code_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "kernel/source/lexer.h"
#include "kernel/source/rules_unicode.h"

namespace kw {
namespace {

constexpr std::size_t closes_tried = 8;
// All that is lexed to find where blocks end. The answer is bounded, so this is only reached by fences without end.
constexpr std::size_t lex_budget_bytes = std::size_t{4} << 20;

constexpr std::size_t launcher_tokens = 2000;  // of its parameter list

constexpr std::size_t language_bytes = 30, info_bytes = 200;

struct Line {
  std::size_t first = 0;
  std::size_t end = 0;  // without the line end
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back({at, end});
    at = end + 1;
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

struct Opening {
  bool found = false;
  char mark = '`';
  std::size_t at = 0;     // of the fence in its line
  std::size_t marks = 0;  // at least 3
  std::string language;
};

// ``` or ~~~ with a language after it. At the beginning of a line more may follow (```cuda title="k.cu"); behind words
// only a language may.
Opening opening_in(std::string_view line) {
  for (const char mark : {'`', '~'}) {
    const std::size_t at = line.find(std::string(3, mark));
    if (at == std::string_view::npos) continue;
    std::size_t end = at;
    while (end < line.size() && line[end] == mark) ++end;
    const std::string_view rest = trimmed(line.substr(end));
    const bool first = trimmed(line.substr(0, at)).empty();
    const auto in_language = [](unsigned char c) {
      return std::isalnum(c) || c == '+' || c == '-' || c == '_' || c == '#' || c == '.' || c == ' ';
    };
    const auto stop = std::find_if_not(rest.begin(), rest.end(), in_language);
    const bool whole = stop == rest.end() && rest.size() <= language_bytes;
    if (!whole && (!first || rest.find(mark) != std::string_view::npos || rest.size() > info_bytes)) continue;
    Opening opening{true, mark, at, end - at, std::string(rest)};
    // Only the first word is the language where attributes follow.
    if (!whole) opening.language = rest.substr(0, rest.find_first_of(" :{,="));
    std::transform(opening.language.begin(), opening.language.end(), opening.language.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return opening;
  }
  return {};
}

// Where the code of a line ends if it closes the fence; npos: it does not.
std::size_t closing_in(std::string_view line, const Opening& opening) {
  std::size_t end = line.size();
  while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t')) --end;
  std::size_t first = end;
  while (first > 0 && line[first - 1] == opening.mark) --first;
  return end - first >= opening.marks ? first : std::string_view::npos;
}

bool is_opener(std::string_view line) {
  line = trimmed(line);
  for (const std::string_view start : {"#include", "#define", "#pragma", "#if", "#undef", "__global__", "__device__",
                                       "__constant__", "extern \"C\"", "template <", "template<", "//", "/*"})
    if (line.starts_with(start)) return true;
  for (const std::string_view start :
       {"using ", "static ", "constexpr ", "struct ", "namespace ", "typedef ", "inline ", "const ", "enum ", "void "})
    if (line.starts_with(start)) return line.find_first_of(";{(") != std::string_view::npos;
  return false;
}

bool can_end_code(std::string_view line) {
  line = trimmed(line);
  return line.ends_with('}') || line.ends_with("};") || line.starts_with("#endif");
}

// void launch ( ... ) {
bool is_launcher(const std::vector<Token>& tokens, std::size_t at) {
  if (!tokens[at].is("launch") || at == 0 || !tokens[at - 1].is("void")) return false;
  if (at + 1 >= tokens.size() || !tokens[at + 1].is("(")) return false;
  int depth = 0;
  const std::size_t limit = std::min(tokens.size(), at + launcher_tokens);
  for (std::size_t i = at + 1; i < limit; ++i) {
    if (tokens[i].is("(")) ++depth;
    if (tokens[i].is(")") && --depth == 0) return i + 1 < tokens.size() && tokens[i + 1].is("{");
    if (tokens[i].is("{") || tokens[i].is(";")) return false;
  }
  return false;
}

// The first thing that is wrong with comments, strings and brackets; empty: nothing is.
std::string why_unfinished(const TokenStream& stream) {
  if (!stream.errors.empty()) return fmt::format("line {}: {}", stream.errors[0].where.line, stream.errors[0].message);
  std::vector<const Token*> open;
  for (const Token& token : stream.tokens) {
    // A fence of another block.
    if (token.kind == TokenKind::unknown) return fmt::format("line {}: a character that is not C++", token.line);
    if (token.kind != TokenKind::punctuator || token.text.size() != 1) continue;
    const char c = token.text[0];
    if (c == '(' || c == '[' || c == '{') open.push_back(&token);
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty()) return fmt::format("line {}: `{}` closes nothing", token.line, c);
    const char opener = open.back()->text[0];
    if (c != (opener == '(' ? ')' : opener == '[' ? ']' : '}'))
      return fmt::format("line {}: `{}` does not match `{}` of line {}", token.line, c, opener, open.back()->line);
    open.pop_back();
  }
  if (open.empty()) return "";
  return fmt::format("line {}: `{}` is not closed", open.back()->line, open.back()->text);
}

bool has_hidden(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte < 0x7F) {
      ++at;
      continue;
    }
    const DecodedCharacter character = decode_utf8(text, at);
    if (!character.valid || byte == '\r' || is_hidden(character.code_point)) return true;
    at += character.bytes;
  }
  return false;
}

}  // namespace

bool is_cuda_language(std::string_view language) {
  constexpr std::array known{"",       "cuda", "cu",  "cuda-c", "cuda-cpp", "cuda_cpp",  "cudacpp",
                             "cuda c", "c",    "cc",  "c++",    "cuda c++", "cpp",       "cxx",
                             "h",      "hpp",  "cuh", "code",   "text",     "plaintext", "kernel.cu"};
  return std::find(known.begin(), known.end(), language) != known.end();
}

void inspect(CodeBlock& block) {
  const TokenStream stream = lex(block.text, "answer.cu");
  block.has_kernel = block.has_launcher = block.foreign_letters = false;
  for (std::size_t i = 0; i < stream.tokens.size(); ++i) {
    const Token& token = stream.tokens[i];
    const bool inert = token.kind == TokenKind::string || token.kind == TokenKind::character;
    if (!inert && token.kind != TokenKind::directive)
      block.foreign_letters |=
          std::any_of(token.text.begin(), token.text.end(), [](char c) { return (c & 0x80) != 0; });
    block.has_kernel |= token.kind == TokenKind::identifier && token.is("__global__");
    block.has_launcher |= token.kind == TokenKind::identifier && is_launcher(stream.tokens, i);
  }
  block.hidden_characters = has_hidden(block.text);
  block.unfinished_why = why_unfinished(stream);
  block.finished = block.unfinished_why.empty();
}

std::vector<CodeBlock> fenced_blocks(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  const auto line_text = [&](std::size_t i) { return text.substr(lines[i].first, lines[i].end - lines[i].first); };
  std::vector<CodeBlock> blocks;
  std::size_t budget = lex_budget_bytes;
  for (std::size_t i = 0; i < lines.size() && blocks.size() <= max_code_blocks; ++i) {
    const Opening opening = opening_in(line_text(i));
    if (!opening.found) continue;
    CodeBlock block;
    block.fenced = true;
    block.language = opening.language;
    block.first = lines[i].first + opening.at;
    const std::size_t start = std::min(lines[i].end + 1, text.size());
    std::size_t chosen = i, closes = 0;
    for (std::size_t j = i + 1; j < lines.size() && closes < closes_tried; ++j) {
      const std::size_t code_end = closing_in(line_text(j), opening);
      if (code_end == std::string_view::npos) continue;
      CodeBlock tried = block;
      tried.text = std::string(text.substr(start, lines[j].first + code_end - start));
      tried.end = lines[j].end;
      if (++closes > 1 && tried.text.size() > budget) break;
      budget -= std::min(budget, tried.text.size());
      inspect(tried);
      if (closes == 1 || tried.finished) {
        block = std::move(tried);
        chosen = j;
      }
      if (block.finished) break;
    }
    if (closes == 0) {
      block.text = std::string(text.substr(start));
      block.end = text.size();
      block.open_ended = true;
      inspect(block);
      chosen = lines.size();
    }
    blocks.push_back(std::move(block));
    i = chosen;
  }
  return blocks;
}

CodeBlock bare_block(std::string_view text) {
  CodeBlock block;
  const std::vector<Line> lines = lines_of(text);
  const auto line_text = [&](std::size_t i) { return text.substr(lines[i].first, lines[i].end - lines[i].first); };
  std::size_t first = 0;
  while (first < lines.size() && !is_opener(line_text(first))) ++first;
  if (first == lines.size()) return block;
  std::size_t last = lines.size();
  while (last > first && !can_end_code(line_text(last - 1))) --last;
  // Code that begins after the last } was cut off.
  for (std::size_t i = last; i < lines.size(); ++i)
    if (is_opener(line_text(i))) last = first;
  const bool ends = last > first;
  block.first = lines[first].first;
  block.end = ends ? lines[last - 1].end : text.size();
  block.open_ended = true;
  block.text = std::string(text.substr(block.first, block.end - block.first)) + "\n";
  inspect(block);
  if (!block.finished && ends) {
    // Cut off in the middle of a statement, perhaps: then what follows the last } belongs to it.
    CodeBlock whole = block;
    whole.end = text.size();
    whole.text = std::string(text.substr(block.first));
    inspect(whole);
    if (whole.finished || whole.has_launcher != block.has_launcher) block = std::move(whole);
  }
  return block;
}

}  // namespace kw
