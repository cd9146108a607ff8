"""Fits that overlap in several threads do not disturb each other."""

import threading

import numpy as np

import patchfold as pf


def test_overlapping_fits_give_the_same_bits(wine):
    X, y = wine
    alone = pf.klap().fit_transform(X, y)
    results = [None] * 8

    def fit(slot):
        results[slot] = pf.klap(n_jobs=2).fit_transform(X, y)

    threads = [threading.Thread(target=fit, args=(slot,)) for slot in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, alone)
