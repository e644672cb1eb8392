# SPDX-License-Identifier: Apache-2.0
"""Runs a case on both sides, by turns, and says whether they agree and how their times compare."""
import dataclasses
import json
import math
import subprocess
import time

import cases

MARK = "RESULT "


@dataclasses.dataclass
class Outcome:
    """One run: the values that must agree and the seconds by name, or the reason why there are none."""
    values: object = None
    seconds: dict = dataclasses.field(default_factory=dict)
    problem: str = ""


@dataclasses.dataclass
class Result:
    name: str
    verdict: str  # equal, ran (nothing to compare with), skipped, failed
    why: str = ""
    native: dict = dataclasses.field(default_factory=dict)  # best seconds by name
    remote: dict = dataclasses.field(default_factory=dict)
    compared: str = ""

    @property
    def failed(self):
        return self.verdict == "failed"

    def times(self):
        """(name, native, remote, ratio) as text, a tuple for each time there is."""
        for name in self.remote:
            there, here = self.remote[name], self.native.get(name)
            ratio = f"{there / here:.3f}" if here else "-"
            yield name, seconds_text(here), seconds_text(there), ratio

    def line(self):
        told = "; ".join(f"{name} {here} native, {there} remote, {ratio}" for name, here, there, ratio in self.times())
        return f"{self.verdict:8}{self.name:34}{told or self.why.splitlines()[0] if told or self.why else ''}"

    def rows(self):
        """Rows of a Markdown table."""
        why = self.why.splitlines()[0] if self.why else self.compared
        times = list(self.times()) or [("", "-", "-", "-")]
        for name, here, there, ratio in times:
            label = f"{self.name}: {name}" if name else self.name
            yield f"| {label} | {self.verdict} | {here} | {there} | {ratio} | {why} |"


def seconds_text(seconds):
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            break
    return f"{seconds * factor:.3g} {unit}"


def compare(case, remote, repeat, limit):
    """Runs both sides as often as asked, native first each time; the first difference or failure is the result."""
    if case.skipped:
        return Result(case.name, "skipped", case.skipped)
    result = Result(case.name, "equal" if case.native else "ran")
    reference = None
    for _ in range(repeat if case.kind == "result" else 1):
        if case.native:
            outcome = run(case, list(case.command), limit)
            if outcome.problem:
                # A failure without gpupool says nothing about gpupool.
                return Result(case.name, "skipped", "fails natively, too: " + outcome.problem)
            reference = outcome.values if reference is None else reference
            keep_best(result.native, outcome.seconds)
        outcome = run(case, remote.run(case.command, case.gpus), limit)
        if outcome.problem:
            return Result(case.name, "failed", "remotely: " + outcome.problem, result.native)
        keep_best(result.remote, outcome.seconds)
        if case.native:
            difference = first_difference(reference, outcome.values, case.tolerance)
            if difference:
                return Result(case.name, "failed", difference, result.native, result.remote)
        result.compared = describe(outcome.values, case.tolerance)
    return result


def keep_best(best, seconds):
    for name, value in seconds.items():
        best[name] = min(value, best.get(name, math.inf))


def run(case, command, limit):
    begin = time.perf_counter()
    try:
        ended = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return Outcome(problem=f"did not end within {limit:g} s")
    except OSError as e:
        return Outcome(problem=str(e))
    elapsed = time.perf_counter() - begin
    if ended.returncode != 0:
        return Outcome(problem=f"exit status {ended.returncode}\n{tail(ended.stdout)}{tail(ended.stderr)}")
    return parse(case, ended.stdout, elapsed)


def parse(case, output, elapsed):
    if case.kind == "result":
        told = [line for line in output.splitlines() if line.startswith(MARK)]
        if not told:
            return Outcome(problem="printed no result\n" + tail(output))
        result = json.loads(told[-1][len(MARK):])
        return Outcome(result["values"], result["seconds"])
    lines = output.splitlines()
    if case.kind == "program":
        if not any(line.startswith(case.name + ": OK") for line in lines):
            return Outcome(problem="printed no OK\n" + tail(output))
        lines = [line for line in lines if not cases.PASSING.search(line)]
    return Outcome("\n".join(lines), {"whole": elapsed} if case.kind == "program" else {})


def tail(text):
    lines = text.splitlines()[-12:]
    return "".join(f"  {line}\n" for line in lines)


def first_difference(native, remote, tolerance, where=""):
    """Describes the difference, or returns nothing if they agree."""
    if isinstance(native, dict):
        if native.keys() != (remote or {}).keys():
            return f"{where or 'the results'}: {sorted(native)} natively, {sorted(remote or {})} remotely"
        pairs = [(f"{where}.{key}".lstrip("."), native[key], remote[key]) for key in native]
    elif isinstance(native, list):
        if len(native) != len(remote):
            return f"{where}: {len(native)} natively, {len(remote)} remotely"
        pairs = [(f"{where}[{i}]", *pair) for i, pair in enumerate(zip(native, remote))]
    elif isinstance(native, (int, float)) and isinstance(remote, (int, float)):
        agree = math.isclose(native, remote, rel_tol=tolerance, abs_tol=tolerance * 1e-3)
        return "" if agree else f"{where}: {native!r} natively, {remote!r} remotely"
    else:
        return "" if native == remote else f"{where or 'output'} differs:\n  natively {native!r}\n  remotely {remote!r}"
    return next(filter(None, (first_difference(a, b, tolerance, name) for name, a, b in pairs)), "")


def describe(values, tolerance):
    if isinstance(values, dict):
        how = f" to {tolerance:g}" if tolerance else " exactly"
        return ", ".join(values) + how
    return "output"
