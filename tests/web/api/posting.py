"""How tests add documents, and the answers that they expect."""

import json

from web.api import ingestion_answers

NDJSON = "application/x-ndjson"
ADDRESS = "/v1/documents?collection=abstracts"


def lines(*records):
    return b"".join((item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n" for item in records)


def good(identifier, text="Fever fell."):
    return {"id": identifier, "text": text}


def post(client, body, address=ADDRESS, kind=NDJSON, **headers):
    data = body if isinstance(body, bytes) else lines(*body)
    return client.post(address, data=data, headers={"Content-Type": kind} | headers)


def outcomes(answer):
    """The outcome of each record, and the last line without the name of the job."""
    assert (answer.status_code, answer.mimetype) == (200, NDJSON)
    assert answer.content_length == len(answer.data)
    *records, total = [json.loads(line) for line in answer.data.splitlines()]
    for record in records:
        ingestion_answers.RecordOutcome.model_validate(record)
    ingestion_answers.FeedAnswer.model_validate(total)
    return records, {name: value for name, value in total.items() if name != "job"}


def told(line, identifier, status, version, error=None):
    return {"line": line, "id": identifier, "status": status, "version": version, "error": error}


def refused(line, identifier, message, field=None, code="invalid_input"):
    return told(line, identifier, "rejected", None, {"code": code, "message": message, "field": field})


def total(queued=False, retry_after=None, omitted=(0, 0), dropped=None, **counts):
    names = ("accepted", "unchanged", "stale", "deleted", "unknown", "rejected")
    cut = dict(zip(("outcomes_omitted", "rejections_omitted"), omitted, strict=True))
    rest = {"queued": queued, "retry_after": retry_after, "dropped_fields": dropped or {}}
    return {name: counts.get(name, 0) for name in names} | rest | cut


def error(answer):
    return answer.status_code, answer.json["error"]["code"], answer.json["error"]["field"]
