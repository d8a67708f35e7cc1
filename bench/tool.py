"""Times Moonloop and Loo.py on the same work, each in a process of its own.

Process time is user plus system time of the whole process (for Loo.py: with and without the
interpreter's start and the imports, measured inside). The least of several runs counts; what is
compared takes turns, so that a machine that gets slower for a while does so for both.
"""
import os
import re
import resource
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


def substitutions(count):
    """A chain of assignments, each made a rule."""
    lines = ["<> t0[i] = 2*b[i]"] + [f"<> t{k}[i] = 2*t{k-1}[i] + b[i]" for k in range(1, count)]
    return ("kernel work(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
            + "\n".join(lines + [f"a[i] = t{count-1}[i]"]) + "\n",
            f"for k = 0, {count - 1} do work = work:assignment_to_subst('t' .. k) end\n")


def stagings(count):
    """Rules, each computed ahead of its uses."""
    args = ", ".join(f"a{k}: float64[n + 2]" for k in range(count))
    return (f"kernel work(n: int32, {args}, o: float64[n])\ndomain {{[i]: 0 <= i < n}}\n"
            + "".join(f"f{k}(p) := a{k}[p] + a{k}[p + 1]\n" for k in range(count))
            + "".join(f"<> s{k} = f{k}(i) + f{k}(i + 1)\n" for k in range(count))
            + "o[i] = " + " + ".join(f"s{k}" for k in range(count)) + "\n",
            "work = work:split_iname('i', 16)\n"
            f"for k = 0, {count - 1} do work = work:precompute('f' .. k, 'i_inner') end\n")


def buffers(count):
    """Accumulators, each kept in a buffer."""
    args = ", ".join(f"r{k}: float64[n], m{k}: float64[m]" for k in range(count))
    return (f"kernel work(n: int32, m: int32, v: float64[n, m], {args})\n"
            "domain {[i, j]: 0 <= i < n and 0 <= j < m}\nassume n >= 1 and m >= 1\nfor i, j\n"
            + "".join(f"  r{k}[i] = r{k}[i] + m{k}[j]*v[i, j]\n" for k in range(count)) + "end\n",
            "work = work:split_iname('i', 64, {outer_tag = 'g.0', inner_tag = 'l.0'})\n"
            f"for k = 0, {count - 1} do work = work:buffer_array('r' .. k, 'j') end\n")


def fusions(count):
    """Kernels that are made one, loop by loop; the others go."""
    kernels = "".join(f"kernel k{k}(n: int32, x{k}: float64[n], x{k+1}: float64[n])\n"
                      f"domain {{[i]: 0 <= i < n}}\n<> t = 2*x{k}[i]\nx{k+1}[i] = t*t\n"
                      for k in range(count))
    names = ", ".join(f"k{k}" for k in range(count))
    return (kernels,
            f"local all = {{{names}}}\nlocal suffixes = {{}}\n"
            "for k = 1, #all do suffixes[k] = '_' .. k end\n"
            "k0 = lp.fuse_kernels(all, suffixes, nil, {name = 'work'})\n"
            "k0 = k0:split_iname('i', 128, {outer_tag = 'g.0', inner_tag = 'l.0'})\n")


def splits(count):
    """Loops beside one another, each split."""
    args = ", ".join(f"a{k}: float64[n]" for k in range(count))
    return (f"kernel work(n: int32, {args})\n"
            + "".join(f"domain {{[i{k}]: 0 <= i{k} < n}}\n" for k in range(count))
            + "".join(f"a{k}[i{k}] = 2*a{k}[i{k}]\n" for k in range(count)),
            f"for k = 0, {count - 1} do work = work:split_iname('i' .. k, 16) end\n")


# What a script does once for each statement: work, and the least of three sizes that double.
GROWTH = (("assignments made rules", substitutions, 80), ("rules computed ahead", stagings, 20),
          ("accumulators in buffers", buffers, 16), ("kernels fused", fusions, 40),
          ("loops split", splits, 40))


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


def loopy(source, repeat=1):
    """(process seconds, seconds of work alone)"""
    best = None
    for _ in range(repeat):
        out, seconds, _ = run([sys.executable, "-c", source])
        work = float(re.search(r"work (\S+)", out).group(1))
        best = min(best or (seconds, work), (seconds, work))
    return best


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

    growth = []
    for name, make, least in GROWTH:
        times = []
        for count in (least, 2 * least, 4 * least):
            kernel, script = make(count)
            files = [text("work.loop", kernel), "-t", text("work.lua", script), "--kernel", "work"]
            times.append(min(run([MOONLOOP, "check", *files])[1] for _ in range(3)))
        growth.append((name, least, times))

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
    lines += ["", "| steps for each statement | n | n of them | 2n | 4n | last doubling |",
              "|---|---|---|---|---|---|"]
    for name, least, times in growth:
        lines.append(f"| {name} | {least} | " + " | ".join(seconds(t) for t in times)
                     + f" | {times[2] / times[1]:.2f} |")
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
