"""A cluster of two workers: the same bits as one machine, whoever dies on the way."""

import gc
import json
import os
import signal
import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import patchfold as pf
from patchfold import cluster
from patchfold.backends.threads import count_threads
from patchfold.cli import app
from patchfold.cluster import connection, files, fitting, tasks
from patchfold.cluster.tasks import _send, run_tasks
from patchfold.exceptions import ClusterError, DegeneratePatchWarning
from patchfold.studies.reproduction import runner
from patchfold.tables.embedding import embed_table
from patchfold.tables.models.saving import save_model
from patchfold.tables.placing import place_table

pytest.importorskip("dask.distributed", reason="the extra `cluster` is not installed")
import dask
import dask.array as da
import dask.dataframe as dd
from distributed.core import Status

MODELS = {
    "isomap_kl": partial(pf.isomap_kl, n_neighbors=8),
    "landmarks": partial(pf.PatchIsomap, n_landmarks=30),
    "elap": partial(pf.elap, kernel_width="auto"),
    "pelle": pf.pelle,
    "curvature": partial(
        pf.PatchEigenmaps, dissimilarity="curvature", label_rule="klap"
    ),
    "points": partial(pf.PatchLLE, dissimilarity="euclidean"),
    "projection": pf.PatchProjection,
    "cauchy": pf.CauchyEmbedding,
}


@pytest.fixture(scope="module")
def two_workers():
    with cluster.connect("local", n_workers=2) as client:
        yield client
        wait_until_settled(client)


@pytest.fixture
def client(two_workers):
    """Return a client of two workers; one that died in the last test is replaced."""
    wait_until_settled(two_workers)
    return two_workers


@pytest.fixture
def no_client(monkeypatch):
    def get_client():
        raise ValueError

    monkeypatch.setattr("dask.distributed.get_client", get_client)


@pytest.fixture(scope="module")
def samples():
    """Return samples on a bent surface in 6 dimensions, and their classes."""
    rng = np.random.default_rng(9)
    flat = rng.uniform(size=(400, 2))
    X = np.column_stack([np.sin(3 * flat), np.cos(3 * flat), flat**2])
    return X + 0.01 * rng.normal(size=X.shape), (flat[:, 0] > 0.5).astype(int)


@pytest.fixture
def many_tasks(monkeypatch):
    monkeypatch.setattr(fitting, "ROWS", 64)
    monkeypatch.setattr(fitting, "PATCH_BYTES", 2**17)
    monkeypatch.setattr(files, "MOST_ROWS", 50)
    monkeypatch.setattr(files, "BLOCKS", 2)


def wait_until_settled(client):
    """Wait until every nanny knows the worker that it started.

    Dask cannot replace a worker that dies before: its scheduler takes the worker for
    alive, refuses the next of the same name, and the nanny gives up.
    """
    local = client.cluster

    def is_settled(nanny):
        running = nanny.process is not None and nanny.process.status is Status.running
        return running and nanny.worker_address in local.scheduler.workers

    while not all(map(is_settled, list(local.workers.values()))):
        time.sleep(0.01)
        gone = [n for n in list(local.workers.values()) if n.status != Status.running]
        assert not gone, "Dask gave up replacing a worker"
    assert len(local.workers) == len(local.worker_spec), "Dask dropped a worker"


def kill_worker(client):
    """End a worker as the kernel does when memory is short; wait until Dask knows."""
    wait_until_settled(client)
    workers = client.cluster.scheduler.workers
    address, pid = min(client.run(os.getpid).items(), key=lambda item: item[1])
    os.kill(pid, signal.SIGKILL)
    while address in workers:
        time.sleep(0.01)


class KillOnce:
    """A watcher that ends a worker at the second sign of progress."""

    def __init__(self, client):
        self.client, self.calls = client, 0

    def __call__(self, done, total):
        self.calls += 1
        if self.calls == 2:
            assert done < total
            kill_worker(self.client)


class TestFit:
    @pytest.mark.parametrize("name", MODELS)
    def test_gives_the_bits_of_one_machine(self, name, client, samples, many_tasks):
        X, y = samples
        alone = MODELS[name]().fit(X, y)
        counts = []
        model = cluster.fit(
            MODELS[name](),
            da.from_array(X, chunks=(150, 4)),
            da.from_array(y, chunks=100),
            progress=lambda done, total: counts.append((done, total)),
        )
        np.testing.assert_array_equal(model.embedding_, alone.embedding_)
        np.testing.assert_array_equal(model.graph_.data, alone.graph_.data)
        queries = X[::7] + 0.003
        np.testing.assert_array_equal(
            model.transform(queries), alone.transform(queries)
        )
        assert counts[-1][0] == counts[-1][1] > 7

    def test_keeps_no_patches_and_can_be_saved(self, client, samples, tmp_path):
        X, _ = samples
        model = cluster.fit(pf.PatchEigenmaps(), X)
        save_model(model, tmp_path / "far.skops")
        save_model(pf.PatchEigenmaps().fit(X), tmp_path / "near.skops")
        again = pf.load_model(tmp_path / "far.skops")
        np.testing.assert_array_equal(
            again.transform(X + 0.01), model.transform(X + 0.01)
        )
        far, near = (
            (tmp_path / f"{name}.skops").stat().st_size for name in ("far", "near")
        )
        assert far < near

    def test_a_frame_gives_its_names(self, client, samples):
        frame = pd.DataFrame(samples[0], columns=list("abcdef"))
        model = cluster.fit(pf.PatchProjection(), dd.from_pandas(frame, npartitions=3))
        assert list(model.feature_names_in_) == list("abcdef")

    @pytest.mark.filterwarnings(
        "ignore:The neighbour graph has 2", "ignore:kernel_width="
    )
    def test_warns_of_identical_points_once_as_one_machine_does(self, client, samples):
        X = np.concatenate([samples[0], np.zeros((20, 6))])
        with pytest.warns(DegeneratePatchWarning) as here:
            pf.PatchProjection().fit(X)
        with pytest.warns(DegeneratePatchWarning) as there:
            cluster.fit(pf.PatchProjection(), X)
        assert [str(w.message) for w in here] == [str(w.message) for w in there]

    def test_a_worker_that_dies_changes_nothing(self, client, samples, many_tasks):
        X, _ = samples
        estimator = pf.isomap_kl(n_neighbors=8)
        killer = KillOnce(client)
        model = cluster.fit(estimator, X, progress=killer)
        assert killer.calls > 2
        alone = clone(estimator).fit(X)
        np.testing.assert_array_equal(model.embedding_, alone.embedding_)

    @pytest.mark.parametrize(
        ("estimator", "words"),
        [
            (pf.PatchIsomap(n_neighbors="auto"), "n_neighbors='auto' is for one"),
            (pf.PatchIsomap(n_neighbors=None, radius=1.0), "n_neighbors=None is for"),
            (pf.PatchIsomap(adaptive_patches=True), "adaptive_patches=True is for"),
            (pf.PatchIsomap(dissimilarity="precomputed"), "'precomputed' is for one"),
            (pf.klap(), "n_neighbors=300 must be at most an eighth of the"),
            (pf.PatchPosterior(), "Got PatchPosterior instead"),
            (pf.CauchyMap(), "CauchyEmbedding. Got CauchyMap instead: use its own"),
            (pf.PatchIsomap(n_components=0), "'n_components' parameter"),
        ],
    )
    def test_what_is_for_one_machine_is_refused(
        self, estimator, words, client, samples
    ):
        with pytest.raises(ValueError, match=words):
            cluster.fit(estimator, *samples)


class TestTransform:
    def test_arrays_are_placed_block_by_block(self, client, samples):
        X, _ = samples
        model = pf.elap(kernel_width="auto", n_jobs=2).fit(X[::2])
        lazy = cluster.transform(model, da.from_array(X, chunks=(130, 2)))
        assert lazy.chunks == ((130, 130, 130, 10), (2,))
        np.testing.assert_array_equal(lazy.compute(), model.transform(X))

    def test_a_map_with_labels_gives_the_bits_of_one_machine(self, client, samples):
        X, y = samples
        model = pf.CauchyMap().fit(X[::2], y[::2])
        lazy = cluster.transform(model, da.from_array(X, chunks=(130, 6)))
        np.testing.assert_array_equal(lazy.compute(), model.transform(X))

    def test_frames_keep_their_index_and_empty_parts(self, client, samples):
        frame = pd.DataFrame(samples[0], columns=list("abcdef")).set_index(
            np.arange(400) * 10
        )
        model = pf.isomap_kl(n_neighbors=8).fit(frame[::2])
        parts = dd.from_pandas(frame, npartitions=4)
        placed = cluster.transform(model, parts[parts.a > 0.5]).compute()
        kept = frame[frame.a > 0.5]
        assert list(placed.columns) == ["patchisomap0", "patchisomap1"]
        assert list(placed.index) == list(kept.index)
        np.testing.assert_allclose(placed, model.transform(kept), rtol=1e-12)

    def test_without_a_cluster_too(self, samples, no_client):
        X, _ = samples
        model = pf.elap(kernel_width="auto").fit(X[::2])
        lazy = cluster.transform(model, da.from_array(X, chunks=(130, 6)))
        np.testing.assert_array_equal(
            lazy.compute(scheduler="threads"), model.transform(X)
        )
        np.testing.assert_array_equal(cluster.transform(model, X), model.transform(X))

    def test_more_axes_are_refused(self, client, samples):
        model = pf.PatchProjection().fit(samples[0])
        with pytest.raises(ValueError, match=r"rows and columns\. Got 3 axes"):
            cluster.transform(model, da.zeros((4, 4, 4)))


class TestTasks:
    def test_all_results_are_there_though_a_worker_dies(self, client):
        def work(shared, piece):
            time.sleep(0.02)
            return shared["offset"] + piece

        found = {}
        for place, result in run_tasks(client, work, {"offset": 5}, range(60)):
            found[place] = result
            if len(found) == 3:
                kill_worker(client)
        assert found == {place: place + 5 for place in range(60)}

    def test_what_all_have_lost_is_sent_again(self, client, monkeypatch):
        def work(shared, piece):
            time.sleep(0.02)
            return shared["offset"] + piece

        sent = []

        def send(*arguments):
            sent.append(_send(*arguments))
            return sent[-1]

        monkeypatch.setattr(tasks, "_send", send)
        found = {}
        for place, result in run_tasks(client, work, {"offset": 5}, range(60)):
            found[place] = result
            if len(found) == 3:
                client.cancel([sent[0]], force=True)
        assert len(sent) == 2
        assert found == {place: place + 5 for place in range(60)}

    def test_what_is_lost_every_time_is_given_up(self, client, monkeypatch):
        def lose(client, shared):
            held = _send(client, shared)
            client.cancel([held], force=True)
            return held

        monkeypatch.setattr(tasks, "_send", lose)
        with pytest.raises(ClusterError, match="2 of 2 tasks were lost 5 times"):
            list(run_tasks(client, pow, 5, range(2)))

    def test_a_task_that_ends_its_workers_is_named(self, client, monkeypatch):
        def work(shared, piece):
            os._exit(1)

        monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
        with pytest.raises(ClusterError, match="ended every worker that tried it"):
            list(run_tasks(client, work, None, [0]))

    def test_an_error_of_a_task_is_raised_as_it_is(self, client):
        def work(shared, piece):
            raise ZeroDivisionError("three")

        with pytest.raises(ZeroDivisionError, match="three"):
            list(run_tasks(client, work, None, range(4)))


class TestConnect:
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_a_scheduler_that_is_not_there_is_one_line(self, monkeypatch, tmp_path):
        monkeypatch.setattr(connection, "PATIENCE", 0.3)
        for address in ("tcp://127.0.0.1:9", "nonsense"):
            with (
                pytest.raises(ClusterError, match="no Dask scheduler answers at"),
                cluster.connect(address),
            ):
                pass
        words = ["compare", "iris", f"--out={tmp_path}", "--cluster=tcp://127.0.0.1:9"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert done.output.count("\n") == 1
        assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in done.output
        gc.collect()  # what Dask leaves behind must not be found in a later test

    def test_a_scheduler_without_workers_is_told(self, monkeypatch):
        from dask.distributed import LocalCluster

        monkeypatch.setattr(connection, "WORKER_PATIENCE", 0.1)
        with (
            LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty,
            pytest.raises(ClusterError, match=r"has no workers\. Start some"),
            cluster.connect(empty.scheduler_address),
        ):
            pass

    def test_a_client_that_could_not_close_is_not_asked_for_afterwards(self):
        before = dask.config.get("scheduler", None)
        with cluster.connect("local", n_workers=1) as client:
            client._set_config = nullcontext()  # what would set it back
        assert dask.config.get("scheduler", None) == before

    def test_local_workers_are_replaced_however_long_that_takes(self):
        """Dask ends the nanny of a worker that is away longer than its setting."""
        name = "distributed.deploy.lost-worker-timeout"
        with dask.config.set({name: "1ms"}):
            with cluster.connect("local", n_workers=1) as client:
                kill_worker(client)
                wait_until_settled(client)
                assert client.submit(pow, 2, 3).result() == 8
            assert dask.config.get(name) == "1ms"

    def test_without_dask_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "dask.distributed", None)
        with pytest.raises(ImportError, match=r"patchfold\[cluster\]"):
            cluster.fit(pf.PatchIsomap(), np.eye(3))

    def test_without_a_client_the_remedy_is_named(self, no_client):
        with pytest.raises(ClusterError, match=r"patchfold\.cluster\.connect"):
            cluster.fit(pf.PatchIsomap(), np.eye(3))


class TestJoblib:
    """What is many pieces goes where joblib is told to send it."""

    def test_folds_are_scored_by_workers(self, client, samples):
        X, y = samples
        mine = os.getpid()

        def score(model, queries, labels):
            return float(os.getpid() != mine) + model.transform(queries)[0, 0]

        with parallel_config("dask", client=client):
            found = pf.select_n_neighbors(pf.pelle(), X, y, [8, 9], scoring=score)
        here = pf.select_n_neighbors(pf.pelle(), X, y, [8, 9], scoring=score)
        np.testing.assert_allclose(found.scores, here.scores + 1, rtol=1e-6)

    def test_cross_validation_and_comparison_give_the_same_numbers(
        self, client, samples
    ):
        X, y = samples
        steps = make_pipeline(pf.isomap_kl(n_neighbors=8), KNeighborsClassifier(7))
        methods = ["isomap", "pca"]
        compare = partial(pf.compare, X, y, methods=methods, n_splits=2, sweep=False)
        here = cross_val_score(steps, X, y), compare().scores
        with parallel_config("dask", client=client):
            there = cross_val_score(steps, X, y), compare().scores
        np.testing.assert_allclose(*(scores[0] for scores in (here, there)))
        pd.testing.assert_frame_equal(
            *(scores[1].drop(columns="seconds") for scores in (here, there))
        )

    def test_reproduce_survives_a_worker(self, client, tmp_path, monkeypatch):
        monkeypatch.delenv("PATCHFOLD_DATA", raising=False)
        methods = ("PCA", "LDA", "ISOMAP", "SPCA")
        tasks = runner.list_tasks("klap", datasets=("mux6",), methods=methods)

        def timeless(records):
            return sorted(
                (replace(r, seconds=None) for r in records), key=lambda r: r.method
            )

        here = runner.run_tasks(tasks, tmp_path / "here")
        with parallel_config("dask", client=client):
            there = runner.run_tasks(
                tasks, tmp_path / "there", progress=KillOnce(client)
            )
        assert timeless(there) == timeless(here)

    def test_a_cluster_s_cores_are_not_threads_of_ours(self, client):
        with parallel_config("dask", client=client):
            assert count_threads(None) == 1
            assert count_threads(3) == 3


@pytest.fixture(scope="module")
def table(tmp_path_factory, samples):
    """Return a folder with a model and a table of 400 rows, and their places."""
    home = tmp_path_factory.mktemp("placed")
    X, y = samples
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["kind"] = np.where(y, "left", "right")
    frame["name"] = [f"row {k}" for k in range(400)]
    frame[::3].to_parquet(home / "train.parquet")
    frame.to_parquet(home / "big.parquet", row_group_size=170)
    params = {"n_neighbors": 8, "kernel_width": "auto"}
    names = {"target": "kind", "id": "name"}
    done = embed_table(str(home / "train.parquet"), "elap", params, **names)
    save_model(done.pipeline, home / "m.skops", **done.about)
    expected = place_table(str(home / "big.parquet"), home / "m.skops", **names)
    return home, expected.frame


def assert_same_table(actual, expected):
    """Compare every bit of numbers; text is text, however pandas keeps it."""
    pd.testing.assert_frame_equal(actual, expected, check_dtype=False, check_exact=True)


class TestFiles:
    @pytest.fixture
    def place(self, table, client, tmp_path, many_tasks):
        home, _ = table
        names = {"target": "kind", "id": "name"}
        paths = (home / "big.parquet", home / "m.skops", tmp_path / "out.parquet")
        return partial(files.place_file, *paths, client, **names)

    def test_parts_follow_the_input_and_equal_one_machine_s(
        self, place, table, tmp_path
    ):
        done = place()
        assert (done.n_rows, done.n_parts, done.n_kept) == (400, 4, 0)
        placed = pd.read_parquet(tmp_path / "out.parquet")
        assert_same_table(placed, table[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Dask's own, of a newer pandas
            lazy = dd.read_parquet(tmp_path / "out.parquet")
            read = lazy.compute(scheduler="synchronous")
        assert_same_table(read.reset_index(drop=True), table[1])
        assert place().n_kept == 4  # and nothing is done again

    def test_what_was_finished_is_kept_and_the_rest_is_done(
        self, place, table, tmp_path
    ):
        def interrupt(done, total):
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            place(progress=interrupt)
        assert not (tmp_path / "out.parquet").exists()
        partial_ = tmp_path / "out.parquet.partial"
        (partial_ / ".part.00003.parquet.0123456789abcdef").write_bytes(b"torn")
        assert place().n_kept >= 2
        assert not partial_.exists()
        assert_same_table(pd.read_parquet(tmp_path / "out.parquet"), table[1])
        assert not list((tmp_path / "out.parquet").glob(".part*"))

    def test_a_worker_that_dies_changes_no_byte(self, place, client, tmp_path):
        place()
        first = {p.name: p.read_bytes() for p in (tmp_path / "out.parquet").iterdir()}
        (tmp_path / "out.parquet").rename(tmp_path / "first")
        place(progress=KillOnce(client))
        again = {p.name: p.read_bytes() for p in (tmp_path / "out.parquet").iterdir()}
        assert again == first

    def test_parts_of_another_table_are_not_mixed_in(self, place, table, tmp_path):
        place()
        with pytest.raises(ValueError, match="is there, and not of this table"):
            place(target="a")

    def test_a_model_s_memory_serves_as_on_one_machine(
        self, client, table, tmp_path, many_tasks
    ):
        home, _ = table
        draw = np.random.default_rng(0)
        frame = pd.read_parquet(home / "big.parquet")
        frame["hue"] = draw.choice(["red", "green", "blue"], 400)
        frame["day"] = [f"{k % 28 + 1:02}.{k % 12 + 1:02}.2020" for k in range(400)]
        frame["count"] = range(400)
        frame.loc[[9, 30], "a"] = np.nan
        frame[::3].to_csv(tmp_path / "train.csv", index=False)
        told = {"target": "kind", "id": "name", "drop": ["count"], "impute": "median"}
        done = embed_table(str(tmp_path / "train.csv"), "posterior", {}, **told)
        save_model(done.pipeline, tmp_path / "m.skops", **done.about)
        frame.loc[[200, 301], "b"] = np.nan
        frame.loc[[5, 250, 399], "hue"] = "mauve"
        frame.loc[[7, 350], "c"] = 1e4
        big = tmp_path / "new.parquet"
        frame.assign(extra=1).to_parquet(big, row_group_size=170)
        expected = place_table(str(big), tmp_path / "m.skops")
        paths = (big, tmp_path / "m.skops", tmp_path / "out.parquet")
        found = files.place_file(*paths, client)
        pd.testing.assert_frame_equal(
            pd.read_parquet(tmp_path / "out.parquet"),
            expected.frame,
            check_dtype=False,
            rtol=1e-9,  # probabilities of a block and of a table differ in rounding
        )
        assert found.remarks == expected.remarks
        assert "4 missing cells" in found.remarks[1]
        assert "ignored: extra" in found.remarks[0]

    def test_bad_rows_are_named(self, place, table, tmp_path):
        frame = pd.read_parquet(table[0] / "big.parquet")
        frame.loc[230, "b"] = np.inf
        frame.to_parquet(tmp_path / "holes.parquet")
        holes = partial(files.place_file, tmp_path / "holes.parquet", *place.args[1:])
        with pytest.raises(
            ValueError, match=r"^rows 201 to 250 cannot .*'b' has 1 inf"
        ):
            holes()
        with pytest.raises(ValueError, match="no column 'kin' in"):
            place(target="kin")
        frame.drop(columns="c").to_parquet(tmp_path / "holes.parquet")
        with pytest.raises(ValueError, match="columns that are not here: c"):
            holes()

    def test_the_command_line_does_all_this(self, client, table, tmp_path, many_tasks):
        home, expected = table
        address = f"--cluster={client.scheduler.address}"
        out, model = tmp_path / "out.parquet", f"--from={home / 'm.skops'}"
        words = ["embed", str(home / "big.parquet"), f"--out={out}", model, address]
        names = ["--target=kind", "--id=name", "--json"]
        done = CliRunner().invoke(app, [*words, *names])
        assert done.exit_code == 0, done.output
        assert json.loads(done.output)["parts"] == 4
        assert_same_table(pd.read_parquet(out), expected)
        for wrong, told in (
            ([f"--out={tmp_path / 'a.csv'}"], "must end in .parquet: it will be a"),
            (["--plot=a.png"], "leave out --plot"),
            ([f"--out={home / 'big.parquet'}"], "it is a file, and with --cluster"),
            ([f"--out={tmp_path / 'no' / 'a.parquet'}"], "there is no folder"),
        ):
            done = CliRunner().invoke(app, [*words, *wrong])
            assert (done.exit_code, told in done.output) == (2, True), done.output

    def test_the_command_line_asks_for_a_method_that_a_cluster_fits(self, table):
        home, _ = table
        words = ["embed", str(home / "train.parquet"), "--out=e.npy"]
        done = CliRunner().invoke(app, [*words, "--drop=name", "--cluster=local"])
        assert done.exit_code == 2
        assert "such as --method elap" in done.output

    def test_the_command_line_fits_on_a_cluster(self, client, table, tmp_path):
        home, _ = table
        words = ["embed", str(home / "train.parquet"), "--method=isomap", "--drop=name"]
        words += ["--target=kind", "--neighbors=9"]
        for name, more in (("here", []), ("there", [client.scheduler.address])):
            more = [f"--cluster={address}" for address in more]
            out = f"--out={tmp_path / name}.npy"
            done = CliRunner().invoke(app, [*words, out, *more])
            assert done.exit_code == 0, done.output
        np.testing.assert_array_equal(
            np.load(tmp_path / "here.npy"), np.load(tmp_path / "there.npy")
        )
