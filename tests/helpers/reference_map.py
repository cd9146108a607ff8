"""CauchyMap word for word: all pairs, double precision, loops over samples."""

import numpy as np


def neighbors(X, k):
    """Return the k nearest others of each sample, and their distances."""
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, :k]
    return near, np.take_along_axis(D, near, axis=1)


def calibrated(squared, perplexity):
    """Return exp(-βd²) / sum with that perplexity, by bisection."""
    low, high = 0.0, 1.0
    shifted = squared - squared.min()

    def entropy(beta):
        p = np.exp(-beta * shifted)
        p /= p.sum()
        return -(p[p > 0] * np.log(p[p > 0])).sum()

    while entropy(high) > np.log(perplexity):
        high *= 2
    for _ in range(200):
        beta = (low + high) / 2
        low, high = (beta, high) if entropy(beta) > np.log(perplexity) else (low, beta)
    p = np.exp(-low * shifted)
    return p / p.sum()


def near_weights(X, k, even=0.75):
    """Return P (n, n)."""
    near, distances = neighbors(X, k)
    W = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        p = calibrated(distances[i] ** 2, min(8, 0.9 * k))
        W[i, near[i]] = even / k + (1 - even) * p
    return (W + W.T) / (W + W.T).sum()


def middle_weights(X):
    """Return M (n, n), with the draws of the package."""
    n, draws = len(X), np.random.RandomState(42)
    A = np.zeros((n, n))
    for i, drawn in enumerate(draws.randint(0, n, (n, min(5, n // 4), 6))):
        for six in drawn:
            gaps = ((X[six] - X[i]) ** 2).sum(axis=1)
            A[i, six[np.argsort(gaps, kind="stable")[1]]] += 1
    np.fill_diagonal(A, 0)
    return (A + A.T) / (A + A.T).sum()


def repulsion(Y, alpha):
    """Return r (n, 2) and Z by the sum over all pairs."""
    gaps = Y[:, None] - Y
    u = 1 / (1 + (gaps**2).sum(axis=2) / alpha)
    r = ((u ** (alpha + 1))[:, :, None] * gaps).sum(axis=1)
    return r, (u**alpha).sum() - len(Y)


def objective(Y, P, M, separation=0.0):
    """Return L with the shares of late steps."""
    alpha = 1 / (1 + separation)
    squared = ((Y[:, None] - Y) ** 2).sum(axis=2)
    W = 0.8 * (1 + 0.65 * separation) * P + 0.2 * M
    _, Z = repulsion(Y, alpha)
    return alpha * (W * np.log1p(squared / alpha)).sum() + np.log(Z)


def descend(Y, P, M, separation=0.0, steps=1000, tol=0.02):
    """Return coordinates after the steps, or when the objective stops falling."""
    n, alpha = len(Y), 1 / (1 + separation)
    V, G, before = np.zeros_like(Y), np.ones_like(Y), np.inf
    for t in range(steps):
        tau = min(1, max(0, t - 100) / 50)
        a = 0.8 * 4 ** (1 - tau) * (1 + 0.65 * separation) ** tau
        b = 0.2 * 4 ** (1 - tau)
        gaps = Y[:, None] - Y
        q = (a * P + b * M) / (1 + (gaps**2).sum(axis=2) / alpha)
        r, Z = repulsion(Y, alpha)
        g = (q[:, :, None] * gaps).sum(axis=1) - r / Z
        if t >= 150 and t % 50 == 0:
            now = objective(Y, P, M, separation)
            if before - now < tol:
                break
            before = now
        G = np.where((g > 0) != (V > 0), G + 0.2, np.maximum(0.8 * G, 0.01))
        momentum = 0.5 if t < 20 else 0.8
        if t >= 150:
            momentum = np.clip(1 - 10 / np.sqrt(n), 0.8, 0.95)
        V = momentum * V - n / (a + b) * G * g
        V /= np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1)
        Y = Y + V
        Y = Y - Y.mean(axis=0)
        size = np.sqrt((Y**2).mean())
        if size < 0.01:
            Y, V, G = Y * 0.01 / size, 0 * V, 0 * G + 1
    return Y
