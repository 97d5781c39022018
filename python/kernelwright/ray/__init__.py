"""Training on a Ray cluster: `kernelwright-ray train`, and the judge as a Ray Serve deployment (docs/ray.md).

Ray owns processes; what they run is the program `kernelwright`: a rank is `kernelwright train` with torchrun's variables, a judge is
`kernelwright serve`. Nothing of a run is in Ray: it goes on from its folder's last checkpoint, under Ray or without.
"""

from __future__ import annotations

from .training import TrainingFailed, TrainingRequest, TrainingResult, train

__all__ = ["TrainingFailed", "TrainingRequest", "TrainingResult", "train"]
