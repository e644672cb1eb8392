# SPDX-License-Identifier: Apache-2.0
"""Runs every case natively and through gpupool, in turn on the same GPU, and compares results and times."""
import argparse
import datetime
import pathlib
import shutil
import subprocess
import sys
import tempfile

import cases
import comparison
import host
import pool
import shares

HERE = pathlib.Path(__file__).resolve().parent


def home(given):
    """The unpacked distribution: given, or the one this script lies in, or the one a build has made."""
    places = [pathlib.Path(given)] if given else [HERE.parents[1], HERE.parent / "target" / "gpupool"]  # share/verify, deploy/verify
    for place in places:
        if (place / "bin" / "gpupool").is_file():
            return place.resolve()
    sys.exit("verify-gpu: no gpupool in " + " or ".join(map(str, places)) + ": unpack the distribution and give --home")


def arguments():
    parser = argparse.ArgumentParser(prog="verify-gpu", description=__doc__)
    parser.add_argument("--home", metavar="DIR", help="the unpacked distribution")
    parser.add_argument("--pool", metavar="HOST[:PORT]", help="compare with the GPUs of this pool (else: of a server that is started here)")
    parser.add_argument("--gpus", default="all", help="what that server serves, as gpupool server --gpus (default: all)")
    parser.add_argument("--only", metavar="WORDS", default="", help="only cases with one of these words in their names, comma-separated")
    parser.add_argument("--programs", metavar="DIR", help="CUDA programs that are built already (else: share/examples/cuda, built with nvcc)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="times each side is run; the best counts (default: 3)")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for one run of one case (default: 600)")
    parser.add_argument("--report", metavar="FILE", help="write commands, versions and the table there, as Markdown")
    parser.add_argument("--shares", type=int, metavar="RUNS", help="instead: print what shares leases get of the GPU, by so many runs of each case")
    parser.add_argument("--libcuda", metavar="PATH", default="libcuda.so.1", help="the driver, for --shares (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="name the cases and what each needs, and end")
    chosen = parser.parse_args()
    if chosen.repeat < 1:
        parser.error("--repeat is at least 1")
    if chosen.shares is not None and chosen.shares < 1:
        parser.error("--shares is at least 1")
    return chosen


def main():
    chosen = arguments()
    installed = home(chosen.home)
    if chosen.shares:
        status, text = shares.measure(installed, chosen.libcuda, chosen.shares)
        if chosen.report:
            pathlib.Path(chosen.report).write_text(text)
        return status
    work = pathlib.Path(tempfile.mkdtemp(prefix="gpupool-verify-"))
    try:
        known = cases.all_cases(installed, chosen.programs, work, host.native_gpus())
        words = [word for word in chosen.only.split(",") if word]
        wanted = [case for case in known if not words or any(word in case.name for word in words)]
        if not wanted:
            sys.exit(f"verify-gpu: no case has {chosen.only} in its name; --list names them")
        if chosen.list:
            for case in wanted:
                print(f"{case.name:32} {case.skipped or 'runs'}")
            return 0
        with pool.opened(installed, chosen.pool, chosen.gpus, work) as remote:
            results = []
            for case in wanted:
                results.append(comparison.compare(case, remote, chosen.repeat, chosen.limit))
                print(results[-1].line(), flush=True)
            missed = [result for result in results if result.failed]
            text = report(installed, remote, results)
        if chosen.report:
            pathlib.Path(chosen.report).write_text(text)
        counts = {word: sum(result.verdict == word for result in results) for word in ("equal", "ran", "skipped")}
        print(f"{counts['equal']} equal to native, {counts['ran']} ran with nothing to compare with, "
              f"{counts['skipped']} skipped, {len(missed)} failed")
        for result in missed:
            print(f"\n{result.name}: {result.why}", file=sys.stderr)
        return 1 if missed else 0
    finally:
        shutil.rmtree(work, ignore_errors=True)


def report(installed, remote, results):
    """The run as Markdown: when, on what, by which command, with which outcome."""
    version = subprocess.run([installed / "bin" / "gpupool", "version"], capture_output=True, text=True).stdout.strip()
    lines = [
        f"# verify-gpu, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        "",
        f"- command: `verify-gpu {' '.join(sys.argv[1:])}`",
        f"- {version}; {remote.description}",
        *(f"- {line}" for line in host.versions()),
        "",
        "| case | verdict | native | remote | remote / native | what was compared |",
        "|---|---|---|---|---|---|",
        *(row for result in results for row in result.rows()),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
