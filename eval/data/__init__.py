"""Readers of evaluation sets (word pairs, analogies, labelled sentences, treebanks) and of their folders."""
