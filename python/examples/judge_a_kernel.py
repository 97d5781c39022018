"""The five lines: python python/examples/judge_a_kernel.py [TASK KERNEL.cu]"""

import sys

import kernelwright as kw

task, file = sys.argv[1:3] or ("softmax", "examples/softmax_shared.cu")
verdict = kw.Judge().judge(task, open(file).read())
print(verdict.status, verdict.speedup, verdict.message)
