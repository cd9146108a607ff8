"""Time of a map of sparse text, beside UMAP's.

    python benchmarks/sparse_text.py          # 20,000 x 50,000, 100 words a row
    python benchmarks/sparse_text.py --toy

TF-IDF of texts that are drawn here: words by Zipf's law, half of them from the order
that the topic of a text has. Processor seconds of one fit each, after a first small one
that compiles; accuracy is that of 7 nearest neighbours in the map.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

import patchfold as pf


def draw_texts(n_texts, n_words, per_text, n_topics=20, seed=0):
    """Return TF-IDF rows of length 1, `per_text` entries each, and topics."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, n_words + 1)
    steps = np.cumsum(share / share.sum())
    topic = rng.integers(0, n_topics, n_texts)
    orders = [rng.permutation(n_words) for _ in range(n_topics)]
    rows, columns, counts = [], [], []
    for i in range(n_texts):
        drawn = np.searchsorted(steps[:-1], rng.random(2 * per_text))
        own = rng.random(drawn.size) < 0.5
        drawn = np.where(own, orders[topic[i]][drawn], drawn)
        words, times = np.unique(drawn, return_counts=True)
        kept = rng.permutation(words.size)[:per_text]
        rows.append(np.full(kept.size, i))
        columns.append(words[kept])
        counts.append(times[kept].astype(float))
    places = np.concatenate(rows), np.concatenate(columns)
    X = sp.csr_array((np.concatenate(counts), places), shape=(n_texts, n_words))
    texts_with = np.bincount(X.indices, minlength=n_words)
    X.data *= (np.log((1 + n_texts) / (1 + texts_with)) + 1)[X.indices]
    return sp.csr_array(normalize(X)), topic


def run(name, make, X, topic):
    """Fit once and print what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    embedding = make().fit(X).embedding_
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    voters = KNeighborsClassifier(7)
    accuracy = cross_val_score(voters, embedding, topic, cv=3).mean()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {name} | {cpu:.1f} | {wall:.1f} | {accuracy:.3f} | {peak:.2f} |")


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="300 texts, without UMAP")
    toy = parser.parse_args().toy
    warnings.simplefilter("ignore")
    size = (300, 2000, 30) if toy else (20_000, 50_000, 100)
    X, topic = draw_texts(*size)
    print(f"{X.shape[0]:,} x {X.shape[1]:,}, {X.nnz / X.shape[0]:.0f} entries a row")
    print(
        "| | processor s | s | accuracy | peak GiB |\n| --- | --- | --- | --- | --- |"
    )
    pf.CauchyMap().fit(X[:200])
    run("CauchyMap", pf.CauchyMap, X, topic)
    run("CauchyMap, cosine", lambda: pf.CauchyMap(metric="cosine"), X, topic)
    points = {"dissimilarity": "euclidean"}
    run("PatchIsomap", lambda: pf.PatchIsomap(**points), X, topic)
    run("PatchEigenmaps", lambda: pf.PatchEigenmaps(**points), X, topic)
    if not toy:
        import umap

        umap.UMAP().fit(sp.csr_matrix(X[:5000]))
        run("UMAP", umap.UMAP, sp.csr_matrix(X), topic)


if __name__ == "__main__":
    main()
