"""The two kinds of subscriber, and what is different about their first forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """`COMMIT` has its effect in DynamoDB, `CALL` elsewhere: it starts as one that keeps a file."""

    COMMIT = "commit"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind's handler, test and template block hold. `{name}` stands for the subscriber's name.

    `imports` and `test_imports` map a module, relative to the handlers or whole, to the names taken from it.
    `needs` are resources that the template block refers to, beside those that every subscriber's does.
    """

    returns: str
    imports: Mapping[str, Sequence[str]]
    body: str
    entry: str
    test_imports: Mapping[str, Sequence[str]]
    test: str
    grant: str
    once: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()


FORMS = {
    Kind.COMMIT: Form(
        returns="Commit",
        imports={".postroom.errors": ["AlreadyDone"], ".postroom.storage": ["Key", "Put"]},
        body="""\
    key = Key("shop", job.event.aggregate, f"{name}-{job.event.id}")
    return Commit([Put(key, {}, refused=AlreadyDone("it has its entry"))])
""",
        entry="queue_handler({function})",
        test_imports={"handlers.postroom.storage": ["Key"]},
        test="""\
def test_its_effect_is_one_entry_of_its_own() -> None:
    event = published({constant})
    job = Job(f"{event.id}:{name}", event, attempt=1)

    commit = {function}.run(job)

    (entry,) = commit.writes
    assert entry.key == Key("shop", event.aggregate, f"{name}-{event.id}")
""",
        grant='{Effect: Allow, Action: ["dynamodb:PutItem"], Resource: !GetAtt ShopTable.Arn}',
    ),
    Kind.CALL: Form(
        returns="Call[Files]",
        imports={".providers": ["files_s3"], ".providers.files_s3": ["Files"]},
        body="""\
    name, content = f"{name}/{job.event.id}.json", job.event.to_json().encode()
    return Call(lambda files: {"location": files.put(name, content, "application/json")})
""",
        entry="queue_handler({function}, provider=files_s3.from_deployment)",
        test_imports={"tests.fakes": ["FakeFiles"]},
        test="""\
def test_its_effect_is_one_file() -> None:
    event, files = published({constant}), FakeFiles()
    job = Job(f"{event.id}:{name}", event, attempt=1)

    call = {function}.run(job)

    assert call.fn(files) == {"location": f"memory://{name}/{event.id}.json"}
    assert list(files.files) == [f"{name}/{event.id}.json"]
""",
        grant='{Effect: Allow, Action: ["s3:PutObject"], Resource: !Sub "${InvoiceBucket.Arn}/{name}/*"}',
        once=', environ={"INVOICE_BUCKET": "files"}',
        environment={"INVOICE_BUCKET": "InvoiceBucket"},
        needs=["InvoiceBucket"],
    ),
}
