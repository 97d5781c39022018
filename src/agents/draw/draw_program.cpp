#include "agents/draw/draw_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "agents/draw/held_graphs.h"
#include "agents/draw/signature.h"
#include "agents/program/read_program.h"
#include "base/check.h"

namespace kw::programs {
namespace {

constexpr std::uint64_t most_attempts = 4096;
constexpr std::int64_t most_small_elements = 60'000;
constexpr std::int64_t most_train_elements = 1'500'000;

bool small_enough(const Value& x) {
  return x.elements(0) <= most_small_elements && x.elements(1) <= most_small_elements &&
         x.elements(2) <= most_train_elements && x.rank() <= 6 &&
         std::all_of(x.dims.begin(), x.dims.end(), [](const Dim& dim) { return dim.least() >= 1; });
}

const Family& weighted(Draft& draft, const std::vector<const Family*>& families) {
  std::int64_t total = 0;
  for (const Family* each : families) total += each->weight;
  std::int64_t at = draft.between(0, total - 1);
  for (const Family* each : families) {
    at -= each->weight;
    if (at < 0) return *each;
  }
  return *families.back();
}

class Attempt {
 public:
  Attempt(const DrawOptions& options, Random& random) : options_(options), draft_(random) {
    for (const Family* each : all_families()) {
      if (each->novel && options.split != ProgramSplit::novel) continue;
      all_.push_back(each);
      if (each->novel == (options.split == ProgramSplit::novel)) begin_.push_back(each);
    }
    if (!options.begin_with.empty()) begin_ = options.begin_with;
  }

  // Nothing where a choice does not fit; the next attempt makes others.
  std::optional<DrawnProgram> draw() {
    const Family& first = weighted(draft_, begin_);
    std::optional<Value> x = begin(first);
    if (!x || !add(first, *x)) return std::nullopt;
    static constexpr std::array<int, 8> lengths{0, 0, 1, 1, 1, 2, 2, 3};
    const int further = draft_.pick(lengths);
    for (int i = 0; i < further; ++i) {
      const Value before = values_.back();
      if (const Family* next = following(before); next != nullptr && !add(*next, before)) return std::nullopt;
      if (draft_.chance(0.25)) join(before);
    }
    if (draft_.chance(0.12) && values_.size() > 1) draft_.extra_results.push_back(values_.front());
    const Value last = values_.back();
    if (!small_enough(last)) return std::nullopt;
    DrawnProgram made;
    made.families = families_;
    made.task = draft_.finish(last);
    return made;
  }

 private:
  std::optional<Value> begin(const Family& first) {
    Value x;
    if (first.start != nullptr) {
      x = first.start(draft_);
    } else {
      static constexpr std::array<int, 8> ranks{1, 2, 2, 2, 3, 3, 4, 5};
      x = draft_.normal({"x", "a", "input"}, draft_.plain_dims(draft_.pick(ranks)));
    }
    if (first.fits != nullptr && !first.fits(x)) return std::nullopt;
    // Something before: not where the stage needs values as they came.
    if (x.floating() && first.fits != nullptr && draft_.chance(0.2)) {
      Value changed = draw_expression(draft_, x);
      if (!first.fits(changed)) return std::nullopt;
      note(*family_named("expression"));
      return changed;
    }
    return x;
  }

  bool add(const Family& family, const Value& x) {
    Value made = family.draw(draft_, x);
    if (!small_enough(made)) return false;
    note(family);
    values_.push_back(std::move(made));
    return true;
  }

  const Family* following(const Value& x) {
    constexpr int tries = 12;
    for (int i = 0; i < tries; ++i) {
      const Family& next = weighted(draft_, all_);
      if (next.fits != nullptr && next.fits(x) && x.rank() > 0) return &next;
    }
    return nullptr;
  }

  // A value from before comes in again: a residual, a gate.
  void join(const Value& before) {
    const Value& last = values_.back();
    const bool fits = last.name != before.name && last.floating() && before.dtype == last.dtype &&
                      last.rank() == before.rank() &&
                      std::equal(last.dims.begin(), last.dims.end(), before.dims.begin(), same);
    if (!fits) return;
    const std::string text = draft_.chance(0.25)
                                 ? fmt::format("{} * torch.sigmoid({})", last.name, before.name)
                                 : fmt::format("{} {} {}", last.name, draft_.pick({"+", "+", "-"}), before.name);
    values_.push_back(draft_.say(text, last));
  }

  void note(const Family& family) {
    if (std::find(families_.begin(), families_.end(), &family) == families_.end()) families_.push_back(&family);
  }

  const DrawOptions& options_;
  Draft draft_;
  std::vector<const Family*> all_, begin_;
  std::vector<const Family*> families_;
  std::vector<Value> values_;
};

DrawnProgram draw_at(const DrawOptions& options, std::uint64_t index, std::uint64_t& attempt) {
  for (; attempt < most_attempts; ++attempt) {
    Random random(options.seed, index * most_attempts + attempt);
    auto made = Attempt(options, random).draw();
    if (!made) continue;
    made->index = index;
    made->task.name = fmt::format("program_{}_{}", options.seed, index);
    made->task.family = made->families[0]->name;
    made->task.summary = "A drawn program.";
    return std::move(*made);
  }
  KW_CHECK(false);
  return {};
}

}  // namespace

DrawnProgram draw_program(const DrawOptions& options, std::uint64_t index) {
  std::uint64_t attempt = 0;
  return draw_at(options, index, attempt);
}

Result<ReadProgram> read_drawn(const DrawOptions& options, std::uint64_t index) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    ReadProgram made;
    made.drawn = draw_at(options, index, attempt);
    auto graph = program::read_program(made.drawn.task);
    if (!graph.ok()) {
      Error error = graph.error();
      error.advice = made.drawn.task.pytorch;
      return error;
    }
    made.graph = std::move(*graph);
    made.signature = signature_of(made.graph);
    if (!is_held_out(made.signature)) return made;
  }
}

}  // namespace kw::programs
