#include "kernel/source/rules_reading.h"

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_map>

#include "kernel/source/macro.h"

namespace kw {
namespace {

constexpr std::size_t max_readings = 8;
constexpr std::size_t max_tokens_read = 600'000;  // over all readings
constexpr int max_macro_depth = 64;
constexpr std::size_t max_macro_parameters = 128;
constexpr std::size_t max_macro_operators = 64;  // # and ## in one definition

struct Definition {
  std::shared_ptr<const Macro> macro;
  std::uint32_t conditional = 0;  // the #if around it, counted from 1; 0 for none
};

// The definitions that a name may have at one place of the file.
using Choices = std::vector<Definition>;

// A #define or #undef in file order, with the choices that hold from there on.
struct TableChange {
  std::size_t token = 0;  // index into the stream's tokens
  std::string_view name;
  std::shared_ptr<const Choices> choices;
};

bool same_definition(const Macro& a, const Macro& b) {
  return a.function_like == b.function_like && a.parameters == b.parameters && a.body.size() == b.body.size() &&
         std::equal(a.body.begin(), a.body.end(), b.body.begin(),
                    [](const Token& x, const Token& y) { return x.text == y.text; });
}

// Reads the directives once: which definitions each name may have from where on.
class DefinitionReader {
 public:
  explicit DefinitionReader(RuleInput& input) : input_(input) {}

  std::vector<TableChange> run() {
    for (std::size_t i = 0; i < input_.stream.tokens.size(); ++i) {
      const Token& token = input_.stream.tokens[i];
      if (token.kind != TokenKind::directive) continue;
      const auto inside = input_.stream.inside(token);
      if (inside.empty()) continue;
      const std::string_view word = inside[0].text;
      if (word == "if" || word == "ifdef" || word == "ifndef") {
        open(word, inside.subspan(1));
      } else if (word == "else" || word == "elif" || word == "elifdef" || word == "elifndef") {
        if (!open_.empty()) open_.back().certain = false;
      } else if (word == "endif") {
        if (!open_.empty()) open_.pop_back();
      } else if (word == "define" && inside.size() > 1) {
        define(i, token, inside.subspan(1));
      } else if (word == "undef" && inside.size() > 1) {
        undefine(i, inside[1].text);
      }
    }
    return std::move(changes_);
  }

  std::size_t most_choices() const { return most_choices_; }

 private:
  struct Conditional {
    std::uint32_t number = 0;
    bool certain = false;
  };

  void open(std::string_view word, std::span<const Token> rest) {
    // `#ifndef BLOCK` before any definition of BLOCK: its lines are read, unless somebody else could define it.
    const bool ours = !rest.empty() && !rest[0].text.starts_with("_");
    const bool certain = word == "ifndef" && ours && !table_.contains(rest[0].text);
    open_.push_back({++conditionals_, certain});
    if (open_.size() > 1) open_.back().certain &= open_[open_.size() - 2].certain;
  }

  std::uint32_t uncertain_conditional() const {
    return open_.empty() || open_.back().certain ? 0 : open_.back().number;
  }

  void define(std::size_t at, const Token& directive, std::span<const Token> rest) {
    auto macro = read_macro(rest, input_.stream.file);
    if (!macro.ok()) {
      input_.add(violation_at(input_, directive, "macro-expansion", Severity::error, macro.error().message,
                              "write a well-formed #define"));
      return;
    }
    const auto operators = std::count_if(macro.value().body.begin(), macro.value().body.end(),
                                         [](const Token& t) { return t.is("##") || t.is("#"); });
    if (macro.value().parameters.size() > max_macro_parameters ||
        operators > static_cast<std::ptrdiff_t>(max_macro_operators)) {
      input_.add(violation_at(input_, directive, "macro-expansion", Severity::error,
                              "a macro has too many parameters or # operators", "use smaller macros"));
      return;
    }
    const std::string_view name = rest[0].text;
    const std::uint32_t conditional = uncertain_conditional();
    auto choices = std::make_shared<Choices>();
    const auto found = table_.find(name);
    if (conditional != 0 && found != table_.end()) *choices = *found->second;
    const bool known = std::any_of(choices->begin(), choices->end(), [&](const Definition& d) {
      return d.macro != nullptr && same_definition(*d.macro, macro.value());
    });
    // Whether an undefined name stays possible matters only where somebody else gives it a meaning: printf, assert.
    if (choices->empty() && conditional != 0) choices->push_back({nullptr, conditional});
    if (!known) choices->push_back({std::make_shared<const Macro>(std::move(macro).value()), conditional});
    change(at, name, std::move(choices));
  }

  void undefine(std::size_t at, std::string_view name) {
    auto choices = std::make_shared<Choices>();
    const auto found = table_.find(name);
    if (found == table_.end()) return;
    if (uncertain_conditional() != 0) {
      *choices = *found->second;
      if (choices->front().macro != nullptr) choices->insert(choices->begin(), {nullptr, uncertain_conditional()});
    }
    change(at, name, std::move(choices));
  }

  void change(std::size_t at, std::string_view name, std::shared_ptr<Choices> choices) {
    if (choices->size() > max_readings) {
      if (!too_many_) {
        input_.add(
            violation_at(input_, input_.stream.tokens[at], "macro-expansion", Severity::error,
                         "the macro " + std::string(name.substr(0, 60)) + " has too many conditional definitions",
                         "define it once"));
      }
      too_many_ = true;
      return;
    }
    if (choices->size() > 1) note_combination(*choices);
    most_choices_ = std::max(most_choices_, choices->size());
    changes_.push_back({at, name, choices});
    if (choices->empty()) {
      table_.erase(name);
    } else {
      table_[name] = std::move(choices);
    }
  }

  // Macros that one #if defines together change together, and the readings show all of their combinations.
  void note_combination(const Choices& choices) {
    for (const Definition& definition : choices) {
      if (definition.conditional == 0) continue;
      if (only_conditional_ == 0) only_conditional_ = definition.conditional;
      if (definition.conditional != only_conditional_) input_.combinations_unread = true;
    }
  }

  RuleInput& input_;
  std::unordered_map<std::string_view, std::shared_ptr<const Choices>> table_;
  std::vector<TableChange> changes_;
  std::vector<Conditional> open_;
  std::uint32_t conditionals_ = 0;
  std::uint32_t only_conditional_ = 0;
  std::size_t most_choices_ = 1;
  bool too_many_ = false;
};

// Expands the file with the k-th choice of every macro.
Reading expand_reading(RuleInput& input, const std::vector<TableChange>& changes, std::size_t choice,
                       std::size_t max_work) {
  Reading reading;
  const std::vector<Token>& tokens = input.stream.tokens;
  MacroTable macros;
  std::size_t at = 0;
  std::size_t next_change = 0;
  const MacroExpander::Source source = [&]() -> Result<std::optional<Token>> {
    for (; at < tokens.size(); ++at) {
      for (; next_change < changes.size() && changes[next_change].token == at; ++next_change) {
        const TableChange& change = changes[next_change];
        const Choices& choices = *change.choices;
        const std::shared_ptr<const Macro> macro =
            choices.empty() ? nullptr : choices[std::min(choice, choices.size() - 1)].macro;
        if (macro == nullptr) {
          macros.undefine(change.name);
        } else {
          macros.define(*macro);
        }
      }
      if (tokens[at].kind != TokenKind::directive) return std::optional<Token>(tokens[at++]);
    }
    return std::optional<Token>();
  };
  MacroExpander expander(macros, input.made, input.stream.file, max_work, max_macro_depth);
  while (true) {
    auto token = expander.next(source);
    if (!token.ok()) {
      Violation violation{{"macro-expansion", Severity::error, token.error().where, token.error().message,
                           "use fewer and simpler macros"}};
      input.add(std::move(violation));
      break;
    }
    if (!token.value().has_value()) return reading;
    reading.tokens.push_back(*token.value());
  }
  for (; at < tokens.size(); ++at) {  // what could not be expanded is read as it stands
    if (tokens[at].kind != TokenKind::directive) reading.tokens.push_back(tokens[at]);
  }
  return reading;
}

}  // namespace

void RuleInput::add(Violation violation) {
  if (++added[violation.finding.rule] <= max_violations_of_a_rule) violations.push_back(std::move(violation));
}

RuleInput read_for_rules(std::string_view text, std::string_view file) {
  RuleInput input;
  input.stream = lex(text, file);
  DefinitionReader definitions(input);
  const std::vector<TableChange> changes = definitions.run();
  if (changes.empty()) {
    Reading reading;
    std::copy_if(input.stream.tokens.begin(), input.stream.tokens.end(), std::back_inserter(reading.tokens),
                 [](const Token& token) { return token.kind != TokenKind::directive; });
    input.readings.push_back(std::move(reading));
  } else {
    const std::size_t count = definitions.most_choices();
    for (std::size_t choice = 0; choice < count; ++choice) {
      input.readings.push_back(expand_reading(input, changes, choice, max_tokens_read / count));
    }
  }
  input.pasted_or_quoted = input.made.size();
  for (Reading& reading : input.readings) find_declarations(reading);
  return input;
}

bool is_as_written(const TokenStream& stream, const Token& token) {
  const std::string_view written = stream.source.substr(token.offset, token.bytes);
  if (written == token.text) return true;
  std::size_t at = 0;
  for (std::size_t i = 0; i < written.size();) {
    if (written.substr(i, 2) == "\\\n") {
      i += 2;
    } else if (written.substr(i, 3) == "\\\r\n") {
      i += 3;
    } else {
      if (at >= token.text.size() || written[i] != token.text[at]) return false;
      ++i;
      ++at;
    }
  }
  return at == token.text.size();
}

Violation violation_at(const RuleInput& input, const Token& token, std::string_view rule, Severity severity,
                       std::string message, std::string advice) {
  return Violation{
      {std::string(rule), severity, position_of(token, input.stream.file), std::move(message), std::move(advice)}};
}

}  // namespace kw
