"""Slices of samples, run in threads."""

import pytest

from patchfold.solvers.field.parts import Crew, cut


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 32])
def test_results_come_in_order(n_jobs):
    slices = cut(50_000)
    with Crew(n_jobs, 50_000) as crew:
        for _ in range(20):
            assert crew.run(lambda rows: rows.start, slices) == [
                rows.start for rows in slices
            ]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("bad", [0, 5, 11])
def test_an_error_in_a_slice_is_raised_and_others_can_follow(n_jobs, bad):
    slices = cut(50_000)

    def fail(rows):
        if rows == slices[bad]:
            raise ValueError(f"slice {bad}")

    with Crew(n_jobs, 50_000) as crew:
        with pytest.raises(ValueError, match=f"slice {bad}"):
            crew.run(fail, slices)
        assert crew.run(lambda rows: 1, slices) == [1] * len(slices)
