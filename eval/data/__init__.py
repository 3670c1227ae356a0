"""Readers of evaluation sets: word pairs, analogies, labelled sentences, treebanks, folders of them."""
