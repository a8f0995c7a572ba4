"""The multilingual encoder: `python -m sentence_distillery.multilingual` makes it, `load` finds it."""
