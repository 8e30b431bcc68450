"""The local cloud, as functions that run outside of it see it."""

import contextlib
import json
import os
import pathlib
import shlex
import subprocess

PROGRAM = "target/lambda/local/bootstrap"  # `cargo local`, built with the functions


@contextlib.contextmanager
def running(work, bind="127.0.0.1"):
    """A local cloud with its sample data; gives the settings that lead to it."""
    path = pathlib.Path(work) / "settings.env"
    command = [PROGRAM, "--bind", bind, "--port", "0", "--no-events", "--settings", str(path)]
    quiet = os.environ | {"RUST_LOG": "warn"}
    with subprocess.Popen(command, env=quiet, stdout=subprocess.PIPE, text=True) as cloud:
        try:
            lines = iter(cloud.stdout.readline, "")
            if not any(line.startswith("ready ") for line in lines):
                raise SystemExit("the local cloud did not start; see above")
            yield dict(setting.split("=", 1) for setting in shlex.split(path.read_text()))
        finally:
            cloud.terminate()


def event(function):
    """The example event of a function, with tokens in it that are good now."""
    return subprocess.check_output([PROGRAM, "event", function], text=True)


def judge(function, answer):
    """Fails unless `answer` is that of an event that was served."""
    try:
        answer = json.loads(answer)
    except ValueError:
        raise AssertionError(f"{function} answered no JSON: {answer!r}") from None
    if isinstance(answer, dict) and "errorType" in answer:
        raise AssertionError(f"{function} failed: {answer}")
    if "rawPath" not in json.loads(event(function)):
        failures = answer and answer.get("batchItemFailures")
        assert not failures, f"{function} left events over: {answer}"
        return "done"
    status = answer["statusCode"]
    served = status == 404 if function == "not-found" else 200 <= status < 300
    assert served, f"{function} answered {status}: {answer.get('body')}"
    return str(status)
