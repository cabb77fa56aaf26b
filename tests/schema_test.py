"""schemathesis reads the document that the server gives out and sends what it allows and what it
forbids: no answer is a 500, none has a status, header or shape that the document does not know, and
nothing forbidden is taken. DURE_SCHEMA_EXAMPLES=n sends more."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from serving import serving

EXAMPLES = os.environ.get("DURE_SCHEMA_EXAMPLES", "25")  # of each endpoint
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
          "unsupported_method", "allow_header_conformance"]


@pytest.fixture(scope="module")
def server():
    with serving("--max-sequences", "64", "--context", "256") as running:
        yield running


def test_the_document_is_served_and_names_every_endpoint(server):
    status, text = server.get("/openapi.json")
    paths = json.loads(text)["paths"]
    assert status == 200
    assert {"/v1/chat/completions", "/v1/completions", "/v1/models", "/tokenize", "/metrics",
            "/openapi.json"} <= set(paths)


def test_answers_keep_to_the_document(server, tmp_path):
    done = subprocess.run(
        [pathlib.Path(sys.executable).parent / "st", "run", server.base + "/openapi.json",
         "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--mode", "all",
         "--max-examples", EXAMPLES, "--seed", "1", "--generation-deterministic",
         "--continue-on-failure", "--request-timeout", "60", "--warnings", "off",
         "--suppress-health-check", "all", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    print(done.stdout[-600:])
    assert server.get("/health")[0] == 200
