# SPDX-License-Identifier: Apache-2.0
"""The pool that cases run through: one that is there, or a server that is started for them."""
import contextlib
import functools
import json
import os
import subprocess
import time

START_SECONDS = 60


class Pool:
    def __init__(self, home, address, description):
        self.command = str(home / "bin" / "gpupool")
        self.address = address
        self.description = description

    def run(self, command, gpus=1):
        """The command line that runs a program on whole GPUs of the pool, on fewer where it has fewer."""
        return [self.command, "run", "--pool", self.address, "-n", str(min(gpus, self.gpus)), "--wait", "60s", "--", *command]

    @functools.cached_property
    def gpus(self):
        """How many GPUs it has."""
        told = subprocess.run(
            [self.command, "list", "--pool", self.address, "--output", "json"], capture_output=True, text=True, check=True)
        return len(json.loads(told.stdout)["gpus"])


@contextlib.contextmanager
def opened(home, address, gpus, work):
    """A pool at the address, or one of this machine's GPUs on free ports of loopback, for as long as this lasts."""
    if address:
        yield Pool(home, address, f"pool {address}")
        return
    log_path = work / "server.log"
    command = [str(home / "bin" / "gpupool"), "server", "--gpus", gpus, "--listen", "127.0.0.1",
               "--control-port", "0", "--data-port", "0", "--http-port", "0", "--soft-missing-ptx=skip"]
    with open(log_path, "wb") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    try:
        description, control = [], None
        os.set_blocking(server.stdout.fileno(), True)
        deadline = time.monotonic() + START_SECONDS
        for line in server.stdout:
            description.append(line.strip())
            if "ready: control " in line:
                control = line.split("ready: control ")[1].split(",")[0]
                break
            if time.monotonic() > deadline:
                break
        if not control:
            raise SystemExit("verify-gpu: the server did not start:\n" + log_path.read_text())
        yield Pool(home, control, "; ".join(description[:-1]))
    finally:
        server.terminate()
        server.wait()
