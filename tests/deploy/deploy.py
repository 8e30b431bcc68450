"""Starts ministack, deploys the stack, adds its routes, and tells the stories.

Run by `run`, inside a network namespace. The arguments are a folder for what goes
with the run, and the program ministack.
"""

import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

import boto3
from samtranslator.yaml_helper import yaml_parse

import stories

PORT = 4566
ENDPOINT = f"http://localhost:{PORT}"
STACK = "hotseat"
SETTINGS = {
    "AWS_ENDPOINT_URL": ENDPOINT,
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "GATEWAY_PORT": str(PORT),
    "LAMBDA_EXECUTOR": "local",
    "SAM_CLI_TELEMETRY": "0",
}


def main():
    work, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    os.environ.update(SETTINGS, STATE_DIR=f"{work}/state", S3_DATA_DIR=f"{work}/s3")
    with open(work / "ministack.log", "w") as log:
        ministack = subprocess.Popen([program], stdout=log, stderr=log)
    try:
        wait_until_ready(ministack)
        text = pathlib.Path("template.yaml").read_text()
        deploy(text, make_key(work / "signing-key.pem"))
        host = add_routes(yaml_parse(text))
        stories.tell(ENDPOINT, host, STACK)
    except BaseException:
        print(f"ministack said:\n{(work / 'ministack.log').read_text()[-20_000:]}", file=sys.stderr)
        raise
    finally:
        ministack.terminate()
        ministack.wait(timeout=30)


def wait_until_ready(ministack):
    for _ in range(120):
        if ministack.poll() is not None:
            sys.exit("ministack ended; see above")
        try:
            urllib.request.urlopen(f"{ENDPOINT}/_ministack/health", timeout=1)
            return
        except OSError:
            time.sleep(0.5)
    sys.exit("ministack did not answer within a minute")


def make_key(path):
    """The key that tokens are signed with, as README.md says; gives its public half."""
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True)
    command = ["aws", "secretsmanager", "create-secret", "--name", "hotseat-signing-keys"]
    subprocess.run([*command, "--secret-string", f"file://{path}"], check=True, stdout=subprocess.DEVNULL)
    program = "target/lambda/local/bootstrap"  # `cargo local`, built with the functions
    return subprocess.check_output([program, "public-keys", path], text=True).strip()


def deploy(text, token_keys):
    """`sam deploy` of the template, with a key and without what ministack lacks."""
    parts = re.split(r"(?m)^(?=  \w+:\n)", text)
    is_math = lambda part: "Type: AWS::CloudWatch::Alarm\n" in part and "      Metrics:\n" in part
    left_out = sum(map(is_math, parts))
    print(f"ministack has no alarms by metric math: {left_out} are left out")
    text = "".join(part for part in parts if not is_math(part))
    text = replace_once(text, """'{"keys":[]}'""", f"'{token_keys}'")
    folder = pathlib.Path("target/deploy")
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "template.yaml"
    copy.write_text(text.replace("CodeUri: target/lambda/", "CodeUri: ../lambda/"))
    command = ["sam", "deploy", "--template", str(copy), "--no-confirm-changeset"]
    command += ["--config-file", str(pathlib.Path("samconfig.toml").resolve())]
    done = subprocess.run([*command, "--region", "us-east-1"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sam deploy exited with {done.returncode}:\n{done.stdout[-5_000:]}{done.stderr}")
    stack = boto3.client("cloudformation").describe_stack_resources(StackName=STACK)
    print(f"deployed {len(stack['StackResources'])} resources")


def replace_once(text, old, new):
    assert text.count(old) == 1, f"{old} stands {text.count(old)} times in template.yaml"
    return text.replace(old, new)


def add_routes(template):
    """The template's routes, which ministack does not read from SAM's API."""
    gateway = boto3.client("apigatewayv2")
    [api] = gateway.get_apis()["Items"]
    count = 0
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        properties = resource["Properties"]
        name = properties["FunctionName"]["Fn::Sub"].replace("${AWS::StackName}", STACK)
        arn = f"arn:aws:lambda:us-east-1:000000000000:function:{name}"
        for event in properties.get("Events", {}).values():
            if event["Type"] != "HttpApi":
                continue
            method, path = event["Properties"]["Method"], event["Properties"]["Path"]
            integration = gateway.create_integration(
                ApiId=api["ApiId"],
                IntegrationType="AWS_PROXY",
                IntegrationUri=arn,
                PayloadFormatVersion="2.0",
            )
            gateway.create_route(
                ApiId=api["ApiId"],
                RouteKey=path if path == "$default" else f"{method} {path}",
                Target=f"integrations/{integration['IntegrationId']}",
            )
            count += 1
    print(f"{count} routes")
    return f"{api['ApiId']}.execute-api.localhost:{PORT}"


if __name__ == "__main__":
    main()
