#include "agents/agent/template.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/nearest_name.h"

namespace kw {
namespace {

constexpr std::string_view opening = "{{", closing = "}}";
constexpr std::size_t max_directive_bytes = 200;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 60 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

class TemplateParser {
 public:
  TemplateParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<Template> parse() {
    Template result;
    result.file_ = file_;
    open_.push_back({nullptr, &result.nodes_, {}, 0});
    while (at_ < text_.size()) {
      const std::size_t found = text_.find(opening, at_);
      if (found == std::string_view::npos) break;
      if (found > 0 && text_[found - 1] == '\\' && found - 1 >= at_) {
        add_text(text_.substr(at_, found - 1 - at_));
        add_text(opening);
        move_to(found + opening.size());
        continue;
      }
      KW_TRY_VOID(read_directive(found));
    }
    add_text(text_.substr(at_));
    if (open_.size() > 1) return wrong(fmt::format("{{{{#{}}}}} is not closed", open_.back().word), open_.back().line);
    return result;
  }

 private:
  struct Open {
    Template::Node* node;               // null: the whole text
    std::vector<Template::Node>* into;  // where what follows goes
    std::string word;                   // "if" or "each"
    int line;
  };

  Error wrong(std::string message, int line) const {
    return Error{std::move(message), "", {std::string(file_), line, 0}};
  }

  void move_to(std::size_t next) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(next), '\n'));
    at_ = next;
  }

  void add_text(std::string_view text) {
    if (text.empty()) return;
    auto& nodes = *open_.back().into;
    if (nodes.empty() || nodes.back().kind != Template::Kind::text)
      nodes.push_back({Template::Kind::text, "", line_, {}, {}});
    nodes.back().text += text;
  }

  // [first, next) with the whole line where nothing else stands on it.
  std::pair<std::size_t, std::size_t> with_line(std::size_t first, std::size_t next) const {
    std::size_t start = first;
    while (start > 0 && (text_[start - 1] == ' ' || text_[start - 1] == '\t')) --start;
    std::size_t end = next;
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r')) ++end;
    const bool alone = (start == 0 || text_[start - 1] == '\n') && (end == text_.size() || text_[end] == '\n');
    if (!alone || start < at_) return {first, next};
    return {start, std::min(end + 1, text_.size())};
  }

  Result<void> read_directive(std::size_t found) {
    move_to_text(found);
    const std::size_t end = text_.find(closing, found);
    if (end == std::string_view::npos) return wrong("{{ without }}", line_);
    const std::string_view inside = trimmed(text_.substr(found + opening.size(), end - found - opening.size()));
    const std::size_t next = end + closing.size();
    if (inside.starts_with('!')) return skip_alone(found, next);
    if (inside.size() > max_directive_bytes) return wrong("a directive is too long", line_);
    if (is_name(inside) && inside != "else") {
      add_text(text_.substr(at_, found - at_));
      open_.back().into->push_back({Template::Kind::value, std::string(inside), line_, {}, {}});
      move_to(next);
      return {};
    }
    const int line = line_;
    KW_TRY_VOID(skip_alone(found, next));
    return change_block(inside, line);
  }

  // Lines are counted up to the directive, the text before it is added by who knows whether its line vanishes.
  void move_to_text(std::size_t found) {
    const std::string_view before = text_.substr(at_, found - at_);
    const std::size_t last = before.rfind('\n');
    if (last == std::string_view::npos) return;
    add_text(before.substr(0, last + 1));
    move_to(at_ + last + 1);
  }

  Result<void> skip_alone(std::size_t found, std::size_t next) {
    const auto [first, after] = with_line(found, next);
    add_text(text_.substr(at_, first - at_));
    move_to(after);
    return {};
  }

  Result<void> change_block(std::string_view inside, int line) {
    for (const std::string_view word : {"if", "each"}) {
      if (inside == fmt::format("/{}", word)) {
        if (open_.size() == 1 || open_.back().word != word)
          return wrong(fmt::format("{{{{/{}}}}} closes nothing that is open", word), line);
        open_.pop_back();
        return {};
      }
      if (!inside.starts_with(fmt::format("#{} ", word))) continue;
      const std::string_view name = trimmed(inside.substr(word.size() + 2));
      if (!is_name(name)) return wrong(fmt::format("'{}' is no name", name), line);
      if (open_.size() > max_template_depth) return wrong("blocks are nested too deeply", line);
      const auto kind = word == "if" ? Template::Kind::condition : Template::Kind::each;
      open_.back().into->push_back({kind, std::string(name), line, {}, {}});
      Template::Node& node = open_.back().into->back();
      open_.push_back({&node, &node.children, std::string(word), line});
      return {};
    }
    if (inside == "else") {
      Open& open = open_.back();
      if (open.word != "if" || open.into != &open.node->children) return wrong("{{else}} without {{#if}}", line);
      open.into = &open.node->otherwise;
      return {};
    }
    return wrong(fmt::format("'{{{{{}}}}}' is no directive", inside.substr(0, 60)), line);
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  int line_ = 1;
  // A node that is open is the last of its list, so pointers to it stay good.
  std::vector<Open> open_;
};

class TemplateRendering {
 public:
  TemplateRendering(const Template& from, const TemplateValues& values) : from_(from), values_(values) {}

  Result<std::string> run() {
    KW_TRY_VOID(check(from_.nodes_, nullptr));
    KW_TRY_VOID(write(from_.nodes_, nullptr));
    return without_forged_tokens();
  }

 private:
  using Nodes = std::vector<Template::Node>;

  Error wrong(std::string message, std::string advice, const Template::Node& node) const {
    return Error{std::move(message), std::move(advice), {from_.file_, node.line, 0}};
  }

  Error unknown(const Template::Node& node, const TemplateItem* item) const {
    std::vector<std::string> known;
    for (const auto& [name, value] : values_) known.push_back(name);
    if (item != nullptr)
      for (const auto& [name, value] : *item) known.push_back(name);
    const std::string nearest = nearest_name(node.text, known);
    std::string all;
    for (const std::string& name : known) all += (all.empty() ? "known: " : ", ") + name;
    return wrong(fmt::format("there is no value '{}'", node.text),
                 nearest.empty() ? all : fmt::format("did you mean '{}'?", nearest), node);
  }

  const std::string* find_text(const std::string& name, const TemplateItem* item) const {
    if (item != nullptr)
      if (const auto own = item->find(name); own != item->end()) return &own->second;
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : std::get_if<std::string>(&found->second);
  }

  const TemplateList* find_list(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : std::get_if<TemplateList>(&found->second);
  }

  // Names in branches that are not taken count too. What an item has is known from the first one of a list; an empty
  // list's inside cannot be checked.
  Result<void> check(const Nodes& nodes, const TemplateItem* item) {
    for (const Template::Node& node : nodes) {
      if (node.kind == Template::Kind::text) continue;
      const bool is_text = find_text(node.text, item) != nullptr, is_list = find_list(node.text) != nullptr;
      if (!is_text && !is_list) return unknown(node, item);
      if (node.kind == Template::Kind::value && !is_text)
        return wrong(fmt::format("'{}' is a list", node.text), "use {{#each}}", node);
      if (node.kind == Template::Kind::each) {
        if (!is_list) return wrong(fmt::format("'{}' is no list", node.text), "use {{#if}}", node);
        if (item != nullptr) return wrong("{{#each}} inside {{#each}} is not possible", "", node);
        const TemplateList& list = *find_list(node.text);
        for (const TemplateItem& each : list) KW_TRY_VOID(check(node.children, &each));
        continue;
      }
      KW_TRY_VOID(check(node.children, item));
      KW_TRY_VOID(check(node.otherwise, item));
    }
    return {};
  }

  Result<void> write(const Nodes& nodes, const TemplateItem* item) {
    for (const Template::Node& node : nodes) {
      if (node.kind == Template::Kind::text) {
        KW_TRY_VOID(append(node.text, false, node));
      } else if (node.kind == Template::Kind::value) {
        KW_TRY_VOID(append(*find_text(node.text, item), true, node));
      } else if (node.kind == Template::Kind::each) {
        for (const TemplateItem& each : *find_list(node.text)) KW_TRY_VOID(write(node.children, &each));
      } else {
        const std::string* text = find_text(node.text, item);
        const bool holds = text != nullptr ? !text->empty() : !find_list(node.text)->empty();
        KW_TRY_VOID(write(holds ? node.children : node.otherwise, item));
      }
    }
    return {};
  }

  Result<void> append(std::string_view text, bool value, const Template::Node& node) {
    if (text.size() > max_rendered_bytes - out_.size())
      return wrong("the prompt is longer than 1 MiB", "show less of the kernel", node);
    if (value && !text.empty()) values_at_.push_back({out_.size(), out_.size() + text.size()});
    out_ += text;
    return {};
  }

  // Every control token of the models that we use begins with "<|"; a look-alike with a full-width bar is broken too.
  std::string without_forged_tokens() const {
    std::string safe;
    safe.reserve(out_.size());
    std::size_t span = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      safe += out_[i];
      if (out_[i] != '<') continue;
      const std::string_view rest = std::string_view(out_).substr(i + 1);
      if (!rest.starts_with('|') && !rest.starts_with("\xEF\xBD\x9C")) continue;
      while (span < values_at_.size() && values_at_[span].second <= i) ++span;
      // One of the two characters comes from a value.
      if (span < values_at_.size() && values_at_[span].first <= i + 1) safe += ' ';
    }
    return safe;
  }

  const Template& from_;
  const TemplateValues& values_;
  std::string out_;
  std::vector<std::pair<std::size_t, std::size_t>> values_at_;  // of out_
};

Result<Template> Template::parse(std::string_view text, std::string_view file) {
  if (text.size() > max_template_bytes)
    return Error{"longer than a template may be", "at most 64 KiB", {std::string(file), 0, 0}};
  return TemplateParser(text, file).parse();
}

Result<std::string> Template::render(const TemplateValues& values) const {
  return TemplateRendering(*this, values).run();
}

}  // namespace kw
