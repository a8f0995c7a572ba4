"""What a promotion stands on: the comparison of figures, the tags of GTO, the objects in DVC's remote."""
