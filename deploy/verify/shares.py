# SPDX-License-Identifier: Apache-2.0
"""Shares of a GPU's time as leases get them on this machine's driver, and what time slicing costs a lease that is alone."""
import datetime
import subprocess

import host

SECONDS = 10
COST_SECONDS = 5


def measure(home, libcuda, runs):
    """Runs both measurements and prints their tables; (status, Markdown of the whole)."""
    bench = [str(home / "bin" / "gpupool"), "bench", "shares", "--libcuda", libcuda, "--runs", str(runs)]
    commands = [[*bench, "--suite", "--seconds", str(SECONDS)], [*bench, "--cost", "--seconds", str(COST_SECONDS)]]
    status, lines = 0, [
        f"# Shares of a GPU, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        "",
        *(f"- {line}" for line in host.versions()),
    ]
    for command in commands:
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        print(ended.stdout, flush=True)
        status = max(status, min(ended.returncode, 1))
        shown = " ".join(["gpupool", *command[1:]])
        lines += ["", "```", f"$ {shown}", ended.stdout.rstrip(), "```"]
    return status, "\n".join(lines) + "\n"
