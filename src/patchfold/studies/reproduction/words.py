"""Names in records -> words a reader knows: metrics, methods, protocols, variants."""

from __future__ import annotations

CLASSIFIERS = {
    "KNN": "7 nearest neighbours",
    "SVM": "support vector machine",
    "NB": "naive Bayes",
    "DT": "decision tree",
    "QDA": "quadratic discriminant",
    "MPL": "multilayer perceptron",
    "GPC": "Gaussian process",
    "RFC": "random forest",
}

TESTS = {
    "friedman": "Friedman",
    "iman_davenport": "Iman-Davenport",
    "kruskal_wallis": "Kruskal-Wallis",
}
"""Tests of all methods together."""

POST_HOC = {"friedman": "Nemenyi after Friedman", "uncorrected": "Nemenyi, uncorrected"}
"""Tests of one method against the paper's own."""

METRICS = {
    "silhouette": "silhouette",
    "mean_accuracy_4": "mean accuracy of four classifiers",
    "mean_accuracy_8": "mean accuracy of eight classifiers",
    "max_accuracy_8": "best accuracy of eight classifiers",
    "accuracy_1nn": "accuracy of the nearest neighbour",
    "violations": "violations of local topology",
    "trustworthiness": "trustworthiness",
    "continuity": "continuity",
    "hits_15": "share of 15 neighbours kept",
    "triplets": "triplets in the right order",
    "spearman": "rank correlation of distances",
    "seconds": "processor seconds",
    "training_accuracy": "training accuracy of 7 nearest neighbours",
    "training_gap": "training less held-out accuracy of 7 nearest neighbours",
    "training_silhouette": "training silhouette",
    "training_hits_15": "share of 15 training neighbours kept",
    **{f"accuracy:{name}": f"accuracy: {words}" for name, words in CLASSIFIERS.items()},
}

METHODS = {
    "RAW": "all features",
    "KPCA": "kernel PCA",
    "ISOMAP": "Isomap",
    "HLLE": "Hessian LLE",
    "LAP": "Laplacian eigenmaps",
    "TSNE": "t-SNE",
    "OPENTSNE": "t-SNE (openTSNE)",
    "SUMAP": "supervised UMAP",
    "SPCA": "supervised PCA",
    "PACMAP": "PaCMAP",
    "TRIMAP": "TriMap",
    "CAUCHY": "Cauchy",
    "GAUSSIAN": "Gaussian decay",
    "EXPONENTIAL": "exponential decay",
    "ELAP-POINTS": "ELAP, Euclidean twin",
    "KLAP-POINTS": "KLAP, Euclidean twin",
    "POSTERIOR": "PatchPosterior",
    "POSTERIOR-POINTS": "PatchPosterior, shrinkage 1",
    "POSTERIOR-BLEND": "PatchPosterior, label blend 0.5",
    "CAUCHYMAP": "CauchyMap",
    "CAUCHYMAP-APART": "CauchyMap, separation 1",
    "CAUCHYMAP-LABELS": "CauchyMap with labels",
}
"""Methods whose name in records is not the name that readers know."""

PROTOCOLS = {
    "published": "as published",
    "honest": "held out",
    "pictures": "pictures",
    "labelled": "with labels, held out",
}

VARIANTS = {"equations": "by the equations", "released": "by the released script"}


def metric_words(metric: str) -> str:
    """Return what a metric measures.

    Examples
    --------
    >>> metric_words("mean_accuracy_4")
    'mean accuracy of four classifiers'
    """
    return METRICS.get(metric, metric)


def method_words(method: str) -> str:
    """Return the usual name of a method.

    Examples
    --------
    >>> method_words("KPCA"), method_words("PELLE")
    ('kernel PCA', 'PELLE')
    """
    return METHODS.get(method, method)


def protocol_name(protocol: str) -> str:
    """Return the name of a protocol in words.

    Examples
    --------
    >>> protocol_name("permuted published"), protocol_name("honest noise 1")
    ('as published, labels shuffled', 'held out, noise 1')
    """
    kind = protocol.removeprefix("permuted ")
    base, _, worse = kind.partition(" ")
    parts = [PROTOCOLS[base]]
    if worse:
        parts.append(worse)
    if kind != protocol:
        parts.append("labels shuffled")
    return ", ".join(parts)


def setting_words(protocol: str, variant: str, has_scripts: bool) -> str:
    """Return how a table was made; the variant counts where a script was released.

    Examples
    --------
    >>> setting_words("published", "released", True)
    'as published, by the released script'
    """
    name = protocol_name(protocol)
    return f"{name}, {VARIANTS[variant]}" if has_scripts else name
