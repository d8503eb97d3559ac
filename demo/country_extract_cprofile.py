"""Runs the country demo under cProfile and prints where its time goes.

    python demo/country_extract_cprofile.py

The first generation meets every state of the acceptor for the first time; the second finds them.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from typing import Any

import mlx_lm
from country_extract import arguments, chat_messages, read_schema, run

from mlx_structured import compile_json_schema, make_logit_bias_processor
from mlx_structured.models import load_model
from mlx_structured.processor import LogitBiasProcessor

STAGES = {
    "advance": ("driver.py", "advance_token"),
    "mask": ("driver.py", "select_valid_tokens"),
    "conversion to mx": ("masks.py", "create_mask"),
    "apply": ("masks.py", "apply_token_mask"),
}
"""Stage -> file and function whose cumulative time it is."""


def seconds_by_stage(stats: pstats.Stats) -> dict[str, float]:
    """The cumulative seconds of each stage's function."""
    table: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = vars(stats)["stats"]
    seconds = dict.fromkeys(STAGES, 0.0)
    for (file, _, function), (_, _, _, cumulative, _) in table.items():
        for stage, (stage_file, stage_function) in STAGES.items():
            if function == stage_function and file.endswith(f"mlx_structured/{stage_file}"):
                seconds[stage] += cumulative
    return seconds


def profiled_generation(
    model: Any, tokenizer: Any, prompt: list[int], processor: LogitBiasProcessor, max_tokens: int
) -> None:
    """Generate once and print the stages."""
    profile = cProfile.Profile()
    tokens = 0
    begin = time.perf_counter()
    first = begin
    profile.enable()
    for response in mlx_lm.stream_generate(
        model, tokenizer, prompt, max_tokens=max_tokens, logits_processors=[processor]
    ):
        if not tokens:
            first = time.perf_counter()
        tokens = response.generation_tokens
    profile.disable()
    total = time.perf_counter() - begin
    stages = {"prompt and first token": first - begin}
    stages |= seconds_by_stage(pstats.Stats(profile))
    stages["forward pass and the rest"] = total - sum(stages.values())
    print(f"  {'stage':<26} {'ms':>9} {'share':>7}")
    for stage, seconds in stages.items():
        print(f"  {stage:<26} {seconds * 1e3:>9.1f} {seconds / total:>7.1%}")
    print(f"  {'in all':<26} {total * 1e3:>9.1f}  for {tokens} tokens")


def main() -> None:
    """Profile two generations of the same answer."""
    options = arguments("Where does the time of the country demo go?")
    schema = read_schema(options.schema)
    acceptor = compile_json_schema(schema, style=options.style)
    model, tokenizer = load_model(options.model)
    prompt = tokenizer.apply_chat_template(
        chat_messages(options.prompt, schema), add_generation_prompt=True
    )
    for title in ("first generation (new states)", "second generation (known states)"):
        print(title)
        processor = make_logit_bias_processor(tokenizer, acceptor)
        profiled_generation(model, tokenizer, prompt, processor, options.max_tokens)


if __name__ == "__main__":
    run(main)
