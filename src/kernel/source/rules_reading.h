#pragma once
// A kernel file as the rules read it: macros expanded, every branch of every #if included. Where a macro has several
// possible definitions there are several readings, the k-th with everybody's k-th definition, so that no definition
// stays unread.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/source/lexer.h"
#include "kernel/source/rules.h"

namespace kw {

// A finding, and the part of the user's text that could be left out to be rid of it.
struct Violation {
  Finding finding;
  bool removable = false;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string replacement{};  // what must stand there instead
};

// What code a token belongs to.
enum class Side : std::uint8_t { file, host, device };

// A declaration at file, namespace or class level.
struct Declaration {
  enum class Kind : std::uint8_t { function, function_body, variable, type, other };
  Kind kind = Kind::other;
  std::size_t first = 0;  // tokens of the declaration, without a function's body
  std::size_t last = 0;   // one behind
  std::size_t name = 0;   // a function's or variable's name; `first` where it is not known
  bool in_type = false;   // a member
};

struct Reading {
  std::vector<Token> tokens;  // no directives
  std::vector<Side> sides;    // of each token
  // For an opening bracket the index of its closing one; otherwise, or when it is never closed, tokens.size().
  std::vector<std::size_t> closing;
  std::vector<Declaration> declarations;
};

inline constexpr std::size_t max_violations_of_a_rule = 5000;

struct RuleInput {
  TokenStream stream;
  std::vector<Reading> readings;  // at least one
  // Macros have definitions that can be combined in ways that no reading shows.
  bool combinations_unread = false;
  std::size_t pasted_or_quoted = 0;  // texts that macros made
  std::deque<std::string> made;      // which tokens point into
  std::vector<Violation> violations;

  const std::string& file() const { return stream.file; }
  // Keeps at most max_violations_of_a_rule.
  void add(Violation violation);
  std::unordered_map<std::string, std::size_t> added;  // by rule
};

// The text must outlive the result.
RuleInput read_for_rules(std::string_view text, std::string_view file);

// Fills the rest of a reading from its tokens.
void find_declarations(Reading& reading);

// Whether the token stands like this in the user's text, that is, no macro made it.
bool is_as_written(const TokenStream& stream, const Token& token);

// A violation at a token, to be completed by the caller.
Violation violation_at(const RuleInput& input, const Token& token, std::string_view rule, Severity severity,
                       std::string message, std::string advice);

// What a string literal stands for, prefix, quotes, raw delimiters and escapes resolved.
std::string decode_string(std::string_view literal);

// The rules, one function for a subject.
void check_text(RuleInput& input);
void check_directives(RuleInput& input, const Policy& policy);
void check_attributes(RuleInput& input, const Reading& reading);
void check_names(RuleInput& input, const Reading& reading, const Policy& policy);
void check_assembly(RuleInput& input, const Reading& reading, const Policy& policy);
void check_state(RuleInput& input, const Reading& reading);

// Whether an include's name, without <> or quotes, is a path below folders of headers; and whether the policy has it.
bool is_plain_path(std::string_view name);
bool is_allowed_header(std::string_view name, const Policy& policy);

// A pragma's text after the word `pragma`; empty when it is allowed, otherwise why not.
std::string forbidden_pragma(std::string_view text);

// Everything that check_rules finds, with what could be left out.
std::vector<Violation> find_violations(std::string_view text, std::string_view file, const Policy& policy);

}  // namespace kw
