"""Inference: texts to vectors with NumPy, Arrow and SciPy alone, and the formats in which a model lies on disk."""
