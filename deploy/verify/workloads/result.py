# SPDX-License-Identifier: Apache-2.0
"""How a workload says what it found: one line of JSON, the last that it prints."""
import hashlib
import json
import time

MARK = "RESULT "


def report(values, seconds, **notes):
    """Prints the result.

    values: what must be equal natively and remotely: numbers, lists of numbers (to rounding) or strings (exactly)
    seconds: time of the steady part, by name; each has a ratio of its own
    notes: what is told and not compared
    """
    print(MARK + json.dumps({"values": values, "seconds": seconds, "notes": notes}), flush=True)


def digest(array):
    """A string that differs when any byte of a NumPy array does."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def timed(step, count, wait):
    """Seconds that one of count steps takes, waited for at the end."""
    wait()
    begin = time.perf_counter()
    for _ in range(count):
        step()
    wait()
    return (time.perf_counter() - begin) / count
