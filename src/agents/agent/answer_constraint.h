#pragma once
// Answers that are held to what is known beforehand (answer_automaton.h) while they are decoded: the automaton over
// bytes as masks over a vocabulary. Inside the launcher's parameters nothing is left to choose: their tokens are those
// that the tokenizer gives for the rest of the text, as agents have learned it.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kernel/task/task.h"
#include "model/rollout/constraint.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

// Masks of a vocabulary by the automaton's state, made when they are first wanted. All constraints of a dialect share
// them: of a task only the launcher's parameters are its own. Used by many threads.
class AnswerMasks;
std::shared_ptr<AnswerMasks> make_answer_masks(std::shared_ptr<const Tokenizer> tokenizer,
                                               std::vector<TokenId> stop_tokens, bool fenced);

// How many masks were made, for tests and measurements.
std::size_t masks_made(const AnswerMasks& masks);

// What stands behind `launch(` in an answer about this task: "const float* x, float* y, int n, cudaStream_t stream) {".
// `shown`: a kernel that the answer is to improve; where its launcher takes the same types, its names are kept, because
// the body that is copied from it uses them.
std::string expected_parameters(const Task& task, std::string_view shown = {});

// None where the vocabulary cannot write the parameters. `parameters`: as expected_parameters() has them.
std::shared_ptr<const Constraint> make_answer_constraint(std::shared_ptr<AnswerMasks> masks, std::string parameters);

}  // namespace kw
