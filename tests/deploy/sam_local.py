"""`sam local invoke`: functions in containers, against the local cloud.

Run by `run`, inside a network namespace. The arguments are a folder for what goes
with the run, and `--all` for every function instead of one of each system.

Amazon's image cannot be had without a registry of images. So the containers run one
that is made here, of busybox and this machine's glibc, under the name by which SAM
asks for it. It shows that SAM runs our binaries on our events; what is in Amazon's
image it does not show.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

import docker
from samtranslator.yaml_helper import yaml_parse

import local_cloud

IMAGE = ("public.ecr.aws/lambda/provided", "al2023-x86_64")
BRIDGE = "172.17.0.1"  # this machine, as containers see it
ONE_OF_EACH_SYSTEM = {
    *("health", "log-in", "enroll", "create-schedule", "relay", "get-post"),
    *("hold-seats", "get-home"),
}
ENDPOINTS = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SECRETS_MANAGER")


def main():
    work, every = pathlib.Path(sys.argv[1]), "--all" in sys.argv[2:]
    missing = [tool for tool in ("dockerd", "iptables", "busybox") if not shutil.which(tool)]
    if missing:
        return print(f"SKIPPED: sam local needs {' and '.join(missing)}")
    with docker_engine(work) as client:
        if client is None:
            return print("SKIPPED: sam local needs Docker, which does not start here; see above")
        make_image(client)
        text = pathlib.Path("template.yaml").read_text()
        template = with_endpoints(text)
        for logical_id, function in functions(yaml_parse(text)):
            if every or function in ONE_OF_EACH_SYSTEM:
                print(f"{function}: {invoke(work, template, logical_id, function)}", flush=True)
        print("every function that ran answered as it should")


@contextlib.contextmanager
def docker_engine(work):
    """A Docker engine of our own; nothing if it cannot be started."""
    folder, host = work / "docker", f"unix://{work}/docker.sock"
    command = ["dockerd", "--host", host, "--pidfile", f"{work}/docker.pid"]
    command += ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--bip", f"{BRIDGE}/16"]
    os.environ["DOCKER_HOST"] = host
    with open(work / "docker.log", "w+") as log, subprocess.Popen(command, stdout=log, stderr=log) as engine:
        try:
            client = connect(engine)
            if client is None:
                log.seek(0)
                print("".join(log.readlines()[-5:]))
            yield client
        finally:
            engine.terminate()


def connect(engine):
    for _ in range(60):
        if engine.poll() is not None:
            return None
        try:
            return docker.from_env()
        except docker.errors.DockerException:
            time.sleep(0.5)
    return None


def make_image(client):
    """Something to run a binary in: a shell with its tools, and a C library."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        add(tar, shutil.which("busybox"), "bin/busybox")
        for applet in ("sh", "mv", "chmod"):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for library in libraries("target/lambda/health/bootstrap"):
            add(tar, library, library.lstrip("/"))
        for folder in ("tmp", "etc"):
            place = tarfile.TarInfo(folder)
            place.type, place.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(place)
        note = b"busybox and a glibc for tests: not Amazon's image\n"
        about = tarfile.TarInfo("etc/about")
        about.size = len(note)
        tar.addfile(about, io.BytesIO(note))
    repository, tag = IMAGE
    client.api.import_image_from_data(out.getvalue(), repository=repository, tag=tag)


def add(tar, path, name):
    tar.add(os.path.realpath(path), arcname=name)


def libraries(program):
    """The shared libraries that a program loads, and their loader."""
    listed = subprocess.check_output(["ldd", program], text=True)
    return sorted(set(re.findall(r"(/\S+) \(0x", listed)))


def with_endpoints(text):
    """A copy of the template that has settings for where services are."""
    last = "        TOKEN_KEYS: !Ref TokenKeys\n"
    assert text.count(last) == 1, "template.yaml has no settings for all functions"
    text = text.replace(last, last + "".join(f"        {name}: none\n" for name in ENDPOINTS))
    path = pathlib.Path("target/deploy/sam-local.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("CodeUri: target/lambda/", "CodeUri: ../lambda/"))
    return path


def functions(template):
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::Function":
            name = resource["Properties"]["FunctionName"]["Fn::Sub"]
            yield logical_id, name.removeprefix("${AWS::StackName}-")


def invoke(work, template, logical_id, function):
    """What the function made of its event, on sample data that nobody has touched."""
    with local_cloud.running(work, bind=BRIDGE) as settings:
        (work / "settings.json").write_text(json.dumps({"Parameters": settings}))
        (work / "event.json").write_text(local_cloud.event(function))
        command = ["sam", "local", "invoke", logical_id, "--template", str(template)]
        command += ["--event", str(work / "event.json"), "--env-vars", str(work / "settings.json")]
        command += ["--skip-pull-image", "--region", "us-east-1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"sam local invoke {logical_id} exited with {done.returncode}:\n{done.stderr}")
    try:
        return local_cloud.judge(function, done.stdout.strip().splitlines()[-1])
    except AssertionError:
        print(done.stderr, file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
