"""Rankings, averages and the report: functions of records and printed numbers."""

import re
from dataclasses import replace
from email.message import Message
from statistics import fmean, stdev

import pytest

from patchfold.metrics.rank_tests import (
    friedman,
    kruskal_wallis,
    mean_ranks,
    nemenyi,
    wilcoxon_holm,
)
from patchfold.studies.reproduction import claims, figures
from patchfold.studies.reproduction.documents import (
    Command,
    Grid,
    Heading,
    Image,
    Paragraph,
    as_markdown,
)
from patchfold.studies.reproduction.figure_records import FigureRecord, write_figure
from patchfold.studies.reproduction.page import as_html
from patchfold.studies.reproduction.papers import Published, published_numbers
from patchfold.studies.reproduction.rankings import rank_tables
from patchfold.studies.reproduction.records import Record
from patchfold.studies.reproduction.report import (
    build_report,
    protocol_words,
    write_report,
)
from patchfold.studies.reproduction.tables import average_tables, build_tables

NOTHING = Published({}, {})
SETS = ("a", "b", "c", "d", "e", "f")
BASE = Record(
    paper="pelle",
    table="1",
    dataset="a",
    method="PCA",
    metric="mean_accuracy_4",
    value=0.5,
    published=0.6,
    protocol="published",
    variant="equations",
    n_neighbors=None,
    seconds=1.0,
    status="ok",
)


def score(dataset, method):
    """Return a made-up accuracy: PELLE is best but on the last set."""
    base = {"PCA": 0.5, "LLE": 0.6, "PELLE": 0.7}.get(method, 0.8)
    place = SETS.index(dataset)
    return base + 0.01 * place - (0.3 if (method, dataset) == ("PELLE", "f") else 0)


def records(methods=("PCA", "LLE", "PELLE"), sets=SETS, **changes):
    return [
        replace(
            BASE,
            dataset=dataset,
            method=method,
            value=score(dataset, method),
            published=1 - score(dataset, method),
            **changes,
        )
        for dataset in sets
        for method in methods
    ]


def without_number(record, status):
    return replace(record, value=None, status=status)


def only(rankings):
    (ranking,) = rankings
    return ranking


def grids(blocks, heading):
    """Return the tables between a heading and the next one."""
    start = next(i for i, b in enumerate(blocks) if b == heading)
    found = []
    for block in blocks[start + 1 :]:
        if isinstance(block, Heading):
            break
        if isinstance(block, Grid):
            found.append(block.lines)
    return found


# Rankings


def test_ranks_and_tests_are_those_of_the_scores():
    ranking = only(rank_tables(build_tables(records())))
    scores = {s: {m: score(s, m) for m in ("PCA", "LLE", "PELLE")} for s in SETS}
    assert ranking.ours.scores == scores
    assert ranking.ours.ranks == mean_ranks(scores).ranks
    assert ranking.ours.ranks["PELLE"] == pytest.approx((5 * 1 + 3) / 6)
    assert ranking.ours.friedman == friedman(scores)
    assert ranking.ours.kruskal_wallis == kruskal_wallis(scores)
    assert ranking.ours.nemenyi == nemenyi(scores).p_values
    assert ranking.reference == "PELLE"


def test_printed_numbers_are_ranked_on_the_same_sets():
    ranking = only(rank_tables(build_tables(records())))
    assert set(ranking.printed.scores) == set(SETS)
    ours, printed = ranking.ours.ranks, ranking.printed.ranks
    assert printed == {m: pytest.approx(4 - rank) for m, rank in ours.items()}


def test_a_control_has_nothing_printed_beside_it():
    ranking = only(rank_tables(build_tables(records(protocol="permuted published"))))
    assert ranking.ours is not None
    assert ranking.printed is None


def test_honest_ranks_are_those_of_the_means_over_splits():
    splits = [
        replace(r, protocol="honest", split=split, value=r.value + shift)
        for r in records()
        for split, shift in enumerate((-0.25 if r.method == "PELLE" else 0.0, 0.05))
    ]
    ranking = only(rank_tables(build_tables(splits)))
    found = ranking.ours.scores["a"]
    assert found["PELLE"] == pytest.approx(0.7 - 0.1)
    assert found["LLE"] == pytest.approx(0.6 + 0.025)
    assert ranking.ours.ranks["LLE"] < ranking.ours.ranks["PELLE"]


def test_a_method_without_numbers_is_left_out_and_named():
    reason = "left out: UMAP cannot place new samples"
    extra = [
        without_number(replace(r, method="UMAP"), reason) for r in records(("PCA",))
    ]
    ranking = only(rank_tables(build_tables([*records(), *extra])))
    assert ranking.left_out == {"UMAP": "UMAP cannot place new samples"}
    assert set(ranking.ours.ranks) == {"PCA", "LLE", "PELLE"}
    assert len(ranking.ours.scores) == len(SETS)


def test_a_method_with_few_numbers_costs_no_sets():
    extra = [replace(r, method="HLLE") for r in records(("PCA",))]
    extra[1:5] = [without_number(r, "failed: LinAlgError") for r in extra[1:5]]
    ranking = only(rank_tables(build_tables([*records(), *extra])))
    assert ranking.left_out == {"HLLE": "failed: LinAlgError; 2 of 6 numbers"}
    assert len(ranking.ours.scores) == len(SETS)


def test_only_complete_sets_count_and_sets_without_data_are_no_sets():
    found = records()
    gaps = [
        without_number(r, "failed: LinAlgError")
        if (r.dataset, r.method) == ("c", "LLE")
        else r
        for r in found
    ]
    absent = [without_number(replace(r, dataset="z"), "no data") for r in found[:3]]
    ranking = only(rank_tables(build_tables([*gaps, *absent])))
    assert set(ranking.ours.scores) == set(SETS) - {"c"}
    assert (ranking.n_rows, ranking.n_incomplete) == (6, 1)
    assert ranking.left_out == {}


def test_too_little_is_not_ranked():
    few = only(rank_tables(build_tables(records(sets=SETS[:4]))))
    assert few.ours is None
    assert rank_tables(build_tables(records(("PCA", "PELLE")))) == []


def test_fewer_violations_are_better():
    changes = {"paper": "cauchy", "metric": "violations"}
    names = {"PCA": "LAP", "LLE": "GAUSSIAN", "PELLE": "CAUCHY"}
    found = [replace(r, method=names[r.method], **changes) for r in records()]
    ranking = only(rank_tables(build_tables(found)))
    assert not ranking.higher_is_better
    assert ranking.ours.ranks["LAP"] < ranking.ours.ranks["GAUSSIAN"]


def per_classifier():
    """Return two sets in each of ISOMAP-KL's tables 2 and 3, with two classifiers."""
    names = {"PCA": "PCA", "LLE": "LLE", "PELLE": "ISOMAP-KL"}
    return [
        replace(
            r,
            paper="isomap-kl",
            table="2" if r.dataset in "ab" else "3",
            method=names[r.method],
            metric=f"accuracy:{classifier}",
            value=r.value + shift,
        )
        for r in records(sets=SETS[:4])
        for classifier, shift in (("KNN", 0.0), ("DT", 0.1))
    ]


def test_tables_that_a_paper_tests_together_are_one_ranking():
    ranking = only(rank_tables(build_tables(per_classifier())))
    assert (ranking.table, ranking.metric) == ("2+3", "accuracy")
    assert len(ranking.ours.scores) == 8
    assert ranking.ours.scores["a, accuracy:DT"]["PCA"] == pytest.approx(0.6)
    assert ranking.ours.ranks["ISOMAP-KL"] == 1


# Averages


def test_averages_are_over_cells_with_both_numbers():
    found = per_classifier()
    found[0] = replace(found[0], published=None)
    found[3] = without_number(found[3], "failed: LinAlgError")
    kept = [
        r
        for r in found
        if r.method == "PCA" and r.value is not None and r.published is not None
    ]
    average = average_tables(build_tables(found))["PCA"]
    assert average.n_cells == len(kept) == 7
    assert average.ours == pytest.approx(
        (fmean(r.value for r in kept), stdev(r.value for r in kept))
    )
    assert average.printed[0] == pytest.approx(fmean(r.published for r in kept))


def test_print_gives_the_printed_table_4(papers_folder):
    """ISOMAP-KL: but for one row of table 2 that is lost in print."""
    published = published_numbers(papers_folder)
    found = [
        replace(
            BASE,
            paper="isomap-kl",
            table=table[1],
            dataset=dataset,
            method=method,
            metric=metric,
            value=value,
            published=value,
        )
        for (paper, table, dataset, method, metric), value in published.values.items()
        if paper == "ISOKL" and table in ("T2", "T3")
    ]
    blocks = build_report(found, [], published)
    heading = Heading("ISOMAP-KL, table 4: averages (as published)")
    (lines,) = grids(blocks, heading)
    for method, n_cells, ours, same, printed in lines[1:]:
        assert ours == same
        lost = 80 - int(n_cells)
        assert lost == (0 if method in ("LLE", "Laplacian eigenmaps") else 1)
        for computed, text in zip(same.split(" ± "), printed.split(" ± "), strict=True):
            assert float(computed) == pytest.approx(
                float(text), abs=0.001 + 0.003 * lost
            )


# The report


def table_heading(how):
    text = (
        f"PELLE, table 1: mean accuracy of four classifiers ({how}, by the equations)"
    )
    return Heading(text, 3, folded=True)


def test_the_report_is_a_function_of_the_records_in_any_order():
    first = build_report(records(), [], NOTHING)
    again = build_report(records()[::-1], [], NOTHING)
    assert as_markdown(first) == as_markdown(again)
    assert as_html(first) == as_html(again)


def test_a_ranking_is_written_with_its_tests_and_its_diagram():
    blocks = build_report(records(), [], NOTHING)
    place = (
        "PELLE, table 1: mean accuracy of four classifiers (as published, by the "
        "equations)"
    )
    (lines,) = grids(blocks, Heading(place, 3, folded=True))
    assert lines[0][:5] == [
        "method",
        "mean rank, ours",
        "mean, ours",
        "Nemenyi p against PELLE, ours",
        "Wilcoxon-Holm p against PELLE, ours",
    ]
    assert [line[0] for line in lines[1:]] == ["PELLE", "LLE", "PCA"]
    assert lines[1][1] == "1.33"
    assert lines[1][3:5] == ["", ""]
    scores = build_tables(records())[0].scores()
    p_value = wilcoxon_holm(scores, "PELLE").p_values["PELLE"]["LLE"]
    assert lines[2][4] == f"{p_value:.3g}"
    text = as_markdown(blocks)
    assert re.search(r"Ours, 6 rows: Friedman χ² 7\.00, p = 0\.0302; Kruskal", text)
    assert re.search(r"Printed, 6 rows: Friedman χ² 7\.00", text)
    assert f"alt='Mean ranks, {place}'" in as_html(blocks)


def test_what_is_not_two_dimensional_is_not_ranked():
    changes = {"paper": "honest", "protocol": "honest"}
    methods = ("RAW", "PCA", "LLE", "PELLE", "POSTERIOR", "POSTERIOR-BLEND")
    ranking = only(rank_tables(build_tables(records(methods, **changes))))
    assert ranking.left_out["RAW"] == "not two-dimensional"
    assert set(ranking.ours.ranks) == {"PCA", "LLE", "PELLE", "POSTERIOR"}
    assert ranking.reference == "POSTERIOR"


def test_tables_of_our_own_studies_are_not_headed_by_a_name_in_the_code():
    text = as_markdown(
        build_report(records(paper="honest", protocol="honest"), [], NOTHING)
    )
    assert "### Table 1: mean accuracy of four classifiers (held out)" in text
    assert "honest, table" not in text


def test_the_report_says_what_is_not_ranked_and_who_is_left_out():
    reason = "left out: UMAP cannot place new samples"
    extra = [
        without_number(replace(r, method="UMAP"), reason) for r in records(("PCA",))
    ]
    text = as_markdown(build_report([*records(), *extra], [], NOTHING))
    assert "Left out: UMAP (UMAP cannot place new samples)." in text
    few = as_markdown(build_report(records(sets=("a", "b")), [], NOTHING))
    assert "Not ranked: complete sets: 2, needed: 5." in few


def test_rows_show_errors_sizes_print_and_why_there_is_no_number():
    found = [
        *records(("PCA",), sets=("a",)),
        replace(BASE, method="PELLE", value=0.7, n_neighbors=14, published=None),
        without_number(replace(BASE, dataset="b"), "no data"),
    ]
    heading = table_heading("as published")
    (lines,) = grids(build_report(found, [], NOTHING), heading)
    assert lines[1:3] == [
        ["a", "0.500 [0.500]", "0.700 (K=14)"],
        ["b", "no data [0.600]", ""],
    ]
    splits = [
        replace(r, protocol="honest", split=s, value=r.value + s / 10)
        for r in records(("PELLE",), sets=("a",))
        for s in (0, 1)
    ]
    splits.append(without_number(replace(splits[0], split=2), "failed: LinAlgError"))
    heading = table_heading("held out")
    (lines,) = grids(build_report(splits, [], NOTHING), heading)
    cell = "0.750 ± 0.050 (failed: LinAlgError on other splits) [0.300]"
    assert lines[1] == ["a", cell]


def test_the_papers_own_p_values_are_set_beside_those_of_their_tables(papers_folder):
    published = published_numbers(papers_folder)
    found = [*records(), *per_classifier()]
    blocks = build_report(found, [], published)
    (lines,) = grids(blocks, Heading("The papers' own p-values"))
    rows = {(line[0], line[2]): line[3:] for line in lines[1:]}
    assert {name for name, _ in rows} == {
        "pelle, table 1",
        "isomap-kl, table 1",
        "isomap-kl, table 2+3",
    }
    assert rows["pelle, table 1", ""] == ["1.36e-11", "1.36e-11", "yes"]
    assert rows["isomap-kl, table 2+3", "kernel PCA"][2] == "no, 6 times the printed"


def test_the_head_says_when_most_sets_were_not_run():
    found = records()
    assert "Only" not in build_report(found, [], NOTHING)[1].rest
    names = [f"set {k}" for k in range(7)]
    absent = [without_number(replace(BASE, dataset=name), "no data") for name in names]
    assert build_report([*found, *absent], [], NOTHING)[1].rest.startswith(
        "Only 6 of the 13 sets were run: with all of them the order may differ."
    )


def test_the_head_says_the_claim_what_came_out_and_why_they_differ():
    blocks = build_report(records(), [], NOTHING)
    assert blocks[0].text == "PELLE: published tables, run again"
    assert blocks[1].first == (
        "As published, by the equations, PELLE is number 1 of 3 by mean accuracy of "
        "four classifiers (mean rank 1.3 over 6 rows; the printed numbers give 2.7)."
    )
    (lines,) = grids(blocks, Heading("The claim beside ours"))
    ours = fmean(score(name, "PELLE") for name in SETS)
    assert lines[1][:3] == [
        "Table 1: mean accuracy of four classifiers",
        "PELLE",
        "as published, by the equations",
    ]
    assert lines[1][4] == f"{ours:.3f}"
    text = as_markdown(blocks, pages="../")
    assert "The released script gives every patch the mean" in text
    assert "[The method's page](../methods/pelle.md)" in text
    assert "docs/methods/pelle.md" in as_markdown(blocks)


def test_sets_that_are_missing_say_where_they_could_come_from():
    absent = [
        without_number(replace(BASE, dataset=name), "no data")
        for name in ("kc3", "amlall")
    ]
    alone = build_report(absent, [], NOTHING)
    assert alone[1].first == "Nothing was measured: no set is at hand."
    (lines,) = grids(alone, Heading("What is missing"))
    assert lines[1:] == [["amlall", "a file of your own"], ["kc3", "OpenML, kc3 v1"]]
    lacking = without_number(replace(BASE, method="UMAP"), "not installed: umap-learn")
    text = as_markdown(build_report([*records(), lacking], [], NOTHING))
    assert "UMAP: not installed: umap-learn (1 runs)" in text


def test_the_link_of_a_method_is_the_address_of_the_documentation(monkeypatch):
    lines = Message()
    lines["Project-URL"] = "Documentation, https://docs.example/stable/"
    monkeypatch.setattr(claims, "metadata", lambda _: lines)
    link = "<a href='https://docs.example/stable/methods/pelle.html'>"
    assert link in as_html(build_report(records(), [], NOTHING))


def test_a_report_says_how_to_repeat_it(tmp_path):
    repeat = Command("patchfold reproduce --paper pelle", {"Python": "3.12"})
    write_report(records(), tmp_path, repeat)
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text("utf-8")
        assert "patchfold reproduce --paper pelle" in text
        assert "Python 3.12." in text


def test_figures_are_drawn_into_files_and_into_the_page(tmp_path, monkeypatch):
    monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
    made = figures.make_figure("cauchy-cities", NOTHING)
    write_figure(made, tmp_path)
    write_figure(FigureRecord("klap-vehicle", "no data"), tmp_path)
    write_report(records(), tmp_path)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {"cauchy-cities.json", "cauchy-cities.png", "klap-vehicle.json"}
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "![CAUCHY figure 5: 49 cities of the USA](figures/cauchy-cities.png)" in text
    assert "KLAP figure 3: vehicle" in text
    assert "Ours: no data." in text
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert set(re.findall(r"src='([^;]*);", page)) == {"data:image/png"}
    assert "http:" not in page
    assert "https:" not in page


def test_a_report_without_runs_holds_the_figures_alone(tmp_path):
    write_figure(FigureRecord("klap-vehicle", "no data"), tmp_path)
    write_report([], tmp_path)
    assert "KLAP figure 3: vehicle" in (tmp_path / "report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("published", "K by its score on the test half"),
        ("permuted honest", "placed by transform.*labels are shuffled"),
        ("honest noise 1", "training half has noise 1"),
    ],
)
def test_every_protocol_is_put_into_words(protocol, words):
    assert re.search(words, protocol_words(protocol))


# Documents


def test_cells_cannot_break_a_table():
    blocks = [Grid([["a"], ["x | <b>y</b>"]])]
    assert "x \\| <b>y</b>" in as_markdown(blocks)
    assert "x | &lt;b&gt;y&lt;/b&gt;" in as_html(blocks)


def test_a_page_lists_its_sections_and_links_to_them():
    blocks = [
        Heading("Title", 1),
        Heading("One & two"),
        Paragraph("Text"),
        Heading("3"),
    ]
    page = as_html(blocks)
    assert "<title>Title</title>" in page
    assert "<a href='#s0'>One &amp; two</a>" in page
    assert "<h2 id='s1'>3</h2>" in page
    assert page.index("<nav") < page.index("id='s0'")


def test_a_picture_without_a_file_is_on_the_page_only():
    blocks = [Heading("Title", 1), Image("Ranks", b"PNG")]
    assert "Ranks" not in as_markdown(blocks)
    assert "src='data:image/png;base64,UE5H'" in as_html(blocks)


def test_means_over_different_splits_are_not_ranked_together():
    short = [replace(r, split=1) for r in records() if r.dataset != SETS[0]]
    short += [replace(r, split=1) for r in records(("PCA",), SETS[:1])]
    ranking = only(rank_tables(build_tables([*records(), *short])))
    assert len(ranking.ours.scores) == len(SETS) - 1
    assert SETS[0] not in ranking.ours.scores
    assert ranking.n_incomplete == 1
