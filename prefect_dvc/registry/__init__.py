"""The basis of a promotion: the comparison of figures, the tags of GTO, the objects in DVC's remote."""
