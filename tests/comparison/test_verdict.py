"""The answer of `compare`: the best, what cannot be told from it, what to distrust."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from patchfold import Comparison
from patchfold.comparison.hiding import find_flattery, find_hidden
from patchfold.comparison.scoring import Curve, Result
from patchfold.metrics.fold_tests import corrected_t_test, differ_from_best, holm

FOLDS = {
    "first": (0.92, 0.9, 0.93, 0.91, 0.92),
    "equal": (0.91, 0.92, 0.9, 0.92, 0.91),
    "behind": (0.7, 0.71, 0.69, 0.7, 0.72),
}


def result(name, folds, **more):
    return Result(
        name,
        name.title(),
        embedding=np.zeros((6, 2)),
        folds=folds,
        held_out=float(np.mean(folds)),
        held_out_error=0.01,
        trustworthiness=0.95,
        triplets=0.8,
        **more,
    )


@pytest.fixture
def comparison():
    return Comparison(
        name="table",
        results=[
            *(result(name, folds) for name, folds in FOLDS.items()),
            result("features", (0.93,) * 5, kind="reference"),
            result("guess", (0.5,) * 5, kind="reference"),
        ],
        labels=np.array([0, 0, 0, 1, 1, 1]),
        class_names=["a", "b"],
        ids=list("abcdef"),
        frame=pd.DataFrame({"x": range(6)}),
        columns=[("x", "number", "scaled")],
        remarks=[],
        n_splits=5,
        versions={},
        command="",
        target="kind",
    )


class TestFoldTests:
    def test_the_correction_widens_the_usual_t_test(self):
        gaps = np.array([0.02, 0.05, 0.01, 0.04, 0.03])
        usual = stats.ttest_1samp(gaps, 0).pvalue
        assert corrected_t_test(gaps, 0) == pytest.approx(usual)
        t = stats.ttest_1samp(gaps, 0).statistic / np.sqrt(1 + 5 / 4)
        assert corrected_t_test(gaps, 1 / 4) == pytest.approx(2 * stats.t.sf(t, 4))

    def test_folds_that_all_differ_by_the_same_are_sure(self):
        assert corrected_t_test([0.1, 0.1, 0.1], 0.5) == 0
        assert corrected_t_test([0.0, 0.0, 0.0], 0.5) == 1

    def test_one_fold_is_refused(self):
        with pytest.raises(ValueError, match="two folds or more"):
            corrected_t_test([0.1], 1.0)

    def test_rows_show_a_difference_that_five_folds_leave_open(self):
        gaps = np.array([0.13, 0.37, 0.25, 0.18, 0.32])
        rows = [gap + np.tile([-1.0, 1.0], 50) for gap in gaps]
        assert corrected_t_test(gaps, 1 / 4) > 0.01
        p = corrected_t_test(rows, 1 / 4)
        t = 0.25 / np.sqrt((1 / 5 + 1 / 4) * (100 / 99) / 100)
        assert p == pytest.approx(2 * stats.t.sf(t, 495))
        assert p < 0.001

    def test_folds_that_disagree_are_believed_more_than_their_rows(self):
        gaps = np.array([-0.5, 0.9, 0.1, 0.9, -0.3])
        rows = [gap + np.tile([-0.01, 0.01], 50) for gap in gaps]
        t = gaps.mean() / np.sqrt((1 / 5 + 1 / 4) * gaps.var(ddof=1))
        p = corrected_t_test(rows, 1 / 4)
        assert p == pytest.approx(2 * stats.t.sf(t, 4))
        assert p > 0.05

    def test_holm_never_orders_anew(self):
        raw = [0.04, 0.001, 0.03, 0.6]
        corrected = holm(raw)
        assert corrected == pytest.approx([0.09, 0.004, 0.09, 0.6])
        assert np.all(np.diff(np.array(corrected)[np.argsort(raw)]) >= 0)

    def test_methods_that_are_the_same_are_rarely_called_different(self):
        """Under the null, of 400 comparisons of 6 equal methods few err."""
        rng = np.random.default_rng(0)
        wrong = 0
        for _ in range(400):
            scores = rng.normal(size=(6, 5))
            folds = {str(k): row for k, row in enumerate(scores)}
            best = max(folds, key=lambda name: folds[name].mean())
            wrong += min(differ_from_best(folds, best, 0.25).values()) < 0.05
        assert wrong / 400 < 0.1

    @pytest.mark.parametrize("n_rows", [40, 400])
    @pytest.mark.parametrize("spread", [0.0, 0.1])
    def test_rows_of_equal_methods_rarely_call_them_different(self, spread, n_rows):
        """Also if what a method learns changes its score from fold to fold."""
        rng = np.random.default_rng(0)
        wrong = 0
        for _ in range(300):
            chances = 0.8 + spread * rng.uniform(-1, 1, size=(6, 5, 1))
            right = (rng.uniform(size=(6, 5, n_rows)) < chances).astype(float)
            folds = {str(k): list(rows) for k, rows in enumerate(right)}
            best = max(folds, key=lambda name: np.mean(folds[name]))
            wrong += min(differ_from_best(folds, best, 0.25).values()) < 0.05
        assert wrong / 300 < 0.1


class TestVerdict:
    def test_equals_are_named_together_and_the_others_are_behind(self, comparison):
        verdict = comparison.verdict
        assert verdict.best == ("first", "equal")
        assert verdict.p_values["behind"] < 0.001
        first, second = verdict.sentences
        assert first.startswith(
            "First and Equal cannot be told apart; First, the first"
        )
        assert "91.6% of the held-out rows" in first
        assert "(± 1.0 points)" in first
        assert second.startswith("First is ahead of Behind (by 21.2 points)")
        assert "paired over 5 folds" in second
        assert str(comparison) == f"{first} {second}"

    def test_rows_are_compared_where_they_are_known(self, comparison):
        """Two folds alone are hardly ever sure; their 200 rows are."""

        def scored(name, *counts):
            rows = tuple((np.arange(100) < count).astype(float) for count in counts)
            return result(name, tuple(count / 100 for count in counts), rows=rows)

        results = [
            scored("first", 90, 88),
            scored("close", 86, 89),
            scored("behind", 60, 62),
        ]
        sure = replace(comparison, results=results, n_splits=2).verdict
        assert sure.best == ("first", "close")
        assert sure.p_values["behind"] < 0.001
        assert "paired over the rows of 2 folds" in sure.sentences[1]
        bare = [replace(each, rows=()) for each in results]
        unsure = replace(comparison, results=bare, n_splits=2).verdict
        assert unsure.p_values["behind"] > 0.05

    def test_a_difference_that_rounds_to_nothing_is_put_in_words(self, comparison):
        """A lead of 0.0004 in trustworthiness."""
        better = [0.9504, 0.9505, 0.9504, 0.9505, 0.9504]
        results = [
            result("first", tuple(better), measure="trustworthiness"),
            result("next", (0.95,) * 5, measure="trustworthiness"),
        ]
        results[0] = replace(results[0], trustworthiness=0.9504)
        verdict = replace(
            comparison, results=results, labels=None, class_names=[]
        ).verdict
        assert (
            "It is ahead of Next (by less than 0.001, too little to see)"
            in verdict.sentences[1]
        )

    def test_no_method_below_a_surely_worse_one_is_marked(self, comparison):
        uneven = result("uneven", (0.2, 0.95, 0.3, 0.9, 0.6))
        verdict = replace(comparison, results=[*comparison.results, uneven]).verdict
        assert verdict.p_values["uneven"] > 0.05
        assert verdict.best == ("first", "equal")
        assert verdict.sentences[1].endswith(
            "Uneven scores lower too, but too unevenly over the folds to be sure."
        )

    def test_no_method_below_a_guess_is_called_as_good_as_the_best(self, comparison):
        first, equal, *rest = comparison.results
        poor = replace(equal, folds=(0.1, 0.9, 0.2, 0.8, 0.4), held_out=0.48)
        guess = [replace(r, held_out=0.5) for r in rest if r.name == "guess"]
        verdict = replace(comparison, results=[first, poor, *guess]).verdict
        assert verdict.p_values["equal"] > 0.05
        assert verdict.best == ("first",)
        assert verdict.sentences[1].endswith(
            "Equal scores lower, but too unevenly over the folds to be sure."
        )

    def test_one_best_is_named_alone(self, comparison):
        kept = [r for r in comparison.results if r.name != "equal"]
        verdict = replace(comparison, results=kept).verdict
        assert verdict.best == ("first",)
        assert verdict.sentences[0].startswith("First shows “kind” best: it classifies")
        assert verdict.sentences[1].startswith("It is ahead of Behind")

    def test_a_score_no_better_than_a_guess_is_a_warning(self, comparison):
        poor = [
            replace(r, folds=FOLDS["first"], held_out=0.91) if r.name == "guess" else r
            for r in comparison.results
        ]
        reasons = dict(map(reversed, replace(comparison, results=poor).verdict.reasons))
        (text,) = [t for t, level in reasons.items() if "guess" in t]
        assert text.startswith("It is not surely better than a guess (91.0%)")
        assert reasons[text] == "careful"

    def test_labels_that_leak_are_said(self, comparison):
        control = result("first-permuted", (0.8,) * 5, kind="control")
        leaking = replace(comparison, results=[*comparison.results, control])
        texts = [text for _, text in leaking.verdict.reasons]
        assert any("more than a guess: labels leak" in text for text in texts)

    @pytest.mark.parametrize(
        ("reached", "words"),
        [(0.3, "no more than a guess does"), (0.55, "about as a guess does")],
    )
    def test_labels_that_do_not_leak_are_said(self, comparison, reached, words):
        control = result("first-permuted", (reached,) * 5, kind="control")
        fine = replace(comparison, results=[*comparison.results, control])
        texts = [text for _, text in fine.verdict.reasons]
        assert any(f"{words}: labels do not leak" in text for text in texts)

    def test_rows_are_said_to_be_near_the_others_if_none_is_far(self, comparison):
        said = ("good", "No row is far from the others.")
        assert said not in comparison.verdict.reasons  # not measured
        near = replace(comparison, distances=np.ones(6))
        assert said in near.verdict.reasons
        far = replace(comparison, distances=np.array([1, 1, 1, 1, 1, 9.0]))
        assert said not in far.verdict.reasons

    def test_a_flattering_picture_is_a_warning_in_the_answer_and_below_it(
        self, comparison
    ):
        first = replace(comparison.results[0], flatters="draws its picture too well")
        page = replace(comparison, results=[first, *comparison.results[1:]])
        assert ("careful", "Its picture draws it too well.") in page.verdict.reasons
        assert "First draws its picture too well." in page.to_html()

    def test_classes_that_are_mostly_lost_are_counted(self, comparison):
        first = replace(comparison.results[0], recalls=(0.2, 0.4), balanced=0.3)
        lost = replace(comparison, results=[first, *comparison.results[1:]])
        assert (
            "careful",
            "Its weakest class is “a”: 20% of its 3 rows are found. In 2 of the 2 "
            "classes less than half of the rows are found: “a” and “b”.",
        ) in lost.verdict.reasons

    def test_a_score_that_depends_on_the_neighbours_is_said(self, comparison):
        first = replace(comparison.results[0], curve=Curve([5, 40], [0.6, 0.9], [0, 0]))
        shaky = replace(comparison, results=[first, *comparison.results[1:]])
        assert (
            "careful",
            "With 5 to 40 neighbours its score changes by 0.30 on one fold: the "
            "choice matters here.",
        ) in shaky.verdict.reasons

    def test_without_labels_large_distances_have_a_word(self, comparison):
        results = [
            replace(
                r, measure="trustworthiness", held_out=np.nan, held_out_error=np.nan
            )
            for r in comparison.results[:3]
        ]
        results[2] = replace(results[2], triplets=0.9, trustworthiness=0.8)
        verdict = replace(
            comparison, results=results, labels=None, class_names=[]
        ).verdict
        assert "keeps neighbours with trustworthiness 0.950" in verdict.sentences[0]
        assert "For large distances look at Behind" in verdict.sentences[1]

    def test_the_page_shows_the_answer_first_and_references_apart(self, comparison):
        page = comparison.to_html()
        order = ["First and Equal", "Can you trust it?", "References, not methods"]
        places = [page.index(words) for words in order]
        assert places == sorted(places)
        assert page.count("≈ best") == 3  # table, picture, what it means


@pytest.mark.parametrize(
    ("spread", "why", "words"),
    [
        (1e-4, "it has seen the labels", "each class on one spot: it has seen the"),
        (1e-4, "", "puts each class on one spot"),
        (0.3, "it has seen the labels", ""),
    ],
)
def test_a_picture_of_single_spots_says_so(spread, why, words):
    rng = np.random.default_rng(0)
    classes = np.arange(300) % 3
    places = np.array([[0, 0], [1, 0], [0, 1]])[classes]
    hidden = find_hidden(places + rng.normal(scale=spread, size=(300, 2)), classes, why)
    assert words in hidden
    assert bool(hidden) == bool(words)


def test_a_picture_that_new_rows_do_not_bear_out_says_so():
    rng = np.random.default_rng(0)
    classes = np.arange(300) % 2
    places = np.column_stack(
        [classes + rng.normal(scale=0.01, size=300), np.zeros(300)]
    )
    said = find_flattery(places, classes, 0.64)
    assert said.startswith("draws classes further apart than they are: it has seen the")
    assert said.endswith("100% of the rows drawn, and of 64% of new rows")
    assert find_flattery(places, classes, 0.93) == ""


def test_classes_that_share_a_spot_are_not_said_to_have_one_each():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [150, 140, 10])
    places = np.array([[0, 0], [0, 0], [1, 1]])[classes]
    places = places + rng.normal(scale=1e-4, size=(300, 2))
    assert find_hidden(places, classes, "why") == "puts classes on the same spot: why"


def test_a_picture_that_a_few_samples_stretch_says_so():
    rng = np.random.default_rng(0)
    places = rng.normal(scale=1e-3, size=(1000, 2))
    places[:60] = rng.normal(size=(60, 2))
    assert find_hidden(places, None).endswith("the picture: a few others take the room")
    assert find_hidden(places, None, "it is sure").endswith("the picture: it is sure")
    assert find_hidden(rng.normal(size=(1000, 2)), None) == ""
    line = find_hidden(rng.exponential(size=(1000, 1)), None, "it has seen the labels")
    assert line.endswith("the picture: it has one coordinate only")
