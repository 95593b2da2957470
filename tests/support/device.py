"""The device that contracts are tested on: a CPU, or that of `pytest --device cuda`."""

from __future__ import annotations

import torch

DEVICE = torch.device("cpu")
