#!/usr/bin/env python3
"""Times tasks' PyTorch text on a GPU, as it is (eager) and through torch.compile, at the train sizes.

Same protocol as the program's own timing of PyTorch: device time by events, L2 flushed, the host's enqueueing hidden, median with its 95 %
interval, TF32 off unless asked for. Needs a GPU, torch with CUDA and Triton, a C compiler, and PyYAML. Prints one line a task and size,
with --json one JSON object; a task that fails has "error" instead of times, and the exit status is 1.
"""
import argparse
import json
import sys
import time

import torch

import gpu_tasks


def measure(task, sizes, seed, options):
    function, names = gpu_tasks.reference_function(task)
    arguments = gpu_tasks.call_arguments(names, gpu_tasks.make_inputs(task, sizes, seed), sizes)
    limits = {"trials_min": options.trials, "budget_ms": options.budget_ms}
    with torch.inference_mode():
        eager = gpu_tasks.time_us(lambda: function(*arguments), **limits)
        # Nothing is kept from the last size: each is compiled for itself, with its sizes as constants.
        torch._dynamo.reset()
        compiled = torch.compile(function, dynamic=False, fullgraph=options.fullgraph, mode=options.mode)
        before = time.perf_counter()
        compiled(*arguments)
        torch.cuda.synchronize()
        compile_s = time.perf_counter() - before
        times = gpu_tasks.time_us(lambda: compiled(*arguments), **limits)
    return {"compiled": times, "eager": eager, "compile_s": round(compile_s, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="a YAML file, a folder with task.yaml, or a name of the suite")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--mode", default="default", help="torch.compile's mode: default, reduce-overhead, max-autotune")
    parser.add_argument("--tf32", action="store_true", help="allow TF32 in matrix products and convolutions of float32")
    parser.add_argument("--fullgraph", action="store_true", help="fail where parts of the text would stay eager")
    parser.add_argument("--trials", type=int, default=20, help="at least so many (default 20)")
    parser.add_argument("--budget-ms", type=float, default=1000, help="for the trials of one time (default 1000)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch sees no GPU on this machine", file=sys.stderr)
        return 2
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    torch.backends.cudnn.allow_tf32 = options.tf32
    about = {"mode": options.mode, "tf32": options.tf32, "torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}

    failures = 0
    for name in options.tasks:
        try:
            task = gpu_tasks.load_task(name)
        except (OSError, ValueError) as problem:
            print(f"{name}: {problem}", file=sys.stderr)
            failures += 1
            continue
        for number, sizes in enumerate(task["sizes"]["train"]):
            line = {"task": task["name"], "kind": "train", "size": sizes, **about}
            try:
                line.update(measure(task, sizes, 1000 + number, options))
            except Exception as problem:  # one task that does not compile must not hide the others
                line["error"] = f"{type(problem).__name__}: {str(problem).strip().splitlines()[0][:200] if str(problem).strip() else ''}"
                failures += 1
            torch.cuda.empty_cache()
            if options.json:
                print(json.dumps(line), flush=True)
            elif "error" in line:
                print(f"FAIL {task['name']:32} {sizes}: {line['error']}", flush=True)
            else:
                compiled, eager = line["compiled"], line["eager"]
                print(f"ok   {task['name']:32} {sizes}: compiled {compiled['us']:.1f} us [{compiled['low_us']:.1f}, {compiled['high_us']:.1f}], "
                      f"eager {eager['us']:.1f} us, {eager['us'] / compiled['us']:.2f} x; compiled in {line['compile_s']} s"
                      f"{', EXPOSED' if compiled['exposed'] or eager['exposed'] else ''}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
