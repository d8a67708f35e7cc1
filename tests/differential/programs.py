"""The programs of examples/programs in NumPy, written apart from these: an oracle for both the
interpreter and generated code. Prints cases as numpy_slices.py does, with the text of the file.

    programs.py SEED COUNT     COUNT programs, data by SEED
"""
import pathlib
import sys

import numpy as np

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "programs"
BOUND = 1e-9


def cg(rng):
    n, steps = 12, 5
    half = rng.random((n, n))
    a, b, x = half @ half.T + n*np.eye(n), rng.random(n), rng.random(n)
    given = dict(n=n, steps=steps, A=a, b=b, x=x)
    x = x.copy()
    r = b - a.dot(x)
    p, rr = r.copy(), r.dot(r)
    for _ in range(steps):
        q = a.dot(p)
        alpha = rr/p.dot(q)
        x += alpha*p
        r -= alpha*q
        rr, before = r.dot(r), rr
        p = r + rr/before*p
    return given, dict(x=x)


def multigrid(rng):
    m, cycles, h = 4, 2, 0.0625
    f, u = rng.random((4*m + 1, 4*m + 1)), np.zeros((4*m + 1, 4*m + 1))
    given = dict(m=m, cycles=cycles, h=h, f=f, u=u)

    def laplace(v):
        return v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4*v[1:-1, 1:-1]

    def smooth(v, g, width, steps):
        for _ in range(steps):
            v = v.copy()
            v[1:-1, 1:-1] += 0.8*(laplace(v) + width*width*g[1:-1, 1:-1])/4
        return v

    def coarser(v, g, width):
        r = np.zeros_like(v)
        r[1:-1, 1:-1] = g[1:-1, 1:-1] + laplace(v)/(width*width)
        n = len(v)//2
        out = np.zeros((n + 1, n + 1))
        weights = np.outer([1, 2, 1], [1, 2, 1])/16
        for i in range(1, n):
            for j in range(1, n):
                out[i, j] = np.sum(weights*r[2*i - 1:2*i + 2, 2*j - 1:2*j + 2])
        return out

    def finer(c):
        n = len(c) - 1
        at = np.arange(2*n + 1)/2
        rows = np.array([np.interp(at, np.arange(n + 1), c[:, j]) for j in range(n + 1)]).T
        return np.array([np.interp(at, np.arange(n + 1), row) for row in rows])

    def cycle(v, g, width, level):
        if level == 0:
            return smooth(v, g, width, 20)
        v = smooth(v, g, width, 2)
        c = coarser(v, g, width)
        v = v + finer(cycle(np.zeros_like(c), c, 2*width, level - 1))
        return smooth(v, g, width, 2)

    for _ in range(cycles):
        u = cycle(u, f, h, 2)
    return given, dict(u=u)


def advection(rng):
    n, m, steps, dt = 6, 7, 2, 0.2
    wx, wy, u = rng.random((n, m)), rng.random((n, m)), rng.random((3, n, m))
    given = dict(n=n, m=m, steps=steps, dt=dt, wx=wx, wy=wy, u=u)

    def along(v, axis):
        return (8*(np.roll(v, -1, axis) - np.roll(v, 1, axis)) - np.roll(v, -2, axis) + np.roll(v, 2, axis))/12

    def slope(v):
        return -wx*along(v, 1) - wy*along(v, 2)

    for _ in range(steps):
        a = u + dt*slope(u)
        b = 3/4*u + (a + dt*slope(a))/4
        u = u/3 + 2/3*(b + dt*slope(b))
    return given, dict(u=u)


def lu(rng):
    systems, n = 5, 6
    a, b = rng.random((systems, n, n)), rng.random((systems, n))
    given = dict(systems=systems, n=n, A=a, b=b)
    factors = a.copy()
    for f in factors:
        for k in range(n):
            p = k + np.argmax(abs(f[k:, k]))
            f[[k, p]] = f[[p, k]]
            for i in range(k + 1, n):
                f[i, k] /= f[k, k]
                f[i, k + 1:] -= f[i, k]*f[k, k + 1:]
    return given, dict(A=factors, b=np.linalg.solve(a, b[..., None])[..., 0])


def adi(rng):
    n, m, steps, s = 5, 6, 3, 0.3
    u = rng.random((n, m))
    given = dict(n=n, m=m, steps=steps, s=s, u=u)

    def second(k):
        return np.eye(k, k=1) + np.eye(k, k=-1) - 2*np.eye(k)

    for _ in range(steps):
        u = np.linalg.solve(np.eye(n) - s*second(n), u + s*u @ second(m))
        u = np.linalg.solve(np.eye(m) - s*second(m), (u + s*second(n) @ u).T).T
    return given, dict(u=u)


def kmeans(rng):
    n, k, d, steps = 30, 4, 3, 3
    x, center = rng.random((n, d)), rng.random((k, d))
    center[k - 1] = 100  # gets no point
    given = dict(n=n, k=k, d=d, steps=steps, x=x, center=center, label=np.zeros(n, dtype=np.int32))
    center = center.copy()
    for _ in range(steps):
        label = np.array([np.argmin([np.linalg.norm(p - c) for c in center]) for p in x], dtype=np.int32)
        for c in range(k):
            if (label == c).any():
                center[c] = x[label == c].mean(axis=0)
    return given, dict(center=center, label=label)


def pagerank(rng):
    n, steps, d = 12, 6, 0.85
    links = rng.random((n, n)) < 0.2  # links[i, j]: j links to i
    links[:, 3] = False
    start = np.concatenate([[0], np.cumsum(links.sum(axis=1))]).astype(np.int32)
    source = np.nonzero(links)[1].astype(np.int32)
    given = {"n": n, "nnz": len(source), "steps": steps, "d": d, "start": start, "from": source,
             "links": links.sum(axis=0).astype(np.int32), "rank": np.zeros(n)}
    whole = np.where(links.any(axis=0), links/np.maximum(links.sum(axis=0), 1), 1/n)
    rank = np.full(n, 1/n)
    for _ in range(steps):
        rank = (1 - d)/n + d*whole @ rank
    return given, dict(rank=rank)


def mlp(rng):
    n, d, h, k, steps, rate = 9, 4, 5, 3, 3, 0.5
    x, y = rng.random((n, d)), np.eye(k)[rng.integers(0, k, n)]
    w, b, v, c = rng.random((d, h)), rng.random(h), rng.random((h, k)), rng.random(k)
    given = dict(n=n, d=d, h=h, k=k, steps=steps, rate=rate, x=x, y=y, W=w, b=b, V=v, c=c, loss=np.zeros(steps))
    parts, losses = [w, b, v, c], []

    def loss(parts):
        w, b, v, c = parts
        s = np.tanh(x @ w + b) @ v + c
        return np.mean(np.log(np.exp(s).sum(axis=1)) - (s*y).sum(axis=1))

    for _ in range(steps):  # the gradient by complex steps, which does not share the formula
        losses.append(loss(parts).real)
        slopes = []
        for p in parts:
            slopes.append(np.zeros(p.shape))
            for at in np.ndindex(p.shape):
                moved = p.astype(complex)
                moved[at] += 1e-30j
                slopes[-1][at] = loss([moved if q is p else q for q in parts]).imag/1e-30
        parts = [p - rate*g for p, g in zip(parts, slopes)]
    return given, dict(W=parts[0], b=parts[1], V=parts[2], c=parts[3], loss=np.array(losses))


def d2q9(rng):
    n, m, steps, omega = 5, 6, 3, 1.2
    f = rng.random((9, n, m)) + 1
    given = dict(n=n, m=m, steps=steps, omega=omega, f=f)
    velocities = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = [{0: 4/9, 1: 1/9, 2: 1/36}[x*x + y*y] for x, y in velocities]
    for _ in range(steps):
        rho = f.sum(axis=0)
        u = [sum(c[k]*g for c, g in zip(velocities, f))/rho for k in range(2)]
        out = []
        for c, w, g in zip(velocities, weights, f):
            cu = 3*(c[0]*u[0] + c[1]*u[1])
            rest = w*rho*(1 + cu + cu**2/2 - 3/2*(u[0]**2 + u[1]**2))
            out.append(np.roll(g + omega*(rest - g), c, (0, 1)))
        f = np.array(out)
    return given, dict(f=f)


def shallow(rng):
    n, m, steps, dt, g = 6, 5, 4, 0.1, 1.5
    h, u, v = 2 + rng.random((n, m)), rng.random((n + 1, m)) - 0.5, rng.random((n, m + 1)) - 0.5
    given = dict(n=n, m=m, steps=steps, dt=dt, g=g, h=h, u=u, v=v)
    h, u, v = h.copy(), u.copy(), v.copy()
    for _ in range(steps):
        u[1:-1] -= dt*g*np.diff(h, axis=0)
        v[:, 1:-1] -= dt*g*np.diff(h, axis=1)
        fu, fv = np.zeros_like(u), np.zeros_like(v)
        for i in range(1, n):
            for j in range(m):
                fu[i, j] = u[i, j]*(h[i - 1, j] if u[i, j] > 0 else h[i, j])
        for i in range(n):
            for j in range(1, m):
                fv[i, j] = v[i, j]*(h[i, j - 1] if v[i, j] > 0 else h[i, j])
        h -= dt*(np.diff(fu, axis=0) + np.diff(fv, axis=1))
    return given, dict(h=h, u=u, v=v)


PROGRAMS = [adi, advection, cg, d2q9, kmeans, lu, mlp, multigrid, pagerank, shallow]


def words(values):
    return " ".join(repr(x) for x in values.ravel().tolist())


def main():
    seed, wanted = int(sys.argv[1]), int(sys.argv[2])
    for n in range(wanted):
        program = PROGRAMS[n % len(PROGRAMS)]
        given, results = program(np.random.default_rng(seed + n))
        print(f"kernel {program.__name__}")
        print("text", (FOLDER / f"{program.__name__}.loop").read_text() + "endtext", sep="\n")
        for name, value in given.items():
            print(f"input {name} {words(value)}" if isinstance(value, np.ndarray) else f"param {name} {value!r}")
        for name, value in results.items():
            print(f"result {name} {value.dtype} {BOUND if value.dtype.kind == 'f' else 0} {words(value)}")


main()
