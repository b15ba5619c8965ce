"""Hostile documents: each is refused with a sentence, or served without the part, and nothing else is read or asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from signet.openapi.document import MAX_BYTES, Library, parse_document
from signet.openapi.fetching import Fetched
from signet.openapi.toolset import DocumentError, open_toolset

from .documents import contracts, document, made, operation, written
from .large_document import large_document

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)
MERGES = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 40)}]\n" for n in range(1, 30))


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (LAUGHS, "a.yaml", "aliases written out"),
        (MERGES, "a.yaml", "aliases written out"),
        ("a: &a [*a]", "a.yaml", "*a is a part of itself, or of nothing (line 1)"),
        ("a: *b", "a.yaml", "*b is a part of itself, or of nothing (line 1)"),
        ("a: 1\n---\nb: 2", "a.yaml", "more than one document"),
        ("", "a.yaml", "it is empty"),
        ("- " * 100_000, "a.yaml", "more than 300 deep"),
        ("a: 1\nb: 2\na: 3", "a.yaml", "the key 'a' stands twice (line 3)"),
        ("? [a]\n: 1", "a.yaml", "a key is no text"),
        ("a: !!python/object/apply:os.system [id]", "a.yaml", "os.system is no value of JSON"),
        ("a: !!binary aGk=", "a.yaml", "binary is no value of JSON"),
        ("a: [", "a.yaml", "is no YAML that can be used"),
        ("[" * 100_000, "a.json", "nested too deeply"),
        ("[" * 100_000, "a.yaml", "more than 300 deep"),
        ("{a: " * 500 + "1" + "}" * 500, "a.yaml", "more than 300 deep"),
        ('{"a": 1, "a": 2}', "a.json", "the key 'a' stands twice"),
        ('{"a": NaN}', "a.json", "NaN is no JSON number"),
        ('{"a": "\\ud800"}', "a.json", "half a surrogate pair"),
        ('{"a": ', "a.json", "is no JSON that can be used"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_with_a_sentence(text: str, name: str, told: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(text.encode(), name)

    assert told in str(caught.value)


def test_a_document_that_is_not_utf_8_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is not UTF-8"):
        parse_document(b"\xff\xfe{", "a.json")
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(DocumentError, match="more than 16,777,216 bytes"):
        open_toolset(str(path), name="test", environ={})


@pytest.mark.parametrize(
    ("text", "value"),
    [("on", "on"), ("yes", "yes"), ("12:30:45", "12:30:45"), ("2026-01-02", "2026-01-02"), ("007", "007"), ("~", None),
     ("true", True), ("1e3", 1000.0), ("-4", -4), ("0x1F", "0x1F"), ("1_000", "1_000")],
)  # fmt: skip
def test_yaml_is_read_with_the_values_of_json(text: str, value: Any) -> None:
    assert parse_document(f"200: {text}\nmerged: &m {{a: 1}}\nb:\n  <<: *m\n  a: 2".encode(), "a.yaml") == {
        "200": value, "merged": {"a": 1}, "b": {"a": 2},
    }  # fmt: skip


@pytest.mark.parametrize(
    "reference",
    [
        "https://evil.example/x.json",
        "//evil.example/x.json",
        "file:///etc/passwd",
        "/etc/passwd",
        "../outside.json",
        "..%2foutside.json",
        "link.json",
        "http://169.254.169.254/latest",
    ],
)
def test_a_reference_that_leads_out_of_the_folder_is_never_read(tmp_path: Path, reference: str) -> None:
    (tmp_path / "outside.json").write_text('{"type": "string", "const": "secret"}')
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.json").symlink_to(tmp_path / "outside.json")
    notes: list[str] = []

    toolset = made(inside, document({"/x": {"post": operation(body={"$ref": reference})}}), notes=notes)

    (bundle,) = toolset.bundles().values()
    assert json.loads(bundle)["input"] == {"type": "object", "properties": {"body": {}}, "required": ["body"]}
    (note,) = notes
    assert "is not read" in note
    assert "secret" not in note


@pytest.mark.parametrize(
    ("reference", "location"),
    [
        ("b.json", "https://a.example/api/b.json"),
        ("/c.json", "https://a.example/c.json"),
        ("https://a.example:443/d.json", "https://a.example:443/d.json"),
        ("http://a.example/b.json", None),
        ("https://a.example:8443/b.json", None),
        ("https://b.example/b.json", None),
        ("//b.example/b.json", None),
        ("https://a.example@b.example/b.json", None),
        ("https://me@a.example/b.json", None),
        ("file:///etc/passwd", None),
        ("ftp://a.example/x", None),
    ],
)
def test_a_reference_of_a_document_from_a_url_is_fetched_from_the_same_origin_only(
    reference: str, location: str | None
) -> None:
    asked: list[tuple[str, bool, str]] = []
    texts = {"https://a.example/api/openapi.json": {"$ref": reference}}

    def fetch(url: str, limit: int, *, follow: bool, only_public: str) -> Fetched:
        asked.append((url, follow, only_public))
        return Fetched(json.dumps(texts.get(url, {"type": "string"})).encode(), is_public=True)

    library = Library("https://a.example/api/openapi.json", fetch)
    from signet.openapi.document import RefusedReferenceError
    from signet.openapi.references import Node, resolve

    node = Node(library.value(library.root), library.root)
    if location is None:
        with pytest.raises(RefusedReferenceError, match="is not read"):
            resolve(library, node)
        assert asked == [(library.root, True, "")]
    else:
        assert resolve(library, node).value == {"type": "string"}
        # Redirects are followed for the document itself alone.
        assert asked == [(library.root, True, ""), (location, False, "the document came from a public address")]


def test_references_in_a_circle_have_an_end(tmp_path: Path) -> None:
    loops = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    parameters = {"P": {"$ref": "#/components/parameters/P"}}
    one = operation([{"$ref": "#/components/parameters/P"}], body={"$ref": "#/components/schemas/A"})
    notes: list[str] = []

    toolset = made(
        tmp_path, document({"/x": {"post": one}}, components={"schemas": loops, "parameters": parameters}), notes=notes
    )

    (bundle,) = toolset.bundles().values()
    assert json.loads(bundle)["input"]["properties"].keys() == {"body"}
    assert [note.partition(": ")[2] for note in notes] == [
        "POST /x is served without a parameter: #/components/parameters/P leads in a circle"
    ]


def test_a_schema_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    deep: Any = {"type": "string"}
    for _ in range(200):
        deep = {"type": "array", "items": deep}

    with pytest.raises(DocumentError, match="nested more than 150 deep"):
        contracts(tmp_path, operation(body=deep))


def test_a_hundred_thousand_operations_are_refused_with_their_tags(tmp_path: Path) -> None:
    paths = {f"/p{n}": {"get": {"operationId": f"op{n}", "tags": [f"t{n % 3}"]}} for n in range(100_000)}

    with pytest.raises(DocumentError) as caught:
        made(tmp_path, document(paths))

    assert str(caught.value).endswith(
        "the document has 100,000 operations, more than 200: choose some with --include tag:NAME, path:/pets* or "
        "operation:ID; its tags are t0 (33334), t1 (33333), t2 (33333)"
    )


def test_schemas_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="too large together: choose fewer with --include"):
        made(tmp_path, large_document(660, circle=132), "path:/*")


def test_an_output_that_is_too_large_is_an_object_and_told(tmp_path: Path) -> None:
    notes: list[str] = []

    toolset = made(tmp_path, large_document(660, circle=132), "operation:things1/get", notes=notes)

    (bundle,) = toolset.bundles().values()
    assert json.loads(bundle)["output"] == {"type": "object"}
    assert "the output of GET /things1/{thing_id} is not checked" in notes[0]


def test_schemas_that_do_not_compile_are_served_with_what_can_be_checked_and_told_once(tmp_path: Path) -> None:
    broken = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "pattern": "(?<n", "maxLength": 3},
            "b": {"type": "any", "required": True},
            "c": {"type": "integer", "minimum": "1", "maximum": 9},
            "d": {"$ref": "#/components/schemas/None"},
            "e": {"type": "string", "pattern": "(?<n"},
            "f": 5,
            "g": {"type": "array", "items": [{"type": "string"}], "minItems": -1},
        },
    }
    notes: list[str] = []

    toolset = made(tmp_path, document({"/x": {"post": operation(body=broken)}}), notes=notes)

    (bundle,) = toolset.bundles().values()
    assert json.loads(bundle)["input"]["properties"] == {
        "a": {"type": "string", "maxLength": 3},
        "b": {},
        "c": {"type": "integer", "maximum": 9},
        "d": {"$ref": "#/$defs/None"},
        "e": {"type": "string"},
        "f": True,
        "g": {"type": "array", "prefixItems": [{"type": "string"}]},
    }
    assert len(notes) == len(set(notes)) == 7


def test_control_characters_reach_no_name_and_no_message(tmp_path: Path) -> None:
    one = operation(operationId="get\x1b[31m\u202eevil\n", summary="a\x1b[2Jb", description="c\x07\u200bd")
    notes: list[str] = []

    toolset = made(tmp_path, document({"/x\x1b": {"get": {**one, "parameters": [{"$ref": "#/\x1b"}]}}}), notes=notes)

    (tool,) = toolset.tools()
    assert (tool.name, tool.title) == ("get_31m_evil", "a [2Jb")
    assert tool.description.isascii() is False
    assert all(char.isprintable() or char == "\n" for char in tool.description)
    assert all(note.isprintable() for note in notes)
    assert notes


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"swagger": "2.0"}, "it is a document of Swagger 2.0: convert it once to OpenAPI 3"),
        ({"openapi": "4.0.0"}, "it is no OpenAPI document: it has no openapi: 3.0 or 3.1"),
        ([], "it is no OpenAPI document: it is no object"),
        ({"openapi": "3.0.0"}, "the document has no operations: there is nothing to serve"),
        ({"openapi": "3.0.0", "paths": {"/x": 5, "y": {"get": {}}}}, "the document has no operations"),
    ],
)
def test_what_is_no_document_is_refused_with_a_sentence(tmp_path: Path, value: Any, told: str) -> None:
    with pytest.raises(DocumentError) as caught:
        open_toolset(written(tmp_path, value), name="test", environ={})

    assert told in str(caught.value)


@pytest.mark.parametrize("where", ["servers", "own"])
def test_a_public_document_cannot_lead_to_an_address_that_is_not_public(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    inside = [{"url": "http://169.254.169.254/latest"}]
    value = document({"/x": {"get": {**operation(), **({"servers": inside} if where == "own" else {})}}})
    value |= {"servers": inside if where == "servers" else [{"url": "https://api.example"}]}
    monkeypatch.setattr(
        "signet.openapi.fetching.fetch", lambda *_, **__: Fetched(json.dumps(value).encode(), is_public=True)
    )
    url = "https://docs.example/openapi.json"

    with pytest.raises(DocumentError, match="which is not public: write it with --base-url"):
        open_toolset(url, name="test", environ={})
    assert open_toolset(url, name="test", environ={}, base_url="http://127.0.0.1:1").name == "test"


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read \\(No such file or directory\\)"):
        open_toolset(str(tmp_path / "none.json"), name="test", environ={})


@pytest.mark.parametrize("pattern", [{"a": 1}, [1], 5, None])
def test_a_pattern_that_is_no_text_is_left_out(tmp_path: Path, pattern: Any) -> None:
    found = contracts(
        tmp_path, operation(body={"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}})
    )

    assert found["input"]["properties"]["a"] == {"type": "string"}
