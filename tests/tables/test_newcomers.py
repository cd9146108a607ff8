"""What is new in rows: counts of parts add up, in whatever order the parts come."""

import pytest

from patchfold.tables.newcomers import News

PARTS = (
    News(170, unseen={"hue": (2, ["mauve"])}, missing={"b": 1}, n_looked=170),
    News(170, missing={"a": 2, "b": 1}, beyond={"c": 2}, n_beyond=2, n_looked=170),
    News(60, unseen={"ant": (2, ["x"]), "hue": (1, ["lime"])}, missing={"d": 3}),
)


@pytest.mark.parametrize("parts", [PARTS, PARTS[::-1], PARTS[1:] + PARTS[:1]])
def test_the_order_of_parts_does_not_show(parts):
    (told,) = sum(parts, News(0)).told()
    assert told == (
        "of 400 new rows: 3 rows have levels of 'hue' that the model has not seen, "
        "which count as missing (lime, mauve); 2 rows have levels of 'ant' that the "
        "model has not seen, which count as missing (x); 7 missing cells were filled "
        "with the training table's median or mode (d 3, a 2, b 2); 2 rows have values "
        "far outside the training range (c 2)."
    )
