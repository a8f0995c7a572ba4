"""The tables of the documentation, each written from figures that are saved in git."""
