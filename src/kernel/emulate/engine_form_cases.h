#pragma once
// For tests: all cases, and the register of the forms that have one.

#include "kernel/emulate/engine_form_accumulator_cases.h"
#include "kernel/emulate/engine_form_matrix_cases.h"
#include "kernel/emulate/engine_form_memory_cases.h"
#include "kernel/emulate/engine_form_warp_cases.h"

namespace kw {

inline std::vector<EngineFormCase> engine_form_cases() {
  std::vector<EngineFormCase> cases;
  add_load_store_cases(cases);
  add_extension_cases(cases);
  add_constant_and_call_cases(cases);
  add_atomic_cases(cases);
  add_copy_cases(cases);
  add_move_cases(cases);
  add_control_cases(cases);
  add_barrier_cases(cases);
  add_exchange_cases(cases);
  add_matrix_cases(cases);
  add_accumulator_cases(cases);
  return cases;
}

inline std::set<std::string> forms_with_engine_case() {
  std::set<std::string> forms;
  for (const EngineFormCase& one : engine_form_cases()) forms.insert(one.forms.begin(), one.forms.end());
  return forms;
}

}  // namespace kw
