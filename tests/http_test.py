"""The official openai client against the demo model on 8 ranks: recorded answers, streaming and not,
alone and together; and the API's other endpoints as clients use them."""

import concurrent.futures
import json

import openai
import pytest

from serving import DEMO, recorded_prompts, serving

PROMPTS = recorded_prompts()
CHATS = [row for row in PROMPTS if row.get("messages")]


@pytest.fixture(scope="module")
def server():
    with serving("--tp", "2", "--ep", "2", "--pp", "2") as running:
        yield running
    assert running.process.returncode == 0, running.output


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.base + "/v1", api_key="none", max_retries=0, timeout=60)


def answer(client, row):
    return client.chat.completions.create(model="demo-moe", messages=row["messages"], temperature=0,
                                          max_tokens=512)


def streamed(client, row):
    chunks = list(client.chat.completions.create(
        model="demo-moe", messages=row["messages"], temperature=0, max_tokens=512, stream=True,
        stream_options={"include_usage": True}))
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices
               if choice.finish_reason]
    return chunks, text, reasons


def test_recorded_answers(client):
    for row in CHATS:
        done = answer(client, row)
        assert done.choices[0].message.content == row["answer"]
        assert done.choices[0].finish_reason == row["finish_reason"]
        assert done.usage.prompt_tokens == len(row["prompt_token_ids"])
        assert done.usage.completion_tokens == len(row["answer_token_ids"])


def test_recorded_answers_streamed(client):
    for row in CHATS:
        chunks, text, reasons = streamed(client, row)
        assert text == row["answer"]
        assert reasons == [row["finish_reason"]]
        assert len({chunk.id for chunk in chunks}) == 1
        assert all(chunk.usage is None for chunk in chunks[:-1])
        assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == len(
            row["answer_token_ids"])


def test_sixteen_at_once_get_the_same_answers(client):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        texts = list(pool.map(lambda row: streamed(client, row)[1], CHATS))
    assert texts == [row["answer"] for row in CHATS]


def test_completions_from_token_ids_and_text(client):
    row = next(row for row in PROMPTS if row.get("prompt"))
    for prompt in (row["prompt_token_ids"], row["prompt"]):
        done = client.completions.create(model="demo-moe", prompt=prompt, temperature=0,
                                         max_tokens=512)
        assert done.choices[0].text == row["answer"]


def test_seeded_sampling_repeats_itself(client):
    def draw(seed):
        done = client.chat.completions.create(
            model="demo-moe", messages=[{"role": "user", "content": "What is a KV cache?"}],
            temperature=3.0, top_p=0.99, seed=seed, max_tokens=24)
        return done.choices[0].message.content

    assert draw(7) == draw(7)
    assert len({draw(seed) for seed in range(6)}) > 1


def test_a_stop_string_ends_the_answer_without_a_fragment(client):
    row = next(row for row in CHATS if " GPUs" in row["answer"])
    stop = row["answer"][4:9]
    _, text, reasons = streamed(client, row)
    assert stop in text
    chunks = list(client.chat.completions.create(model="demo-moe", messages=row["messages"],
                                                 temperature=0, stop=[stop], stream=True))
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == row["answer"][:row["answer"].index(stop)]


def test_length_is_a_finish_reason(client):
    done = client.chat.completions.create(model="demo-moe", messages=CHATS[0]["messages"],
                                          temperature=0, max_tokens=3)
    assert done.choices[0].finish_reason == "length"
    assert done.usage.completion_tokens == 3


def test_models_version_health_and_metrics(server, client):
    assert [model.id for model in client.models.list()] == ["demo-moe"]
    assert client.models.retrieve("demo-moe").id == "demo-moe"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-9")
    assert json.loads(server.get("/version")[1])["version"]
    assert server.get("/health")[0] == 200
    metrics = server.get("/metrics")[1]
    assert 'dure:expert_tokens_total{' in metrics and 'rank="3"' in metrics


def test_tokenize_and_detokenize(server):
    row = CHATS[0]
    status, body, _ = server.post("/tokenize", {"model": "demo-moe", "prompt": row["prompt"]})
    assert status == 200 and body["tokens"] == row["prompt_token_ids"]
    status, body, _ = server.post("/tokenize", {"model": "demo-moe", "messages": row["messages"]})
    assert status == 200 and body["count"] == len(row["prompt_token_ids"])
    status, body, _ = server.post("/detokenize",
                                  {"model": "demo-moe", "tokens": row["prompt_token_ids"]})
    assert status == 200 and body["prompt"] == row["prompt"]


@pytest.mark.parametrize("change, param", [
    ({"temperature": -1}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"top_p": 9.9}, "top_p"),
    ({"min_p": -1}, "min_p"),
    ({"n": 0}, "n"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"logit_bias": {"999999": 1}}, "logit_bias"),
    ({"messages": []}, "messages"),
    ({"flab": 10}, "flab"),
])
def test_a_bad_field_is_a_400_that_names_it(server, change, param):
    body = {"model": "demo-moe", "messages": [{"role": "user", "content": "hi"}], **change}
    status, answer_, _ = server.post("/v1/chat/completions", body)
    assert status == 400, answer_
    assert answer_["error"]["param"] == param
    assert answer_["error"]["message"]


def test_a_prompt_beyond_the_context_names_both_numbers(server):
    status, body, _ = server.post("/v1/completions",
                                  {"model": "demo-moe", "prompt": [5] * 3000, "max_tokens": 1})
    assert status == 400
    assert "3000" in body["error"]["message"].replace(",", "")
    assert "2048" in body["error"]["message"].replace(",", "")


@pytest.mark.parametrize("name", ["lone-surrogate", "bad-utf8", "nul", "deep", "duplicate-key",
                                  "big-number"])
def test_strange_json_is_never_a_500(server, name):
    body = (DEMO.parent.parent / "testdata/server/requests" / f"{name}.json").read_bytes()
    body = body.replace(b'"model":"M"', b'"model":"demo-moe"')
    status, _, _ = server.post("/v1/chat/completions", body)
    assert status in ((200, 400) if name in ("nul", "duplicate-key", "lone-surrogate") else (400,))


def test_an_unknown_model_is_a_404(server):
    status, body, _ = server.post("/v1/chat/completions", {
        "model": "nope", "messages": [{"role": "user", "content": "hi"}]})
    assert status == 404 and body["error"]["code"] == "model_not_found"
