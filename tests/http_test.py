"""The official openai client against the demo model on 8 ranks: recorded answers, streaming and not,
alone and together; and the API's other endpoints as clients use them."""

import concurrent.futures
import json
import time

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


def ask(client, **fields):
    return client.chat.completions.create(
        model="demo-moe", messages=[{"role": "user", "content": "What is a KV cache?"}],
        **{"temperature": 0, "max_tokens": 60, **fields})


def test_logprobs_of_a_chat(client):
    choice = ask(client, logprobs=True, top_logprobs=3, max_tokens=8).choices[0]
    told = choice.logprobs.content
    assert len(told) == 8
    for token in told:
        assert token.top_logprobs[0].token == token.token  # greedy
        assert 0 >= token.logprob == token.top_logprobs[0].logprob >= token.top_logprobs[2].logprob
    assert bytes(byte for token in told for byte in token.bytes).decode() == choice.message.content
    chunks = ask(client, logprobs=True, top_logprobs=3, max_tokens=8, stream=True)
    streamed = [token for chunk in chunks for choice in chunk.choices if choice.logprobs
                for token in choice.logprobs.content]
    assert streamed == told


def test_logprobs_and_echo_of_a_completion(client):
    prompt = "Tensor parallel ranks"
    choice = client.completions.create(model="demo-moe", prompt=prompt, temperature=0, max_tokens=4,
                                       echo=True, logprobs=2).choices[0]
    assert choice.text.startswith(prompt)
    told = choice.logprobs
    assert told.token_logprobs[0] is None and all(p <= 0 for p in told.token_logprobs[1:])
    assert "".join(told.tokens).startswith(prompt)
    assert told.text_offset[:2] == [0, len(told.tokens[0])]
    # What the prompt's tokens had when they were asked about alone.
    alone = client.completions.create(model="demo-moe", prompt=prompt, temperature=0, max_tokens=0,
                                      echo=True, logprobs=2).choices[0]
    count = len(alone.logprobs.tokens)
    assert alone.text == prompt and alone.logprobs.token_logprobs == told.token_logprobs[:count]


def test_several_choices_draw_differently_and_count_the_prompt_once(client):
    one = ask(client, temperature=3.0, seed=3, max_tokens=12)
    four = ask(client, temperature=3.0, seed=3, max_tokens=12, n=4)
    assert [choice.index for choice in four.choices] == [0, 1, 2, 3]
    assert four.choices[0].message.content == one.choices[0].message.content
    assert len({choice.message.content for choice in four.choices}) > 1
    assert four.usage.prompt_tokens == one.usage.prompt_tokens


def test_usage_tells_of_cached_prompt_tokens(client):
    prompt = list(range(300, 364))
    for _ in range(2):
        usage = client.completions.create(model="demo-moe", prompt=prompt, max_tokens=1).usage
    assert usage.prompt_tokens == 64 and usage.prompt_tokens_details.cached_tokens == 48


def test_an_answer_keeps_to_a_schema(client):
    schema = {"type": "object", "properties": {"city": {"enum": ["서울", "도쿄"]},
                                               "large": {"type": "boolean"}},
              "required": ["city", "large"], "additionalProperties": False}
    wanted = {"type": "json_schema", "json_schema": {"name": "city", "strict": True,
                                                     "schema": schema}}
    done = ask(client, response_format=wanted).choices[0]
    answered = json.loads(done.message.content)
    assert done.finish_reason == "stop"
    assert answered["city"] in ("서울", "도쿄") and isinstance(answered["large"], bool)
    text = "".join(choice.delta.content or ""
                   for chunk in ask(client, response_format=wanted, stream=True)
                   for choice in chunk.choices)
    assert text == done.message.content


@pytest.mark.parametrize("extra, allowed", [
    ({"guided_choice": ["left", "right"]}, ("left", "right")),
    ({"guided_regex": "(yes|no)!"}, ("yes!", "no!")),
    ({"structured_outputs": {"grammar": 'root ::= "x" ("y" | "z")'}}, ("xy", "xz")),
])
def test_an_answer_keeps_to_a_choice_pattern_or_grammar(client, extra, allowed):
    assert ask(client, extra_body=extra).choices[0].message.content in allowed


def test_a_pattern_that_explodes_is_answered_at_once(client):
    begin = time.monotonic()
    text = ask(client, extra_body={"guided_regex": "[ab]*a[ab]{13}"}).choices[0].message.content
    assert set(text) <= {"a", "b"}
    assert time.monotonic() - begin < 30  # of a busy machine; compiling it takes milliseconds


TOOL = {"type": "function", "function": {
    "name": "set_light", "description": "switches a light",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"],
                   "additionalProperties": False}}}


@pytest.mark.parametrize("choice, reason", [
    ("required", "tool_calls"),
    ({"type": "function", "function": {"name": "set_light"}}, "stop"),
])
def test_a_demanded_tool_call(client, choice, reason):
    demand = {"tools": [TOOL], "tool_choice": choice, "max_tokens": 300}
    done = ask(client, **demand).choices[0]
    assert done.finish_reason == reason and done.message.content is None
    call, = done.message.tool_calls
    assert call.id and call.function.name == "set_light"
    assert isinstance(json.loads(call.function.arguments)["on"], bool)

    ids, names, arguments = [], [], ""
    for chunk in ask(client, **demand, stream=True):
        for delta in chunk.choices[0].delta.tool_calls or []:
            assert delta.index == 0
            ids += [delta.id] if delta.id else []
            names += [delta.function.name] if delta.function.name else []
            arguments += delta.function.arguments or ""
    assert len(ids) == 1 and names == ["set_light"]
    assert arguments == call.function.arguments


def test_tools_that_are_not_called_change_nothing(client):
    assert (ask(client, tools=[TOOL]).choices[0].message
            == ask(client).choices[0].message)


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
    ({"presence_penalty": 5}, "presence_penalty"),
    ({"logprobs": 21}, "logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"guided_regex": "("}, "guided_regex"),
    ({"tool_choice": "required"}, "tool_choice"),
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
