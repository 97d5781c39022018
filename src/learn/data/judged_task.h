#pragma once
// One task of a stream through the judge: all its kernels, broken ones too, and the examples that come of them.

#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "agents/grammar/stream.h"
#include "kernel/judge/judge.h"

namespace kw {

struct JudgedTaskOptions {
  int mutants = 3;
  double least_gain = 1.1;
  double formulas = 0;                         // share of tasks whose kernels are in the formula style; the others vary
  const std::set<std::string>& held_out_code;  // PTX fingerprints that must not come out
};

// {"index": 3, "written": 4, "right": 4, "examples": [...], "dropped": {"reason": times}}; written and right count the
// writers' own kernels
nlohmann::ordered_json judged_task_json(Judge& judge, const ExampleStream& stream, std::uint64_t index,
                                        const JudgedTaskOptions& options);

// The part of a verdict that prompts are made of and a Tester learns to predict; verdict_from_json reads it.
nlohmann::ordered_json verdict_extract(Verdict verdict);

}  // namespace kw
