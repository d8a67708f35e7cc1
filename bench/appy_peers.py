"""The kernels of APPy's evaluation for other tools, and their times.

    python3 peers.py TOOL SIZES.json KERNEL...

prints a line of JSON for each kernel: {"kernel": K, "seconds": S} or {"kernel": K, "failure": why}.
TOOL is `cupy`, `torch` (torch.compile), `jax` (jit) or `numba` (parallel loops on the CPU). The first three
have the kernels in array style, with loops where a step needs the one before; products, factorizations and
solvers call the tool's own routine. Times are by the clock around a run that is waited for: the median.
"""

import json
import pathlib
import signal
import statistics
import sys
import time

import numpy as np

LIMIT = 15    # seconds for a kernel, compilation included
LEAST = 0.5   # seconds of runs that are timed
MOST = 50     # runs


# ---- Tools -----------------------------------------------------------------------------------------


class Cupy:
    def __init__(self):
        import cupy
        import cupyx.scipy.linalg
        import cupyx.scipy.sparse
        self.xp, self.extra = cupy, cupyx.scipy

    def array(self, a):
        return self.xp.asarray(a)

    def wait(self, _):
        self.xp.cuda.Device().synchronize()

    def compiled(self, f):
        return f

    def repeat(self, n, step, state):
        for t in range(n):
            state = step(t, *state)
        return state

    def put(self, a, at, value):
        a[at] = value
        return a

    def solve_lower(self, a, b):
        return self.extra.linalg.solve_triangular(a, b, lower=True)

    def sparse(self, rows, columns, values, x):
        a = self.extra.sparse.csr_matrix((self.array(values), self.array(columns), self.array(rows)),
                                         shape=(len(rows) - 1, len(x)))
        x = self.array(x)
        return lambda: a @ x

    def softmax(self, x):
        e = self.xp.exp(x - x.max(axis=-1, keepdims=True))
        return e/e.sum(axis=-1, keepdims=True)


class Torch(Cupy):
    def __init__(self):  # pylint: disable=super-init-not-called
        import torch
        torch.set_default_device("cuda")
        self.xp = torch
        torch._dynamo.config.cache_size_limit = 64

    def array(self, a):
        return self.xp.as_tensor(a, device="cuda")

    def wait(self, _):
        self.xp.cuda.synchronize()

    def compiled(self, f):
        return self.xp.compile(f, dynamic=False)

    def solve_lower(self, a, b):
        return self.xp.linalg.solve_triangular(a, b[:, None], upper=False)

    def sparse(self, rows, columns, values, x):
        a = self.xp.sparse_csr_tensor(self.array(rows), self.array(columns), self.array(values),
                                      size=(len(rows) - 1, len(x)))
        x = self.array(x)
        return lambda: a @ x

    def softmax(self, x):
        return self.xp.softmax(x, -1)


class Jax(Cupy):
    def __init__(self):  # pylint: disable=super-init-not-called
        import jax
        import jax.scipy.linalg
        jax.config.update("jax_enable_x64", True)
        self.jax, self.xp = jax, jax.numpy
        self.loops = {}  # by step, compiled

    def wait(self, out):
        self.jax.block_until_ready(out)

    def compiled(self, f):
        return self.jax.jit(f)

    def repeat(self, n, step, state):
        if step not in self.loops:
            self.loops[step] = self.jax.jit(
                lambda *s: self.jax.lax.fori_loop(0, n, lambda t, a: tuple(step(t, *a)), s))
        return self.loops[step](*state)

    def put(self, a, at, value):
        return a.at[at].set(value)

    def solve_lower(self, a, b):
        return self.jax.scipy.linalg.solve_triangular(a, b, lower=True)

    def sparse(self, rows, columns, values, x):
        of = np.repeat(np.arange(len(rows) - 1), np.diff(rows))
        of, columns, values, x = (self.array(a) for a in (of, columns, values, x))
        f = self.jax.jit(lambda v, x: self.jax.ops.segment_sum(v*x[columns], of, num_segments=len(rows) - 1,
                                                               indices_are_sorted=True))
        return lambda: f(values, x)

    def softmax(self, x):
        return self.jax.nn.softmax(x, axis=-1)


# ---- Kernels in array style: each gives what runs it once ------------------------------------------


def random(t, *shape, dtype="float64"):
    return t.array(np.random.default_rng(1).random(shape).astype(dtype))


def azimint_naive(t, s):
    xp, npt = t.xp, s["npt"]
    data, radius = random(t, s["n"]), random(t, s["n"])

    def step(i, res, data, radius, most):
        inside = (most*i/npt <= radius) & (radius < most*(i + 1)/npt)
        return t.put(res, i, xp.where(inside, data, 0.0).sum()/inside.sum()), data, radius, most

    step = step if isinstance(t, Torch) else t.compiled(step)
    res = random(t, npt)
    return lambda: t.repeat(npt, step, (res, data, radius, radius.max()))[0]


def conditioned(kernel, s):
    """What factorizations and solvers take, by argument: with numbers at random, results are not finite."""
    n = s.get("n", 0)
    if kernel == "cholesky":
        a = np.random.default_rng(1).random((n, n))
        return {"A": (a + a.T)/2 + n*np.eye(n)}
    if kernel == "trisolv":
        return {"L": np.tri(n)/n + np.eye(n)}
    return {}


def cholesky(t, s):
    a = t.array(conditioned("cholesky", s)["A"])
    return lambda: t.xp.linalg.cholesky(a)


def covariance(t, s):
    def f(data):
        d = data - data.mean(0)
        return d.T @ d/(s["n"] - 1)
    f, data = t.compiled(f), random(t, s["n"], s["m"])
    return lambda: f(data)


def fdtd_2d(t, s):
    nx, ny = s["nx"], s["ny"]
    fict = np.random.default_rng(1).random(s["tmax"])
    fict = t.array(fict) if isinstance(t, Jax) else fict

    def rest(ex, ey, hz):
        ey = t.put(ey, np.s_[1:, :], ey[1:, :] - 0.5*(hz[1:, :] - hz[:-1, :]))
        ex = t.put(ex, np.s_[:, 1:], ex[:, 1:] - 0.5*(hz[:, 1:] - hz[:, :-1]))
        hz = t.put(hz, np.s_[:-1, :-1], hz[:-1, :-1] - 0.7*(ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    rest = t.compiled(rest)

    def step(k, ex, ey, hz):
        return rest(ex, t.put(ey, np.s_[0, :], fict[k]), hz)

    state = tuple(random(t, nx, ny) for _ in range(3))
    return lambda: t.repeat(s["tmax"], step, state)


def floyd_warshall(t, s):
    xp, n = t.xp, s["n"]

    def step(k, path):
        return (xp.minimum(path, path[:, k][:, None] + path[k, :][None, :]),)

    if isinstance(t, Torch):
        inner = t.compiled(lambda path, column, row: xp.minimum(path, column[:, None] + row[None, :]))
        step = lambda k, path: (inner(path, path[:, k], path[k, :]),)
    path = t.array(np.random.default_rng(1).integers(1, 1000, (n, n)).astype("int32"))
    return lambda: t.repeat(n, step, (path,))


def gemm(t, s):
    f = t.compiled(lambda c, a, b: 1.5*(a @ b) + 1.2*c)
    c, a, b = random(t, s["ni"], s["nj"]), random(t, s["ni"], s["nk"]), random(t, s["nk"], s["nj"])
    return lambda: f(c, a, b)


def gemver(t, s):
    n = s["n"]

    def f(a, u1, v1, u2, v2, w, x, y, z):
        a = a + u1[:, None]*v1[None, :] + u2[:, None]*v2[None, :]
        x = x + 1.2*(a.T @ y) + z
        return a, x, w + 1.5*(a @ x)

    f, state = t.compiled(f), [random(t, n, n)] + [random(t, n) for _ in range(8)]
    return lambda: f(*state)


def gesummv(t, s):
    n = s["n"]
    f = t.compiled(lambda a, b, x: 1.5*(a @ x) + 1.2*(b @ x))
    a, b, x = random(t, n, n), random(t, n, n), random(t, n)
    return lambda: f(a, b, x)


def go_fast(t, s):
    f = t.compiled(lambda a: a + t.xp.tanh(t.xp.diagonal(a)).sum())
    a = random(t, s["n"], s["n"])
    return lambda: f(a)


def gramschmidt(t, s):
    xp, m, n = t.xp, s["m"], s["n"]
    columns = t.array(np.arange(n))

    def masked(k, a, r, q):
        v = a[:, k]/xp.sqrt((a[:, k]**2).sum())
        row = xp.where(columns > k, v @ a, 0.0)
        return a - v[:, None]*row[None, :], t.put(r, np.s_[k, :], row), t.put(q, np.s_[:, k], v)

    def sliced(k, a, r, q):
        v = a[:, k]/xp.sqrt((a[:, k]**2).sum())
        q[:, k] = v
        r[k, k + 1:] = v @ a[:, k + 1:]
        a[:, k + 1:] -= v[:, None]*r[k, k + 1:][None, :]
        return a, r, q

    step, state = masked if isinstance(t, Jax) else sliced, (random(t, m, n), random(t, n, n), random(t, m, n))
    return lambda: t.repeat(n, step, state)


def hdiff(t, s):
    xp, ni, nj, nk = t.xp, s["ni"], s["nj"], s["nk"]

    def f(x, coeff):
        lap = 4*x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
        d = lap[1:, 1:-1] - lap[:-1, 1:-1]
        flx = xp.where(d*(x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0.0, d)
        d = lap[1:-1, 1:] - lap[1:-1, :-1]
        fly = xp.where(d*(x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0.0, d)
        return x[2:-2, 2:-2] - coeff*(flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])

    f, x, coeff = t.compiled(f), random(t, ni + 4, nj + 4, nk), random(t, ni, nj, nk)
    return lambda: f(x, coeff)


def heat_3d(t, s):
    n, i = s["n"], slice(1, -1)

    def sweep(to, a):
        new = a[i, i, i] + 0.125*(a[2:, i, i] - 2*a[i, i, i] + a[:-2, i, i]) \
            + 0.125*(a[i, 2:, i] - 2*a[i, i, i] + a[i, :-2, i]) + 0.125*(a[i, i, 2:] - 2*a[i, i, i] + a[i, i, :-2])
        return t.put(to, (i, i, i), new)

    def both(a, b):
        b = sweep(b, a)
        return sweep(a, b), b

    both, state = t.compiled(both), (random(t, n, n, n), random(t, n, n, n))
    step = lambda _, a, b: both(a, b)
    return lambda: t.repeat(s["tsteps"], step, state)


def jacobi_2d(t, s):
    n, i = s["n"], slice(1, -1)

    def sweep(to, a):
        return t.put(to, (i, i), 0.2*(a[i, i] + a[i, :-2] + a[i, 2:] + a[2:, i] + a[:-2, i]))

    def both(a, b):
        b = sweep(b, a)
        return sweep(a, b), b

    both, state = t.compiled(both), (random(t, n, n), random(t, n, n))
    step = lambda _, a, b: both(a, b)
    return lambda: t.repeat(s["tsteps"], step, state)


def softmax(t, s):
    f, x = t.compiled(t.softmax), random(t, s["rows"], s["n"], dtype="float32")
    return lambda: f(x)


def spmv(t, s):
    m = matrix(s)
    return t.sparse(m["rows"], m["columns"], m["values"], np.random.default_rng(2).random(s["m"]))


def symm(t, s):
    xp, m, n = t.xp, s["m"], s["n"]
    f = t.compiled(lambda c, a, b: 1.2*c + 1.5*((xp.tril(a) + xp.tril(a, -1).T) @ b))
    c, a, b = random(t, m, n), random(t, m, m), random(t, m, n)
    return lambda: f(c, a, b)


def syr2k(t, s):
    xp, m, n = t.xp, s["m"], s["n"]
    low = t.array(np.tri(n, dtype=bool))
    f = t.compiled(lambda c, a, b: xp.where(low, 1.2*c + 1.5*(a @ b.T + b @ a.T), c))
    c, a, b = random(t, n, n), random(t, n, m), random(t, n, m)
    return lambda: f(c, a, b)


def syrk(t, s):
    xp, m, n = t.xp, s["m"], s["n"]
    low = t.array(np.tri(n, dtype=bool))
    f = t.compiled(lambda c, a: xp.where(low, 1.2*c + 1.5*(a @ a.T), c))
    c, a = random(t, n, n), random(t, n, m)
    return lambda: f(c, a)


def trisolv(t, s):
    n = s["n"]
    low, b = t.array(conditioned("trisolv", s)["L"]), random(t, n)
    return lambda: t.solve_lower(low, b)


def trmm(t, s):
    xp, m, n = t.xp, s["m"], s["n"]
    f = t.compiled(lambda a, b: 1.5*(b + xp.tril(a, -1).T @ b))
    a, b = random(t, m, m), random(t, m, n)
    return lambda: f(a, b)


# ---- Loops on the CPU ------------------------------------------------------------------------------


def numba_kernels():
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def azimint(data, radius, res):
        most, npt = radius.max(), len(res)
        for i in prange(npt):
            total, count = 0.0, 0
            for j in range(len(data)):
                if most*i/npt <= radius[j] < most*(i + 1)/npt:
                    total += data[j]
                    count += 1
            res[i] = total/count

    @njit(parallel=True, fastmath=True)
    def floyd(path):
        n = len(path)
        for k in range(n):
            for i in prange(n):
                for j in range(n):
                    path[i, j] = min(path[i, j], path[i, k] + path[k, j])

    @njit(parallel=True, fastmath=True)
    def factor(a):
        n = len(a)
        for j in range(n):
            a[j, j] = np.sqrt(a[j, j] - np.dot(a[j, :j], a[j, :j]))
            for i in prange(j + 1, n):
                a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j]))/a[j, j]

    @njit(fastmath=True)
    def solve(low, b, x):
        for i in range(len(b)):
            x[i] = (b[i] - np.dot(low[i, :i], x[:i]))/low[i, i]

    @njit(parallel=True, fastmath=True)
    def product(rows, columns, values, x, y):
        for i in prange(len(y)):
            total = 0.0
            for p in range(rows[i], rows[i + 1]):
                total += values[p]*x[columns[p]]
            y[i] = total

    r = np.random.default_rng(1)

    def of_azimint(s):
        a = r.random(s["n"]), r.random(s["n"]), np.empty(s["npt"])
        return lambda: azimint(*a)

    def of_floyd(s):
        path = r.integers(1, 1000, (s["n"], s["n"])).astype("int32")
        return lambda: floyd(path)

    def of_cholesky(s):
        a = r.random((s["n"], s["n"])) + s["n"]*np.eye(s["n"])
        return lambda: factor(a.copy())

    def of_trisolv(s):
        a = np.tri(s["n"]) + s["n"]*np.eye(s["n"]), r.random(s["n"]), np.empty(s["n"])
        return lambda: solve(*a)

    def of_spmv(s):
        m = matrix(s)
        a = m["rows"], m["columns"], m["values"], r.random(s["m"]), np.empty(s["n"])
        return lambda: product(*a)

    return {"azimint_naive": of_azimint, "floyd-warshall": of_floyd, "cholesky": of_cholesky,
            "trisolv": of_trisolv, "spmv": of_spmv}


# ---- Running ---------------------------------------------------------------------------------------


def matrix(s):
    """Rows of random lengths, in all `nnz` elements."""
    r = np.random.default_rng(3)
    rows = np.concatenate([[0], np.sort(r.integers(0, s["nnz"] + 1, s["n"] - 1)), [s["nnz"]]])
    return {"rows": rows.astype("int32"), "columns": r.integers(0, s["m"], s["nnz"]).astype("int32"),
            "values": r.random(s["nnz"])}


def seconds(work, wait):
    wait(work())
    times = []
    while len(times) < 3 or (sum(times) < LEAST and len(times) < MOST):
        start = time.perf_counter()
        wait(work())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def late(*_):
    raise TimeoutError(f"more than {LIMIT} s")


def main():
    tool, sizes, *kernels = sys.argv[1:]
    sizes = json.loads(pathlib.Path(sizes).read_text())
    numba = numba_kernels() if tool == "numba" else None
    t = None if numba else {"cupy": Cupy, "torch": Torch, "jax": Jax}[tool]()
    signal.signal(signal.SIGALRM, late)
    for kernel in kernels:
        line = {"kernel": kernel}
        try:
            signal.alarm(LIMIT)
            if numba is not None and kernel not in numba:
                raise NotImplementedError("not written for it")
            make = numba[kernel] if numba else lambda s: globals()[kernel.replace("-", "_")](t, s)
            line["seconds"] = seconds(make(sizes[kernel]), t.wait if t else lambda _: None)
        except Exception as e:  # pylint: disable=broad-except
            line["failure"] = f"{type(e).__name__}: {e}"[:300]
        finally:
            signal.alarm(0)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
