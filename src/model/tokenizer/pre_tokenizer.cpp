#include "model/tokenizer/pre_tokenizer.h"

#include <algorithm>

#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

using Kind = PreTokenizerStep::Kind;

struct Piece {
  std::size_t begin;
  std::size_t end;
  bool matched;
};

// Matches and what lies between them, in order.
std::vector<Piece> pieces_of(const std::vector<Span>& matches, std::size_t size, bool invert) {
  std::vector<Piece> pieces;
  pieces.reserve(2 * matches.size() + 1);
  std::size_t done = 0;
  for (const Span& match : matches) {
    if (match.begin > done) pieces.push_back({done, match.begin, invert});
    pieces.push_back({match.begin, match.end, !invert});
    done = match.end;
  }
  if (done < size) pieces.push_back({done, size, invert});
  return pieces;
}

// As NormalizedString::split of Hugging Face's tokenizers does it.
std::vector<Piece> behave(const std::vector<Piece>& pieces, SplitBehavior behavior) {
  std::vector<Piece> out;
  bool previous = false;
  switch (behavior) {
    case SplitBehavior::isolated:
      return pieces;
    case SplitBehavior::removed:
      std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(out), [](const Piece& p) { return !p.matched; });
      return out;
    case SplitBehavior::contiguous:
      for (const Piece& piece : pieces) {
        if (!out.empty() && piece.matched == previous) {
          out.back().end = piece.end;
        } else {
          out.push_back(piece);
        }
        previous = piece.matched;
      }
      return out;
    case SplitBehavior::merged_with_previous:
      for (const Piece& piece : pieces) {
        if (piece.matched && !previous && !out.empty()) {
          out.back().end = piece.end;
        } else {
          out.push_back(piece);
        }
        previous = piece.matched;
      }
      return out;
    case SplitBehavior::merged_with_next:
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
        if (piece->matched && !previous && !out.empty()) {
          out.back().begin = piece->begin;
        } else {
          out.push_back(*piece);
        }
        previous = piece->matched;
      }
      std::reverse(out.begin(), out.end());
      return out;
  }
  return out;
}

void find_digits(std::string_view text, std::vector<Span>& matches) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      if (byte >= '0' && byte <= '9') matches.push_back({at, at + 1});
      ++at;
      continue;
    }
    const std::size_t begin = at;
    if (is_numeric(next_character(text, at))) matches.push_back({begin, at});
  }
}

}  // namespace

Result<PreTokenizer> PreTokenizer::compile(const std::vector<PreTokenizerStep>& steps) {
  if (steps.empty() || steps.back().kind != Kind::byte_level) {
    return Error{"the pre-tokenizer does not end with ByteLevel", "only byte-level tokenizers are supported", {}};
  }
  if (steps.size() > max_pre_tokenizer_steps) return Error{"the pre-tokenizer has too many steps", "", {}};
  PreTokenizer out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PreTokenizerStep& step = steps[i];
    Step compiled{step, std::nullopt};
    if (step.kind == Kind::byte_level && i + 1 != steps.size()) {
      return Error{"a pre-tokenizer step comes after ByteLevel, which has to be the last", "", {}};
    }
    if (step.kind == Kind::split) {
      KW_TRY(compiled.regex, Regex::compile(step.literal ? escape_regex(step.pattern) : step.pattern));
    } else if (step.kind == Kind::byte_level && step.use_regex) {
      KW_TRY(compiled.regex, Regex::compile(gpt2_pattern));
    }
    out.steps_.push_back(std::move(compiled));
  }
  return out;
}

Result<void> PreTokenizer::split(std::string_view text, RegexScratch& scratch, Words& out) const {
  if (text.empty()) return {};
  std::vector<std::string_view> now{text}, next;
  std::vector<Span> matches;
  for (const Step& entry : steps_) {
    const PreTokenizerStep& step = entry.step;
    next.clear();
    for (std::string_view part : now) {
      if (step.kind == Kind::byte_level && step.add_prefix_space && part.front() != ' ') {
        part = out.owned.emplace_back(" " + std::string(part));
      }
      matches.clear();
      if (step.kind == Kind::digits) {
        find_digits(part, matches);
      } else if (entry.regex) {
        KW_TRY_VOID(entry.regex->find_all(part, scratch, matches));
      }
      if (matches.empty() && step.kind != Kind::split) {
        next.push_back(part);
        continue;
      }
      SplitBehavior behavior = step.behavior;
      if (step.kind == Kind::digits && !step.individual_digits) behavior = SplitBehavior::contiguous;
      const bool whole = behavior == SplitBehavior::isolated;
      std::size_t done = 0;
      if (whole) {  // the common case, without intermediate lists
        for (const Span& match : matches) {
          if (match.begin > done) next.push_back(part.substr(done, match.begin - done));
          if (match.end > match.begin) next.push_back(part.substr(match.begin, match.end - match.begin));
          done = match.end;
        }
        if (done < part.size()) next.push_back(part.substr(done));
        continue;
      }
      for (const Piece& piece : behave(pieces_of(matches, part.size(), step.invert), behavior)) {
        if (piece.end > piece.begin) next.push_back(part.substr(piece.begin, piece.end - piece.begin));
      }
    }
    std::swap(now, next);
  }
  out.words.insert(out.words.end(), now.begin(), now.end());
  return {};
}

}  // namespace kw
