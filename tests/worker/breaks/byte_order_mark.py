def f(x): x = x * 2; print("first line"); return x + 1
#                    ^^^^^^^^^^^^^^^^^^^ GB0059 split in f


import torch  # a byte order mark opens this file


def graphglue_inputs():
    yield "f", f, (torch.ones(3),), {}  # breaks, 2 graphs
