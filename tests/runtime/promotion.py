"""What every operator gives for every pair of types, as NumPy has it; for promotion_test.cpp.

Prints the values of the arrays that the operators are tried on, `sample TYPE KIND VALUE...`, and a line
for each operator and pair of types, `OPERATOR KIND KIND LEFT RIGHT RESULT VALUE...`: the kinds of values
on both sides, the type of the result, or `error`, and its values for each left and each right one.
`?` is a value that the language leaves undefined.
"""
import numpy as np

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
REALS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
TYPES = ["bool"] + SIGNED + UNSIGNED + REALS + COMPLEX
INTEGRAL = ["bool"] + SIGNED + UNSIGNED


def samples(t):
    """`any`: extremes; `div`: divisors; `tame`: small; `exp`: exponents."""
    if t == "bool":
        return {"any": [0, 1, 0, 1, 1, 0], "div": [1] * 6, "tame": [0, 1] * 3, "exp": [0, 1] * 3}
    if t in SIGNED + UNSIGNED:
        low, high = int(np.iinfo(t).min), int(np.iinfo(t).max)
        if t in SIGNED:
            return {"any": [low, -1, 0, 1, 7, high], "div": [low + 1, -7, -1, 1, 3, high],
                    "tame": [-3, -1, 0, 1, 2, 3], "exp": [0, 1, 2, 3, 4, 2]}
        return {"any": [0, 1, 2, 7, high - 1, high], "div": [1, 2, 3, 7, high - 1, high],
                "tame": [0, 1, 2, 3, 4, 5], "exp": [0, 1, 2, 3, 4, 2]}
    if t in REALS:
        inf, nan = float("inf"), float("nan")
        return {"any": [-inf, -2.5, -0.0, 0.5, 10000.0, nan], "div": [-7.5, -0.3, 0.0, 0.1, 2.5, inf],
                "tame": [-1.5, -0.5, 0.0, 0.5, 1.0, 2.5], "exp": [0, 1, 2, 3, 0.5, -1]}
    z = [-1.5 + 0.5j, -0.5 - 1j, 2j, 0.5, 1 + 1j, 2.5 - 0.5j]
    return {"any": z, "div": z, "tame": z, "exp": [0, 1, 2, 3, 0.5, 1j]}


ARRAYS = {t: {k: np.array(v, dtype=t) for k, v in samples(t).items()} for t in TYPES}

# Where the language differs from NumPy: the types that stand in for those of the operands.
def stand_ins(op, a, b):
    a, b = ("float32" if t == "float16" else t for t in (a, b))  # computed as float32
    if a == b == "bool" and op not in ("&", "|", "^", "if") + COMPARISONS:
        a = b = "int32"  # truth values count
    pair = {a, b}
    if "int32" in pair and pair & {"float32", "complex64"} and op not in ("<<", ">>"):
        a, b = ("float32" if t == "int32" else t for t in (a, b))  # is not a double
    return a, b


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ARITHMETIC = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
    "%": np.remainder, "**": np.power, "<<": np.left_shift, ">>": np.right_shift,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "min": np.fmin, "max": np.fmax,
    "+neg": np.add,
    "if": lambda x, y: np.where(np.add.outer(np.arange(6), np.arange(6)) % 2 == 0, x, y),
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}
EXACT = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "**": int.__pow__,
         "+neg": lambda x, y: x + y}
COMPARE = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__,
           ">=": int.__ge__}


def text(v, t):
    if t == "bool" or t in INTEGRAL:
        return str(int(v))
    if t in COMPLEX:
        return float(v.real).hex() + "," + float(v.imag).hex()
    return float(v).hex()


def kinds(op, a, b):
    if op == "**":
        return "tame", "exp"
    if a in COMPLEX or b in COMPLEX:
        return "tame", "tame"
    return ("div", "div") if op in ("//", "%") else ("any", "any")


def binary(op, a, b):
    ka, kb = kinds(op, a, b)
    head = [op, ka, kb, a, b]
    no_order = op in ("<", "<=", ">", ">=", "min", "max") and (a in COMPLEX or b in COMPLEX)
    y = ARRAYS[b][kb]
    own = {"bool": "int32", "float16": "float32"}.get(b, b)
    if op == "+neg":  # negated in its own type
        y = np.negative(y.astype(own))
    sa, sb = stand_ins(op, a, own if op == "+neg" else b)
    x, y = ARRAYS[a][ka].astype(sa)[:, None], y.astype(sb)[None, :]
    try:
        if no_order:  # NumPy compares complex numbers by their parts
            raise TypeError
        result = ARITHMETIC[op](x, y)
    except TypeError:
        return head + ["error"]
    t = result.dtype.name
    values = [text(v, t) for v in result.ravel()]
    integers = a in INTEGRAL and b in INTEGRAL
    pairs = [(u, v) for u in x.ravel() for v in y.ravel()]
    if op in COMPARE and integers:  # as numbers; NumPy before 2 makes doubles of int64 and uint64
        values = [text(COMPARE[op](int(u), int(v)), t) for u, v in pairs]
    if op in EXACT and t in SIGNED:  # an overflow of a signed type is undefined
        for n, (u, v) in enumerate(pairs):
            exact = EXACT[op](int(u), int(v))
            if not np.iinfo(t).min <= exact <= np.iinfo(t).max:
                values[n] = "?"
    if op == "+neg" and own in SIGNED:
        low = y.ravel().astype(own) == np.iinfo(own).min
        values = ["?" if low[n % 6] else w for n, w in enumerate(values)]
    if op == "**" and t in COMPLEX:  # a power of 0 is undefined
        values = ["?" if u == 0 else w for w, (u, _) in zip(values, pairs)]
    if t in COMPLEX:
        values = [w if np.isfinite(v) else "?" for w, v in zip(values, result.ravel())]
    return head + [t] + values


def unary(op, a):
    stand_in = {"float16": "float32"}.get(a, a)
    if a == "bool" and op != "~":
        stand_in = "int32"
    x = ARRAYS[a]["any"].astype(stand_in)
    try:
        result = {"neg": np.negative, "abs": np.abs, "~": np.invert}[op](x)
    except TypeError:
        return [op, "any", "-", a, "-", "error"]
    t = result.dtype.name
    values = [text(v, t) for v in result]
    if t in SIGNED and op != "~":
        values = ["?" if v == np.iinfo(t).min else w for v, w in zip(x, values)]
    return [op, "any", "-", a, "-", t] + values


def cast(a, b):
    x = ARRAYS[a]["any"]
    result = (x.real if a in COMPLEX and b not in COMPLEX + ["bool"] else x).astype(b)
    values = [text(v, b) for v in result]
    if b in SIGNED + UNSIGNED and a in REALS + COMPLEX:
        for n, v in enumerate(x.real):
            low, high = int(np.iinfo(b).min), int(np.iinfo(b).max)
            if not np.isfinite(v) or not low <= int(v) <= high:
                values[n] = "?"
    return ["cast", "any", "-", a, b, b] + values


np.seterr(all="ignore")
for t in TYPES:
    for kind, v in ARRAYS[t].items():
        print("sample", t, kind, *[text(w, t) for w in v])
for a in TYPES:
    for b in TYPES:
        for op in ARITHMETIC:
            print(*binary(op, a, b))
        print(*cast(a, b))
    for op in ("neg", "abs", "~"):
        print(*unary(op, a))
