#include "agents/agent/answer_constraint.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "agents/agent/answer_automaton.h"
#include "model/rollout/token_trie.h"

namespace kw {
namespace {

// Beyond it masks are made for one constraint alone: an answer that is noise has ever new states.
constexpr std::size_t most_shared_masks = 8192;

struct StateHash {
  std::size_t operator()(const AnswerState& state) const {
    std::uint64_t small = static_cast<std::uint64_t>(state.mode) | std::uint64_t{state.word} << 8 |
                          std::uint64_t{state.head} << 16 | std::uint64_t{state.depth} << 24 |
                          std::uint64_t{state.at} << 32;
    for (const bool flag : {state.fenced, state.line_start, state.has_kernel, state.has_launcher, state.pending})
      small = small << 1 | std::uint64_t{flag};
    return static_cast<std::size_t>((small ^ state.brackets * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u >> 7);
  }
};

}  // namespace

class AnswerMasks {
 public:
  struct Entry {
    TokenMask mask;                 // without those that lead into the launcher's parameters
    std::vector<TokenId> entering;  // which of them are allowed is the task's business
  };

  AnswerMasks(std::shared_ptr<const Tokenizer> tokenizer, std::vector<TokenId> stop_tokens, bool fenced)
      : tokenizer_(std::move(tokenizer)), stop_tokens_(std::move(stop_tokens)), fenced_(fenced) {}

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  bool fenced() const { return fenced_; }
  bool is_stop(TokenId token) const {
    return std::find(stop_tokens_.begin(), stop_tokens_.end(), token) != stop_tokens_.end();
  }
  int most_closers() {
    prepare();
    return most_closers_;
  }

  // Of a visible_part(). Null: there are too many already.
  const Entry* find(const AnswerState& state) {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(state); found != entries_.end()) return found->second.get();
    if (entries_.size() >= most_shared_masks) return nullptr;
    return entries_.emplace(state, std::make_unique<Entry>(make(state))).first->second.get();
  }

  Entry make(const AnswerState& start) {
    prepare();
    Entry entry;
    entry.mask = TokenMask(static_cast<std::int64_t>(tokenizer_->size()));
    using Mode = AnswerState::Mode;
    const auto step = [](AnswerState& state, std::uint8_t byte) {
      if (state.mode != Mode::parameters) return take_byte(state, static_cast<char>(byte), {});
      ++state.at;
      return true;
    };
    trie_->walk(start, step, [&](TokenId token, const AnswerState& state) {
      // A token that ends with `launch(` is allowed whatever the parameters are.
      if (state.mode == Mode::parameters && state.at > 0)
        entry.entering.push_back(token);
      else
        entry.mask.allow(token);
    });
    if (may_end(start) && (!fenced_ || start.mode == Mode::closed))
      for (const TokenId stop : stop_tokens_) entry.mask.allow(stop);
    return entry;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  void prepare() {
    std::call_once(prepared_, [this] {
      trie_ = std::make_unique<TokenTrie>(*tokenizer_);
      for (std::size_t i = 0; i < tokenizer_->size(); ++i) {
        const std::string& bytes = tokenizer_->bytes_of(static_cast<TokenId>(i));
        const auto closes = [](char c) { return c == ')' || c == ']' || c == '}'; };
        most_closers_ = std::max(most_closers_, static_cast<int>(std::count_if(bytes.begin(), bytes.end(), closes)));
      }
    });
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TokenId> stop_tokens_;
  bool fenced_;
  std::once_flag prepared_;
  std::unique_ptr<TokenTrie> trie_;
  int most_closers_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<AnswerState, std::unique_ptr<Entry>, StateHash> entries_;
};

namespace {

class KernelConstraint : public Constraint {
 public:
  KernelConstraint(std::shared_ptr<AnswerMasks> masks, std::string parameters)
      : masks_(std::move(masks)), parameters_(std::move(parameters)), encoder_(masks_->tokenizer(), 4) {}

  std::unique_ptr<ConstraintState> begin() const override;

  AnswerMasks& masks() const { return *masks_; }
  const std::string& parameters() const { return parameters_; }

  // None: no token is allowed there.
  const TokenMask* mask_of(const AnswerState& state) const {
    const AnswerState visible = visible_part(state, masks_->most_closers());
    const AnswerMasks::Entry* shared = masks_->find(visible);
    if (shared != nullptr && shared->entering.empty()) return of_some(shared->mask);
    const std::lock_guard lock(mutex_);
    const auto found = own_.find(visible);
    if (found != own_.end()) return of_some(*found->second);
    AnswerMasks::Entry entry = shared != nullptr ? *shared : masks_->make(visible);
    for (const TokenId token : entry.entering)
      if (takes(visible, masks_->tokenizer().bytes_of(token))) entry.mask.allow(token);
    return of_some(*own_.emplace(visible, std::make_unique<TokenMask>(std::move(entry.mask))).first->second);
  }

  const TokenMask* mask_of(TokenId only) const {
    const std::lock_guard lock(mutex_);
    auto& mask = single_[only];
    if (mask == nullptr) {
      mask = std::make_unique<TokenMask>(static_cast<std::int64_t>(masks_->tokenizer().size()));
      mask->allow(only);
    }
    return mask.get();
  }

  // The tokens of the parameters from this byte on; null: the vocabulary cannot write them.
  const std::vector<TokenId>* rest_of_parameters(std::size_t from) const {
    const std::lock_guard lock(mutex_);
    auto& rest = rests_[from];
    if (!rest) {
      rest = std::make_unique<std::vector<TokenId>>();
      const std::string text = parameters_.substr(from);
      auto ids = encoder_.encode(text);
      if (ids.ok())
        if (const auto decoded = masks_->tokenizer().decode(*ids); decoded.ok() && *decoded == text)
          *rest = std::move(ids).value();
    }
    return rest->empty() ? nullptr : rest.get();
  }

 private:
  static const TokenMask* of_some(const TokenMask& mask) {
    const auto& words = mask.words();
    return std::any_of(words.begin(), words.end(), [](std::uint64_t word) { return word != 0; }) ? &mask : nullptr;
  }

  bool takes(AnswerState state, std::string_view bytes) const {
    return std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return take_byte(state, byte, parameters_); });
  }

  std::shared_ptr<AnswerMasks> masks_;
  std::string parameters_;
  mutable std::mutex mutex_;
  mutable Encoder encoder_;
  mutable std::unordered_map<AnswerState, std::unique_ptr<TokenMask>, StateHash> own_;
  mutable std::map<TokenId, std::unique_ptr<TokenMask>> single_;
  mutable std::map<std::size_t, std::unique_ptr<std::vector<TokenId>>> rests_;
};

class KernelAnswer : public ConstraintState {
 public:
  explicit KernelAnswer(const KernelConstraint& constraint)
      : constraint_(constraint), state_(answer_start(constraint.masks().fenced())) {}

  const TokenMask* allowed() override {
    if (free_) return nullptr;
    if (const TokenId only = forced(); only >= 0) return constraint_.mask_of(only);
    const TokenMask* mask = constraint_.mask_of(state_);
    free_ = mask == nullptr;  // a vocabulary without the bytes that are wanted: better any answer than none
    return mask;
  }

  std::int32_t forced() const override { return run_ == nullptr ? -1 : (*run_)[next_]; }

  void take(std::int32_t token) override {
    if (free_) return;
    if (run_ != nullptr) {
      free_ = (*run_)[next_] != token;
      if (++next_ == run_->size()) run_ = nullptr;
      return;
    }
    if (constraint_.masks().is_stop(token)) return;
    const Tokenizer& tokenizer = constraint_.masks().tokenizer();
    if (token < 0 || static_cast<std::size_t>(token) >= tokenizer.size() || tokenizer.is_special(token)) {
      free_ = true;
      return;
    }
    for (const char byte : tokenizer.bytes_of(token))
      if (!take_byte(state_, byte, constraint_.parameters())) {
        free_ = true;
        return;
      }
    if (state_.mode == AnswerState::Mode::parameters) begin_run();
  }

  bool complete() const override { return !free_ && run_ == nullptr && may_end(state_); }

 private:
  // The rest of the parameters is certain: the state is already what it will be behind them.
  void begin_run() {
    run_ = constraint_.rest_of_parameters(state_.at);
    next_ = 0;
    free_ = run_ == nullptr;
    while (!free_ && state_.mode == AnswerState::Mode::parameters)
      take_byte(state_, constraint_.parameters()[state_.at], constraint_.parameters());
  }

  const KernelConstraint& constraint_;
  AnswerState state_;
  const std::vector<TokenId>* run_ = nullptr;
  std::size_t next_ = 0;
  bool free_ = false;
};

std::unique_ptr<ConstraintState> KernelConstraint::begin() const { return std::make_unique<KernelAnswer>(*this); }

bool in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// "const float* x" without spaces that mean nothing, __restrict__ and the name.
struct ParameterWords {
  std::string type, name;
};
ParameterWords words_of(std::string_view parameter) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < parameter.size();) {
    std::size_t end = at;
    while (end < parameter.size() && in_word(parameter[end])) ++end;
    if (end == at) ++end;
    std::string word(parameter.substr(at, end - at));
    if (!std::all_of(word.begin(), word.end(), [](char c) { return c == ' ' || c == '\n' || c == '\t'; }) &&
        word != "__restrict__")
      words.push_back(std::move(word));
    at = end;
  }
  ParameterWords result;
  if (words.size() < 2 || !in_word(words.back()[0])) return result;
  result.name = words.back();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) result.type += (i > 0 && words[i] != "*" ? " " : "") + words[i];
  return result;
}

// What stands between the brackets of the last `launch(`; none: there is no such text.
std::optional<std::vector<ParameterWords>> launcher_of(std::string_view kernel) {
  const std::size_t at = kernel.rfind(" launch(");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t first = at + 8, end = kernel.find_first_of("(){};/#\"", first);
  if (end == std::string_view::npos || kernel[end] != ')') return std::nullopt;
  std::vector<ParameterWords> parameters;
  std::string_view list = kernel.substr(first, end - first);
  for (;;) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parameters.push_back(words_of(list.substr(0, comma)));
    if (comma == list.size()) return parameters;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::shared_ptr<AnswerMasks> make_answer_masks(std::shared_ptr<const Tokenizer> tokenizer,
                                               std::vector<TokenId> stop_tokens, bool fenced) {
  return std::make_shared<AnswerMasks>(std::move(tokenizer), std::move(stop_tokens), fenced);
}

std::size_t masks_made(const AnswerMasks& masks) { return masks.size(); }

std::string expected_parameters(const Task& task, std::string_view shown) {
  const std::string declaration = task.launcher_declaration() + " {";
  const std::string expected = declaration.substr(declaration.find('(') + 1);
  const auto given = shown.empty() ? std::nullopt : launcher_of(shown);
  const auto wanted = given ? launcher_of(declaration) : std::nullopt;
  if (!wanted || wanted->size() != given->size()) return expected;
  std::string kept;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const ParameterWords& own = (*given)[i];
    if (own.type != (*wanted)[i].type) return expected;
    for (std::size_t j = 0; j < i; ++j)
      if ((*given)[j].name == own.name) return expected;
    kept += (i > 0 ? ", " : "") + own.type + " " + own.name;
  }
  return kept + ") {";
}

std::shared_ptr<const Constraint> make_answer_constraint(std::shared_ptr<AnswerMasks> masks, std::string parameters) {
  if (parameters.empty() || parameters.size() > 0xFFFF) return nullptr;
  auto constraint = std::make_shared<const KernelConstraint>(std::move(masks), std::move(parameters));
  return constraint->rest_of_parameters(0) == nullptr ? nullptr : constraint;
}

}  // namespace kw
