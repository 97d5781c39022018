#!/usr/bin/env bash
# Every comparison with other programs, in the environment of scripts/parity_env.sh; writes bench/results/parity.md.
# Takes minutes: the other programs are slow. Exit status 1 where anything differs.
set -uo pipefail
cd "$(dirname "$0")/.."
environment=$(scripts/parity_env.sh | tail -n 1) || exit 1
python=$environment/venv/bin/python
model=$(build/kernelwright model fetch smollm2-135m) || exit 1
corpus=$(mktemp)
report=$(mktemp)
trap 'rm -f "$corpus" "$report"' EXIT
cat $(git ls-files 'src/*.cpp' 'src/*.h' 'tasks/*.cu') >"$corpus"
status=0

compare() { # title, command as it is printed, command
  local title=$1 shown=$2
  shift 2
  echo "== $title"
  printf '\n## %s\n\nCommand: `%s`\n\n```\n' "$title" "$shown" >>"$report"
  # Remarks of the other programs about what they lack are no result.
  "$@" 2> >(grep -v -e kernels -e flop_counter -e de-quantizing >&2) | tee -a "$report"
  local code=${PIPESTATUS[0]}
  printf '```\n' >>"$report"
  [ "$code" = 0 ] || { status=1; echo "== $title: DIFFERS"; }
}

strings=${PARITY_STRINGS:-21000}
compare "Tokenizer" "scripts/tokenizer_parity.py --gguf MODEL --tiktoken qwen.tiktoken --train corpus --strings $strings" \
  "$python" scripts/tokenizer_parity.py --gguf "$model" --tiktoken "$environment/qwen.tiktoken" --train "$corpus" --strings "$strings"
compare "Weights" "scripts/weights_parity.py build/src/model/weights/weights_dump MODEL" \
  "$python" scripts/weights_parity.py build/src/model/weights/weights_dump "$model"
compare "Model" "scripts/model_parity.py build/kernelwright --generated 20" \
  "$python" scripts/model_parity.py build/kernelwright --model "$model" --generated 20
{
  echo "# Parity: the same results as the programs that people use"
  echo
  echo "Written by \`make parity\`. Packages: $("$python" -m pip list --disable-pip-version-check 2>/dev/null |
    awk '$1 ~ /^(transformers|peft|bitsandbytes|gguf|safetensors|tokenizers|tiktoken)$/ {printf "%s %s, ", $1, $2}')torch 2.11.0."
  echo "MODEL is SmolLM2-135M-Instruct (\`kernelwright model fetch smollm2-135m\`). Processor: $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs), $(nproc) cores."
  echo "The error of a tensor is ||ours - theirs|| / ||theirs||."
  cat "$report"
} >bench/results/parity.md
exit $status
