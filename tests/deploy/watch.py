"""`cargo lambda watch`, `invoke` and `deploy --dry`, against the local cloud.

Run by `run`, inside a network namespace. The argument is a folder for what goes with
the run.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

import local_cloud

PORT = 9100
API = f"http://127.0.0.1:{PORT}"
COMPILES_S = 600  # a function is compiled when it is called for the first time


def main():
    work = pathlib.Path(sys.argv[1])
    with local_cloud.running(work) as settings:
        os.environ.update(settings)
        deploy_dry()
        command = ["cargo", "lambda", "watch", "-A", "127.0.0.1", "-P", str(PORT), "--ignore-changes"]
        with open(work / "watch.log", "w") as log:
            watch = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until_ready(watch)
            routes()
            invoke(work, "enroll")
        except BaseException:
            print((work / "watch.log").read_text()[-5_000:], file=sys.stderr)
            raise
        finally:
            watch.terminate()
            watch.wait(timeout=30)


def deploy_dry():
    """`cargo lambda deploy --dry` finds every function's binary, and what runs it."""
    names = sorted(path.stem for path in pathlib.Path("events").glob("*.json"))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(deploy_one_dry, names))
    print(f"cargo lambda deploy --dry: {len(names)} functions could be deployed")


def deploy_one_dry(name):
    command = ["cargo", "lambda", "deploy", "--dry", "--output-format", "json", name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"cargo lambda deploy --dry {name}: {done.stderr}"
    plan = json.loads(done.stdout[done.stdout.index("{") :])
    pathlib.Path(plan["path"]).unlink()  # the archive, which is nobody's any more
    told = (plan["name"], plan["files"], plan["config"]["runtime"])
    assert told == (name, ["bootstrap"], "provided.al2023"), f"{name}: {plan}"


def wait_until_ready(watch):
    for _ in range(120):
        if watch.poll() is not None:
            sys.exit("cargo lambda watch ended")
        try:
            urllib.request.urlopen(f"{API}/", timeout=1)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.5)
    sys.exit("cargo lambda watch did not answer within a minute")


def call(method, path):
    request = urllib.request.Request(API + path, method=method)
    try:
        with urllib.request.urlopen(request, timeout=COMPILES_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def routes():
    """Requests find their functions by method and path."""
    status, course = call("GET", "/courses/1")
    assert (status, course.get("courseId")) == (200, 1), f"GET /courses/1: {status} {course}"
    status, problem = call("POST", "/enrollments")
    assert (status, problem["code"]) == (401, "UNAUTHENTICATED"), f"POST /enrollments: {status} {problem}"
    status, problem = call("GET", "/no/such/path")
    assert (status, problem["code"]) == (404, "ROUTE_NOT_FOUND"), f"{status} {problem}"
    print("cargo lambda watch: requests find their functions")


def invoke(work, function):
    (work / "event.json").write_text(local_cloud.event(function))
    command = ["cargo", "lambda", "invoke", function, "-A", "127.0.0.1", "-P", str(PORT)]
    command += ["--data-file", str(work / "event.json"), "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILES_S)
    assert done.returncode == 0, f"cargo lambda invoke {function}: {done.stderr}"
    print(f"cargo lambda invoke {function}: {local_cloud.judge(function, done.stdout)}")


if __name__ == "__main__":
    main()
