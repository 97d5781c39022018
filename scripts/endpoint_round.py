#!/usr/bin/env python3
"""A model elsewhere teaches one of ours: a service serves the tiny agents on a Unix socket, `train gather` talks with them as with any
endpoint, and a pupil learns from what the judge found right. The pupil is a tiny model that has forgotten most of what it could: it was
trained on a single family with a learning rate that is far too high. Prints its held-out score before and after, and fails where it does
not rise in every seed.

    scripts/endpoint_round.py [--tasks 48] [--steps 60] [--questions 24] [--seeds 1 2 3] [--folder DIR]

KERNELWRIGHT names the program; otherwise it is build/kernelwright. A folder that is named is kept, and what is in it is not done again."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("KERNELWRIGHT") or str(ROOT / "build" / "kernelwright")


def run(*arguments):
    print("$ kernelwright " + " ".join(map(str, arguments)), flush=True)
    began = time.monotonic()
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode > 1:
        sys.exit(done.stderr[-2000:])
    return json.loads(done.stdout), time.monotonic() - began, done.stderr


def score(model, questions, out):
    """Right answers to tasks that training never draws, one greedy answer each."""
    if out.exists():
        answers, seconds = json.loads(out.read_text())["answers"], 0.0
    else:
        _, seconds, _ = run("evaluate", model, "--exam", "generator", "--split", "composition", "--tasks", questions, "--turns", 1,
                            "--answer-tokens", 400, "--backend", "emulator", "--out", out)
        answers = json.loads(out.read_text())["answers"]
    right = sum(answer["correct"] for answer in answers)
    print(f"  {right} of {len(answers)} held-out tasks solved ({seconds:.0f} s)", flush=True)
    return right, len(answers)


def teach(folder, arguments):
    socket = folder / "teacher.sock"
    command = [PROGRAM, "serve", "--socket", socket, "--model", "tiny", "--backend", "emulator", "--quiet", "--runs", folder / "runs",
               "--folder", folder / "conversations"]
    service = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        store, teacher = folder / "talk.db", f"unix:{socket}#tiny"
        end = time.monotonic() + 600
        while not socket.exists() or subprocess.run(["curl", "-sf", "--unix-socket", str(socket), "http://localhost/ready"],
                                                    capture_output=True).returncode != 0:
            if time.monotonic() > end or service.poll() is not None:
                sys.exit("the service did not start")
            time.sleep(0.2)
        gathered, seconds, _ = run("train", "gather", store, "--model", teacher, "--tasks", arguments.tasks, "--turns", 1, "--samples", 2,
                                   "--temperature", 0.5, "--backend", "emulator")
        print(f"  {gathered['conversations']} conversations, {gathered['worked']} of {gathered['answers']} answers worked "
              f"({seconds:.0f} s)", flush=True)
        return store
    finally:
        service.terminate()
        service.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=48, help="that the teacher is asked about")
    parser.add_argument("--steps", type=int, default=60, help="of the pupil")
    parser.add_argument("--questions", type=int, default=24, help="of each exam")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of the pupil")
    parser.add_argument("--folder", help="kept; default: a temporary one")
    arguments = parser.parse_args()
    rose = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        store = teach(folder, arguments)
        for seed in arguments.seeds:
            before, after = round_of(seed, store, folder, arguments)
            print(f"seed {seed}: held-out score {before[0]}/{before[1]} before, {after[0]}/{after[1]} after", flush=True)
            rose.append(after[0] > before[0])
    print(f"the score rises in {sum(rose)} of {len(rose)} seeds")
    return 0 if all(rose) else 1


def round_of(seed, store, folder, arguments):
    forgetful, pupil = folder / f"forgetful_{seed}", folder / f"pupil_{seed}"
    if not (forgetful / "agents" / "agents.json").exists():
        run("train", "sft", forgetful, "--model", "tiny", "--families", "transpose", "--steps", 12, "--batch", 1024, "--lr", 0.006,
            "--evaluations", 0, "--audit", 0, "--seed", seed)
    before = score(forgetful, arguments.questions, folder / f"before_{seed}.json")
    if not (pupil / "agents" / "agents.json").exists():
        _, seconds, said = run("train", "sft", pupil, "--model", forgetful, "--conversations", store, "--own-share", 1, "--steps",
                               arguments.steps, "--batch", 2048, "--lr", 0.001, "--evaluations", 0, "--audit", 0, "--seed", seed)
        told = [line for line in said.splitlines() if "worth learning from" in line]
        print(f"  {told[0] if told else ''} ({seconds:.0f} s)", flush=True)
    return before, score(pupil, arguments.questions, folder / f"after_{seed}.json")


if __name__ == "__main__":
    sys.exit(main())
