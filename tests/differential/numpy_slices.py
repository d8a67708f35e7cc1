"""Random statements on arrays, which NumPy runs as they are; a third of them in programs of some kernels.

    numpy_slices.py SEED COUNT [print]

For each kernel: `kernel SEED`, its text between `text` and `endtext`, the values of its arguments, `param NAME
VALUE` and `input NAME VALUE...`, and what its arrays hold at the end, `result NAME TYPE BOUND VALUE...`. The
values are small integers, so that all results are exact; kernels whose values grow beyond that are not printed.
With `print` Python's text goes along, for people.
"""
import random
import re
import sys

import numpy as np

ARRAYS = {"a": "n", "b": "n", "v": "m", "c": "nm", "d": "nm", "e": "mn", "q": "nn", "z": "nnm"}
LARGEST = 2**50


class Axis:
    """An axis of `dim`, `cut` shorter at its ends together, every `step`-th of what is left."""

    def __init__(self, dim, cut=0, step=1):
        self.dim, self.cut, self.step = dim, cut, step

    def __eq__(self, other):
        return (self.dim, self.cut, self.step) == (other.dim, other.cut, other.step)

    def text(self, rng):
        """A slice of an axis `dim` that is as long."""
        lo = rng.randint(0, self.cut)
        hi = self.cut - lo
        step = f":{self.step}" if self.step > 1 else rng.choice(["", "", ":", ":1"])
        if self.step == 1 and rng.random() < 0.2:
            start = "" if lo == 0 else rng.choice([f"-{lo + 1}", f"{self.dim} - {lo + 1}"])
            return f"{start}:{'' if hi == 0 else hi - 1}:-1"
        if self.step > 1 and rng.random() < 0.3:
            start = "" if lo == 0 else f"-{lo + 1}"
            return f"{start}:{'' if hi == 0 else hi - 1}:-{self.step}"
        start = rng.choice(["", "0"]) if lo == 0 else str(lo)
        stop = rng.choice(["", self.dim]) if hi == 0 else rng.choice([f"-{hi}", f"{self.dim}-{hi}"])
        return f"{start}:{stop}{step}"


class Writer:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.shapes = {k: [Axis(x) for x in v] for k, v in ARRAYS.items()}
        self.lines, self.python, self.domains = [], [], []
        self.temporaries = 0
        self.index = None  # of a loop around, below n
        self.domains_used = 0

    def loop(self, letter):
        """A new loop over the first n numbers."""
        name = f"{letter}{self.domains_used}"
        self.domains_used += 1
        self.domains.append(f"domain {{[{name}]: 0 <= {name} < n}}")
        return name

    def axis(self):
        r = self.rng
        return Axis(r.choice("nnm"), r.choice([0, 0, 0, 1, 2]), r.choice([1, 1, 1, 1, 2]))

    # ---- Expressions.

    def section(self, shape):
        """A part of some array, of that shape; None if there is none."""
        r = self.rng
        fitting = []
        for name, axes in self.shapes.items():
            if all(x.cut == 0 and x.step == 1 for x in axes) and len(axes) >= len(shape):
                fitting.append(name)
            elif axes == shape:
                fitting.append(name)
        r.shuffle(fitting)
        for name in fitting:
            axes = self.shapes[name]
            if axes == shape and (r.random() < 0.5 or any(x.cut or x.step > 1 for x in axes)):
                return name
            parts, left = [], list(shape)
            for n, x in enumerate(axes):
                rest = len(axes) - n - 1
                if left and left[0].dim == x.dim and (len(left) > rest or r.random() < 0.7):
                    if left[0] == Axis("n") and r.random() < 0.1:
                        parts.append("p")
                        left.pop(0)
                        if "p" in parts[:-1]:
                            break
                        continue
                    parts.append(left.pop(0).text(r))
                elif len(left) > rest:
                    break
                elif self.index and x.dim == "n" and r.random() < 0.7:
                    parts.append(self.index)
                else:
                    parts.append(r.choice(["0", "1", f"{x.dim}-1", "-1", "-2"]))
            lists = parts.count("p")
            mixed = lists > 1 or lists and name == "z" and len(shape) < 3  # NumPy moves axes there
            if len(parts) == len(axes) and not left and not mixed:
                return f"{name}[{', '.join(self.without_whole(parts))}]"
        return None

    def without_whole(self, parts):
        """Whole axes at the end need not be written."""
        parts = list(parts)
        while len(parts) > 1 and parts[-1] in (":", "::", "0:", "::1") and self.rng.random() < 0.4:
            parts.pop()
        return parts

    def value(self, shape, depth):
        """The text of a value that spreads over `shape`, and binds as strongly as a product at least."""
        r = self.rng
        if depth == 0 or r.random() < 0.1:
            return self.leaf(shape)
        kind = r.choice("++++**mwrrktx.eesabb")
        if kind == "s":  # over a loop of the kernel's own
            around, name = self.index, self.loop("g")
            self.index = name
            inner = self.exact(shape, depth - 1)
            self.index = around
            if inner and name in inner:
                return f"sum({name}, {inner})"
            self.domains = [d for d in self.domains if f"[{name}]" not in d]
            return self.leaf(shape)
        if kind in "+*":
            op = r.choice("+-") if kind == "+" else "*"
            return f"({self.value(shape, depth - 1)} {op} {self.value(shape, depth - 1)})"
        if kind == "m":
            return f"{r.choice(['minimum', 'maximum'])}({self.value(shape, depth - 1)}, {self.value(shape, depth - 1)})"
        if kind == "w":
            c = f"{self.value(shape, depth - 1)} {r.choice(['<', '>=', '=='])} {self.value(shape, 0)}"
            return f"where({c}, {self.value(shape, depth - 1)}, {self.value(shape, depth - 1)})"
        if kind == "r":  # over another axis
            extra = self.axis()
            at = r.randint(0, len(shape))
            inner = self.exact(shape[:at] + [extra] + shape[at:], depth - 1)
            if inner is None:
                return self.leaf(shape)
            axis = at if r.random() < 0.7 else at - len(shape) - 1
            return f"{r.choice(['sum', 'sum', 'max', 'min'])}({inner}, axis={axis})"
        if kind == "a":  # the place of an extreme value
            extra = self.axis()
            at = r.randint(0, len(shape))
            inner = self.exact(shape[:at] + [extra] + shape[at:], depth - 1)
            if inner is None:
                return self.leaf(shape)
            axis = "" if not shape and r.random() < 0.5 else f", axis={r.choice([at, at - len(shape) - 1])}"
            return f"(1.0*{r.choice(['argmin', 'argmax'])}({inner}{axis}))"
        if kind == "b":
            return self.part(shape, depth)
        if kind == "k" and shape:  # kept and spread again
            inner = self.exact(shape, depth - 1)
            axis = r.randrange(len(shape))
            return f"{r.choice(['sum', 'max'])}({inner}, axis={axis}, keepdims=True)" if inner else self.leaf(shape)
        if kind == "t" and len(shape) == 2:
            inner = self.exact(shape[::-1], depth - 1)
            return f"{inner}.T" if inner else self.leaf(shape)
        if kind == "x" and len(shape) == 2:  # of two vectors
            x, y = self.exact(shape[:1], 0), self.exact(shape[1:], 0)
            if x and y and x[-1] == "]" and y[-1] == "]" and "." not in x + y:
                return f"({x[:-1]}, None]*{y})" if x.count("[") == 1 and "p" not in x and ":" in x else self.leaf(shape)
        if kind == "." and len(shape) in (1, 2):
            k = self.axis()
            x = self.exact(shape[:1] + [k], depth - 1)
            y = self.exact([k] + shape[1:], depth - 1)
            return f"({x} @ {y})" if x and y else self.leaf(shape)
        if kind == "e" and len(shape) <= 2:
            k, l = self.axis(), self.axis()
            if len(shape) == 2:
                labels, shapes = "ik,kl,lj->ij", [shape[:1] + [k], [k, l], [l] + shape[1:]]
            elif len(shape) == 1:
                labels, shapes = r.choice([("ki,kl,l->i", [[k] + shape, [k, l], [l]]),
                                           ("ik,k", [shape + [k], [k]])])
            else:
                labels, shapes = r.choice([("kl,lk->", [[k, l], [l, k]]), ("k,k", [[k], [k]])])
            parts = [self.exact(s, 0) for s in shapes]
            if all(parts):
                return f'einsum("{labels}", {", ".join(parts)})'
        return self.leaf(shape)

    def part(self, shape, depth):
        """A part of a value that has longer axes, and maybe one more."""
        r = self.rng
        if not all(x.step == 1 or x.cut == 0 for x in shape):
            return self.leaf(shape)
        whole, parts = [], []
        for x in shape:
            if x.step > 1 and r.random() < 0.5:
                whole.append(x)
                parts.append(":")
            else:
                whole.append(Axis(x.dim))
                parts.append(x.text(r))
        if r.random() < 0.4:
            at = r.randint(0, len(whole))
            whole.insert(at, self.axis())
            parts.insert(at, r.choice(["0", "-1"]) if whole[at].step == 1 else "0")
        if not whole:
            return self.leaf(shape)
        inner = self.exact(whole, depth - 1)
        if inner is None:
            return self.leaf(shape)
        if inner[0] != "(" or inner[-1] != ")":
            inner = f"(2*{inner})"
        return f"{inner}[{', '.join(self.without_whole(parts))}]"

    def exact(self, shape, depth):
        """The same of exactly this shape, without being spread; None where there is none."""
        part = self.section(shape)
        if part is None or depth == 0 or self.rng.random() < 0.4:
            return part
        return f"({part} {self.rng.choice('+-')} {self.value(shape, depth - 1)})"

    def leaf(self, shape):
        r = self.rng
        for _ in range(3):
            drop = r.choice([0, 0, 0, 1]) if shape else 0
            part = self.section(shape[drop:])
            if part:
                return part
        return str(r.randint(1, 3))

    # ---- Statements.

    def add(self, text, python=None, indent=0):
        self.lines.append("  "*indent + text)
        self.python.append("  "*indent + re.sub(r"sum\((g\d+), ", r"total(lambda \1: ", python or text))

    def statement(self, indent=0):
        r = self.rng
        depth = r.choice([1, 1, 2, 2, 3])
        kind = r.random()
        if kind < 0.15 and not indent:
            shape = [self.axis() for _ in range(r.choice([0, 1, 1, 2]))]
            value = self.exact(shape, depth)
            if value:
                name = f"t{self.temporaries}"
                self.temporaries += 1
                self.add(f"<> {name} = {value}", f"{name} = np.array({value})")
                if shape:
                    self.shapes[name] = shape
                return
        name = r.choice([k for k in self.shapes if k[0] != "t" or r.random() < 0.3])
        axes = self.shapes[name]
        if kind < 0.35 and not indent or any(x.cut or x.step > 1 for x in axes):
            value = self.value(axes, depth)
            self.add(f"{name} = {value}", f"{name}[...] = np.array({value})", indent)
            return
        parts, shape = [], []
        for x in axes:
            if indent and x.dim == "n" and r.random() < 0.6:
                parts.append(self.index)
            elif r.random() < 0.15:
                parts.append(r.choice(["0", "1", "-1"]))
            else:
                own = Axis(x.dim, r.choice([0, 0, 1, 2]), r.choice([1, 1, 1, 2]))
                if own == Axis("n") and "p" not in parts and r.random() < 0.1:
                    parts.append("p")
                else:
                    parts.append(own.text(r))
                shape.append(own)
        if not shape or name == "z" and "p" in parts and len(shape) < 3:
            return
        value = self.value(shape, depth)
        place = f"{name}[{', '.join(self.without_whole(parts))}]"
        if r.random() < 0.2:
            op = r.choice("++-*")
            now = f"{place} {op} ({value})"
            self.add(f"{place} {op}= {value}", f"{place} = np.array({now})", indent)
            return
        # NumPy 1.24 reads what it has stored where subscripts are lists, and where parts with
        # different strides overlap, as in `q[0, :] = q[:, -1]`.
        self.add(f"{place} = {value}", f"{place} = np.array({value})", indent)

    def program(self):
        r = self.rng
        for _ in range(r.randint(1, 4)):
            if r.random() < 0.3:
                self.index = self.loop("h")
                before = len(self.lines)
                self.add(f"for {self.index}", f"for {self.index} in range(n):")
                for _ in range(r.randint(1, 2)):
                    self.statement(1)
                if len(self.lines) == before + 1:
                    self.add("  <> u" + self.index + " = 0", "  pass")
                if len(self.lines) == before + 2 and self.index in self.lines[-1] and r.random() < 0.6:
                    self.lines[before:] = [self.lines[-1][2:]]  # the loop is seen from its name
                else:
                    self.lines.append("end")
                self.index = None
            else:
                self.statement()


NAMES = list(ARRAYS)
ARGUMENTS = "n: int32, m: int32, p: int64[n], " + ", ".join(f"{k}: inout float64[{', '.join(v)}]" for k, v in ARRAYS.items())
ASSUMED = "assume n >= 3 and m >= 3"


def kernel(seed):
    """A kernel `k`SEED: its text, Python's, and the generator for more."""
    w = Writer(seed)
    w.program()
    return [f"kernel k{seed}({ARGUMENTS})", ASSUMED, *w.domains, *w.lines], w.python, w.rng


def program(seed):
    """The same of a program that calls some kernels, arrays of one shape in any order."""
    rng = random.Random(seed)
    text, python = [], []
    count = rng.randint(1, 4)
    for n in range(count):
        lines, body, _ = kernel(seed*10 + n)
        text += [lines[0].replace(f"k{seed*10 + n}", f"f{seed}_{n}"), *lines[1:]]
        python += [f"def f{n}({', '.join(NAMES)}):", *("  " + l for l in body), "  pass"]
    text += [f"program k{seed}({ARGUMENTS})", ASSUMED]
    domains, lines = [], []
    for c in range(rng.randint(1, 5)):
        indent = 0
        if rng.random() < 0.25:
            domains.append(f"domain {{[s{c}]: 0 <= s{c} < {rng.randint(0, 3)}}}")
            lines.append(f"for s{c}")
            python.append(f"for s{c} in range({domains[-1].split()[-1][:-1]}):")
            indent += 1
        if rng.random() < 0.2:
            condition = rng.choice(["n > m", "n == 4", f"s{c} != 1" if indent else "m < 5"])
            lines.append("  "*indent + f"if {condition}")
            python.append("  "*indent + f"if {condition}:")
            indent += 1
        given = list(NAMES)
        for x, y in (("a", "b"), ("c", "d")):
            if rng.random() < 0.5:
                i, j = given.index(x), given.index(y)
                given[i], given[j] = y, x
        f = rng.randrange(count)
        lines.append("  "*indent + f"call f{seed}_{f}(n, m, p, {', '.join(given)})")
        python.append("  "*indent + f"f{f}({', '.join(given)})")
        lines += ["  "*n + "end" for n in reversed(range(indent))]
    return [*text, *domains, *lines], python, rng


def case(seed):
    text, python, rng = program(seed) if seed % 3 == 0 else kernel(seed)
    n, m = rng.randint(3, 6), rng.randint(3, 6)
    sizes = {"n": n, "m": m}
    arrays = {k: np.array([rng.randint(-3, 3) for _ in range(int(np.prod([sizes[d] for d in v])))],
                          dtype=np.float64).reshape([sizes[d] for d in v]) for k, v in ARRAYS.items()}
    p = np.array(rng.sample(range(n), n), dtype=np.int64)
    names = {"np": np, "sum": np.sum, "max": np.max, "min": np.min, "where": np.where, "einsum": np.einsum,
             "minimum": np.minimum, "argmin": np.argmin, "argmax": np.argmax, "total": lambda f: np.sum(np.array([f(i) for i in range(n)]), axis=0), "maximum": np.maximum, "p": p, **sizes}
    names.update({k: x.copy() for k, x in arrays.items()})
    with np.errstate(all="ignore"):
        exec("\n".join(python), names)
    if not all(np.abs(names[k]).max() <= LARGEST for k in ARRAYS):
        return None
    out = [f"kernel {seed}", "text", *text, "endtext", f"param n {n}", f"param m {m}"]
    out.append("input p " + " ".join(map(str, p)))
    for k, x in arrays.items():
        out.append(f"input {k} " + " ".join(repr(float(y)) for y in x.ravel()))
    for k in ARRAYS:
        out.append(f"result {k} float64 0 " + " ".join(repr(float(y)) for y in names[k].ravel()))
    return out, python


def main():
    seed, wanted = int(sys.argv[1]), int(sys.argv[2])
    printed = 0
    while printed < wanted:
        made = case(seed)
        seed += 1
        if made is None:
            continue
        printed += 1
        print("\n".join(made[0]))
        if len(sys.argv) > 3:
            print("\n".join(made[1]), file=sys.stderr)


main()
