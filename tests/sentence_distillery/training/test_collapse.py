"""A guard for encoders whose vectors are all alike."""

import numpy as np
import pytest

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.training.collapse import refuse_collapsed

REMEDY = "Lower learning_rate"


@pytest.mark.fault(23)
def test_collapse() -> None:
    """A mean cosine of 1 is refused; orthogonal sentences, one alone, and cosines 1, 0.6 and 0.6 are not."""
    with pytest.raises(
        InputError, match=r"The student has collapsed: the mean cosine of 5 different sentences is 1\.0"
    ):
        refuse_collapsed(np.tile(np.array([[0.6, 0.8]], dtype=np.float32), (5, 1)), "student", REMEDY)
    with pytest.raises(InputError, match=rf"all its vectors are zero\. {REMEDY}"):
        refuse_collapsed(np.zeros((5, 2), dtype=np.float32), "student", REMEDY)
    refuse_collapsed(np.eye(5, dtype=np.float32), "student", REMEDY)
    refuse_collapsed(np.ones((1, 1), dtype=np.float32), "student", REMEDY)
    refuse_collapsed(np.array([[1, 0], [1, 0], [0.6, 0.8]], dtype=np.float32), "student", REMEDY)  # 2.2 / 3
