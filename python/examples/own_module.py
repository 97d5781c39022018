"""A module of your own becomes a task, and agents write a kernel for it. Needs torch: pip install ./python[torch]

    python python/examples/own_module.py
"""

import torch

import kernelwright as kw


class Shifted(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5)


if __name__ == "__main__":
    task = kw.task_from(Shifted(), (torch.randn(512, 1024),))
    best = kw.Agents().best(task, turns=2, samples=4)
    verdict = kw.Judge().judge(task, best.kernel)
    wrong = kw.Judge().judge(task, best.kernel.replace("0.5f", "0.25f"))
    print(f"{best.kernel}\n{task.name}: {verdict.status}, {verdict.time_us:.2f} us; with another number in it: {wrong.status}")
