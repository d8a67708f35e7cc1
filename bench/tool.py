"""Times Moonloop and Loo.py on the same work, each in a process of its own.

Process time is user plus system time of the whole process (for Loo.py: with and without the
interpreter's start and the imports, measured inside). The least of several runs counts; what is
compared takes turns, so that a machine that gets slower for a while does so for both.

`--paired BINARY [TURNS]` compares with another build of Moonloop instead.
"""
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

MOONLOOP = os.path.abspath("build/moonloop")
LOOPY_CHAIN_LIMIT = 320  # statements; Loo.py needs minutes beyond

DGEMM_LOOPY = """
import numpy as np
import loopy as lp
lp.set_caching_enabled(False)
import time
start = time.process_time()
knl = lp.make_kernel("{[j,k,i]: 0<=j<n and 0<=k<l and 0<=i<m}",
    "c[i,j] = c[i,j] + sum(k, alpha*b[k,j]*a[i,k])",
    [lp.GlobalArg("a", np.float64, shape="m,l", order="F"),
     lp.GlobalArg("b", np.float64, shape="l,n", order="F"),
     lp.GlobalArg("c", np.float64, shape="m,n", order="F"),
     lp.ValueArg("alpha", np.float64), "..."],
    target=lp.OpenCLTarget(), name="dgemm", lang_version=(2018, 2))
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.1", inner_tag="l.0")
knl = lp.split_iname(knl, "k", 32)
knl = lp.extract_subst(knl, "a_acc", "a[i1,i2]", parameters="i1,i2")
knl = lp.extract_subst(knl, "b_acc", "b[i1,i2]", parameters="i1,i2")
knl = lp.precompute(knl, "a_acc", "k_inner,i_inner", default_tag="l.auto")
knl = lp.precompute(knl, "b_acc", "j_inner,k_inner", default_tag="l.auto")
knl = lp.add_inames_for_unused_hw_axes(knl)
code = lp.generate_code_v2(knl).device_code()
assert "barrier" in code
print("work", time.process_time() - start)
"""

LOOPS_LOOPY = """
import numpy as np
import loopy as lp
lp.set_caching_enabled(False)
import time
count = {count}
start = time.process_time()
knl = lp.make_kernel(
    [f"{{{{[i{{k}}]: 0<=i{{k}}<n}}}}" for k in range(count)],
    "\\n".join(f"b{{k}}[i{{k}}] = 2*a{{k}}[i{{k}}]" for k in range(count)),
    [lp.GlobalArg(f"a{{k}},b{{k}}", np.float64, shape="n") for k in range(count)] + ["..."],
    target=lp.CTarget(), name="loops", lang_version=(2018, 2))
lp.generate_code_v2(knl).device_code()
print("work", time.process_time() - start)
"""

CHAIN_LOOPY = """
import numpy as np
import loopy as lp
lp.set_caching_enabled(False)
import time
count = {count}
start = time.process_time()
lines = ["<> t0 = a[i]"] + [f"<> t{{k}} = t{{k-1}} + a[i]*{{k}}.0" for k in range(1, count)]
knl = lp.make_kernel("{{[i]: 0<=i<n}}", "\\n".join(lines + [f"out[i] = t{{count-1}}"]),
    [lp.GlobalArg("a,out", np.float64, shape="n"), "..."],
    target=lp.CTarget(), name="chain", lang_version=(2018, 2))
lp.generate_code_v2(knl).device_code()
print("work", time.process_time() - start)
"""


def loops_text(count):
    args = ", ".join(f"a{k}: float64[n], b{k}: float64[n]" for k in range(count))
    return (f"kernel loops(n: int32, {args})\n"
            + "".join(f"domain {{[i{k}]: 0 <= i{k} < n}}\n" for k in range(count))
            + "".join(f"b{k}[i{k}] = 2*a{k}[i{k}]\n" for k in range(count)))


def chain_text(count):
    lines = ["<> t0 = a[i]"] + [f"<> t{k} = t{k-1} + a[i]*{k}.0" for k in range(1, count)]
    return ("kernel chain(n: int32, a: float64[n], out: float64[n])\ndomain {[i]: 0 <= i < n}\n"
            + "\n".join(lines + [f"out[i] = t{count-1}"]) + "\n")


LOOPY_HEAD = """
import time, warnings
import numpy as np
import loopy as lp
from loopy import GlobalArg, TemporaryVariable, ValueArg, split_iname
warnings.simplefilter("ignore")
lp.set_caching_enabled(False)
f8 = np.float64


def make(domains, lines, data, target, name="work", **more):
    return lp.make_kernel(domains, lines, [*data, "..."], name=name, lang_version=(2018, 2),
                          target=lp.CTarget() if target == "c" else lp.OpenCLTarget(), **more)


start = time.process_time()
"""
LOOPY_FOOT = """
lp.generate_code_v2(knl).device_code()
print("work", time.process_time() - start)
"""


class Work:
    """The same steps for both: a kernel and a script, and a Python script that makes `knl`."""

    def __init__(self, kernel, script, loopy, target="c"):
        self.kernel, self.script, self.target = kernel, script, target
        self.loopy = LOOPY_HEAD + loopy + LOOPY_FOOT


def each(count, form, between="", first=0):
    return between.join(form.format(k=k, next=k + 1, before=k - 1) for k in range(first, count))


def substitutions(count):
    """A chain of assignments, each made a rule."""
    return Work(
        "kernel work(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
        "<> t0[i] = 2*b[i]\n" + each(count, "<> t{k}[i] = 2*t{before}[i] + b[i]\n", first=1)
        + f"a[i] = t{count - 1}[i]\n",
        f"for k = 0, {count - 1} do work = work:assignment_to_subst('t' .. k) end\n",
        f"""
count = {count}
knl = make("{{[i]: 0<=i<n}}", "\\n".join(["t0[i] = 2*b[i] {{id=s0}}"] + [
        f"t{{k}}[i] = 2*t{{k-1}}[i] + b[i] {{{{id=s{{k}},dep=s{{k-1}}}}}}" for k in range(1, count)]
        + [f"a[i] = t{{count-1}}[i] {{{{dep=s{{count-1}}}}}}"]),
    [GlobalArg("a,b", f8, shape="n"),
     *(TemporaryVariable(f"t{{k}}", f8, shape="n") for k in range(count))], "c")
for k in range(count):
    knl = lp.assignment_to_subst(knl, f"t{{k}}")
""")


def stagings(count):
    """Rules, each computed ahead of its uses."""
    args = each(count, "a{k}: float64[n + 2]", ", ")
    rules = each(count, "f{k}(p) := a{k}[p] + a{k}[p + 1]\n")
    uses = each(count, "<> s{k} = f{k}(i) + f{k}(i + 1)\n") + "o[i] = " + each(count, "s{k}", " + ")
    return Work(
        f"kernel work(n: int32, {args}, o: float64[n])\ndomain {{[i]: 0 <= i < n}}\n{rules}{uses}\n",
        "work = work:split_iname('i', 16)\n"
        f"for k = 0, {count - 1} do work = work:precompute('f' .. k, 'i_inner') end\n",
        f"""
knl = make("{{[i]: 0<=i<n}}", {rules + uses!r},
    [*(GlobalArg(f"a{{k}}", f8, shape="n+2") for k in range({count})), GlobalArg("o", f8, shape="n")],
    "c")
knl = split_iname(knl, "i", 16)
for k in range({count}):
    knl = lp.precompute(knl, f"f{{k}}", "i_inner")
""")


def buffers(count):
    """Accumulators, each kept in a buffer."""
    args = each(count, "r{k}: float64[n], m{k}: float64[m]", ", ")
    return Work(
        f"kernel work(n: int32, m: int32, v: float64[n, m], {args})\n"
        "domain {[i, j]: 0 <= i < n and 0 <= j < m}\nassume n >= 1 and m >= 1\nfor i, j\n"
        + each(count, "  r{k}[i] = r{k}[i] + m{k}[j]*v[i, j]\n") + "end\n",
        "work = work:split_iname('i', 64, {outer_tag = 'g.0', inner_tag = 'l.0'})\n"
        f"for k = 0, {count - 1} do work = work:buffer_array('r' .. k, 'j') end\n",
        f"""
count = {count}
knl = make("{{[i,j]: 0<=i<n and 0<=j<m}}", "for i,j\\n" + "".join(
        f"r{{k}}[i] = r{{k}}[i] + m{{k}}[j]*v[i,j] {{{{id=u{{k}},nosync=*}}}}\\n" for k in range(count)) + "end",
    [*(GlobalArg(f"r{{k}}", f8, shape="n") for k in range(count)),
     *(GlobalArg(f"m{{k}}", f8, shape="m") for k in range(count)), GlobalArg("v", f8, shape="n,m")],
    "opencl", assumptions="n>=1 and m>=1")
knl = split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")
for k in range(count):
    knl = lp.buffer_array(knl, f"r{{k}}", "j", init_expression="base", store_expression="buffer")
""", "opencl")


def fusions(count):
    """Kernels that are made one, loop by loop; the others go."""
    kernels = each(count, "kernel k{k}(n: int32, x{k}: float64[n], x{next}: float64[n])\n"
                          "domain {{[i]: 0 <= i < n}}\n<> t = 2*x{k}[i]\nx{next}[i] = t*t\n")
    return Work(
        kernels,
        f"local all = {{{each(count, 'k{k}', ', ')}}}\nlocal suffixes = {{}}\n"
        "for k = 1, #all do suffixes[k] = '_' .. k end\n"
        "k0 = lp.fuse_kernels(all, suffixes, nil, {name = 'work'})\n"
        "k0 = k0:split_iname('i', 128, {outer_tag = 'g.0', inner_tag = 'l.0'})\n",
        f"""
count = {count}
all = [make("{{[i]: 0<=i<n}}", f"<> t = 2*x{{k}}[i] {{{{id=a}}}}\\nx{{k+1}}[i] = t*t {{{{dep=a}}}}",
            [GlobalArg(f"x{{k}},x{{k+1}}", f8, shape="n")], "opencl", name=f"k{{k}}")
       for k in range(count)]
knl = lp.fuse_kernels(all, data_flow=[(f"x{{k+1}}", k, k+1) for k in range(count - 1)])
knl = split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")
""", "opencl")


def splits(count):
    """Loops beside one another, each split."""
    lines = each(count, "a{k}[i{k}] = 2*a{k}[i{k}]\n")
    return Work(
        f"kernel work(n: int32, {each(count, 'a{k}: float64[n]', ', ')})\n"
        + each(count, "domain {{[i{k}]: 0 <= i{k} < n}}\n") + lines,
        f"for k = 0, {count - 1} do work = work:split_iname('i' .. k, 16) end\n",
        f"""
knl = make([f"{{{{[i{{k}}]: 0<=i{{k}}<n}}}}" for k in range({count})], {lines!r},
    [GlobalArg(f"a{{k}}", f8, shape="n") for k in range({count})], "c")
for k in range({count}):
    knl = split_iname(knl, f"i{{k}}", 16)
""")


def updates(count):
    """Entries of one array, each updated in one nest under hardware axes."""
    form = "  A[e, {k}] = A[e, {k}] + w[q]*(C[q, {k}] + {k}.25*D[e, q])"
    return Work(
        f"kernel work(n: int32, A: float64[n, {count}], C: float64[8, {count}], w: float64[8], "
        "D: float64[n, 8])\ndomain {[e, q]: 0 <= e < n and 0 <= q < 8}\nassume n >= 1\nfor e, q\n"
        + each(count, form + "\n") + "end\n",
        "work = work:split_iname('e', 32, {outer_tag = 'g.0', inner_tag = 'l.0'})\n",
        f"""
knl = make("{{[e,q]: 0<=e<n and 0<=q<8}}", "for e,q\\n" +
        {each(count, form + " {{id=u{k},nosync=*}}" + chr(10))!r} + "end",
    [GlobalArg("A", f8, shape="n,{count}"), GlobalArg("C", f8, shape="8,{count}"),
     GlobalArg("w", f8, shape="8"), GlobalArg("D", f8, shape="n,8")], "opencl",
    assumptions="n>=1")
knl = split_iname(knl, "e", 32, outer_tag="g.0", inner_tag="l.0")
""", "opencl")


def multipole(count):
    """The first coefficients of a planar expansion: powers of distances, a product for each."""
    order = 0
    while (order + 1)*(order + 2)//2 < count:
        order += 1
    powers = ["<> dx = x[s] - c0", "<> dy = y[s] - c1", "<> px0 = 1.0", "<> py0 = 1.0"]
    for p in range(1, order + 1):
        powers += [f"<> px{p} = px{p-1}*dx/{p}.0", f"<> py{p} = py{p-1}*dy/{p}.0"]
    pairs = [(t - p, p) for t in range(order + 1) for p in range(t + 1)][:count]
    sums = [f"co[b, {n}] = co[b, {n}] + q[s]*px{i}*py{j}" for n, (i, j) in enumerate(pairs)]
    return Work(
        f"kernel work(nb: int32, n: int32, x: float64[n], y: float64[n], q: float64[n], "
        f"co: float64[nb, {count}], c0: float64, c1: float64)\n"
        "domain {[b, s]: 0 <= b < nb and 0 <= s < n}\nfor b, s\n  " + "\n  ".join(powers + sums)
        + "\nend\n",
        "work = work:split_iname('b', 32, {outer_tag = 'g.0', inner_tag = 'l.0'})\n",
        f"""
knl = make("{{[b,s]: 0<=b<nb and 0<=s<n}}", "for b,s\\n" + "\\n".join(
        {powers!r} + [x + " {{nosync=*}}" for x in {sums!r}]) + "\\nend",
    [GlobalArg("x,y,q", f8, shape="n"), GlobalArg("co", f8, shape="nb,{count}"),
     ValueArg("c0,c1", f8)], "opencl")
knl = split_iname(knl, "b", 32, outer_tag="g.0", inner_tag="l.0")
""", "opencl")


def fields(count):
    """Fields under a stencil, each fetched for a group."""
    total = "o[i] = " + each(count, "u{k}[i] + u{k}[i + 1] + u{k}[i + 2]", " + ")
    return Work(
        f"kernel work(n: int32, {each(count, 'u{k}: float64[n + 2]', ', ')}, o: float64[n])\n"
        f"domain {{[i]: 0 <= i < n}}\nassume n >= 1\n{total}\n",
        "work = work:split_iname('i', 64, {outer_tag = 'g.0', inner_tag = 'l.0'})\n"
        f"for k = 0, {count - 1} do\n"
        "  work = work:add_prefetch('u' .. k, 'i_inner', {default_tag = 'l.auto'})\nend\n",
        f"""
knl = make("{{[i]: 0<=i<n}}", {total!r},
    [*(GlobalArg(f"u{{k}}", f8, shape="n+2") for k in range({count})), GlobalArg("o", f8, shape="n")],
    "opencl", assumptions="n>=1")
knl = split_iname(knl, "i", 64, outer_tag="g.0", inner_tag="l.0")
for k in range({count}):
    knl = lp.add_prefetch(knl, f"u{{k}}", "i_inner", default_tag="l.auto")
""", "opencl")


# What a script does once for each statement: work, the least of three sizes that double, and how
# many of these Loo.py does in a minute or so.
GROWTH = (("assignments made rules", substitutions, 80, 1), ("rules computed ahead", stagings, 20, 1),
          ("accumulators in buffers", buffers, 16, 3), ("kernels fused", fusions, 80, 3),
          ("loops split", splits, 40, 3), ("updates of one array", updates, 80, 2),
          ("multipole expansion", multipole, 78, 2), ("fields with prefetches", fields, 10, 1))


def run(argv, **kw):
    """Runs a process; gives its output, user + system seconds and peak memory in MiB."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
    out = process.stdout.read()
    err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{argv} failed:\n{err[-2000:]}")
    return out, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def moonloop(arguments, repeat):
    best = min((run([MOONLOOP, "gen", *arguments])[1:] for _ in range(repeat)))
    return best


def start_of_moonloop():
    """Seconds of a process that does nothing else, to compare work alone with work alone."""
    return min(run([MOONLOOP, "--version"])[1] for _ in range(30))


def loopy(source, repeat=1):
    """(process seconds, seconds of work alone)"""
    best = None
    for _ in range(repeat):
        out, seconds, _ = run([sys.executable, "-c", source])
        work = float(re.search(r"work (\S+)", out).group(1))
        best = min(best or (seconds, work), (seconds, work))
    return best


def own_works(text):
    """The works of Moonloop alone: a name and the arguments of `gen` for each."""
    yield "product of section 5.2", ["examples/paper/dgemm.loop", "-t", "examples/paper/dgemm.lua"]
    yield "500 independent loops", [text("loops.loop", loops_text(500))]
    for count in (1250, 10000):
        yield f"chain of {count} statements", [text(f"chain{count}.loop", chain_text(count))]
    for name, make, least, _ in GROWTH:
        work = make(4 * least)
        file = name.replace(" ", "_")
        yield (f"{name}, {4 * least}",
               [text(f"{file}.loop", work.kernel), "-t", text(f"{file}.lua", work.script),
                "--kernel", "work", "--target", work.target])


def paired(other, turns, text):
    """Compares with another binary: both do each work in turns, and the medians of the ratios count."""
    print(f"| work | {other} | this one | median of the ratios | least of the ratios |\n|---|---|---|---|---|")
    ratios = []
    for name, arguments in own_works(text):
        times = []
        for turn in range(turns):
            took = [0, 0]
            for which in (0, 1) if turn % 2 == 0 else (1, 0):  # neither is always the first
                took[which] = run([(other, MOONLOOP)[which], "gen", *arguments])[1]
            times.append(took)
        ratio = sorted(mine / theirs for theirs, mine in times)
        ratios.append(statistics.median(ratio))
        print(f"| {name} | {seconds(min(t for t, _ in times))} | {seconds(min(m for _, m in times))} | "
              f"{ratios[-1]:.3f} | {ratio[0]:.3f} |", flush=True)
    print(f"geometric mean of the medians: {statistics.geometric_mean(ratios):.3f}")


def seconds(value):
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def main():
    rows = []
    folder = tempfile.mkdtemp(prefix="moonloop-bench-")

    def text(name, content):
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write(content)
        return path

    if len(sys.argv) > 2 and sys.argv[1] == "--paired":
        turns = int(sys.argv[3]) if len(sys.argv) > 3 else 20
        return paired(os.path.abspath(sys.argv[2]), turns, text)

    product = ["examples/paper/dgemm.loop", "-t", "examples/paper/dgemm.lua"]
    turns = [(moonloop(product, 10), loopy(DGEMM_LOOPY)) for _ in range(5)]
    mine, memory = min(m for m, _ in turns)
    theirs, work = min(t for _, t in turns)
    rows.append(("product of section 5.2, text to code", mine, memory, theirs, work))

    path = text("loops.loop", loops_text(500))
    mine, memory = moonloop([path], 5)
    theirs, work = loopy(LOOPS_LOOPY.format(count=500))
    rows.append(("500 independent loops", mine, memory, theirs, work))

    path = text("chain.loop", chain_text(LOOPY_CHAIN_LIMIT))
    mine, memory = moonloop([path], 5)
    theirs, work = loopy(CHAIN_LOOPY.format(count=LOOPY_CHAIN_LIMIT))
    rows.append((f"chain of {LOOPY_CHAIN_LIMIT} statements", mine, memory, theirs, work))

    counts = (1250, 2500, 5000, 10000)
    chains = [text(f"chain{count}.loop", chain_text(count)) for count in counts]
    turns = [[moonloop([path], 1) for path in chains] for _ in range(30)]
    doubling = [(count, *min(turn[i] for turn in turns)) for i, count in enumerate(counts)]

    start = start_of_moonloop()
    growth = []
    for name, make, least, compared in GROWTH:
        times, theirs = [], []
        for i, count in enumerate((least, 2 * least, 4 * least)):
            work = make(count)
            files = [text("work.loop", work.kernel), "-t", text("work.lua", work.script)]
            files += ["--kernel", "work", "--target", work.target]
            times.append(moonloop(files, 9)[0])
            if i < compared:
                theirs.append(loopy(work.loopy)[1])
        growth.append((name, least, times, theirs))

    lines = [f"Measured {time.strftime('%Y-%m-%d')} on {cpu()}; `./dev bench tool`.", "",
             "| work | Moonloop, process | peak memory | Loo.py 2025.2, process | its work alone | ratio "
             "of process times | ratio to its work |",
             "|---|---|---|---|---|---|---|"]
    for name, mine, memory, theirs, work in rows:
        lines.append(f"| {name} | {seconds(mine)} | {memory:.0f} MiB | {seconds(theirs)} | "
                     f"{seconds(work)} | {theirs / mine:.0f} | {work / mine:.0f} |")
    lines += ["", "| chain of dependent statements | Moonloop, process | to the one before | peak memory |",
              "|---|---|---|---|"]
    before = None
    for count, mine, memory in doubling:
        ratio = f"{mine / before:.2f}" if before else ""
        lines.append(f"| {count} | {seconds(mine)} | {ratio} | {memory:.0f} MiB |")
        before = mine
    lines += ["", f"A Moonloop process that does nothing takes {seconds(start)}.", "",
              "| steps for each statement | n | n of them | 2n | 4n | last doubling | "
              "Loo.py's work, as far as it was run | ratio to Moonloop's process | to its work |",
              "|---|---|---|---|---|---|---|---|---|"]
    for name, least, times, theirs in growth:
        ratios = ", ".join(f"{work / mine:.0f}" for work, mine in zip(theirs, times))
        alone = ", ".join(f"{work / (mine - start):.0f}" for work, mine in zip(theirs, times))
        lines.append(f"| {name} | {least} | " + " | ".join(seconds(t) for t in times)
                     + f" | {times[2] / times[1]:.2f} | {', '.join(map(seconds, theirs))} | {ratios} | {alone} |")
    table = "\n".join(lines)
    print(table)
    write_section("docs/performance.md", "tool", table)


def cpu():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*:\s*(.*)", f.read())
    return f"{os.cpu_count()} cores of {model.group(1) if model else 'an unknown processor'}"


def write_section(path, name, content):
    """Replaces what stands between the section's two markers."""
    with open(path) as f:
        old = f.read()
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if begin not in old or end not in old:
        sys.exit(f"{path} has no section {name}")
    head, tail = old[:old.index(begin)], old[old.index(end):]
    with open(path + ".new", "w") as f:
        f.write(f"{head}{begin}\n{content}\n{tail}")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    main()
