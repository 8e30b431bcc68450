"""How large each function's binary is, and how long its init takes: a Markdown table.

Needs binaries in target/lambda, and the Python into which `tests/deploy/tools` has
installed the SAM CLI, which brings AWS's Runtime Interface Emulator:

    DIR/aws/bin/python3 tests/deploy/init.py

Init is from the start of the binary until it asks for its first event, as the
emulator reports it, the median of RUNS starts; so the file is in the page cache. The
size is that of the binary, and of the archive that is uploaded.
"""

import os
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zlib

import samcli

RUNS = 5
EMULATOR = pathlib.Path(samcli.__file__).parent / "local/rapid/aws-lambda-rie-x86_64"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        emulator = pathlib.Path(folder) / "emulator"
        emulator.write_bytes(EMULATOR.read_bytes())
        emulator.chmod(0o755)
        print("| function | init, ms | binary, MB | zipped, MB |\n|---|---|---|---|")
        for event in sorted(pathlib.Path("events").glob("*.json")):
            binary = pathlib.Path("target/lambda") / event.stem / "bootstrap"
            took = statistics.median(init_ms(emulator, binary) for _ in range(RUNS))
            content = binary.read_bytes()
            sizes = (len(content) / 1e6, len(zlib.compress(content)) / 1e6)
            print(f"| `{event.stem}` | {took:.1f} | {sizes[0]:.1f} | {sizes[1]:.1f} |", flush=True)


def init_ms(emulator, binary):
    """One start of the binary: it is invoked, whatever it makes of the event."""
    api, runtime = free_port(), free_port()
    command = [emulator, "--log-level", "info", binary.resolve()]
    command[1:1] = ["--runtime-interface-emulator-address", f"127.0.0.1:{api}"]
    command[1:1] = ["--runtime-api-address", f"127.0.0.1:{runtime}"]
    settings = os.environ | CREDENTIALS
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        invoke(f"http://127.0.0.1:{api}/2015-03-31/functions/function/invocations")
        process.terminate()
        said = process.communicate(timeout=30)[0]
    found = re.search(r"INIT REPORT\(durationMs: ([0-9.]+)\)", said)
    assert found, f"{binary} did not start: {said}"
    return float(found[1])


def invoke(url):
    for _ in range(200):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, data=b"{}"), timeout=30).read()
        except urllib.error.URLError:
            time.sleep(0.02)
    raise AssertionError("the emulator did not answer")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    main()
