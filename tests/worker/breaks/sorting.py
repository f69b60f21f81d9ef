"""Functions handed to sorted, min and filter."""
import torch


def by_key(x):
    x = x + 1
    rows = sorted(x.unbind(), key=lambda row: row.sum().item())
#                                             ^^^^^^^^^^^^^^^^ GB0124 split x2 in by_key.<locals>.<lambda>
    return torch.stack(rows)


def filtered(x):
    x = x + 1
    rows = list(filter(lambda row: row.sum() > 0, x.unbind()))
#          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0170 split in filtered
    return torch.stack(rows)


def graphglue_inputs():
    yield "by_key", by_key, (torch.ones(2, 3),), {}  # breaks, 3 graphs
    yield "filtered", filtered, (torch.ones(2, 3),), {}  # breaks, 3 graphs
