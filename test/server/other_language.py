"""A client in Python that knows the service only by its OpenAPI document. Standard library only."""

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

url, token = sys.argv[1], sys.argv[2]


def open_url(method, path, query=None, body=None, headers=None):
    target = url + path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
    request = urllib.request.Request(target, method=method, headers=dict(headers or {}))
    request.add_header("Authorization", "Bearer " + token)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    return urllib.request.urlopen(request, timeout=30)


document = json.load(open_url("GET", "/api/v1/openapi.json"))
operations = {}
for path, methods in document["paths"].items():
    for method, operation in methods.items():
        operations[operation["operationId"]] = (method.upper(), path, operation)


def send(name, query=None, body=None, headers=None, **variables):
    """Calls an operation by its name, with its path filled in. Refuses what the document does not have."""
    method, path, operation = operations[name]
    known = {(one["in"], one["name"]) for one in operation.get("parameters", [])}
    for key in variables:
        assert ("path", key) in known, (name, key)
    for key in query or {}:
        assert ("query", key) in known, (name, key)
    for key in headers or {}:
        assert ("header", key) in known, (name, key)
    filled = path
    for key, value in variables.items():
        filled = filled.replace("{%s}" % key, urllib.parse.quote(value, safe=""))
    return open_url(method, filled, query, body, headers)


def call(name, **given):
    with send(name, **given) as response:
        assert str(response.status) in operations[name][2]["responses"], (name, response.status)
        return json.load(response)


created = call("createConversation", body={"title": "Python", "tags": ["py"]})
id = created["id"]
follow = send("follow", query={"conversation": id})
once = {"Idempotency-Key": "py-1"}
words = {"messages": [{"role": "user", "content": "Grüße, 世界"}]}
first = call("appendMessages", id=id, body=words, headers=once)
again = call("appendMessages", id=id, body=words, headers=once)
assert (first["outcome"], again["outcome"]) == ("appended", "replayed")
assert call("listConversations", query={"tag": "py"})["items"][0]["id"] == id

asked = call("ask", id=id, body={"content": "Hello?"})
turn = {"status": "open"}
while turn["status"] == "open":
    time.sleep(0.05)
    turn = call("getTurn", id=id, key=asked["turn"])
assert turn["status"] == "complete", turn
messages = call("listMessages", id=id)["items"]
assert [one["role"] for one in messages] == ["user", "user", "assistant"], messages
assert call("search", query={"q": "Grüße"})["items"]

seen = []
for line in follow:
    if line.startswith(b"event: message"):
        seen.append(line)
    if len(seen) == 3:
        break
follow.close()

try:
    call("getConversation", id="00000000-0000-4000-8000-000000000000")
    raise AssertionError("an unknown conversation was found")
except urllib.error.HTTPError as error:
    problem = json.load(error)
    assert (error.code, problem["code"]) == (404, "not_found"), problem
    assert error.headers["Content-Type"] == "application/problem+json"

with send("exportConversation", id=id, query={"format": "markdown"}) as response:
    assert "世界" in response.read().decode()
print("ok", len(operations))
