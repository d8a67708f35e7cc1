"""Random kernels, each written twice: as a kernel's text and as Python on NumPy's scalars, which is run.

    numpy_kernels.py SEED COUNT [print]

For each kernel: `kernel SEED`, its text between `text` and `endtext`, the values of its arguments, `param NAME
VALUE` and `input NAME VALUE...`, and what its arrays hold at the end, `result NAME TYPE BOUND VALUE...`,
with a bound on the relative error, 0 nearly everywhere: all but a few functions are exact. Kernels whose
values the language leaves undefined are not printed. With `print` Python's text goes along, for people.
Nothing here knows Moonloop; what it computes differently from NumPy is in `common`.
"""
import random
import sys

import numpy as np

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
REALS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGRAL = ["bool"] + SIGNED + UNSIGNED
TYPES = INTEGRAL + REALS + COMPLEX


class Undefined(Exception):
    """The language says nothing about this value."""


# ---- Types.

def computed(t):
    return "float32" if t == "float16" else t


def common(a, b):
    """The type of arithmetic on both."""
    a, b = computed(a), computed(b)
    if a == b == "bool":
        return "int32"
    if "int32" in (a, b) and {a, b} & {"float32", "complex64"}:
        a, b = ("float32" if t == "int32" else t for t in (a, b))
    return np.promote_types(a, b).name


def together(a, b):
    """The type of arithmetic on two nodes, of which one may be a literal without a type."""
    if a.t is None or b.t is None:
        sized = computed(b.t if a.t is None else a.t)
        narrow = sized == "bool" or sized in INTEGRAL and np.dtype(sized).itemsize < 4
        return common(sized, "int32") if narrow else sized
    return common(a.t, b.t)


# ---- Arithmetic: what the Python text calls. Operands are converted to the type of the operation.

def conv(t, x):
    if isinstance(x, (bool, int)):
        x = np.array(x, dtype=object)[()]
    source = getattr(x, "dtype", None)
    if t in COMPLEX + REALS:
        return np.dtype(t).type(x.real if t in REALS and source is not None and source.kind == "c" else x)
    if t == "bool":
        return np.bool_(x != 0)
    if source is not None and source.kind == "c":
        x = x.real
    if source is not None and source.kind in "fc":
        info = np.iinfo(t)
        if not np.isfinite(x) or not int(info.min) <= int(x) <= int(info.max):
            raise Undefined
    bits = 8 * np.dtype(t).itemsize
    v = int(x) & ((1 << bits) - 1)
    if t in SIGNED and v >> (bits - 1):
        v -= 1 << bits
    return np.dtype(t).type(v)


def wrapped(t, v):
    info = np.iinfo(t)
    if t in SIGNED and not int(info.min) <= v <= int(info.max):
        raise Undefined
    return conv(t, v)


def arith(op, t, a, b):
    a, b = conv(t, a), conv(t, b)
    if t in INTEGRAL:
        x, y = int(a), int(b)
        if op in ("//", "%", "truncdiv", "truncmod") and y == 0:
            raise Undefined
        if op == "**":
            if y < 0 or y > 64:
                raise Undefined
            return wrapped(t, x ** y)
        if op in ("truncdiv", "truncmod"):
            q = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
            return wrapped(t, q if op == "truncdiv" else x - q * y)
        return wrapped(t, {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "//": lambda: x // y,
                           "%": lambda: x % y, "&": lambda: x & y, "|": lambda: x | y,
                           "^": lambda: x ^ y}[op]())
    if op in ("/", "//", "%") and b == 0:
        raise Undefined  # the sign of a zero would show
    if op == "**":
        op, b = "*", a
    with np.errstate(all="ignore"):
        if t in COMPLEX and op == "*":  # NumPy's may be fused
            part = type(a.real)
            return np.dtype(t).type(complex(part(a.real * b.real) - part(a.imag * b.imag),
                                            part(a.real * b.imag) + part(a.imag * b.real)))
        return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide,
                "//": np.floor_divide, "%": np.remainder}[op](a, b)


def logic(op, t, a, b):
    if t == "bool":
        x, y = bool(a), bool(b)
        return np.bool_({"&": x and y, "|": x or y, "^": x != y}[op])
    return arith(op, t, a, b)


def shift(op, t, a, n):
    x, n, bits = int(conv(t, a)), int(n), 8 * np.dtype(t).itemsize
    if op == "<<":
        return conv(t, x << n if 0 <= n < bits else 0)
    return conv(t, x >> n if 0 <= n < bits else -1 if x < 0 else 0)


def negative(t, a):
    a = conv(t, a)
    return wrapped(t, -int(a)) if t in INTEGRAL else -a


def inverted(t, a):
    return np.bool_(not a) if t == "bool" else conv(t, ~int(a))


def absolute(t, a):
    a = conv(t, a)
    return wrapped(t, abs(int(a))) if t in INTEGRAL else np.abs(a)


def extreme(op, t, *all):
    all = [conv(t, a) for a in all]
    if t in INTEGRAL:
        return min(all) if op == "min" else max(all)
    v = all[0]
    for a in all[1:]:
        v = (np.fmin if op == "min" else np.fmax)(v, a)
    return v


def compare(op, t, a, b):
    """Integers as numbers; `t` is the type that others are converted to."""
    a, b = (int(a), int(b)) if t == "integers" else (conv(t, a), conv(t, b))
    return np.bool_({"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op])


def rounding(f, t, a):
    with np.errstate(all="ignore"):
        return np.dtype(t).type(getattr(np, f)(conv(t, a)))


def neutral(op, t):
    if op in ("sum", "any"):
        return conv(t, 0)
    if op in ("product", "all"):
        return conv(t, 1)
    if t in REALS:
        return conv(t, np.float64("inf" if op == "min" else "-inf"))
    if t == "bool":
        return np.bool_(op == "min")
    return conv(t, int(np.iinfo(t).max if op == "min" else np.iinfo(t).min))


def reduced(op, t, before, value):
    if op in ("any", "all"):
        return np.bool_(bool(before) or bool(value != 0) if op == "any" else bool(before) and bool(value != 0))
    if op in ("min", "max"):
        return extreme(op, t, before, value)
    return arith("+" if op == "sum" else "*", t, before, value)


# ---- Expressions in both languages.

TERNARY, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, ADD, MUL, UNARY, POW, ATOM = range(14)
LEVELS = {"+": ADD, "-": ADD, "*": MUL, "/": MUL, "//": MUL, "%": MUL, "**": POW, "<<": SHIFT, ">>": SHIFT,
          "&": BITAND, "|": BITOR, "^": BITXOR}


class Node:
    def __init__(self, text, level, py, t):
        self.text, self.level, self.py, self.t = text, level, py, t

    def at(self, level):
        return self.text if self.level >= level else f"({self.text})"


def literal(v):
    return Node(str(v), ATOM, str(v), None)


def binary(op, a, b):
    """None where the language has no such operation."""
    level = LEVELS[op]
    text = f"{a.at(level)} {op} {b.at(level + 1)}"
    if op == "**":
        text = f"{a.at(ATOM)}**{b.at(UNARY)}"
    t = together(a, b)
    if op in ("<<", ">>"):
        if t not in INTEGRAL:
            return None
        return Node(text, level, f"shift('{op}', '{t}', {a.py}, {b.py})", t)
    if op in ("&", "|", "^"):
        if a.t == b.t == "bool":
            t = "bool"
        if t not in INTEGRAL:
            return None
        return Node(text, level, f"logic('{op}', '{t}', {a.py}, {b.py})", t)
    if op == "/" and t in INTEGRAL:
        t = "float64"
    if op in ("//", "%", "**", "/") and t in COMPLEX:
        return None
    return Node(text, level, f"arith('{op}', '{t}', {a.py}, {b.py})", t)


def unary(op, a):
    if op == "-":
        t = "int32" if a.t == "bool" else computed(a.t)
        return Node("-" + a.at(POW), UNARY, f"negative('{t}', {a.py})", t)
    return Node("~" + a.at(POW), UNARY, f"inverted('{a.t}', {a.py})", a.t) if a.t in INTEGRAL else None


def call(name, *args):
    text = f"{name}({', '.join(a.text for a in args)})"
    if name in ("min", "max"):
        t = args[0].t
        for a in args[1:]:
            t = together(Node("", 0, "", t), a)
        t = computed(t)
        if t in COMPLEX:
            return None
        return Node(text, ATOM, f"extreme('{name}', '{t}', {', '.join(a.py for a in args)})", t)
    a = args[0]
    if name in ("truncdiv", "truncmod"):
        t = together(*args)
        return Node(text, ATOM, f"arith('{name}', '{t}', {a.py}, {args[1].py})", t) if t in INTEGRAL else None
    if name == "abs":
        t = "int32" if a.t == "bool" else computed(a.t)
        return None if t in COMPLEX else Node(text, ATOM, f"absolute('{t}', {a.py})", t)
    if name in ("real", "imag", "conj"):
        if a.t not in COMPLEX:
            return None
        t = a.t if name == "conj" else "float32" if a.t == "complex64" else "float64"
        return Node(text, ATOM, f"np.dtype('{t}').type(np.{name}({a.py}))", t)
    t = "float64" if a.t in INTEGRAL else computed(a.t)
    return None if t in COMPLEX else Node(text, ATOM, f"rounding('{name}', '{t}', {a.py})", t)


def cast(t, a):
    if a.t in COMPLEX and t not in COMPLEX + ["bool"]:
        return None
    return Node(f"cast({t}, {a.text})", ATOM, f"conv('{t}', {a.py})", t)


def comparison(op, a, b):
    ints = all(x.t is None or x.t in INTEGRAL for x in (a, b))
    t = "integers" if ints else together(a, b)
    if t in COMPLEX and op not in ("==", "!="):
        return None
    return Node(f"{a.at(BITOR)} {op} {b.at(BITOR)}", COMPARE, f"compare('{op}', '{t}', {a.py}, {b.py})", "bool")


def select(c, a, b):
    t = computed(a.t) if a.t == b.t else together(a, b)
    return Node(f"{a.at(OR)} if {c.at(OR)} else {b.at(TERNARY)}", TERNARY,
                f"(conv('{t}', {a.py}) if {c.py} else conv('{t}', {b.py}))", t)


# ---- Kernels.

class Kernel:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.arrays = {}  # name -> (type, rank): what may be read
        self.scalars = {}
        self.values = {}  # of arguments
        self.args, self.rules, self.domains, self.text, self.py = [], [], [], [], []
        self.results = {}  # name -> bound
        self.inferred = {}
        self.n, self.m = self.r.choice([5, 6, 8]), self.r.choice([3, 4])
        self.count = 0
        self.templates = {}

    def fresh(self, base):
        self.count += 1
        return f"{base}{self.count}"

    def value(self, t):
        r = self.r
        if t == "bool":
            return np.bool_(r.random() < 0.5)
        if t in SIGNED:
            if r.random() < 0.03:
                return np.dtype(t).type(r.choice([np.iinfo(t).min, np.iinfo(t).max]))
            return np.dtype(t).type(r.randint(-9, 9))
        if t in UNSIGNED:
            if r.random() < 0.2:
                return np.dtype(t).type(int(np.iinfo(t).max) - r.choice([0, 1, 5]))
            return np.dtype(t).type(r.randint(0, 20))
        if t in COMPLEX:
            return np.dtype(t).type(complex(r.randint(-9, 9) / 4, r.randint(-9, 9) / 4))
        return np.dtype(t).type(r.choice([r.randint(-40, 40) / 8, r.uniform(-5, 5), 0.1, 1000.5]))

    def type(self):
        return self.r.choice(TYPES if self.r.random() < 0.15 else INTEGRAL + REALS)

    def inputs(self):
        for _ in range(self.r.randint(3, 6)):
            t, rank, name = self.type(), self.r.choice([1, 1, 2]), self.fresh("a")
            shape = [self.n + 2, self.n + 2][:rank]
            self.arrays[name] = (t, rank)
            self.args.append(f"{name}: in {t}[{', '.join(['n + 2'] * rank)}]")
            self.values[name] = np.array([self.value(t) for _ in range(int(np.prod(shape)))], dtype=t).reshape(shape)
        for _ in range(self.r.randint(0, 2)):
            t, name = self.type(), self.fresh("s")
            if t in COMPLEX:
                continue
            self.scalars[name] = t
            self.args.append(f"{name}: {t}")
            self.values[name] = self.value(t)

    # ---- Expressions; `loops` are the inames around, `local` the temporaries.

    def leaf(self, loops, local):
        r = self.r
        choice = r.random()
        if choice < 0.12 and loops:
            i = r.choice(loops)
            return Node(i, ATOM, f"np.int32({i})", "int32")
        if choice < 0.3 and local:
            name, t = r.choice(local)
            return Node(name, ATOM, name, t)
        if choice < 0.4 and self.scalars:
            name, t = r.choice(list(self.scalars.items()))
            return Node(name, ATOM, name, t)
        if choice < 0.45:
            t = r.choice(["float32", "float64"])
            v = r.choice([0.5, 2.25, 0.1, 3.0])
            return Node(f"{v}{'f' if t == 'float32' else 'd'}", ATOM, f"np.{t}({v})", t)
        if choice < 0.5:
            t = r.choice(SIGNED + UNSIGNED + ["float16"])
            v = r.randint(0, 12)
            return Node(f"cast({t}, {v})", ATOM, f"np.dtype('{t}').type({v})", t)
        readable = [(a, t, k) for a, (t, k) in self.arrays.items() if k == 1 or len(loops) > 0]
        name, t, rank = r.choice(readable)

        def index():
            if not loops:
                return str(r.randint(0, 3))
            i = r.choice(loops)
            return r.choice([i, i, f"{i} + 1", f"n - {i}", "2"])
        at = ", ".join(index() for _ in range(rank))
        return Node(f"{name}[{at}]", ATOM, f"{name}[{at}]", t)

    def expr(self, depth, loops, local):
        r = self.r
        for _ in range(20):
            e = self.attempt(depth, loops, local)
            if e is not None and e.t is not None:
                return e
        return self.leaf(loops, local)

    def condition(self, depth, loops, local):
        r = self.r
        for _ in range(20):
            form = r.random()
            if form < 0.12:
                c = self.condition(depth - 1, loops, local) if depth > 0 else None
                if c is not None:
                    return Node("not " + c.at(NOT), NOT, f"(not {c.py})", "bool")
            if form < 0.3 and depth > 0:
                a, b = self.condition(depth - 1, loops, local), self.condition(depth - 1, loops, local)
                op, level = r.choice([("and", AND), ("or", OR)])
                return Node(f"{a.at(level + 1)} {op} {b.at(level + 1)}", level, f"({a.py} {op} {b.py})", "bool")
            if form < 0.38 and loops:
                i = r.choice(loops)
                k = r.randint(2, 3)
                return Node(f"{i} % {k} == 0", COMPARE, f"({i} % {k} == 0)", "bool")
            a = self.expr(depth - 1, loops, local)
            if form < 0.48:  # of any type: not zero
                return Node(a.text, a.level, f"({a.py} != 0)", "bool")
            b = literal(r.randint(0, 9)) if r.random() < 0.3 else self.expr(depth - 1, loops, local)
            c = comparison(r.choice(["==", "!=", "<", "<=", ">", ">="]), a, b)
            if c is not None:
                return c
        return Node("True", ATOM, "True", "bool")

    def attempt(self, depth, loops, local):
        r = self.r
        if depth <= 0 or r.random() < 0.1:
            return self.leaf(loops, local)

        def sub():
            return self.expr(depth - 1, loops, local)
        form = r.random()
        if form < 0.34:
            a = sub()
            for _ in range(r.randint(1, 3)):
                b = literal(r.randint(0, 9)) if r.random() < 0.2 else sub()
                a = binary(r.choice(["+", "-", "-", "*"]), a, b)
                if a is None:
                    return None
            return a
        if form < 0.42:
            return binary(r.choice(["//", "%"]), sub(), literal(r.randint(1, 7)) if r.random() < 0.5 else sub())
        if form < 0.47:
            return binary("/", sub(), sub())
        if form < 0.52:
            return binary("**", sub(), literal(2))
        if form < 0.58:
            return binary(r.choice(["<<", ">>"]), sub(), literal(r.randint(0, 40)) if r.random() < 0.5 else sub())
        if form < 0.66:
            return binary(r.choice(["&", "|", "^"]), sub(), sub())
        if form < 0.73:
            return unary(r.choice(["-", "-", "~"]), sub())
        if form < 0.8:
            return call(r.choice(["min", "max"]), *[sub() for _ in range(r.choice([2, 2, 3]))])
        if form < 0.86:
            name = r.choice(["abs", "floor", "ceil", "trunc", "sqrt", "real", "imag", "conj", "truncdiv", "truncmod"])
            return call(name, *[sub() for _ in range(2 if name in ("truncdiv", "truncmod") else 1)])
        if form < 0.92:
            return cast(self.type(), sub())
        if form < 0.96 and self.templates:
            return self.instance(sub(), sub())
        return select(self.condition(depth - 1, loops, local), sub(), sub())

    # ---- Rules: trees of operators over two parameters, typed where they are called.

    def template(self, depth):
        r = self.r
        if depth == 0:
            return r.choice(["x", "y"])
        return (r.choice(["+", "-", "*", "min", "-x"]), self.template(depth - 1), self.template(r.randint(0, depth - 1)))

    def build(self, tree, x, y):
        if isinstance(tree, str):
            return x if tree == "x" else y
        op, a, b = tree[0], self.build(tree[1], x, y), self.build(tree[2], x, y)
        if op == "-x":
            return binary("+", unary("-", a), b)
        return call("min", a, b) if op == "min" else binary(op, a, b)

    def rule(self):
        name, tree = self.fresh("f"), self.template(2)
        self.templates[name] = tree
        x, y = (Node(n, ATOM, n, "float64") for n in "xy")
        self.rules.append(f"{name}(x, y) := {self.build(tree, x, y).text}")

    def instance(self, a, b):
        name = self.r.choice(list(self.templates))
        try:
            e = self.build(self.templates[name], a, b)
        except AttributeError:  # an operation that its types do not have
            return None
        return e and Node(f"{name}({a.text}, {b.text})", ATOM, e.py, e.t)

    # ---- Statements.

    def output(self, e, rank, bound=0.0):
        """An array to store into: of a type of its own, or of that which is inferred."""
        name = self.fresh("o")
        t = e.t
        self.results[name] = bound
        shape = ", ".join(["n + 2"] * rank)
        if self.r.random() < 0.6 and (self.r.random() < 0.5 or e.t not in COMPLEX):
            t = self.type()
            if e.t in COMPLEX and t not in COMPLEX:
                t = e.t
            self.args.append(f"{name}: inout {t}[{shape}]")
        else:
            self.args.append(f"{name}: inout [{shape}]")
        self.values[name] = np.zeros([self.n + 2] * rank, dtype=t)
        return name, t

    def emit(self, depth, text, py):
        self.text.append("  " * depth + text)
        self.py.append("    " * depth + py)

    def store(self, indent, loops, local):
        r = self.r
        form = r.random()
        if form < 0.15:  # a temporary
            e = self.expr(2, loops, local)
            name, t = self.fresh("t"), e.t
            if r.random() < 0.5:
                t = self.type()
                if e.t in COMPLEX and t not in COMPLEX:
                    t = e.t
                self.emit(indent, f"<{t}> {name} = {e.text}", f"{name} = conv('{t}', {e.py})")
            else:
                self.emit(indent, f"<> {name} = {e.text}", f"{name} = conv('{t}', {e.py})")
            local.append((name, t))
            return
        if form < 0.35:
            return self.reduction(indent, loops, local)
        if form < 0.42 and len(local) >= 0:  # several at once
            a, b = self.expr(2, loops, local), self.expr(2, loops, local)
            p, q = self.fresh("t"), self.fresh("t")
            self.emit(indent, f"<> {p}, <> {q} = make_tuple({a.text}, {b.text})",
                      f"{p}, {q} = conv('{a.t}', {a.py}), conv('{b.t}', {b.py})")
            local += [(p, a.t), (q, b.t)]
            return
        at = ", ".join(loops)
        if form < 0.5:  # a function that is not exact, read by nobody
            e = call("sqrt", self.expr(2, loops, local))
            if e is None:
                return
            a = self.expr(1, loops, local)
            f = r.choice(["sin", "cos", "exp"])
            t = "float64" if a.t in INTEGRAL else computed(a.t)
            if t in COMPLEX:
                return
            name, stored = self.fresh("o"), t
            self.results[name] = 1e-5 if t == "float32" else 1e-12
            self.args.append(f"{name}: inout {t}[{', '.join(['n + 2'] * len(loops))}]")
            self.values[name] = np.zeros([self.n + 2] * len(loops), dtype=t)
            small = f"min(max({a.text}, -3), 3)" if a.t not in UNSIGNED + ["bool"] else f"min({a.text}, 3)"
            value = f"extreme('min', '{t}', extreme('max', '{t}', {a.py}, -3), 3)"
            self.emit(indent, f"{name}[{at}] = {f}({small})", f"{name}[{at}] = rounding('{f}', '{t}', {value})")
            return
        e = self.expr(3, loops, local)
        name, t = self.output(e, len(loops))
        if form < 0.62 and len(loops) == 1 and (t not in COMPLEX):  # a recurrence
            before = Node(f"{name}[{at}]", ATOM, f"{name}[{at}]", t)
            e2 = None
            if t == e.t or t in REALS:
                e2 = binary(r.choice(["+", "-", "*"]), before, e) if r.random() < 0.6 else call("max", before, e)
            if e2 is not None and e2.t not in COMPLEX and f"{name}: inout {t}" in " ".join(self.args):
                self.emit(indent, f"{name}[{at} + 1] = {e2.text}", f"{name}[{at} + 1] = conv('{t}', {e2.py})")
                return
        self.emit(indent, f"{name}[{at}] = {e.text}", f"{name}[{at}] = conv('{t}', {e.py})")
        self.later.append((name, t, len(loops)))

    def reduction(self, indent, loops, local):
        r = self.r
        k = self.fresh("k")
        bound = r.choice(["n", "m"] + [f"{i} + 1" for i in loops])
        self.domains.append(f"{{[{k}]: 0 <= {k} < {bound}}}")
        e = self.expr(2, loops + [k], local)
        op = r.choice(["sum", "sum", "sum", "product", "min", "max", "any", "all", "argmin"])
        if op == "argmin":
            if e.t in COMPLEX:
                return
            t = computed(e.t)
            v, at = self.fresh("t"), self.fresh("t")
            self.emit(indent, f"<> {v}, <> {at} = argmin({k}, {e.text}, {k})",
                      f"{v}, {at} = neutral('min', '{t}'), np.int32(-1)")
            self.py.append("    " * indent + f"for {k} in range({bound}):")
            self.py.append("    " * (indent + 1) + f"x = conv('{t}', {e.py})")
            self.py.append("    " * (indent + 1) + f"if x < {v} or x == {v} and {at} < 0: {v}, {at} = x, np.int32({k})")
            local += [(v, t), (at, "int32")]
            return
        if op in ("min", "max") and e.t in COMPLEX:
            return
        t = "bool" if op in ("any", "all") else computed(e.t)
        if op in ("sum", "product") and t == "bool":
            t = "int32"
        name = self.fresh("t")
        text = f"reduce({op}, {k}, {e.text})" if op in ("min", "max") else f"{op}({k}, {e.text})"
        self.emit(indent, f"<> {name} = {text}", f"{name} = neutral('{op}', '{t}')")
        self.py.append("    " * indent + f"for {k} in range({bound}):")
        self.py.append("    " * (indent + 1) + f"{name} = reduced('{op}', '{t}', {name}, {e.py})")
        local.append((name, t))
        out, stored = self.output(Node(name, ATOM, name, t), len(loops))
        at = ", ".join(loops)
        self.emit(indent, f"{out}[{at}] = {name}", f"{out}[{at}] = conv('{stored}', {name})")

    def block(self, indent, loops, local, size):
        for _ in range(size):
            if self.r.random() < 0.2:
                c = self.condition(1, loops, local)
                self.emit(indent, f"if {c.text}", f"if {c.py}:")
                self.store_plain(indent + 1, loops, local)
                if self.r.random() < 0.5:
                    self.emit(indent, "else", "else:")
                    self.store_plain(indent + 1, loops, local)
                self.text.append("  " * indent + "end")
            else:
                self.store(indent, loops, local)

    def store_plain(self, indent, loops, local):
        e = self.expr(3, loops, local)
        name, t = self.output(e, len(loops))
        at = ", ".join(loops)
        self.emit(indent, f"{name}[{at}] = {e.text}", f"{name}[{at}] = conv('{t}', {e.py})")

    def group(self):
        r = self.r
        i, j = self.fresh("i"), self.fresh("j")
        outer = r.choice([(f"0 <= {i} < n", "range(n)"), (f"1 <= {i} <= n", "range(1, n + 1)"),
                          (f"0 <= {i} < n and {i} mod 2 = 0", "range(0, n, 2)"),
                          (f"0 <= {i} < n and (exists q: {i} = 3q + 1)", "range(1, n, 3)")])
        inner = r.choice([None, None, (f"0 <= {j} < m", "range(m)"), (f"0 <= {j} <= {i}", f"range({i} + 1)"),
                          (f"{i} <= {j} < n", f"range({i}, n)"), (f"0 <= {j} < n and {j} mod 2 = 1", "range(1, n, 2)")])
        self.later = []
        if inner is None:
            self.domains.append(f"{{[{i}]: {outer[0]}}}")
        else:
            self.domains.append(f"{{[{i}, {j}]: {outer[0]} and {inner[0]}}}")
        self.emit(0, f"for {i}", f"for {i} in {outer[1]}:")
        local = []
        if inner is not None:
            # The loop over i runs for those i alone that have some j.
            self.py.append(f"    if len({inner[1]}) == 0: continue")
            if r.random() < 0.5:
                self.block(1, [i], local, 1)
            self.emit(1, f"for {j}", f"for {j} in {inner[1]}:")
            self.block(2, [i, j], list(local), r.randint(1, 3))
            self.py.append("        pass")
            self.text.append("  end")
        else:
            self.block(1, [i], local, r.randint(1, 4))
            self.py.append("    pass")
        self.text.append("end")
        for name, t, rank in self.later:
            self.arrays[name] = (t, rank)

    def make(self):
        self.inputs()
        for _ in range(self.r.randint(0, 2)):
            self.rule()
        for _ in range(self.r.randint(1, 3)):
            self.group()

    def kernel_text(self, name):
        args = ", ".join(["n: int32", "m: int32"] + self.args)
        return "\n".join([f"kernel {name}({args})"] + ["domain " + d for d in self.domains]
                         + ["assume n >= 5 and 1 <= m <= n"] + self.rules + self.text)

    def run(self):
        scope = dict(globals())
        scope.update({k: v.copy() if isinstance(v, np.ndarray) else v for k, v in self.values.items()})
        scope.update(n=self.n, m=self.m)
        with np.errstate(all="ignore"):
            exec("\n".join(self.py), scope)
        return {k: scope[k] for k in self.results}


def words(a):
    t = a.dtype.name
    if t in INTEGRAL:
        return [str(int(v)) for v in np.ravel(a)]
    if t in COMPLEX:
        return [f"{float(v.real).hex()},{float(v.imag).hex()}" for v in np.ravel(a)]
    return [float(v).hex() for v in np.ravel(a)]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    show = len(sys.argv) > 3
    while count > 0:
        k = Kernel(seed)
        seed += 1
        try:
            k.make()
            results = k.run()
        except Undefined:
            continue
        if not k.results:
            continue
        count -= 1
        print("kernel", seed - 1)
        print("text")
        print(k.kernel_text(f"k{seed - 1}"))
        print("endtext")
        if show:
            print("\n".join(k.py), file=sys.stderr)
        print("param n", k.n)
        print("param m", k.m)
        for name, t in k.scalars.items():
            print("param", name, words(np.array(k.values[name]))[0] if t in INTEGRAL else repr(float(k.values[name])))
        for name, v in k.values.items():
            if isinstance(v, np.ndarray):
                print("input", name, *words(v))
        for name, bound in k.results.items():
            print("result", name, results[name].dtype.name, bound, *words(results[name]))


main()
