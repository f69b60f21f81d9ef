"""Tabs, accents, wide characters and characters of four bytes before the break."""
import torch


def tabs(x):
	if x.dim() == 1:
		x = x + 1;	n = x.sum().item()
#				    ^^^^^^^^^^^^^^ GB0124 split in tabs
		x = x * n
	return x


def héros(x):
    名前, smile = "名前", "😀"; größe = x + len("é😀" + 名前 + smile); n = größe.sum().item()
#                                                                          ^^^^^^^^^^^^^^^^^^ GB0124 split in héros
    return größe * n


def graphglue_inputs():
    yield "tabs", tabs, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "héros", héros, (torch.ones(3),), {}  # breaks, 2 graphs
