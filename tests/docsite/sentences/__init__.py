"""Sentences of docs/paper*.md with figures, each with the way its figures follow from the kept tables.

A sentence is a pattern with groups, and what the groups have to be. The texts are those of the pages, so that "2.5" in
words, or a figure rounded to the half, has no sentence here.
"""
