"""Tensors without elements, where there is nothing."""

import torch

NO_VALUES = torch.zeros(0, dtype=torch.float64)
NO_ROWS = torch.zeros(0, 0, dtype=torch.float64)
NO_INDICES = torch.zeros(0, dtype=torch.int64)
