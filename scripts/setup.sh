#!/usr/bin/env bash
# Installs everything that building and testing needs, on Debian 12 or Ubuntu 24.04: distribution packages through apt, libtorch with
# NVRTC through pip, and tree-sitter built from its source packages. Versions are pinned, the result lies outside the checkout, and a
# second run with nothing to do takes well under a second.
#   scripts/setup.sh              install what is missing for everything: program, tests, sanitizers, lint
#   scripts/setup.sh program      only what the program needs; where there is no NVIDIA driver, the CPU half of libtorch loads without
#                                 cuBLAS, cuDNN, NCCL and others, which are most of the download
#   scripts/setup.sh program --gpu  the same with these, where there is no driver
#   scripts/setup.sh [program] --check   only say what is missing (exit 1 if anything is)
# KERNELWRIGHT_CACHE moves the folder (default ~/.cache/kernelwright).
set -euo pipefail
cd "$(dirname "$0")/.."
level=all check_only= gpu=
for word in "$@"; do
  case $word in
    program | all) level=$word ;;
    --check) check_only=$word ;;
    --gpu) gpu=$word ;;
    *) echo "setup: '$word' is not an option" >&2; exit 2 ;;
  esac
done
arguments=("$@")
say() { echo "setup: $*"; }

. /etc/os-release
case "${VERSION_CODENAME:-}" in
  bookworm) llvm=14 ;;
  noble) llvm=18 ;;
  *) llvm=14; say "tested on Debian 12 and Ubuntu 24.04; this is ${PRETTY_NAME:-unknown}, going on" ;;
esac
packages=(
  ca-certificates g++ git make cmake ninja-build ccache mold pkg-config python3 python3-venv
  nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libseccomp-dev libssl-dev libxxhash-dev
  libpcre2-dev libutf8proc-dev libsqlite3-dev libarchive-dev
  libboost-dev libboost-math-dev libgtest-dev libgmock-dev libbenchmark-dev
)
[ "$level" = program ] || packages+=("clang-$llvm" "libclang-rt-$llvm-dev" "clang-tidy-$llvm") # libFuzzer, sanitizers, lint

# dpkg-query exits non-zero for a name it has never seen, so its status says nothing; its output does.
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${packages[@]}" 2>/dev/null | awk '$1 == "ii" {print $2}' || true)
missing=()
for package in "${packages[@]}"; do grep -qx "$package" <<<"$installed" || missing+=("$package"); done

cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}
# The folder's name is a hash of all that decides its content: another pin, another folder, and nothing is ever changed in place.
python=/usr/bin/python3
key=$(cat scripts/requirements.txt scripts/requirements-{gpu,test,source}.txt <($python --version 2>/dev/null || true) | sha256sum | cut -c1-16)
deps=$cache/deps/$key
# Python packages come in parts; a file says that a part is complete.
parts=(program)
if [ "$level" = all ]; then
  parts+=(gpu test)
elif [ -n "$gpu" ] || [ -e /dev/nvidiactl ]; then
  parts+=(gpu)
fi
missing_parts() { for part in "${parts[@]}"; do [ -e "$deps/.ready-$part" ] || echo "$part"; done; }

if [ "$check_only" = --check ]; then
  [ ${#missing[@]} -eq 0 ] || say "missing packages: ${missing[*]}"
  lacking=$(missing_parts | tr '\n' ' ')
  [ -z "$lacking" ] || say "missing in $deps: $lacking"
  [ ${#missing[@]} -eq 0 ] && [ -z "$lacking" ] && say "complete"
  exit
fi

if [ ${#missing[@]} -gt 0 ]; then
  apt=(apt-get -q -o DPkg::Lock::Timeout=300)
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      apt=(sudo -n DEBIAN_FRONTEND=noninteractive "${apt[@]}")
    else
      say "these packages are missing and this user may not install them:" >&2
      say "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  say "installing ${#missing[@]} distribution packages: ${missing[*]}"
  start=$SECONDS
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; say "apt-get failed; the packages that were asked for: ${missing[*]}" >&2; exit 1; }
  rm -f "$log"
  say "distribution packages installed in $((SECONDS - start)) s"
  # The key holds the Python version, which may be known only now.
  exec "$0" ${arguments[@]+"${arguments[@]}"}
fi

if [ -n "$(missing_parts)" ]; then
  mkdir -p "$cache/deps"
  exec 9>"$cache/deps/lock"
  flock 9 # two checkouts setting up at once: the second waits and finds the work done
fi

# The virtual environment with libtorch, NVRTC and the CUDA headers, and tree-sitter beside it.
install_program() {
  local start=$SECONDS
  rm -rf "$deps"
  say "installing libtorch and NVRTC (608 MiB to download) in $deps"
  $python -m venv "$deps/venv"
  install_packages requirements.txt
  say "libtorch installed in $((SECONDS - start)) s"
  start=$SECONDS
  "${pip[@]}" download --no-deps --no-binary :all: -d "$deps/source" -r scripts/requirements-source.txt
  for archive in "$deps"/source/*.tar.gz; do tar -xzf "$archive" -C "$deps/source"; done
  core=$(echo "$deps"/source/tree-sitter-0*/tree_sitter/core/lib)
  grammar=$(echo "$deps"/source/tree_sitter_cuda-*/src)
  mkdir -p "$deps/tree-sitter/lib" "$deps/tree-sitter/include"
  for unit in "$core/src/lib.c" "$grammar/parser.c" "$grammar/scanner.c"; do
    gcc -O1 -fPIC -std=c11 -D_DEFAULT_SOURCE -w -I"$core/include" -I"$core/src" -I"$grammar" \
      -c "$unit" -o "$deps/tree-sitter/$(basename "$unit" .c).o"
  done
  ar rcs "$deps/tree-sitter/lib/libtree-sitter-cuda.a" "$deps"/tree-sitter/*.o
  cp -r "$core/include/tree_sitter" "$deps/tree-sitter/include/"
  say "tree-sitter built in $((SECONDS - start)) s"
  ln -s "$(echo "$deps"/venv/lib/python3*/site-packages)" "$deps/site-packages"
}

pip=("$deps/venv/bin/pip" --disable-pip-version-check -q)
install_packages() { "${pip[@]}" install --no-deps --no-cache-dir --no-compile -r "scripts/$1"; }

for part in $(missing_parts); do
  start=$SECONDS
  case $part in
    program) install_program ;;
    gpu) say "installing what libtorch needs on a GPU (1,792 MiB to download)"; install_packages requirements-gpu.txt ;;
    test) say "installing nvcc and clang-format for the tests (97 MiB to download)"; install_packages requirements-test.txt ;;
  esac
  touch "$deps/.ready-$part"
  say "part '$part' complete after $((SECONDS - start)) s"
done
ln -sfn "$deps" .deps
say "ready ($deps)"
