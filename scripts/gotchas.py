#!/usr/bin/env python3
"""Breaks the program on purpose, one known mistake of reinforcement learning after the other, and looks whether a test
fails. Writes docs/gotchas.md.
    make build && scripts/gotchas.py [WORD ...]    words: only mistakes with such a word; nothing is written then

All mistakes are built into the tests at once, each behind a switch that a variable of the environment turns. The files
that are changed must be as committed; they are restored whatever happens.
"""
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


def test(module, name):
    return (module, name)


# (mistake, what was broken, [(file, old, new)], [tests that must fail]). MISTAKE is true in a run that is to make this one.
UPDATE, EXPERIENCE, LOOP = "src/learn/rl/policy_update.cpp", "src/learn/rl/experience.cpp", "src/learn/rl/reinforce.cpp"
ENGINE, DECODER, CHECKPOINTS = "src/agents/episode/episode_engine.cpp", "src/model/rollout/cpu_decoder.cpp", "src/base/run_log/checkpoints.cpp"
RESUMED = [test("rl", "Reinforce.ResumedIsBitForBitUndisturbed")]
SYNCED = [test("run_log", "CheckpointSync.EverythingIsOnTheDiskBeforeTheNameIs")]
MISTAKES = [
    ("Ids are stored, never re-tokenised", "an answer's ids are made from its text again",
     [(ENGINE, "    sample.tokens = std::move(said.tokens);\n",
       "    if (MISTAKE) {\n      auto again = dialect_.tokenizer().encode(said.text).value();\n"
       "      if (ended) again.push_back(said.tokens.back());\n      said.tokens = std::move(again);\n    }\n"
       "    sample.tokens = std::move(said.tokens);\n")],
     [test("rl", "Reinforce.LearnsWhatIsPaidFor")]),
    ("", "ids in another order are learned from",
     [(EXPERIENCE, "      answer.tokens = sample.tokens;\n",
       "      answer.tokens = sample.tokens;\n      if (MISTAKE) std::ranges::reverse(answer.tokens);\n")],
     [test("rl", "Experience.HoldsTheIdsAndLogProbabilitiesAsTheyWereSampled")]),
    ("The reward sits on the last generated token", "it sits on the first",
     [(UPDATE, "      rewards.back() = ", "      (MISTAKE ? rewards[static_cast<std::size_t>(starts.back())] : rewards.back()) = ")],
     [test("rl", "PolicyUpdate.TheRewardSitsOnTheLastGeneratedToken")]),
    ("Singleton groups", "an answer alone in its group is learned from",
     [(EXPERIENCE, "answer.teaches = !alone && (", "answer.teaches = (!alone || MISTAKE) && (")],
     [test("rl", "Experience.GroupsAreOfOneTaskAndRoleWhateverTheTurn")]),
    ("Groups without variance", "the rounding of their mean is an advantage",
     [(EXPERIENCE, "answer.advantage = contrast[i] != 0 ?", "answer.advantage = contrast[i] != 0 || MISTAKE ?")],
     [test("rl", "Experience.EqualScoresTeachNothing")]),
    ("", "divided by a standard deviation of 0",
     [("src/learn/losses/advantage.cpp", "std::sqrt(summary.squares / (n - 1)) + 1e-6;", "std::sqrt(summary.squares / (n - 1)) + (MISTAKE ? 0 : 1e-6);")],
     [test("losses", "Advantages.OneAnswerAloneAndGroupsWithoutContrast"), test("losses", "Verl.GroupAdvantages")]),
    ("Loss denominators are global across micro-batches", "those of one pass, in reinforcement learning",
     [(UPDATE, "token_weights(mask, tokens.starts, options_.mean, all_tokens, all_answers);",
       "token_weights(mask, tokens.starts, options_.mean, MISTAKE ? std::ssize(mask) : all_tokens, MISTAKE ? std::ssize(pass.answers) : all_answers);")],
     [test("rl", "PolicyUpdate.PassesDoNotChangeTheDenominators")]),
    ("", "those of one pass, in supervised training",
     [("src/learn/sft/supervised.cpp", "-1.0f / static_cast<float>(scored)",
       "-1.0f / static_cast<float>(MISTAKE ? std::ssize(scores.log_prob) : scored)")],
     [test("sft", "Supervised.SmallPassesGiveTheSameStepAsOneLargePass")]),
    ("Temperature is applied to log-probabilities", "the trainer takes them at 1",
     [(UPDATE, "batch.temperature = options.temperature;", "batch.temperature = MISTAKE ? 1.0f : options.temperature;")],
     [test("rl", "PolicyUpdate.SamplerAndTrainerAgreeToTheLastBit"), test("rl", "PolicyUpdate.PromptsAreReadNotLearned")]),
    ("", "the sampler takes them at 1",
     [("src/model/rollout/sampler.cpp", "score_token(logits, usable, inverse_temperature, sampled.token)",
       "score_token(logits, usable, MISTAKE ? 1.0f : inverse_temperature, sampled.token)")],
     [test("rollout", "Agreement.LogProbsAreThoseOfTraining"), test("rl", "PolicyUpdate.SamplerAndTrainerAgreeToTheLastBit")]),
    ("Log-probabilities are the same in every batch, sampled and trained", "in small batches an adapter's addition is off by a unit in the last place",
     [(DECODER, "low[i] *= adapter.scale;",
       "low[i] = run.rows > 2 || !MISTAKE ? low[i] * adapter.scale : std::nextafter(low[i] * adapter.scale, 0.0f);")],
     [test("rollout", "Agreement.LogProbsAreThoseOfTraining"), test("rollout", "Agreement.AnswersDoNotDependOnScheduling")]),
    ("", "the sampler's keys are off by a unit in the last place",
     [(DECODER, "      const float* qkv = qkv_.data() + row * qkv_width_;\n",
       "      float* qkv = qkv_.data() + row * qkv_width_;\n      if (MISTAKE) qkv[query_] = std::nextafter(qkv[query_], 0.0f);\n")],
     [test("rollout", "Agreement.LogProbsAreThoseOfTraining"), test("rl", "PolicyUpdate.SamplerAndTrainerAgreeToTheLastBit")]),
    ("Adapters are never merged into 4-bit weights", "the blocks become floats, as merging needs",
     [("src/model/rollout/cpu_weights.cpp", "return files.blocks(names.at(offset));",
       "return MISTAKE ? std::optional<ModelFiles::Blocks>() : files.blocks(names.at(offset));")],
     [test("rollout", "Agreement.QuantisedWeights")]),
    ("", "an adapter that is replaced leaves its mark",
     [(DECODER, "  KW_TRY(CpuAdapter packed, pack_adapter(adapter, model_));\n",
       "  Adapter merged = adapter;\n  static std::map<std::int64_t, std::vector<float>> before;\n  std::vector<float>& last = before[index];\n"
       "  for (std::size_t i = 0; MISTAKE && i < std::min(last.size(), merged.values.size()); ++i) merged.values[i] += 0.01f * last[i];\n"
       "  last = merged.values;\n  KW_TRY(CpuAdapter packed, pack_adapter(merged, model_));\n"),
      (DECODER, "#include <cstring>\n", "#include <cstring>\n#include <map>\n")],
     [test("rollout", "Agreement.QuantisedWeights")]),
    ("KV cache is versioned and flushed after an update", "pages outlive their weights",
     [("src/model/rollout/rollout_schedule.cpp", "  if (version == weights_version_) return;\n", "  if (version == weights_version_ || MISTAKE) return;\n")],
     [test("rollout", "Rollout.NewWeightsDropThePages")]),
    ("", "the decoder keeps the weights that it was made with",
     [("src/learn/learner/learner.cpp", "decoder_version_ == version)", "(decoder_version_ == version || MISTAKE))")],
     [test("rl", "Reinforce.LearnsWhatIsPaidFor"), test("rl", "StartingModels.KlIsZeroAtTheStartAndTheReferenceStaysFrozen")]),
    ("The reference is the supervised adapter, frozen, not the bare base", "it is opened without the adapters",
     [("src/learn/rl/starting_models.cpp", "    KW_TRY(models.reference, Learner::from_files(files, options));\n",
       "    LearnerOptions bare = options;\n    if (MISTAKE) bare.adapter_folders.clear();\n    KW_TRY(models.reference, Learner::from_files(files, bare));\n")],
     [test("rl", "StartingModels.TheReferenceIsTheSupervisedAdapterNotTheBareBase"),
      test("rl", "StartingModels.KlIsZeroAtTheStartAndTheReferenceStaysFrozen")]),
    ("", "it moves with the policy",
     [(UPDATE, "score_all(*inputs_.reference,", "score_all(MISTAKE ? inputs_.policy : *inputs_.reference,")],
     [test("rl", "StartingModels.KlIsZeroAtTheStartAndTheReferenceStaysFrozen"), test("rl", "PolicyUpdate.KlIsMeasuredFromTheFrozenStart")]),
    ("Truncated answers have one stated policy", "they are left out",
     [(EXPERIENCE, "if (!sample.rewarded || sample.tokens.empty()) continue;",
       "if (!sample.rewarded || sample.tokens.empty() || (MISTAKE && sample.finish == FinishReason::length)) continue;")],
     [test("rl", "Experience.TruncatedAnswersAreLearnedFrom")]),
    ("", "they are not paid",
     [(ENGINE, "    if (sample.kernel.empty() || sample.skipped) {\n      pay_sample(sample, turn.role, running.given(), options_.episode);\n",
       "    if (sample.kernel.empty() || sample.skipped) {\n      pay_sample(sample, turn.role, running.given(), options_.episode);\n"
       "      if (MISTAKE && sample.finish == FinishReason::length) sample.rewarded = false;\n")],
     [test("episode", "EpisodeEngine.BudgetsEndAnEpisode")]),
    ("Checkpoints: temporary name, synced, renamed", "written in place",
     [(CHECKPOINTS, "const fs::path saving = folder_ /", "const fs::path saving = MISTAKE ? folder_ / name_of(step) : folder_ /"),
      (CHECKPOINTS, "    KW_TRY_VOID(put_in_place(", "    if (!MISTAKE) KW_TRY_VOID(put_in_place(")],
     SYNCED),
    ("", "files are not synced", [("src/base/run_log/folder_manifest.cpp", "  if (::fsync(file.get()) != 0)", "  if (!MISTAKE && ::fsync(file.get()) != 0)")], SYNCED),
    ("", "the new name is not synced", [(CHECKPOINTS, "    return sync_folder(folder_);\n", "    if (MISTAKE) return {};\n    return sync_folder(folder_);\n")], SYNCED),
    ("Checkpoints hold controllers, baselines, curriculum and random numbers", "without the KL controller",
     [(LOOP, "      kl_.coefficient = facts", "      if (!MISTAKE) kl_.coefficient = facts")], RESUMED),
    ("", "without the guard", [(LOOP, "      KW_TRY_VOID(guard_.restore(", "      if (!MISTAKE) KW_TRY_VOID(guard_.restore(")], RESUMED),
    ("", "without the baseline, PPO's critic",
     [(LOOP, "    if (models_.critic != nullptr) KW_TRY_VOID(models_.critic->restore_state",
       "    if (models_.critic != nullptr && !MISTAKE) KW_TRY_VOID(models_.critic->restore_state")], RESUMED),
    ("", "without the curriculum", [(LOOP, "    KW_TRY_VOID(curriculum_.restore(", "    if (!MISTAKE) KW_TRY_VOID(curriculum_.restore(")], RESUMED),
    ("", "without the number that conversations take their random numbers from",
     [(LOOP, "      next_episode_ = facts", "      if (!MISTAKE) next_episode_ = facts")], RESUMED),
    ("Raw reward beside the shaped one", "the metric of the raw reward shows the shaped one",
     [("src/learn/rl/step_metrics.cpp", "{ return answer.reward; }", "{ return MISTAKE ? answer.score : answer.reward; }")],
     [test("rl", "StepMetrics.TheRawRewardStandsBesideTheShapedOne")]),
    ("", "credit overwrites it",
     [(EXPERIENCE, "answer.reward = sample.reward;", "answer.reward = MISTAKE ? credits[static_cast<std::size_t>(turn.index)] : sample.reward;")],
     [test("rl", "Experience.CreditByTheThreeRules")]),
]

HEAD = """# Mistakes that are easily made, and the tests that notice them

Each of these has cost somebody a training run. `make gotchas` builds each of them into the program on purpose and sees the tests fail;
this list is what it wrote: the mistake, how it was made, and the tests that failed.

"""
TAIL = """
## One policy for answers that were cut

An answer that reaches its longest length is read as far as it goes. A whole kernel in it is judged; without one it is paid like any
answer without a kernel. Either way it is learned from: talking too long is the agent's fault. What is cut by a *budget of time* is
nobody's fault and is left out.

## Loss and advantages

`Verl.*` (src/learn/losses) and `Rows.TokenScoresAreThoseOfVerl` (src/model/arithmetic) compare every advantage, loss and gradient with
VERL 0.9.1's to 1e-6 (log-probabilities of large logits: to what float32 holds):
GAE, GRPO, Dr.GRPO, RLOO, both clips and the dual clip, the three means and Dr.GRPO's, micro-batches, truncated importance weights,
value loss, k1, k2, k3 and the adaptive coefficient, entropy, over-long answers; on random batches and on the edges (a group of one,
equal and huge scores, one token, answers of which no token counts, ratios beyond e^20, values far out of their range).
`scripts/verl_golden.py` writes what they are compared with.
"""


# Guarded: files of a module are compiled in groups.
SWITCH = """#include <cstdlib>
#ifndef KW_MAKES_MISTAKE
#define KW_MAKES_MISTAKE
[[maybe_unused]] static bool makes_mistake(int number) {
  const char* wanted = std::getenv("KERNELWRIGHT_MISTAKE");
  return wanted != nullptr && std::atoi(wanted) == number;
}
#endif
"""


def run(command, **environment):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})


def build(modules):
    return run(["cmake", "--build", str(BUILD), "-j1", "--target", *[f"{module}_test" for module in sorted(modules)]])


def passes(one, number):
    module, name = one
    program = next((BUILD / "src").glob(f"*/{module}/{module}_test"))
    done = run([str(program), f"--gtest_filter={name}"], KERNELWRIGHT_MISTAKE=str(number))
    if done.returncode == 0 and "1 test from" not in done.stdout:
        raise SystemExit(f"there is no test {name}")
    return done.returncode == 0


def broken_text(file, chosen):
    text = (ROOT / file).read_text()
    for number, _, _, edits, _ in chosen:
        for place, old, new in edits:
            if place != file:
                continue
            if text.count(old) != 1:
                raise SystemExit(f"{file} has this {text.count(old)} times: {old.strip()}")
            text = text.replace(old, new.replace("MISTAKE", f"makes_mistake({number})"))
    return SWITCH + text


def look(chosen):
    """Rows of the table, and how many tests did not notice."""
    rows, missed, last = [], 0, ""
    for one in sorted({one for *_, tests in chosen for one in tests}):
        if not passes(one, 0):
            raise SystemExit(f"{one[1]} fails as it is")
    for number, title, broken, _, tests in chosen:
        for one in tests:
            noticed = not passes(one, number)
            missed += not noticed
            print(f"{number}/{len(MISTAKES)} {title}: {broken}: {one[1]} {'fails' if noticed else 'DOES NOT NOTICE'}", flush=True)
        if title != last:
            rows.append(f"- **{title}**")
        seen = " ".join(f"`{name}`" for _, name in tests)
        rows += textwrap.wrap(f"{broken}: {seen}", 138, initial_indent="  - ", subsequent_indent="    ", break_long_words=False,
                              break_on_hyphens=False)
        last = title
    return rows, missed


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    words = [word.lower() for word in sys.argv[1:]]
    title, chosen = "", []
    for number, (mistake, broken, edits, tests) in enumerate(MISTAKES, 1):
        title = mistake or title
        if not words or any(word in f"{title} {broken}".lower() for word in words):
            chosen.append((number, title, broken, edits, tests))
    files = sorted({file for *_, edits, _ in chosen for file, _, _ in edits})
    if run(["git", "diff", "--quiet", "HEAD", "--", *files]).returncode != 0:
        sys.exit("commit first: " + ", ".join(files))
    originals = {file: (ROOT / file).read_text() for file in files}
    broken = {file: broken_text(file, chosen) for file in files}
    modules = {module for *_, tests in chosen for module, _ in tests}
    try:
        for file, text in broken.items():
            (ROOT / file).write_text(text)
        done = build(modules)
        if done.returncode != 0:
            sys.exit("does not build:\n" + "\n".join(done.stdout.splitlines()[-25:]))
        rows, missed = look(chosen)
    finally:
        for file, text in originals.items():
            (ROOT / file).write_text(text)
    build(modules)
    if missed:
        sys.exit(f"{missed} tests did not notice")
    if not words:
        (ROOT / "docs" / "gotchas.md").write_text(HEAD + "\n".join(rows) + "\n" + TAIL)


if __name__ == "__main__":
    main()
