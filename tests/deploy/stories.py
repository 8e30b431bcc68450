"""A story of each system, over HTTP, as its users live it.

What a stream or a queue brings is waited for; everything else holds at once.
"""

import datetime
import hashlib
import hmac
import json
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

import boto3

PATIENCE_S = 60
PASSWORD = "correct horse"


class Api:
    """The deployed API, as one caller sees it."""

    def __init__(self, endpoint, host, token=None):
        self.endpoint, self.host, self.token = endpoint, host, token

    def with_token(self, token):
        return Api(self.endpoint, self.host, token)

    def call(self, expected, method, path, body=None, **headers):
        """The answer's body; fails unless the status is the expected one."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.endpoint + path, data=data, method=method)
        request.add_header("Host", self.host)
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        assert status == expected, f"{method} {path}: {status}, not {expected}: {text}"
        return json.loads(text) if text else None


def eventually(what, look):
    """Looks until there is something, for a minute."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = look()
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(f"{what}: not within {PATIENCE_S} seconds")


def notification(member, kind):
    """Waits for a notification of this type."""
    items = lambda: member.call(200, "GET", "/notifications?limit=100")["items"]
    find = lambda: next((item for item in items() if item["type"] == kind), None)
    return eventually(f"a notification {kind}", find)


def in_days(days):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def tell(endpoint, host, stack):
    anyone = Api(endpoint, host)
    # By its event, since ministack has a page of its own at /health.
    health = invoke(stack, "health", json.loads(pathlib.Path("events/health.json").read_text()))
    assert json.loads(health["body"]) == {"status": "ok"}, health
    assert anyone.call(404, "GET", "/nothing")["code"] == "ROUTE_NOT_FOUND"
    member, staff, member_id = identity(anyone, stack)
    for story in (enrollment, schedule, blog, ticketing, announcement):
        story(anyone, member, staff, member_id, stack)
        print(f"{story.__name__}: as promised")
    dead = staff.call(200, "GET", "/dead-letters")
    assert dead["count"] == 0, dead
    print("notification: every event arrived")


def invoke(stack, function, event):
    answer = boto3.client("lambda").invoke(
        FunctionName=f"{stack}-{function}", Payload=json.dumps(event)
    )
    payload = answer["Payload"].read().decode()
    assert "FunctionError" not in answer, f"{function}: {payload}"
    return json.loads(payload)


def identity(anyone, stack):
    """Signs up and logs in; an administrator makes the other one staff."""
    tokens = {}
    for login_id in ("ada", "grace"):
        body = {"loginId": login_id, "password": PASSWORD, "name": login_id.title()}
        body["email"] = f"{login_id}@example.com"
        tokens[login_id] = anyone.call(201, "POST", "/members", body)["memberId"]
    refused = anyone.call(409, "POST", "/members", {"loginId": "ada", "password": PASSWORD, "name": "A"})
    assert refused["code"] == "LOGIN_TAKEN", refused
    command = ["aws", "lambda", "invoke", "--function-name", f"{stack}-set-role"]
    command += ["--payload", "fileb:///dev/stdin", "/dev/stdout"]
    event = json.dumps({"loginId": "grace", "role": "staff"})
    said = subprocess.check_output(command, input=event, text=True)
    assert '"role":"staff"' in said.replace(" ", ""), said
    log_in = lambda login_id: anyone.call(
        200, "POST", "/auth/login", {"loginId": login_id, "password": PASSWORD}
    )
    wrong = anyone.call(401, "POST", "/auth/login", {"loginId": "ada", "password": "wrong horse"})
    assert wrong["code"] == "BAD_CREDENTIALS", wrong
    session = log_in("ada")
    member = anyone.with_token(session["accessToken"])
    me = member.call(200, "GET", "/auth/me")
    assert (me["loginId"], me["email"], me["role"]) == ("ada", "ada@example.com", "member"), me
    fresh = anyone.call(200, "POST", "/auth/refresh", {"refreshToken": session["refreshToken"]})
    anyone.call(204, "POST", "/auth/logout", {"refreshToken": fresh["refreshToken"]})
    anyone.call(401, "POST", "/auth/refresh", {"refreshToken": fresh["refreshToken"]})
    staff = anyone.with_token(log_in("grace")["accessToken"])
    assert staff.call(200, "GET", "/auth/me")["role"] == "staff"
    assert len(anyone.call(200, "GET", "/.well-known/jwks.json")["keys"]) == 1
    print("identity: as promised")
    return member, staff, tokens["ada"]


def enrollment(anyone, member, staff, member_id, _stack):
    """One seat: the first student gets it, the second does not, and it is told."""
    course = {"name": "Databases", "credit": 3, "dayOfWeek": "MON", "startPeriod": 1}
    course |= {"endPeriod": 2, "capacity": 1}
    staff.call(201, "PUT", "/courses/1", course)
    for student, owner in ((1, member_id), (2, "somebody")):
        body = {"name": "Ada", "memberId": owner, "maxCredits": 18}
        staff.call(201, "PUT", f"/students/{student}", body)
    member.call(201, "POST", "/enrollments", {"studentId": 1, "courseId": 1})
    full = staff.call(409, "POST", "/enrollments", {"studentId": 2, "courseId": 1})
    assert full["code"] == "COURSE_FULL", full
    seats = anyone.call(200, "GET", "/courses/1?fresh=true")["seats"]
    assert seats == {"capacity": 1, "enrolled": 1, "left": 0}, seats
    assert len(member.call(200, "GET", "/students/1/enrollments")["items"]) == 1
    assert len(staff.call(200, "GET", "/courses/1/enrollments")["items"]) == 1
    notification(member, "ENROLLED")
    member.call(204, "DELETE", "/enrollments/1/1")
    notification(member, "DROPPED")


def schedule(_anyone, member, _staff, _member_id, stack):
    """A schedule is told, another at the same time is refused, it is reminded of."""
    body = {"title": "Dentist", "startTime": in_days(1), "endTime": in_days(1.1)}
    created = member.call(201, "POST", "/schedules", body | {"remindBeforeMinutes": 2 * 24 * 60})
    told = notification(member, "SCHEDULE_CREATED")
    assert told["aggregateId"] == created["id"], told
    conflict = member.call(409, "POST", "/schedules", body)
    assert (conflict["code"], conflict["conflictsWith"]) == ("SCHEDULE_CONFLICT", created["id"])
    assert member.call(200, "PUT", f"/notifications/{told['id']}/read")["readAt"]
    invoke(stack, "send-reminders", {})
    notification(member, "SCHEDULE_REMINDER")
    member.call(204, "DELETE", f"/schedules/{created['id']}")
    notification(member, "SCHEDULE_DELETED")


def blog(anyone, _member, staff, _member_id, _stack):
    """What is viewed is counted, and ranked by it."""
    post = {"title": "Hello", "body": "World", "tags": [], "status": "PUBLISHED"}
    post_id = staff.call(201, "POST", "/posts", post)["id"]
    for _ in range(3):
        assert anyone.call(200, "GET", f"/posts/{post_id}")["title"] == "Hello"
    popular = lambda: anyone.call(200, "GET", "/posts/popular")["items"]
    counted = lambda: any(p["id"] == post_id and p["views"] == 3 for p in popular())
    eventually("three views in the ranking", counted)
    assert [p["id"] for p in anyone.call(200, "GET", "/posts")["items"]] == [post_id]


def ticketing(anyone, member, staff, _member_id, stack):
    """Waits in line, holds two seats, orders, pays, and is told."""
    block = {"section": "A", "block": "A", "grade": 1, "price": 9000, "rows": 2, "seatsPerRow": 5}
    body = {"home": "Reds", "away": "Blues", "venue": "Old Ground", "startsAt": in_days(30)}
    body |= {"saleOpensAt": in_days(-1), "saleClosesAt": in_days(29), "blocks": [block]}
    body |= {"admitPerSecond": 10, "passMinutes": 30, "holdMinutes": 5, "payMinutes": 10}
    staff.call(201, "PUT", "/matches/final", body | {"maxSeatsPerMember": 4})
    waiting = member.call(201, "POST", "/matches/final/queue")

    def admitted():
        nonlocal waiting
        ticket = {"X_Queue_Ticket": waiting["ticket"]}
        waiting = member.call(200, "GET", "/matches/final/queue", **ticket)
        return waiting.get("admitted")

    eventually("admission", admitted)
    ticket = {"X_Queue_Ticket": waiting["ticket"]}
    given = member.call(201, "POST", "/matches/final/queue/pass", **ticket)
    admission = {"X_Queue_Pass": given["pass"]}
    seats = {"seats": ["A-1-1", "A-1-2"]}
    hold = member.call(201, "POST", "/matches/final/holds", seats, **admission)
    order = member.call(201, "POST", "/orders", {"holdId": hold["holdId"]}, **admission)
    assert (order["status"], order["amount"]) == ("PENDING_PAYMENT", 18000), order
    pay(anyone, order, stack)
    assert member.call(200, "GET", f"/orders/{order['orderId']}")["status"] == "PAID"
    notification(member, "ORDER_PLACED")
    notification(member, "ORDER_PAID")
    groups = lambda: member.call(200, "GET", "/matches/final/seat-groups", **admission)["items"]
    eventually("two sold seats on the map", lambda: groups()[0]["sold"] == 2)


def pay(anyone, order, stack):
    """Confirms the payment, signed as whoever confirms payments signs it."""
    outputs = boto3.client("cloudformation").describe_stacks(StackName=stack)
    outputs = outputs["Stacks"][0]["Outputs"]
    [secret] = [o["OutputValue"] for o in outputs if o["OutputKey"] == "PaymentKeysSecret"]
    text = boto3.client("secretsmanager").get_secret_value(SecretId=secret)["SecretString"]
    body = {"paymentId": "p-1", "amount": order["amount"], "paidAt": in_days(0)}
    tag = hmac.new(text.encode(), json.dumps(body).encode(), hashlib.sha256).hexdigest()
    path = f"/orders/{order['orderId']}/payment"
    anyone.call(401, "POST", path, body, X_Signature="sha256=" + "0" * 64)
    anyone.call(200, "POST", path, body, X_Signature=f"sha256={tag}")


def announcement(anyone, member, staff, _member_id, stack):
    """A favorite is counted, and home shows it."""
    body = {"title": "Rooms", "organisation": "City", "category": "housing", "region": "north"}
    body |= {"body": "Apply now.", "opensAt": in_days(-1), "closesAt": in_days(20)}
    documents = [{"id": "passport", "name": "Passport", "required": True}]
    staff.call(201, "PUT", "/announcements/a-1", body | {"documents": documents})
    member.call(204, "PUT", "/announcements/a-1/favorite")
    shown = lambda: anyone.call(200, "GET", "/announcements/a-1")
    eventually("one favorite", lambda: shown()["favorites"] == 1)
    eventually("views", lambda: shown()["views"] > 0)
    checked = member.call(201, "PUT", "/announcements/a-1/checklist", {"checked": ["passport"]})
    assert checked["total"] == 1, checked
    invoke(stack, "refresh-home", {})
    newest = lambda: anyone.call(200, "GET", "/home")["newest"]
    eventually("the announcement on home", lambda: any(a["id"] == "a-1" for a in newest()))
    assert len(member.call(200, "GET", "/favorites")["items"]) == 1
