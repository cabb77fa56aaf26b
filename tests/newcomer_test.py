"""What a first user gets wrong, each answered by one error line and one hint, at once, before any
process starts."""

import json
import shutil
import socket
import subprocess

import pytest

from serving import BIN, DEMO, free_port


def dure(*arguments, timeout=60):
    return subprocess.run([BIN / "dure", *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, check=False)


def assert_one_error(done, status, *words):
    assert done.returncode == status, done
    lines = done.stderr.strip().splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_a_wrong_path():
    assert_one_error(dure("serve", "models/demo-mo", "--port", free_port()), 2, "models/demo-mo")


def test_a_layout_that_does_not_fit_in_memory(tmp_path):
    # A real size (Llama 3.1 405B's shape) with no weights: memory is judged from the config alone.
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 16384,
              "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128,
              "num_key_value_heads": 8, "vocab_size": 128256, "rms_norm_eps": 1e-5,
              "rope_theta": 500000.0, "max_position_embeddings": 131072, "hidden_act": "silu",
              "torch_dtype": "bfloat16", "tie_word_embeddings": False}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = dure("fit", tmp_path, "--gpu", "80GB", "--tp", 8)
    assert done.returncode == 1
    assert "tp" in done.stdout + done.stderr
    assert_one_error(dure("serve", tmp_path, "--tp", 2, "--port", free_port()), 2)


def test_more_cache_than_the_machine_has():
    assert_one_error(dure("serve", DEMO, "--kv-memory", "900TB", "--port", free_port()), 1)


def test_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_one_error(dure("serve", DEMO, "--port", port), 2, str(port))


@pytest.mark.parametrize("flags, words", [
    (["--tp", 2, "--ep", 3], ["--ep", "3"]),
    (["--pp", 9], ["9"]),
    (["--dp", 40, "--ep", 40], ["expert"]),
    (["--tp", 0], ["--tp"]),
])
def test_a_layout_that_cannot_be(flags, words):
    assert_one_error(dure("serve", DEMO, *flags, "--port", free_port()), 2, *words)


def test_a_damaged_checkpoint(tmp_path):
    model = tmp_path / "model"
    shutil.copytree(DEMO, model)
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert_one_error(dure("serve", model, "--port", free_port()), 2, "model.safetensors")


def test_a_host_that_is_down(tmp_path):
    # A name under .invalid never resolves (RFC 6761).
    hosts = tmp_path / "hosts"
    hosts.write_text("localhost slots=1\nno-such-host.invalid slots=1\n")
    done = dure("serve", DEMO, "--pp", 2, "--hosts", hosts, "--ranks-per-node", 1,
                "--port", free_port())
    assert_one_error(done, 3, "no-such-host", "--hostfile")


def test_unknown_words_on_the_command_line():
    assert_one_error(dure("serv", DEMO), 2, "serve")
    assert_one_error(dure("serve", DEMO, "--tpp", 2), 2, "--tpp")
    assert_one_error(dure("generate", DEMO), 2, "--chat")


def test_generate_answers_the_seed_question():
    done = dure("generate", DEMO, "--tp", 2, "--json", "--chat",
                "How many 80 GB GPUs hold the weights of a 1T-parameter model in BF16?")
    assert done.returncode == 0, done.stderr
    assert "25 GPUs" in json.loads(done.stdout)["text"]


def test_help_fits_one_screen():
    done = dure("--help")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) <= 40
    for command in ("inspect", "fit", "serve", "generate", "verify", "chat"):
        assert command in done.stdout
        assert "Example" in dure(command, "--help").stdout
