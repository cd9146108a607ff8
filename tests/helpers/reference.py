"""The papers' equations, one loop at a time: the oracle of the tests.

Nothing here is fast and nothing here is clever. Every function is the shortest
honest transcription of one equation, with a loop wherever the equation has an index,
so that a reader can hold the paper beside it. Only numpy is used, and nothing of the
library under test.

Conventions: samples are rows; an edge is a pair ``(i, j)`` with ``i < j``; lengths are
a dictionary from edge to length, so that a length of zero is still an edge. The graph
is assumed connected wherever geodesics or eigenvectors are taken.

Papers, by the names used below:

- ISOMAP-KL: shortest paths over symmetrised KL divergences of patches.
- ELAP: Entropic Laplacian eigenmaps for unsupervised metric learning.
- PELLE: Parametric Entropic Locally Linear Embedding.
- KLAP: K-graph Laplacians for supervised metric learning.
- Cauchy: Cauchy Graph Embedding.
"""

import math

import numpy as np

# --- Neighbour graph ------------------------------------------------------------------


def squared_distance(a, b):
    """Squared Euclidean distance of two vectors, feature by feature."""
    total = 0.0
    for f in range(len(a)):
        total += (float(a[f]) - float(b[f])) ** 2
    return total


def euclidean_distance(a, b):
    """Euclidean distance of two vectors."""
    return math.sqrt(squared_distance(a, b))


def neighbors(X, k):
    """Find the k nearest other samples by Euclidean distance (ELAP section III).

    The sample itself is left out by its position, so its duplicates stay. Squared
    distances are rounded to 12 significant digits, so that equal distances stay equal
    whatever the rounding of their last bits; ties go to the lower index.
    """
    n = len(X)
    indices = np.zeros((n, k), dtype=int)
    for i in range(n):
        keyed = []
        for j in range(n):
            if j != i:
                keyed.append((float(f"{squared_distance(X[i], X[j]):.11e}"), j))
        keyed.sort()
        for position in range(k):
            indices[i, position] = keyed[position][1]
    return indices


def neighbors_within(X, radius):
    """Find the other samples up to a distance, nearest first: a list for each sample.

    Distances equal to the radius to 12 digits are within; ties as in `neighbors`.
    """
    n = len(X)
    limit = float(f"{radius**2:.11e}")
    indices = []
    for i in range(n):
        keyed = []
        for j in range(n):
            squared = float(f"{squared_distance(X[i], X[j]):.11e}")
            if j != i and squared <= limit:
                keyed.append((squared, j))
        keyed.sort()
        indices.append([j for _, j in keyed])
    return indices


def edges(indices):
    """Undirected union: {i, j} is an edge if either is a neighbour of the other."""
    found = set()
    for i in range(len(indices)):
        for j in indices[i]:
            found.add((min(i, int(j)), max(i, int(j))))
    return sorted(found)


# --- Patches and their Gaussians ------------------------------------------------------


def patch(X, indices, i, include_center=True):
    """Patch P_i = {x_i} and its neighbours, one point a row (ELAP eq. 35)."""
    points = []
    if include_center:
        points.append(X[i])
    for j in indices[i]:
        points.append(X[j])
    return np.array(points, dtype=float)


def sample_mean(points):
    """Mean of a patch (ELAP eq. 36)."""
    total = np.zeros(points.shape[1])
    for x in points:
        total += x
    return total / len(points)


def sample_covariance(points):
    """Covariance of a patch, divisor one less than its points (ELAP eq. 37)."""
    mean = sample_mean(points)
    m = points.shape[1]
    total = np.zeros((m, m))
    for x in points:
        total += np.outer(x - mean, x - mean)
    return total / max(len(points) - 1, 1)


def gaussian(points, shrinkage, ridge, mean_variance):
    """Gaussian of a patch: ELAP eqs 36 and 37, then the one rule for all patches.

    S <- (1 - shrinkage) S + shrinkage (tr S / m) I + ridge mean_variance I.
    """
    m = points.shape[1]
    raw = sample_covariance(points)
    identity = np.eye(m)
    covariance = (
        (1 - shrinkage) * raw
        + shrinkage * (np.trace(raw) / m) * identity
        + ridge * mean_variance * identity
    )
    return sample_mean(points), covariance


def mean_feature_variance(X):
    """Mean over the features of their variance over all samples, divisor n."""
    n, m = X.shape
    total = 0.0
    for f in range(m):
        mean = sum(float(X[i, f]) for i in range(n)) / n
        total += sum((float(X[i, f]) - mean) ** 2 for i in range(n)) / n
    return total / m


def kl(p, q):
    """Relative entropy D(p, q) of two Gaussians ``(mean, covariance)`` (ELAP eq. 38).

    D = 1/2 [ log(|S_2| / |S_1|) + tr(S_2^-1 S_1) + (m_2-m_1)' S_2^-1 (m_2-m_1) - m ]
    """
    mean_1, covariance_1 = p
    mean_2, covariance_2 = q
    m = len(mean_1)
    inverse_2 = np.linalg.inv(covariance_2)
    log_determinant_1 = np.linalg.slogdet(covariance_1)[1]
    log_determinant_2 = np.linalg.slogdet(covariance_2)[1]
    difference = mean_2 - mean_1
    return 0.5 * (
        (log_determinant_2 - log_determinant_1)
        + np.trace(inverse_2 @ covariance_1)
        + difference @ inverse_2 @ difference
        - m
    )


def symmetric_kl(p, q):
    """Symmetrised relative entropy: the average of both directions (ELAP eq. 40)."""
    return 0.5 * (kl(p, q) + kl(q, p))


# --- Edge lengths ---------------------------------------------------------------------


def euclidean_lengths(X, k):
    """Euclidean length of every edge (the classics: ISOMAP-KL Algorithm 1)."""
    lengths = {}
    for i, j in edges(neighbors(X, k)):
        lengths[i, j] = euclidean_distance(X[i], X[j])
    return lengths


def kl_lengths(X, k, shrinkage, ridge, include_center=True):
    """Symmetrised KL of the two patches of every edge (ISOMAP-KL eq. 22).

    The divergence cannot be negative: what rounding leaves below zero is zero.
    """
    indices = neighbors(X, k)
    return kl_lengths_along(
        edges(indices), X, indices, shrinkage, ridge, include_center
    )


def kl_lengths_along(pairs, X, indices, shrinkage, ridge, include_center=True):
    """Symmetrised KL along given edges; the neighbours in a patch are in `indices`."""
    mean_variance = mean_feature_variance(X)
    gaussians = []
    for i in range(len(X)):
        points = patch(X, indices, i, include_center)
        gaussians.append(gaussian(points, shrinkage, ridge, mean_variance))
    lengths = {}
    for i, j in pairs:
        lengths[i, j] = max(0.0, float(symmetric_kl(gaussians[i], gaussians[j])))
    return lengths


def principal_directions(cov):
    """Eigenvalues, and eigenvectors as rows, largest first (KLAP eq. 41).

    Where eigenvalues agree to 1e-10 of the largest, any basis of their subspace would
    do; the one of diag(sqrt 1, sqrt 2, ...) is taken, smallest first.
    """
    ascending, columns = np.linalg.eigh(cov)
    m = len(ascending)
    values = [ascending[m - 1 - rank] for rank in range(m)]
    rows = [columns[:, m - 1 - rank] for rank in range(m)]
    order = np.diag([math.sqrt(feature + 1) for feature in range(m)])
    first = 0
    while first < m:
        last = first
        while last + 1 < m and values[last] - values[last + 1] <= 1e-10 * values[0]:
            last += 1
        if last > first:
            basis = np.array(rows[first : last + 1])
            _, turn = np.linalg.eigh(basis @ order @ basis.T)
            for offset in range(last - first + 1):
                rows[first + offset] = turn[:, offset] @ basis
        first = last + 1
    return np.array(values), np.array(rows)


def n_directions(points, values):
    """Count the principal directions of a patch along which its points vary.

    A direction counts if its eigenvalue is above 1e-12 of the largest one. A patch of
    identical points has none: that is read off the points, not off the rounding
    errors of their mean.
    """
    if all(np.array_equal(x, points[0]) for x in points):
        return 0
    return sum(1 for value in values if value > 1e-12 * values[0])


def curvature_edge(U_i, U_j, rank):
    """Principal curvatures of an edge: naive (KLAP eq. 43), geometric (eqs 45-49).

    Directions are rows; each pair of them is first given the same sense. A direction
    that does not turn has a zero normal vector, no angle to it, and curvature zero.
    """
    naive = []
    geometric = []
    for direction in range(rank):
        u_i = U_i[direction]
        u_j = U_j[direction]
        if u_i @ u_j < 0:
            u_j = -u_j
        normal = u_i - u_j  # eq. 45
        norm_u = math.sqrt(u_i @ u_i)
        norm_n = math.sqrt(normal @ normal)
        naive.append(norm_n)  # eq. 43
        if norm_n == 0:
            geometric.append(0.0)
            continue
        cosine = (u_i @ normal) / (norm_u * norm_n)
        theta = math.acos(min(1.0, max(-1.0, cosine)))  # eq. 47
        numerator = norm_u * norm_n * math.sin(theta)  # eq. 46
        denominator = norm_u**3  # eq. 48
        geometric.append(numerator / denominator)  # eq. 49
    return naive, geometric


def curvature_length(naive, geometric, relation):
    """Length of an edge from its curvatures (KLAP eq. 50).

    ``relation`` of the ends' labels: "same", "different" or "unknown"; the last takes
    the mean geometric curvature. With no direction at all, nothing turns ("same" and
    "unknown" are zero), and ends of different classes are as far apart as a right
    angle makes them: sqrt(2) + 1.
    """
    if relation == "same":
        return min(min(naive), min(geometric)) if naive else 0.0
    if relation == "different":
        return max(naive) + max(geometric) if naive else math.sqrt(2) + 1
    return sum(geometric) / len(geometric) if geometric else 0.0


def curvature_lengths(X, k, y=None):
    """Curvature length of every edge (KLAP section 3.2); a label of -1 is unknown."""
    indices = neighbors(X, k)
    directions = []
    ranks = []
    for i in range(len(X)):
        points = patch(X, indices, i)
        values, vectors = principal_directions(sample_covariance(points))
        directions.append(vectors)
        ranks.append(n_directions(points, values))
    lengths = {}
    for i, j in edges(indices):
        rank = min(ranks[i], ranks[j])
        naive, geometric = curvature_edge(directions[i], directions[j], rank)
        if y is None or y[i] == -1 or y[j] == -1:
            relation = "unknown"
        elif y[i] == y[j]:
            relation = "same"
        else:
            relation = "different"
        lengths[i, j] = float(curvature_length(naive, geometric, relation))
    return lengths


# --- Label rules ----------------------------------------------------------------------


def same_class(y, i, j):
    """Say True or False, or None where an end has no label (-1)."""
    if y[i] == -1 or y[j] == -1:
        return None
    return bool(y[i] == y[j])


def supervised_elap_lengths(X, lengths, y):
    """Within a class min(Euclidean, d), between classes their sum (ELAP section V)."""
    changed = {}
    for (i, j), d in lengths.items():
        straight = euclidean_distance(X[i], X[j])
        same = same_class(y, i, j)
        if same is None:
            changed[i, j] = d
        elif same:
            changed[i, j] = min(straight, d)
        else:
            changed[i, j] = straight + d
    return changed


def supervised_pelle_neighbors(X, k, y):
    """Neighbours of every sample without those of other classes (PELLE section 5).

    A sample that loses all has the nearest sample of its class or without a label.
    """
    nearest = neighbors(X, len(X) - 1)
    kept = []
    for i in range(len(X)):
        own = [int(j) for j in nearest[i, :k] if same_class(y, i, j) is not False]
        if not own:
            own = [int(j) for j in nearest[i] if same_class(y, i, j) is not False][:1]
        kept.append(own)
    return kept


# --- Isomap ---------------------------------------------------------------------------


def geodesics(lengths, n):
    """Shortest path lengths between all samples, by Floyd and Warshall.

    Samples that no path joins are at infinity.
    """
    E = [[math.inf] * n for _ in range(n)]
    for i in range(n):
        E[i][i] = 0.0
    for (i, j), length in lengths.items():
        E[i][j] = length
        E[j][i] = length
    for through in range(n):
        for i in range(n):
            for j in range(n):
                detour = E[i][through] + E[through][j]
                if detour < E[i][j]:
                    E[i][j] = detour
    return np.array(E)


def isomap(lengths, n, d):
    """Geodesics, then classical scaling (ISOMAP-KL eqs 7, 10 and 11).

    A = -1/2 of the *squared* geodesics, as eq. 7 has it; "A = -D/2" in the paper's
    Algorithm 1 is a misprint. A negative eigenvalue gives a coordinate of zero.
    """
    E = geodesics(lengths, n)
    if np.isinf(E).any():
        raise ValueError("the graph is not connected")
    A = np.zeros((n, n))
    for r in range(n):
        for s in range(n):
            A[r, s] = -0.5 * E[r, s] ** 2
    H = np.eye(n) - np.ones((n, n)) / n
    B = H @ A @ H
    B = (B + B.T) / 2
    values, vectors = np.linalg.eigh(B)
    embedding = np.zeros((n, d))
    for component in range(d):
        position = n - 1 - component
        scale = math.sqrt(max(0.0, values[position]))
        embedding[:, component] = vectors[:, position] * scale
    return embedding


def landmark_mds(E, landmarks, d):
    """Landmark scaling (de Silva and Tenenbaum, 2004), sample by sample.

    E holds the distances from the landmarks to all samples. A sample with squared
    distances δ to the landmarks lies at -½ L# (δ - mean δ), where the mean is over the
    landmarks as samples and row l of L# is the l-th eigenvector over the root of its
    eigenvalue.
    """
    k, n = E.shape
    squared = E[:, landmarks] ** 2
    H = np.eye(k) - np.ones((k, k)) / k
    values, vectors = np.linalg.eigh(-0.5 * H @ squared @ H)
    embedding = np.zeros((n, d))
    for sample in range(n):
        for component in range(d):
            value, vector = values[-1 - component], vectors[:, -1 - component]
            gap = E[:, sample] ** 2 - squared.mean(axis=1)
            embedding[sample, component] = -0.5 * vector @ gap / math.sqrt(value)
    return embedding


# --- Laplacian eigenmaps --------------------------------------------------------------


def laplacian(lengths, n, t):
    """Weights, degrees and Laplacian (ELAP eqs 42, 43 and 6; KLAP eqs 82, 83, 52).

    W_ij = exp(-d_ij^2 / t) on edges; a pair that is no edge has weight zero.
    """
    W = np.zeros((n, n))
    for (i, j), length in lengths.items():
        W[i, j] = math.exp(-(length**2) / t)
        W[j, i] = W[i, j]
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            D[i, i] += W[i, j]
    return W, D, D - W


def eigenmaps(lengths, n, d, t, normalized):
    """Give the d eigenvectors after the constant one.

    Of L itself (ELAP Algorithm 2), or of L y = lambda D y (KLAP eq. 70): there with
    v an eigenvector of D^-1/2 L D^-1/2, y = D^-1/2 v.
    """
    _, D, L = laplacian(lengths, n, t)
    if not normalized:
        _, vectors = np.linalg.eigh(L)
        return vectors[:, 1 : d + 1]
    symmetric = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            symmetric[i, j] = L[i, j] / math.sqrt(D[i, i] * D[j, j])
    _, vectors = np.linalg.eigh(symmetric)
    embedding = np.zeros((n, d))
    for i in range(n):
        for component in range(d):
            embedding[i, component] = vectors[i, component + 1] / math.sqrt(D[i, i])
    return embedding


def projection(X, lengths, d, t, reg):
    """Locality-preserving projections (He and Niyogi 2003, eq. 2), samples as rows.

    X'LX a = lambda (X'DX + ridge) a, with X centred by its degree-weighted mean and
    the ridge reg times the mean of the eigenvalues of X'DX. Columns have length 1 in
    the metric on the right-hand side.
    """
    n, m = X.shape
    _, D, L = laplacian(lengths, n, t)
    total = sum(D[i, i] for i in range(n))
    mean = sum(D[i, i] * X[i] for i in range(n)) / total
    left, right = np.zeros((m, m)), np.zeros((m, m))
    for i in range(n):
        for j in range(n):
            left += L[i, j] * np.outer(X[i] - mean, X[j] - mean)
        right += D[i, i] * np.outer(X[i] - mean, X[i] - mean)
    right += reg * np.trace(right) / m * np.eye(m)
    values, vectors = np.linalg.eig(np.linalg.inv(right) @ left)
    order = np.argsort(values.real)[:d]
    columns = []
    for position in order:
        a = vectors[:, position].real
        columns.append(a / math.sqrt(a @ right @ a))
    return mean, np.array(columns).T, values.real[order]


def diffusion_distances(lengths, n, t, steps):
    """Distances of random walks after some steps (Coifman and Lafon 2006, eq. 9).

    P = D^-1 W; between rows of its power, weighted by the inverse of the share of time
    a walk spends at each sample.
    """
    W, D, _ = laplacian(lengths, n, t)
    degrees = [D[i, i] for i in range(n)]
    P = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            P[i, j] = W[i, j] / degrees[i]
    walked = np.eye(n)
    for _ in range(steps):
        walked = walked @ P
    distances = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                share = degrees[k] / sum(degrees)
                total += (walked[i, k] - walked[j, k]) ** 2 / share
            distances[i, j] = math.sqrt(total)
    return distances


# --- Locally linear embedding ---------------------------------------------------------


def entropic_weights(divergences, alpha=1e-3):
    """Reconstruction weights of PELLE (eqs 28, 9 and 10).

    C_jk = d_j d_k, plus alpha on the diagonal; C w = 1; w divided by its sum.
    """
    k = len(divergences)
    C = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            C[a, b] = divergences[a] * divergences[b]
        C[a, a] += alpha
    w = np.linalg.solve(C, np.ones(k))
    return w / w.sum()


def classic_weights(x, neighbours, reg):
    """Reconstruction weights of plain LLE (PELLE eqs 3, 9 and 10).

    C_jk = (x - x_j)'(x - x_k), plus reg times its trace on the diagonal (reg itself
    if the trace is zero), which is how scikit-learn regularises.
    """
    k = len(neighbours)
    C = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            C[a, b] = (x - neighbours[a]) @ (x - neighbours[b])
    trace = sum(C[a, a] for a in range(k))
    for a in range(k):
        C[a, a] += reg * trace if trace > 0 else reg
    w = np.linalg.solve(C, np.ones(k))
    return w / w.sum()


def lle_embedding(W, d):
    """Bottom eigenvectors of M = (I-W)'(I-W) after the first (PELLE eqs 15, 18)."""
    n = len(W)
    M = (np.eye(n) - W).T @ (np.eye(n) - W)
    _, vectors = np.linalg.eigh(M)
    return vectors[:, 1 : d + 1]


def pelle_weights(X, k, alpha, shrinkage, ridge):
    """Matrix of PELLE's weights: row i holds the weights of the neighbours of i."""
    n = len(X)
    indices = neighbors(X, k)
    lengths = kl_lengths(X, k, shrinkage, ridge)
    W = np.zeros((n, n))
    for i in range(n):
        divergences = []
        for j in indices[i]:
            divergences.append(lengths[min(i, int(j)), max(i, int(j))])
        w = entropic_weights(divergences, alpha)
        for position in range(k):
            W[i, indices[i, position]] = w[position]
    return W


def pelle(X, k, d, alpha, shrinkage, ridge):
    """Parametric entropic LLE (PELLE section 3)."""
    return lle_embedding(pelle_weights(X, k, alpha, shrinkage, ridge), d)


# --- Cauchy graph embedding -----------------------------------------------------------


def cauchy_similarity(X):
    """Dense similarity exp(-||x_i - x_j||^2 / s^2), zero diagonal (Cauchy 3.2).

    s is the mean distance over all pairs of different samples.
    """
    n = len(X)
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += euclidean_distance(X[i], X[j])
    s /= n * (n - 1)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                W[i, j] = math.exp(-squared_distance(X[i], X[j]) / s**2)
    return W


def decay(name, distance, sigma):
    """Decay functions of Cauchy eqs 21-25; "cauchy" is scaled to be 1 at zero.

    The scale-free "linear" and "laplacian" do not use sigma.
    """
    if name == "cauchy":
        return sigma**2 / (distance**2 + sigma**2)  # eq. 22 times sigma^2
    if name == "gaussian":
        return math.exp(-(distance**2) / sigma**2)  # eq. 23
    if name == "exponential":
        return math.exp(-distance / sigma)  # eq. 24
    if name == "linear":
        return -distance  # eq. 25
    if name == "laplacian":
        return -(distance**2)  # eq. 21
    raise ValueError(name)


def decay_slope(name, distance, sigma):
    """Give the derivative of a decay function with respect to the distance."""
    if name == "cauchy":
        return -2 * distance * sigma**2 / (distance**2 + sigma**2) ** 2
    if name == "gaussian":
        return -2 * distance / sigma**2 * math.exp(-(distance**2) / sigma**2)
    if name == "exponential":
        return -math.exp(-distance / sigma) / sigma
    if name == "linear":
        return -1.0
    if name == "laplacian":
        return -2 * distance
    raise ValueError(name)


def cauchy_objective(W, R, name, sigma):
    """J = sum of w_ij decay(||r_i - r_j||) over ordered pairs (Cauchy eqs 14, 20).

    The embedding R has one sample a row (the paper's R is its transpose).
    """
    n = len(W)
    J = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                J += W[i, j] * decay(name, euclidean_distance(R[i], R[j]), sigma)
    return float(J)


def cauchy_gradient(W, R, name, sigma):
    """Gradient of ``cauchy_objective`` with respect to R.

    The distance of i and j occurs in the ordered pairs (i, j) and (j, i), and its
    gradient with respect to r_i is (r_i - r_j) / distance. Samples at the same place
    do not pull each other.
    """
    n, d = R.shape
    gradient = np.zeros((n, d))
    for i in range(n):
        for j in range(n):
            distance = euclidean_distance(R[i], R[j])
            if distance == 0:
                continue
            slope = (W[i, j] + W[j, i]) * decay_slope(name, distance, sigma)
            for component in range(d):
                gradient[i, component] += (
                    slope * (R[i, component] - R[j, component]) / distance
                )
    return gradient


def laplacian_embedding(W, d):
    """Start of the ascent: eigenvectors of D - W after the constant one (Cauchy 4)."""
    n = len(W)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            L[i, j] -= W[i, j]
            L[i, i] += W[i, j]
    _, vectors = np.linalg.eigh(L)
    return vectors[:, 1 : d + 1]


def nearest_feasible(M):
    """Nearest R with orthonormal columns of zero mean (Cauchy Theorem 2).

    Centre, decompose U S V', and return U V'. The paper returns the factor on the
    samples' side alone, which is this one up to a rotation of the components.
    """
    n, d = M.shape
    centred = np.zeros((n, d))
    for component in range(d):
        mean = sum(M[i, component] for i in range(n)) / n
        for i in range(n):
            centred[i, component] = M[i, component] - mean
    U, _, Vt = np.linalg.svd(centred, full_matrices=False)
    return U @ Vt


def cauchy_ascent(W, d, name, sigma, n_iter, lipschitz=None):
    """Projected gradient ascent on J (Cauchy section 4.3, eqs 26 and 32).

    A step is M = R + gradient / L, then the nearest feasible R. L is doubled until J
    does not fall, and halved after each accepted step; a step is judged by J itself,
    not by the paper's eq. 28. The first L is 8 max_i sum_j w_ij / sigma^2 (without
    sigma for "linear" and "laplacian"), which bounds the second derivatives of J for
    "cauchy", "gaussian" and "laplacian". The ascent ends early if sixty doublings in a
    row have found no step. Returns R and the values of J, the start's first.
    """
    n = len(W)
    if lipschitz is None:
        lipschitz = 8 * max(sum(W[i, j] for j in range(n)) for i in range(n))
        if name not in ("linear", "laplacian"):
            lipschitz /= sigma**2
    R = laplacian_embedding(W, d)
    objective = [cauchy_objective(W, R, name, sigma)]
    for _ in range(n_iter):
        gradient = cauchy_gradient(W, R, name, sigma)
        accepted = False
        for _ in range(60):
            candidate = nearest_feasible(R + gradient / lipschitz)
            value = cauchy_objective(W, candidate, name, sigma)
            if value >= objective[-1]:
                accepted = True
                break
            lipschitz *= 2
        if not accepted:
            break
        R = candidate
        objective.append(value)
        lipschitz /= 2
    return R, objective


# --- Comparing embeddings -------------------------------------------------------------


def topology_violations(W, R, n_pairs=25):
    """Conflicts with Cauchy eq. 5 among the most similar pairs of samples.

    The ``n_pairs`` distinct pairs of largest w are taken, equal ones in the order of
    (i, j). Two of them conflict if w_ij > w_pq and yet i, j are embedded further apart
    than p, q. The paper's 50 pairs are 25 distinct ones, each as (i, j) and as (j, i),
    so that every conflict occurs in 4 of its 2500 combinations.
    """
    n = len(W)
    candidates = []
    for i in range(n):
        for j in range(i + 1, n):
            candidates.append((-W[i, j], i, j))
    candidates.sort()
    chosen = [(i, j) for _, i, j in candidates[:n_pairs]]
    violations = 0
    for i, j in chosen:
        for p, q in chosen:
            nearer = squared_distance(R[i], R[j])
            farther = squared_distance(R[p], R[q])
            if W[i, j] > W[p, q] and nearer > farther:
                violations += 4
    return violations


def orthonormal_columns(A):
    """Orthonormal basis of the column space of A, its columns centred first."""
    A = np.asarray(A, dtype=float)
    centred = A.copy()
    for column in range(A.shape[1]):
        centred[:, column] = A[:, column] - A[:, column].mean()
    return np.linalg.qr(centred)[0]


def principal_angle(A, B):
    """Largest principal angle, in radians, of two column spaces after centring.

    Its sine is the largest singular value of what is left of the one basis outside
    the other's space; the sine, unlike the cosine, is accurate for small angles.
    """
    Q_a = orthonormal_columns(A)
    Q_b = orthonormal_columns(B)
    if Q_a.shape[1] < Q_b.shape[1]:
        Q_a, Q_b = Q_b, Q_a
    outside = Q_b - Q_a @ (Q_a.T @ Q_b)
    sine = np.linalg.svd(outside, compute_uv=False)[0]
    return math.asin(min(1.0, float(sine)))
