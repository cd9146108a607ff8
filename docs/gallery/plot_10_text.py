"""
Sparse text
===========

Counts of words stay sparse: `CauchyMap` takes them as they are. Here 900 short texts
draw their words from three topics and from words that all topics share.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import patchfold as pf

words = {
    "kitchen": "bread oven flour salt knead yeast crust bake dough warm slice butter",
    "harbour": "ship crane dock rope tide crew cargo anchor sail wave port engine",
    "garden": "soil seed root leaf water prune bloom shade worm spade tree compost",
}
shared = "the a of and day time people small good new long first last year work"
random = np.random.default_rng(0)
topics = random.choice(list(words), 900)
draw = [(words[topic].split(), shared.split()) for topic in topics]
texts = [
    " ".join([*random.choice(own, 5), *random.choice(common, 9)])
    for own, common in draw
]
X = TfidfVectorizer().fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.0%} not 0")

model = pf.CauchyMap(metric="cosine").fit(X)
pf.plotting.plot_embedding(model, topics, title="Texts by their words", size=16)
