"""A client in Python that knows the service only by its OpenAPI document. Standard library only."""

import json
import re
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
    parameters = operation.get("parameters", [])
    known = {(one["in"], one["name"]) for one in parameters}
    patterns = [name for one in parameters for name in one["schema"].get("patternProperties", {})]
    for key in variables:
        assert ("path", key) in known, (name, key)
    for key in query or {}:
        assert ("query", key) in known or any(re.search(one, key) for one in patterns), (name, key)
    for key in headers or {}:
        assert ("header", key) in known, (name, key)
    filled = path
    for key, value in variables.items():
        filled = filled.replace("{%s}" % key, urllib.parse.quote(value, safe=""))
    return open_url(method, filled, query, body, headers)


def resolved(schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return schema


def check(value, schema, where):
    """Compares a value with a schema of the document: enough of JSON Schema for what the events use."""
    schema = resolved(schema)
    if "discriminator" in schema:
        key = value[schema["discriminator"]["propertyName"]]
        return check(value, {"$ref": schema["discriminator"]["mapping"][key]}, where + "/" + key)
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            return assert_any(value, schema[choices], where)
    if "enum" in schema:
        assert value in schema["enum"], (where, value)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    names = {type(None): "null", bool: "boolean", str: "string", list: "array", dict: "object", float: "number"}
    kind = "integer" if type(value) is int else names[type(value)]
    assert not types or kind in types or (kind == "integer" and "number" in types), (where, value, types)
    if kind == "object":
        for name in schema.get("required", []):
            assert name in value, (where, name)
        for name, member in value.items():
            if name in schema.get("properties", {}):
                check(member, schema["properties"][name], where + "/" + name)
    if kind == "array" and "items" in schema:
        for member in value:
            check(member, schema["items"], where)


def assert_any(value, choices, where):
    failures = []
    for choice in choices:
        try:
            return check(value, choice, where)
        except AssertionError as failure:
            failures.append(failure)
    raise AssertionError(where, failures)


def events_of(name, response):
    """The data of each event, which the document describes under its name."""
    content = operations[name][2]["responses"]["200"]["content"]
    schema = content["text/event-stream"]["schema"]
    fields = {}
    for line in response:
        text = line.decode().rstrip("\n")
        if text == "":
            if "data" in fields:
                data = json.loads(fields["data"])
                check(data, schema, name)
                assert data["type"] == fields["event"], fields
                yield fields.get("id"), data
            fields = {}
        elif not text.startswith(":"):
            field, _, value = text.partition(": ")
            fields[field] = value


def call(name, **given):
    with send(name, **given) as response:
        assert str(response.status) in operations[name][2]["responses"], (name, response.status)
        return json.load(response)


created = call("createConversation", body={"title": "Python", "tags": ["py"], "metadata": {"team": "core"}})
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
assert call("search", query={"q": "Grüße", "metadata.team": "core"})["items"]
assert not call("search", query={"q": "Grüße", "metadata.team": "other"})["items"]
# The messages from the newest, page by page.
page = call("getConversation", id=id, query={"limit": 2})["messages"]
page = call("getConversation", id=id, query={"limit": 2, "before": page[0]["depth"]})["messages"]
assert [one["content"] for one in page] == ["Grüße, 世界"], page

def texts_in(message):
    return [block["text"] for block in message["blocks"] if block["type"] == "text"]


seen = []
for last, event in events_of("follow", follow):
    if event["type"] == "message" and event["conversation"] == id:
        seen.append((event["message"]["seq"], event["message"]["role"], texts_in(event["message"])))
    if len(seen) == 3:
        break
follow.close()
assert seen == [
    (0, "user", ["Grüße, 世界"]),
    (1, "user", ["Hello?"]),
    (2, "assistant", ["Hello from the model."]),
], seen

pieces = []
stream = {"Accept": "text/event-stream"}
with send("ask", id=id, body={"content": "Again?"}, headers=stream) as response:
    for _, event in events_of("ask", response):
        if event["type"] == "text":
            pieces.append(event["text"])
        final = event
assert (final["type"], final["status"], final["conversation"]) == ("ended", "complete", id), final
assert "".join(pieces) == final["text"] != "", (pieces, final)

# A reconnect with the id of the last event returns exactly what was missed.
with send("follow", query={"conversation": id}, headers={"Last-Event-ID": last}) as follow:
    missed = []
    for _, event in events_of("follow", follow):
        if event["type"] == "message":
            missed.append(event["message"]["seq"])
        if event["type"] == "turn" and event["turn"]["key"] == final["turn"] and event["turn"]["status"] == "complete":
            break
assert missed == [3, 4], missed

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
